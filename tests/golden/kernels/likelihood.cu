// np.max(logits, axis=1, keepdims=True)
// np.log(np.sum(np.exp(logits - top), axis=1)) + top[:, 0]
// total - logits[np.arange(logits.shape[0]), labels]
typedef int index_t;

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

extern "C" __global__ void __launch_bounds__(BLOCK) likelihood_t(
    const long long* __restrict__ labels_ptr, const float* __restrict__ t_5_ptr,
    int* __restrict__ outside_ptr, float* __restrict__ t_6_ptr, index_t t_5_size, index_t t_5_stride,
    index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float logits[EACH];
        const long long t_4 = (long long)row;
        const long long labels = labels_ptr[row];
        const long long t_5_at = labels < 0 ? labels + t_5_size : labels;
        const bool t_5_inside = t_5_at >= 0 && t_5_at < t_5_size;
        if (!t_5_inside) *outside_ptr = 1;
        const float t_5 = t_5_inside ? t_5_ptr[t_4 * t_5_stride + t_5_at] : 0.0f;
        float top_sofar = __int_as_float(0xff800000);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            logits[k] = t_5_ptr[row * columns + column];
            top_sofar = Largest()(top_sofar, logits[k]);
        }
        const float top = row_fold<Largest, float>(top_sofar, __int_as_float(0xff800000));
        float t_2_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const float t = logits[k] - top;
            const float t_1 = expf(t);
            t_2_sofar = Sum()(t_2_sofar, t_1);
        }
        const float t_2 = row_fold<Sum, float>(t_2_sofar, 0.0f);
        const float t_3 = logf(t_2);
        const float total = t_3 + top;
        const float t_6 = total - t_5;
        if (thread == 0) {
            t_6_ptr[row] = t_6;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) likelihood_t_by4(
    const long long* __restrict__ labels_ptr, const float* __restrict__ t_5_ptr,
    int* __restrict__ outside_ptr, float* __restrict__ t_6_ptr, index_t t_5_size, index_t t_5_stride,
    index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float logits[EACH];
        const long long t_4 = (long long)row;
        const long long labels = labels_ptr[row];
        const long long t_5_at = labels < 0 ? labels + t_5_size : labels;
        const bool t_5_inside = t_5_at >= 0 && t_5_at < t_5_size;
        if (!t_5_inside) *outside_ptr = 1;
        const float t_5 = t_5_inside ? t_5_ptr[t_4 * t_5_stride + t_5_at] : 0.0f;
        float top_sofar = __int_as_float(0xff800000);
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto logits_pack = *reinterpret_cast<const Pack<float>*>(t_5_ptr + row * columns + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                logits[k] = logits_pack.at[lane];
                top_sofar = Largest()(top_sofar, logits[k]);
            }
        }
        const float top = row_fold<Largest, float>(top_sofar, __int_as_float(0xff800000));
        float t_2_sofar = 0.0f;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                const float t = logits[k] - top;
                const float t_1 = expf(t);
                t_2_sofar = Sum()(t_2_sofar, t_1);
            }
        }
        const float t_2 = row_fold<Sum, float>(t_2_sofar, 0.0f);
        const float t_3 = logf(t_2);
        const float total = t_3 + top;
        const float t_6 = total - t_5;
        if (thread == 0) {
            t_6_ptr[row] = t_6;
        }
    }
}
