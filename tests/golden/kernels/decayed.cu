// np.cumsum(x * y) - x
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

extern "C" __global__ void decayed_t_parts(
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
            const float t = x * y;
            t_1_sofar = Sum()(t_1_sofar, t);
        }
    }
    t_1_sofar = tile_fold<Sum>(t_1_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) t_1_part_ptr[row * chunks + chunk] = t_1_sofar;
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void decayed_t_parts_by4(
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
                const float t = x * y;
                t_1_sofar = Sum()(t_1_sofar, t);
            }
        }
    }
    t_1_sofar = tile_fold<Sum>(t_1_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) t_1_part_ptr[row * chunks + chunk] = t_1_sofar;
}

// np.cumsum(x * y) - x
typedef int index_t;

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };

template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Pack { T at[4]; };

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

// Each value becomes the fold of `sofar`, the values of the threads before it, and the thread's own up to it; `sofar`
// that of all of them.
template <class Fold, class T> __device__ void block_scan(T (&values)[EACH], T& sofar) {
    const Fold fold;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int k = 1; k < EACH; k++) values[k] = fold(values[k - 1], values[k]);
    T reached = values[EACH - 1];
    for (int offset = 1; offset < 32; offset <<= 1) {
        const T left = __shfl_up_sync(0xffffffffu, reached, offset);
        if (lane >= offset) reached = fold(left, reached);
    }
    __shared__ T totals[32];
    __syncthreads();
    if (lane == 31) totals[warp] = reached;
    __syncthreads();
    T before = sofar;
    for (int k = 0; k < (int)(blockDim.x >> 5); k++) {
        if (k == warp) before = sofar;
        sofar = fold(sofar, totals[k]);
    }
    const T left = __shfl_up_sync(0xffffffffu, reached, 1);
    if (lane > 0) before = fold(before, left);
#pragma unroll
    for (int k = 0; k < EACH; k++) values[k] = fold(before, values[k]);
}

extern "C" __global__ void decayed_t(
    const float* __restrict__ x_ptr, const float* __restrict__ y_ptr, float* __restrict__ t_2_ptr,
    float* __restrict__ t_1_part_ptr, index_t rows, index_t columns, index_t chunks, index_t chunk_length
) {
    // The last chunks first: of what the kernel before this one read, caches may still hold the end.
    const index_t chunk = gridDim.y - 1 - blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float t_1_sofar = (-0.0f);
        for (index_t k = threadIdx.x; k < chunk; k += blockDim.x)
            t_1_sofar = Sum()(t_1_sofar, t_1_part_ptr[row * chunks + k]);
        t_1_sofar = block_fold<Sum, float>(t_1_sofar, (-0.0f));
        for (index_t start = begin; start < end; start += EACH * (index_t)blockDim.x) {
            const index_t first = start + EACH * (index_t)threadIdx.x;
            float x[EACH];
            float t_1_run[EACH];
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                const index_t column = first + k;
                t_1_run[k] = (-0.0f);
                if (column >= end) continue;
                x[k] = x_ptr[column];
                const float y = y_ptr[column];
                const float t = x[k] * y;
                t_1_run[k] = t;
            }
            block_scan<Sum, float>(t_1_run, t_1_sofar);
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                const index_t column = first + k;
                if (column >= end) continue;
                const float t_1 = t_1_run[k];
                const float t_2 = t_1 - x[k];
                t_2_ptr[column] = t_2;
            }
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void decayed_t_by4(
    const float* __restrict__ x_ptr, const float* __restrict__ y_ptr, float* __restrict__ t_2_ptr,
    float* __restrict__ t_1_part_ptr, index_t rows, index_t columns, index_t chunks, index_t chunk_length
) {
    // The last chunks first: of what the kernel before this one read, caches may still hold the end.
    const index_t chunk = gridDim.y - 1 - blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float t_1_sofar = (-0.0f);
        for (index_t k = threadIdx.x; k < chunk; k += blockDim.x)
            t_1_sofar = Sum()(t_1_sofar, t_1_part_ptr[row * chunks + k]);
        t_1_sofar = block_fold<Sum, float>(t_1_sofar, (-0.0f));
        for (index_t start = begin; start < end; start += EACH * (index_t)blockDim.x) {
            const index_t first = start + EACH * (index_t)threadIdx.x;
            float x[EACH];
            float t_1_run[EACH];
            Pack<float> x_pack;
            Pack<float> y_pack;
            if (first < end) {
                x_pack = *reinterpret_cast<const Pack<float>*>(x_ptr + first);
                y_pack = *reinterpret_cast<const Pack<float>*>(y_ptr + first);
            }
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                const index_t column = first + k;
                t_1_run[k] = (-0.0f);
                if (column >= end) continue;
                x[k] = x_pack.at[k];
                const float y = y_pack.at[k];
                const float t = x[k] * y;
                t_1_run[k] = t;
            }
            block_scan<Sum, float>(t_1_run, t_1_sofar);
            Pack<float> t_2_out_pack;
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                const index_t column = first + k;
                if (column >= end) continue;
                const float t_1 = t_1_run[k];
                const float t_2 = t_1 - x[k];
                t_2_out_pack.at[k] = t_2;
            }
            if (first < end) {
                *reinterpret_cast<Pack<float>*>(t_2_ptr + first) = t_2_out_pack;
            }
        }
    }
}
