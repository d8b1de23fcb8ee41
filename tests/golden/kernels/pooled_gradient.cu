// np.maximum(x, 0)
// windows.max(axis=(2, 4))
typedef int index_t;

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };
struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

// Lanes have rows that lie beside each other, warps have parts of them: all get the fold of their rows.
template <class Fold, class T> __device__ T row_fold(T value) {
    const Fold fold;
    __shared__ T partial[BLOCK];
    const int lane = threadIdx.x % 32;
    __syncthreads();
    partial[threadIdx.x] = value;
    __syncthreads();
    value = partial[lane];
    for (int warp = 1; warp < THREADS; warp++) value = fold(value, partial[lane + 32 * warp]);
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK) pooled_grad_d_x(
    const float* __restrict__ weights_ptr, const float* __restrict__ t_ptr, float* __restrict__ d_x_ptr,
    index_t rows_1, index_t columns_1, index_t t_stride, index_t t_stride_1, index_t t_stride_2,
    index_t d_x_stride, index_t d_x_stride_1, index_t d_x_stride_2, index_t rows, index_t columns
) {
    const int thread = threadIdx.x / 32;
    const index_t step = 32 * (index_t)gridDim.x;
    for (index_t first_row = 32 * (index_t)blockIdx.x; first_row < rows; first_row += step) {
        // The last rows have lanes without a row, which go along.
        const bool inside = first_row + threadIdx.x % 32 < rows;
        const index_t row = inside ? first_row + threadIdx.x % 32 : rows - 1;
        const index_t row_1 = row % rows_1;
        const index_t row_0 = row / rows_1;
        float t[EACH];
        float windows[EACH];
        bool t_3[EACH];
        const float weights = weights_ptr[row];
        float t_2_sofar = __int_as_float(0xff800000);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (!inside || column >= columns) continue;
            const index_t column_1 = column % columns_1;
            const index_t column_0 = column / columns_1;
            t[k] = t_ptr[row_0 * t_stride + row_1 * t_stride_1 + column_0 * t_stride_2 + column_1];
            windows[k] = t[k] > 0.0f || t[k] != t[k] ? t[k] : 0.0f;
            t_2_sofar = Largest()(t_2_sofar, windows[k]);
        }
        const float t_2 = row_fold<Largest, float>(t_2_sofar);
        float t_5_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (!inside || column >= columns) continue;
            const index_t column_1 = column % columns_1;
            const index_t column_0 = column / columns_1;
            t_3[k] = windows[k] == t_2;
            const float t_4 = (float)(t_3[k]);
            t_5_sofar = Sum()(t_5_sofar, t_4);
        }
        const float t_5 = row_fold<Sum, float>(t_5_sofar);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (!inside || column >= columns) continue;
            const index_t column_1 = column % columns_1;
            const index_t column_0 = column / columns_1;
            const bool t_1 = t[k] > 0.0f;
            const float t_6 = (float)(t_3[k]) / t_5;
            const float d_windows = weights * t_6;
            const bool t_7 = t[k] == 0.0f;
            const float t_8 = 0.5f * d_windows;
            const float t_9 = t_7 ? t_8 : 0.0f;
            const float d_x = t_1 ? d_windows : t_9;
            d_x_ptr[row_0 * d_x_stride + row_1 * d_x_stride_1 + column_0 * d_x_stride_2 + column_1] = d_x;
        }
    }
}
