// (t - np.mean(t, axis=(2, 3), keepdims=True)) / np.sqrt(np.var(t, axis=(2, 3), keepdims=True) + 1e-5)
// t.reshape(x.shape) * gain[:, None] + bias[:, None]
typedef int index_t;

// x / y of many x: the product with 1 / y, and what that lacks of the quotient,
// where neither 1 / y nor that is subnormal: of quotients below `least`, which may be infinite, it may be.
struct Divisor { float y, inverse, least; };
__device__ inline Divisor divisor(float y) {
    const float inverse = 1 / y, size = fabsf(inverse), infinite = __int_as_float(0x7f800000);
    return {y, inverse, size >= 1.17549435e-38f ? fmaxf(size * 7.888609e-31f, 2.3509887e-38f) : infinite};
}
__device__ __attribute__((noinline)) float divided(float x, float y) { return x / y; }
__device__ inline float quotient(float x, Divisor by) {
    const float product = x * by.inverse;
    const float z = fmaf(-fmaf(product, by.y, -x), by.inverse, product);
    if (fabsf(z) >= by.least) return z;
    return x == 0 && product == 0 ? product : divided(x, by.y);
}

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };

// All threads of a row get the fold of their values: within warps by shuffles, between them through shared memory.
// Several short rows share a warp, and may leave it one after the other.
template <class Fold, class T> __device__ T row_fold(T value, T identity) {
    const Fold fold;
    const unsigned others = threadIdx.x % 32 / THREADS * THREADS;  // lanes with rows before this one
    const unsigned lanes = THREADS < 32 ? ((1u << THREADS % 32) - 1) << others : 0xffffffffu;
    for (int offset = (THREADS < 32 ? THREADS : 32) / 2; offset > 0; offset >>= 1)
        value = fold(value, __shfl_xor_sync(lanes, value, offset));
    if (THREADS <= 32) return value;
    __shared__ T partial[(THREADS + 31) / 32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = lane < THREADS / 32 ? partial[lane] : identity;
    for (int offset = 16; offset > 0; offset >>= 1) value = fold(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK) group_norm_t(
    const float* __restrict__ t_ptr, const float* __restrict__ t_10_ptr, const float* __restrict__ t_12_ptr,
    float* __restrict__ t_13_ptr, float count, index_t rows_1, index_t columns_1, index_t t_10_stride,
    index_t t_12_stride, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        const index_t row_1 = row % rows_1;
        float t[EACH];
        float t_3[EACH];
        float t_1_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const index_t column_0 = column / columns_1;
            t[k] = t_ptr[row * columns + column];
            t_1_sofar = Sum()(t_1_sofar, t[k]);
        }
        const float t_1 = row_fold<Sum, float>(t_1_sofar, 0.0f);
        const float t_2 = t_1 / count;
        float t_5_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const index_t column_0 = column / columns_1;
            t_3[k] = t[k] - t_2;
            const float t_4 = t_3[k] * t_3[k];
            t_5_sofar = Sum()(t_5_sofar, t_4);
        }
        const float t_5 = row_fold<Sum, float>(t_5_sofar, 0.0f);
        const float t_6 = t_5 / count;
        const float t_7 = t_6 + 1e-05f;
        const float t_8 = sqrtf(t_7);
        const Divisor t_8_divides = divisor(t_8);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const index_t column_0 = column / columns_1;
            const float t_9 = quotient(t_3[k], t_8_divides);
            const float t_10 = t_10_ptr[row_1 * t_10_stride + column_0];
            const float t_11 = t_9 * t_10;
            const float t_12 = t_12_ptr[row_1 * t_12_stride + column_0];
            const float t_13 = t_11 + t_12;
            t_13_ptr[row * columns + column] = t_13;
        }
    }
}
