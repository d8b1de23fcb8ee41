// x.T[::-1] * 2 + y
typedef int index_t;

extern "C" __global__ void turned_t(
    const float* __restrict__ x_ptr, const float* __restrict__ y_ptr, float* __restrict__ t_1_ptr,
    index_t n_1, index_t x_stride, index_t x_stride_1, index_t x_offset, index_t n
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const index_t i_1 = i % n_1;
        const index_t i_0 = i / n_1;
        const float x = x_ptr[i_0 * x_stride + i_1 * x_stride_1 + x_offset];
        const float t = x * 2.0f;
        const float y = y_ptr[i];
        const float t_1 = t + y;
        t_1_ptr[i] = t_1;
    }
}
