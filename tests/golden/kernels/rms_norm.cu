// x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6) * gain
typedef int index_t;

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };
struct Product { template <class T> __device__ T operator()(T a, T b) const { return a * b; } };
struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };
struct Smallest { template <class T> __device__ T operator()(T a, T b) const { return a < b || a != a ? a : b; } };

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

extern "C" __global__ void rms_norm_t(const float* __restrict__ x_ptr, const float* __restrict__ gain_ptr, float* __restrict__ t_6_ptr, float count, index_t rows, index_t columns) {
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float t_1_sofar = 0.0f;
        for (index_t column = threadIdx.x; column < columns; column += blockDim.x) {
            const float x = x_ptr[row * columns + column];
            const float t = x * x;
            t_1_sofar = Sum()(t_1_sofar, t);
        }
        const float t_1 = block_fold<Sum, float>(t_1_sofar, 0.0f);
        const float t_2 = t_1 / count;
        const float t_3 = t_2 + 1e-06f;
        const float t_4 = sqrtf(t_3);
        for (index_t column = threadIdx.x; column < columns; column += blockDim.x) {
            const float x = x_ptr[row * columns + column];
            const float t_5 = x / t_4;
            const float gain = gain_ptr[column];
            const float t_6 = t_5 * gain;
            t_6_ptr[row * columns + column] = t_6;
        }
    }
}
