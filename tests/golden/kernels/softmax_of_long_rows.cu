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

// Also where both are infinite.
__device__ inline float exp_against(float x, float top) { return x == top ? 1.0f : expf(x - top); }
__device__ inline double exp_against(double x, double top) { return x == top ? 1.0 : exp(x - top); }

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };
struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

// All threads of the block get the fold of their values: within warps by shuffles, between them through shared memory.
template <class Fold, class T> __device__ T block_fold(T value, T identity) {
    const Fold fold;
    for (int offset = 16; offset > 0; offset >>= 1) value = fold(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (blockDim.x <= 32) return value;
    __shared__ T partial[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = lane < (int)(blockDim.x >> 5) ? partial[lane] : identity;
    for (int offset = 16; offset > 0; offset >>= 1) value = fold(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

extern "C" __global__ void softmax_t(
    const float* __restrict__ x_ptr, float* __restrict__ t_3_ptr, index_t rows, index_t columns
) {
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float t_sofar = __int_as_float(0xff800000);
        float t_2_sofar = 0.0f;
#pragma unroll 4
        for (index_t column = threadIdx.x; column < columns; column += blockDim.x) {
            const float x = x_ptr[row * columns + column];
            const float t_higher = Largest()(t_sofar, x);
            t_2_sofar = t_2_sofar * exp_against(t_sofar, t_higher) + exp_against(x, t_higher);
            t_sofar = t_higher;
        }
        const float t = block_fold<Largest, float>(t_sofar, __int_as_float(0xff800000));
        const float t_2 = block_fold<Sum, float>(t_2_sofar * exp_against(t_sofar, t), 0.0f) + (t - t);
        const Divisor t_2_divides = divisor(t_2);
#pragma unroll 4
        for (index_t column = threadIdx.x; column < columns; column += blockDim.x) {
            const float x = x_ptr[row * columns + column];
            const float t_1 = x - t;
            const float e = expf(t_1);
            const float t_3 = quotient(e, t_2_divides);
            t_3_ptr[row * columns + column] = t_3;
        }
    }
}
