// np.max(x)
// m + np.log(np.sum(np.exp(x - m)))
typedef int index_t;

// Also where both are infinite.
__device__ inline float exp_against(float x, float top) { return x == top ? 1.0f : expf(x - top); }
__device__ inline double exp_against(double x, double top) { return x == top ? 1.0 : exp(x - top); }

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Pack { T at[4]; };

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

// The largest of some numbers, and the sum of exponentials against it. Few numbers are larger than all before them.
template <class T> struct Exponentials {
    T top, total;
    __device__ void add(T x) {
        if (x <= top) {
            total += exp_against(x, top);
        } else {
            const T higher = Largest()(top, x);
            total = total * exp_against(top, higher) + exp_against(x, higher);
            top = higher;
        }
    }
};
struct Rescaled {
    template <class T> __device__ Exponentials<T> operator()(Exponentials<T> a, Exponentials<T> b) const {
        const T top = Largest()(a.top, b.top);
        return {top, a.total * exp_against(a.top, top) + b.total * exp_against(b.top, top)};
    }
};

extern "C" __global__ void log_of_sum_t_parts(
    const float* __restrict__ x_ptr, float* __restrict__ m_part_ptr, float* __restrict__ x_top_ptr,
    float* __restrict__ x_total_ptr, index_t rows, index_t columns, index_t chunks, index_t chunk_length,
    index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    float m_sofar = __int_as_float(0xff800000);
    Exponentials<float> x_top_sofar = {__int_as_float(0xff800000), 0};
    if (row < rows) {
#pragma unroll 4
        for (index_t column = begin + threadIdx.x / row_threads; column < end; column += blockDim.x / row_threads) {
            const float x = x_ptr[column];
            m_sofar = Largest()(m_sofar, x);
            x_top_sofar.add(x);
        }
    }
    m_sofar = tile_fold<Largest>(m_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) m_part_ptr[row * chunks + chunk] = m_sofar;
    x_top_sofar = tile_fold<Rescaled>(x_top_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) {
        x_top_ptr[row * chunks + chunk] = x_top_sofar.top;
        x_total_ptr[row * chunks + chunk] = x_top_sofar.total;
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void log_of_sum_t_parts_by4(
    const float* __restrict__ x_ptr, float* __restrict__ m_part_ptr, float* __restrict__ x_top_ptr,
    float* __restrict__ x_total_ptr, index_t rows, index_t columns, index_t chunks, index_t chunk_length,
    index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    float m_sofar = __int_as_float(0xff800000);
    Exponentials<float> x_top_sofar = {__int_as_float(0xff800000), 0};
    if (row < rows) {
#pragma unroll 4
        for (index_t first = begin + 4 * (index_t)threadIdx.x; first < end; first += 4 * (index_t)blockDim.x) {
            const auto x_pack = *reinterpret_cast<const Pack<float>*>(x_ptr + first);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const index_t column = first + k;
                const float x = x_pack.at[k];
                m_sofar = Largest()(m_sofar, x);
                x_top_sofar.add(x);
            }
        }
    }
    m_sofar = tile_fold<Largest>(m_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) m_part_ptr[row * chunks + chunk] = m_sofar;
    x_top_sofar = tile_fold<Rescaled>(x_top_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) {
        x_top_ptr[row * chunks + chunk] = x_top_sofar.top;
        x_total_ptr[row * chunks + chunk] = x_top_sofar.total;
    }
}

// np.max(x)
// m + np.log(np.sum(np.exp(x - m)))
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

extern "C" __global__ void __launch_bounds__(BLOCK) log_of_sum_t_finish(
    const float* __restrict__ m_part_ptr, const float* __restrict__ x_total_ptr,
    const float* __restrict__ x_top_ptr, float* __restrict__ t_5_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float m_sofar = __int_as_float(0xff800000);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const float m_part = m_part_ptr[column];
            m_sofar = Largest()(m_sofar, m_part);
        }
        const float m = row_fold<Largest, float>(m_sofar, __int_as_float(0xff800000));
        float t_3_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const float x_total = x_total_ptr[column];
            const float x_top = x_top_ptr[column];
            const float t = x_top - m;
            const float t_1 = expf(t);
            const float t_2 = x_total * t_1;
            t_3_sofar = Sum()(t_3_sofar, t_2);
        }
        const float t_3 = row_fold<Sum, float>(t_3_sofar, 0.0f);
        const float t_4 = logf(t_3);
        const float t_5 = m + t_4;
        if (thread == 0) {
            t_5_ptr[0] = t_5;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) log_of_sum_t_finish_by4(
    const float* __restrict__ m_part_ptr, const float* __restrict__ x_total_ptr,
    const float* __restrict__ x_top_ptr, float* __restrict__ t_5_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float m_sofar = __int_as_float(0xff800000);
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto m_part_pack = *reinterpret_cast<const Pack<float>*>(m_part_ptr + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const float m_part = m_part_pack.at[lane];
                m_sofar = Largest()(m_sofar, m_part);
            }
        }
        const float m = row_fold<Largest, float>(m_sofar, __int_as_float(0xff800000));
        float t_3_sofar = 0.0f;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto x_total_pack = *reinterpret_cast<const Pack<float>*>(x_total_ptr + first);
            const auto x_top_pack = *reinterpret_cast<const Pack<float>*>(x_top_ptr + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const float x_total = x_total_pack.at[lane];
                const float x_top = x_top_pack.at[lane];
                const float t = x_top - m;
                const float t_1 = expf(t);
                const float t_2 = x_total * t_1;
                t_3_sofar = Sum()(t_3_sofar, t_2);
            }
        }
        const float t_3 = row_fold<Sum, float>(t_3_sofar, 0.0f);
        const float t_4 = logf(t_3);
        const float t_5 = m + t_4;
        if (thread == 0) {
            t_5_ptr[0] = t_5;
        }
    }
}
