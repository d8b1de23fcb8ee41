// x.T[::-1] * 2 + y
typedef int index_t;

extern "C" __global__ void __launch_bounds__(256) turned_t(
    const float* __restrict__ x_ptr, const float* __restrict__ y_ptr, float* __restrict__ t_1_ptr,
    index_t x_stride, index_t x_stride_1, index_t x_offset, index_t rows, index_t columns
) {
    __shared__ float x_tile[32][33];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const index_t across = (columns + 31) / 32, first_column = blockIdx.x % across * 32;
    const index_t first_row = blockIdx.x / across * 32;
    // Lanes beside each other read neighbours in a column.
#pragma unroll
    for (int k = warp; k < 32; k += 8) {
        const index_t row = first_row + lane, column = first_column + k;
        if (row >= rows || column >= columns) continue;
        x_tile[k][lane] = x_ptr[row * x_stride + column * x_stride_1 + x_offset];
    }
    __syncthreads();
#pragma unroll
    for (int k = warp; k < 32; k += 8) {
        const index_t row = first_row + k, column = first_column + lane;
        if (row >= rows || column >= columns) continue;
        const float x = x_tile[lane][k];
        const float t = x * 2.0f;
        const float y = y_ptr[row * columns + column];
        const float t_1 = t + y;
        t_1_ptr[row * columns + column] = t_1;
    }
}
