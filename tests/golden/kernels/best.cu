// np.argmax(scores * weight, axis=1)
typedef int index_t;

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };
struct Smallest { template <class T> __device__ T operator()(T a, T b) const { return a < b || a != a ? a : b; } };

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

extern "C" __global__ void __launch_bounds__(BLOCK) best_t(
    const float* __restrict__ scores_ptr, const float* __restrict__ weight_ptr,
    long long* __restrict__ t_7_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float t[EACH];
        float t_1_sofar = __int_as_float(0xff800000);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const float scores = scores_ptr[row * columns + column];
            const float weight = weight_ptr[column];
            t[k] = scores * weight;
            t_1_sofar = Largest()(t_1_sofar, t[k]);
        }
        const float t_1 = row_fold<Largest, float>(t_1_sofar, __int_as_float(0xff800000));
        int t_7_sofar = 2147483647;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const bool t_2 = t[k] == t_1;
            const bool t_3 = t[k] != t[k];
            const bool t_4 = t_2 || t_3;
            const int t_5 = column;
            const int t_6 = t_4 ? t_5 : 2147483647;
            t_7_sofar = Smallest()(t_7_sofar, t_6);
        }
        const long long t_7 = (long long)(row_fold<Smallest, int>(t_7_sofar, 2147483647));
        if (thread == 0) {
            t_7_ptr[row] = t_7;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) best_t_by4(
    const float* __restrict__ scores_ptr, const float* __restrict__ weight_ptr,
    long long* __restrict__ t_7_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float t[EACH];
        float t_1_sofar = __int_as_float(0xff800000);
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto scores_pack = *reinterpret_cast<const Pack<float>*>(scores_ptr + row * columns + first);
            const auto weight_pack = *reinterpret_cast<const Pack<float>*>(weight_ptr + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                const float scores = scores_pack.at[lane];
                const float weight = weight_pack.at[lane];
                t[k] = scores * weight;
                t_1_sofar = Largest()(t_1_sofar, t[k]);
            }
        }
        const float t_1 = row_fold<Largest, float>(t_1_sofar, __int_as_float(0xff800000));
        int t_7_sofar = 2147483647;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                const index_t column = first + lane;
                const bool t_2 = t[k] == t_1;
                const bool t_3 = t[k] != t[k];
                const bool t_4 = t_2 || t_3;
                const int t_5 = column;
                const int t_6 = t_4 ? t_5 : 2147483647;
                t_7_sofar = Smallest()(t_7_sofar, t_6);
            }
        }
        const long long t_7 = (long long)(row_fold<Smallest, int>(t_7_sofar, 2147483647));
        if (thread == 0) {
            t_7_ptr[row] = t_7;
        }
    }
}
