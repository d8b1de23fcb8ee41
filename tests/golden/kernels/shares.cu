// np.cumsum(x, axis=-1) / np.sum(x, axis=-1, keepdims=True)
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

// Each thread gets the fold of `sofar`, the values of the threads before it and its own; `sofar` that of all of them.
template <class Fold, class T> __device__ T block_scan(T value, T& sofar) {
    const Fold fold;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int offset = 1; offset < 32; offset <<= 1) {
        const T before = __shfl_up_sync(0xffffffffu, value, offset);
        if (lane >= offset) value = fold(before, value);
    }
    __shared__ T totals[32];
    __syncthreads();
    if (lane == 31) totals[warp] = value;
    __syncthreads();
    T before = sofar;
    for (int k = 0; k < (int)(blockDim.x >> 5); k++) {
        if (k == warp) before = sofar;
        sofar = fold(sofar, totals[k]);
    }
    return fold(before, value);
}

extern "C" __global__ void shares_t(
    const float* __restrict__ x_ptr, float* __restrict__ t_2_ptr, index_t rows, index_t columns
) {
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float t_1_sofar = 0.0f;
#pragma unroll 4
        for (index_t column = threadIdx.x; column < columns; column += blockDim.x) {
            const float x = x_ptr[row * columns + column];
            t_1_sofar = Sum()(t_1_sofar, x);
        }
        const float t_1 = block_fold<Sum, float>(t_1_sofar, 0.0f);
        float t_sofar = (-0.0f);
        const Divisor t_1_divides = divisor(t_1);
        for (index_t start = 0; start < columns; start += blockDim.x) {
            const bool inside = start + (index_t)threadIdx.x < columns;
            const index_t column = inside ? start + (index_t)threadIdx.x : columns - 1;
            const float x = x_ptr[row * columns + column];
            const float t = block_scan<Sum, float>(inside ? x : (-0.0f), t_sofar);
            const float t_2 = quotient(t, t_1_divides);
            if (inside) t_2_ptr[row * columns + column] = t_2;
        }
    }
}
