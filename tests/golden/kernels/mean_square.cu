// x - y
// np.mean(error * error)
typedef int index_t;

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };

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

extern "C" __global__ void mean_square_t_parts(
    const float* __restrict__ x_ptr, const float* __restrict__ y_ptr, float* __restrict__ t_1_part_ptr,
    index_t rows, index_t columns, index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    float t_1_sofar = 0.0f;
    if (row < rows) {
#pragma unroll 4
        for (index_t column = begin + threadIdx.x / row_threads; column < end; column += blockDim.x / row_threads) {
            const float x = x_ptr[column];
            const float y = y_ptr[column];
            const float error = x - y;
            const float t = error * error;
            t_1_sofar = Sum()(t_1_sofar, t);
        }
    }
    t_1_sofar = tile_fold<Sum>(t_1_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) t_1_part_ptr[row * chunks + chunk] = t_1_sofar;
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void mean_square_t_parts_by4(
    const float* __restrict__ x_ptr, const float* __restrict__ y_ptr, float* __restrict__ t_1_part_ptr,
    index_t rows, index_t columns, index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    float t_1_sofar = 0.0f;
    if (row < rows) {
#pragma unroll 4
        for (index_t first = begin + 4 * (index_t)threadIdx.x; first < end; first += 4 * (index_t)blockDim.x) {
            const auto x_pack = *reinterpret_cast<const Pack<float>*>(x_ptr + first);
            const auto y_pack = *reinterpret_cast<const Pack<float>*>(y_ptr + first);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const index_t column = first + k;
                const float x = x_pack.at[k];
                const float y = y_pack.at[k];
                const float error = x - y;
                const float t = error * error;
                t_1_sofar = Sum()(t_1_sofar, t);
            }
        }
    }
    t_1_sofar = tile_fold<Sum>(t_1_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) t_1_part_ptr[row * chunks + chunk] = t_1_sofar;
}

// x - y
// np.mean(error * error)
typedef int index_t;

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };

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

extern "C" __global__ void __launch_bounds__(BLOCK) mean_square_t_finish(
    const float* __restrict__ t_part_ptr, float* __restrict__ t_1_ptr, float count, index_t rows,
    index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float t_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const float t_part = t_part_ptr[column];
            t_sofar = Sum()(t_sofar, t_part);
        }
        const float t = row_fold<Sum, float>(t_sofar, 0.0f);
        const float t_1 = t / count;
        if (thread == 0) {
            t_1_ptr[0] = t_1;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) mean_square_t_finish_by4(
    const float* __restrict__ t_part_ptr, float* __restrict__ t_1_ptr, float count, index_t rows,
    index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float t_sofar = 0.0f;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto t_part_pack = *reinterpret_cast<const Pack<float>*>(t_part_ptr + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const float t_part = t_part_pack.at[lane];
                t_sofar = Sum()(t_sofar, t_part);
            }
        }
        const float t = row_fold<Sum, float>(t_sofar, 0.0f);
        const float t_1 = t / count;
        if (thread == 0) {
            t_1_ptr[0] = t_1;
        }
    }
}
