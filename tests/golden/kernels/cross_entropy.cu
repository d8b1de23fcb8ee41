// np.max(logits, axis=1, keepdims=True)
// np.log(np.sum(np.exp(logits - top), axis=1))
typedef int index_t;

// Also where both are infinite.
__device__ inline float exp_against(float x, float top) { return x == top ? 1.0f : expf(x - top); }
__device__ inline double exp_against(double x, double top) { return x == top ? 1.0 : exp(x - top); }
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

extern "C" __global__ void cross_entropy_top(const float* __restrict__ logits_ptr, float* __restrict__ top_ptr, float* __restrict__ t_3_ptr, index_t rows, index_t columns) {
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float top_sofar = __int_as_float(0xff800000);
        float t_2_sofar = 0.0f;
        for (index_t column = threadIdx.x; column < columns; column += blockDim.x) {
            const float logits = logits_ptr[row * columns + column];
            const float top_higher = Largest()(top_sofar, logits);
            t_2_sofar = t_2_sofar * exp_against(top_sofar, top_higher) + exp_against(logits, top_higher);
            top_sofar = top_higher;
        }
        const float top = block_fold<Largest, float>(top_sofar, __int_as_float(0xff800000));
        const float t_2 = block_fold<Sum, float>(t_2_sofar * exp_against(top_sofar, top), 0.0f) + (top - top);
        const float t_3 = logf(t_2);
        if (threadIdx.x == 0) {
            top_ptr[row] = top;
            t_3_ptr[row] = t_3;
        }
    }
}

// np.log(np.sum(np.exp(logits - top), axis=1)) + top[:, 0]
// total - np.sum(logits * targets, axis=1)
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

extern "C" __global__ void cross_entropy_t(const float* __restrict__ t_ptr, const float* __restrict__ top_ptr, const float* __restrict__ logits_ptr, const float* __restrict__ targets_ptr, float* __restrict__ t_3_ptr, index_t rows, index_t columns) {
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const float t = t_ptr[row];
        const float top = top_ptr[row];
        const float total = t + top;
        float t_2_sofar = 0.0f;
        for (index_t column = threadIdx.x; column < columns; column += blockDim.x) {
            const float logits = logits_ptr[row * columns + column];
            const float targets = targets_ptr[row * columns + column];
            const float t_1 = logits * targets;
            t_2_sofar = Sum()(t_2_sofar, t_1);
        }
        const float t_2 = block_fold<Sum, float>(t_2_sofar, 0.0f);
        const float t_3 = total - t_2;
        if (threadIdx.x == 0) {
            t_3_ptr[row] = t_3;
        }
    }
}
