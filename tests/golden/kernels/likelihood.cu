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

extern "C" __global__ void likelihood_top(const float* __restrict__ logits_ptr, float* __restrict__ top_ptr, float* __restrict__ t_3_ptr, index_t rows, index_t columns) {
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
// total - logits[np.arange(logits.shape[0]), labels]
typedef int index_t;

extern "C" __global__ void likelihood_t(const float* __restrict__ t_ptr, const float* __restrict__ top_ptr, const long long* __restrict__ labels_ptr, const float* __restrict__ t_2_ptr, int* __restrict__ outside_ptr, float* __restrict__ t_3_ptr, index_t t_2_size, index_t t_2_size_1, index_t t_2_stride, index_t n) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const float t = t_ptr[i];
        const float top = top_ptr[i];
        const float total = t + top;
        const long long t_1 = (long long)i;
        const long long labels = labels_ptr[i];
        const long long t_2_at = t_1;
        const long long t_2_at_1 = labels < 0 ? labels + t_2_size_1 : labels;
        const bool t_2_inside = t_2_at_1 >= 0 && t_2_at_1 < t_2_size_1;
        if (!t_2_inside) *outside_ptr = 1;
        const float t_2 = t_2_inside ? t_2_ptr[t_2_at * t_2_stride + t_2_at_1] : 0.0f;
        const float t_3 = total - t_2;
        t_3_ptr[i] = t_3;
    }
}
