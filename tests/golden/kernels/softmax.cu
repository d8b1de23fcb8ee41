// np.exp(x - np.max(x, axis=1, keepdims=True))
// e / np.sum(e, axis=1, keepdims=True)
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
struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Pack { T at[4]; };

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

extern "C" __global__ void __launch_bounds__(BLOCK) softmax_t(
    const float* __restrict__ x_ptr, float* __restrict__ t_3_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float x[EACH];
        float e[EACH];
        float t_sofar = __int_as_float(0xff800000);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            x[k] = x_ptr[row * columns + column];
            t_sofar = Largest()(t_sofar, x[k]);
        }
        const float t = row_fold<Largest, float>(t_sofar, __int_as_float(0xff800000));
        float t_2_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const float t_1 = x[k] - t;
            e[k] = expf(t_1);
            t_2_sofar = Sum()(t_2_sofar, e[k]);
        }
        const float t_2 = row_fold<Sum, float>(t_2_sofar, 0.0f);
        const Divisor t_2_divides = divisor(t_2);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const float t_3 = quotient(e[k], t_2_divides);
            t_3_ptr[row * columns + column] = t_3;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) softmax_t_by4(
    const float* __restrict__ x_ptr, float* __restrict__ t_3_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float x[EACH];
        float e[EACH];
        float t_sofar = __int_as_float(0xff800000);
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto x_pack = *reinterpret_cast<const Pack<float>*>(x_ptr + row * columns + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                x[k] = x_pack.at[lane];
                t_sofar = Largest()(t_sofar, x[k]);
            }
        }
        const float t = row_fold<Largest, float>(t_sofar, __int_as_float(0xff800000));
        float t_2_sofar = 0.0f;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                const float t_1 = x[k] - t;
                e[k] = expf(t_1);
                t_2_sofar = Sum()(t_2_sofar, e[k]);
            }
        }
        const float t_2 = row_fold<Sum, float>(t_2_sofar, 0.0f);
        const Divisor t_2_divides = divisor(t_2);
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            Pack<float> t_3_out_pack;
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                const float t_3 = quotient(e[k], t_2_divides);
                t_3_out_pack.at[lane] = t_3;
            }
            *reinterpret_cast<Pack<float>*>(t_3_ptr + row * columns + first) = t_3_out_pack;
        }
    }
}
