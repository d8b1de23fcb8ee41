// np.cumsum(x, axis=-1) / np.sum(x, axis=-1, keepdims=True)
typedef int index_t;

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
        for (index_t start = 0; start < columns; start += blockDim.x) {
            const bool inside = start + (index_t)threadIdx.x < columns;
            const index_t column = inside ? start + (index_t)threadIdx.x : columns - 1;
            const float x = x_ptr[row * columns + column];
            const float t = block_scan<Sum, float>(inside ? x : (-0.0f), t_sofar);
            const float t_2 = t / t_1;
            if (inside) t_2_ptr[row * columns + column] = t_2;
        }
    }
}
