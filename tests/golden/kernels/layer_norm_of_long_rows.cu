// np.mean(x, axis=-1, keepdims=True)
// np.var(x, axis=-1, keepdims=True)
// (x - mean) / np.sqrt(variance + 1e-5) * gain + bias
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

extern "C" __global__ void layer_norm_t(
    const float* __restrict__ x_ptr, const float* __restrict__ gain_ptr, const float* __restrict__ bias_ptr,
    float* __restrict__ t_8_ptr, float count, index_t rows, index_t columns
) {
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float x_count = 0.0f;
        float x_mean = 0.0f;
        float x_squares = 0.0f;
        float t_sofar = 0.0f;
#pragma unroll 4
        for (index_t column = threadIdx.x; column < columns; column += blockDim.x) {
            const float x = x_ptr[row * columns + column];
            x_count += 1;
            const float x_off = x - x_mean;
            x_mean += x_off * (1 / x_count);
            x_squares += x_off * (x - x_mean);
            t_sofar = Sum()(t_sofar, x);
        }
        const float t = block_fold<Sum, float>(t_sofar, 0.0f);
        const float x_middle = block_fold<Sum, float>(x_count * x_mean, 0.0f) / columns;
        const float x_around = block_fold<Sum, float>(x_squares + x_count * (x_mean - x_middle) * (x_mean - x_middle), 0.0f);
        const float mean = t / count;
        const float t_3 = x_around + columns * (x_middle - mean) * (x_middle - mean);
        const float variance = t_3 / count;
        const float t_4 = variance + 1e-05f;
        const float t_5 = sqrtf(t_4);
        const Divisor t_5_divides = divisor(t_5);
#pragma unroll 4
        for (index_t column = threadIdx.x; column < columns; column += blockDim.x) {
            const float x = x_ptr[row * columns + column];
            const float t_1 = x - mean;
            const float t_6 = quotient(t_1, t_5_divides);
            const float gain = gain_ptr[column];
            const float t_7 = t_6 * gain;
            const float bias = bias_ptr[column];
            const float t_8 = t_7 + bias;
            t_8_ptr[row * columns + column] = t_8;
        }
    }
}
