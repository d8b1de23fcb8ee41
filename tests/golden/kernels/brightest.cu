// np.argmax(np.abs(x), axis=0)
typedef int index_t;

// Thread k of the first `row_threads` gets the fold of the values of all threads that work on its row.
template <class Fold, class T> __device__ T tile_fold(T value, int row_threads) {
    const Fold fold;
    __shared__ T partial[256];
    __syncthreads();
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half >= row_threads; half >>= 1) {
        if ((int)threadIdx.x < half) partial[threadIdx.x] = fold(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    return partial[threadIdx.x];
}

// The extreme of some numbers, and where it first stands; -1: of none. A NaN is extreme. Shared memory takes no first
// values.
template <class T, bool LARGEST> struct First {
    T best;
    long long place;
    __device__ bool before(T x) const { return x != x ? best == best : LARGEST ? x > best : x < best; }
    __device__ void add(T x, long long at) {
        if (place < 0 || before(x)) best = x, place = at;
    }
};
struct Earlier {
    template <class First> __device__ First operator()(First a, First b) const {
        if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
        if (a.before(b.best) || b.before(a.best)) return a.before(b.best) ? b : a;
        return a.place < b.place ? a : b;
    }
};

extern "C" __global__ void brightest_t_parts(
    const float* __restrict__ x_ptr, float* __restrict__ t_best_ptr, long long* __restrict__ t_place_ptr,
    index_t x_stride, index_t rows, index_t columns, index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    First<float, true> t_best_sofar = {0, -1};
    if (row < rows) {
#pragma unroll 4
        for (index_t column = begin + threadIdx.x / row_threads; column < end; column += blockDim.x / row_threads) {
            const float x = x_ptr[row + column * x_stride];
            const float t = fabsf(x);
            const long long t_2 = (long long)column;
            t_best_sofar.add(t, t_2);
        }
    }
    t_best_sofar = tile_fold<Earlier>(t_best_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) {
        t_best_ptr[row * chunks + chunk] = t_best_sofar.best;
        t_place_ptr[row * chunks + chunk] = t_best_sofar.place;
    }
}

// np.argmax(np.abs(x), axis=0)
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

extern "C" __global__ void __launch_bounds__(BLOCK) brightest_t_finish(
    const float* __restrict__ t_best_ptr, const long long* __restrict__ t_place_ptr,
    long long* __restrict__ t_5_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float t_best[EACH];
        float t_sofar = __int_as_float(0xff800000);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            t_best[k] = t_best_ptr[row * columns + column];
            t_sofar = Largest()(t_sofar, t_best[k]);
        }
        const float t = row_fold<Largest, float>(t_sofar, __int_as_float(0xff800000));
        long long t_5_sofar = 9223372036854775807LL;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const bool t_1 = t_best[k] == t;
            const bool t_2 = t_best[k] != t_best[k];
            const bool t_3 = t_1 || t_2;
            const long long t_place = t_place_ptr[row * columns + column];
            const long long t_4 = t_3 ? t_place : 9223372036854775807LL;
            t_5_sofar = Smallest()(t_5_sofar, t_4);
        }
        const long long t_5 = row_fold<Smallest, long long>(t_5_sofar, 9223372036854775807LL);
        if (thread == 0) {
            t_5_ptr[row] = t_5;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) brightest_t_finish_by4(
    const float* __restrict__ t_best_ptr, const long long* __restrict__ t_place_ptr,
    long long* __restrict__ t_5_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float t_best[EACH];
        float t_sofar = __int_as_float(0xff800000);
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto t_best_pack = *reinterpret_cast<const Pack<float>*>(t_best_ptr + row * columns + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                t_best[k] = t_best_pack.at[lane];
                t_sofar = Largest()(t_sofar, t_best[k]);
            }
        }
        const float t = row_fold<Largest, float>(t_sofar, __int_as_float(0xff800000));
        long long t_5_sofar = 9223372036854775807LL;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto t_place_pack = *reinterpret_cast<const Pack<long long>*>(t_place_ptr + row * columns + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                const bool t_1 = t_best[k] == t;
                const bool t_2 = t_best[k] != t_best[k];
                const bool t_3 = t_1 || t_2;
                const long long t_place = t_place_pack.at[lane];
                const long long t_4 = t_3 ? t_place : 9223372036854775807LL;
                t_5_sofar = Smallest()(t_5_sofar, t_4);
            }
        }
        const long long t_5 = row_fold<Smallest, long long>(t_5_sofar, 9223372036854775807LL);
        if (thread == 0) {
            t_5_ptr[row] = t_5;
        }
    }
}
