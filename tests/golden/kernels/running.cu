// np.exp(np.cumsum(x * y, axis=1) * 0.1)
typedef int index_t;

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };

template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Pack { T at[4]; };

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

extern "C" __global__ void running_t(
    const float* __restrict__ x_ptr, const float* __restrict__ y_ptr, float* __restrict__ t_3_ptr,
    index_t rows, index_t columns
) {
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float t_1_sofar = (-0.0f);
        for (index_t start = 0; start < columns; start += EACH * (index_t)blockDim.x) {
            const index_t first = start + EACH * (index_t)threadIdx.x;
            float t_1_run[EACH];
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                const index_t column = first + k;
                t_1_run[k] = (-0.0f);
                if (column >= columns) continue;
                const float x = x_ptr[row * columns + column];
                const float y = y_ptr[column];
                const float t = x * y;
                t_1_run[k] = t;
            }
            block_scan<Sum, float>(t_1_run, t_1_sofar);
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                const index_t column = first + k;
                if (column >= columns) continue;
                const float t_1 = t_1_run[k];
                const float t_2 = t_1 * 0.1f;
                const float t_3 = expf(t_2);
                t_3_ptr[row * columns + column] = t_3;
            }
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void running_t_by4(
    const float* __restrict__ x_ptr, const float* __restrict__ y_ptr, float* __restrict__ t_3_ptr,
    index_t rows, index_t columns
) {
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float t_1_sofar = (-0.0f);
        for (index_t start = 0; start < columns; start += EACH * (index_t)blockDim.x) {
            const index_t first = start + EACH * (index_t)threadIdx.x;
            float t_1_run[EACH];
            Pack<float> x_pack;
            Pack<float> y_pack;
            if (first < columns) {
                x_pack = *reinterpret_cast<const Pack<float>*>(x_ptr + row * columns + first);
                y_pack = *reinterpret_cast<const Pack<float>*>(y_ptr + first);
            }
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                const index_t column = first + k;
                t_1_run[k] = (-0.0f);
                if (column >= columns) continue;
                const float x = x_pack.at[k];
                const float y = y_pack.at[k];
                const float t = x * y;
                t_1_run[k] = t;
            }
            block_scan<Sum, float>(t_1_run, t_1_sofar);
            Pack<float> t_3_out_pack;
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                const index_t column = first + k;
                if (column >= columns) continue;
                const float t_1 = t_1_run[k];
                const float t_2 = t_1 * 0.1f;
                const float t_3 = expf(t_2);
                t_3_out_pack.at[k] = t_3;
            }
            if (first < columns) {
                *reinterpret_cast<Pack<float>*>(t_3_ptr + row * columns + first) = t_3_out_pack;
            }
        }
    }
}
