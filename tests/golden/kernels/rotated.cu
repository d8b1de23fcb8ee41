// even * sines + odd * cosines
typedef int index_t;

extern "C" __global__ void rotated_t(
    const float* __restrict__ x_ptr, const float* __restrict__ cosines_ptr,
    const float* __restrict__ sines_ptr, float* __restrict__ t_2_ptr, float* __restrict__ t_5_ptr,
    index_t x_stride, index_t x_offset, index_t t_2_stride, index_t t_5_stride, index_t n
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const float x = x_ptr[i * x_stride];
        const float cosines = cosines_ptr[i];
        const float t = x * cosines;
        const float x_1 = x_ptr[i * x_stride + x_offset];
        const float sines = sines_ptr[i];
        const float t_1 = x_1 * sines;
        const float t_2 = t - t_1;
        const float t_3 = x * sines;
        const float t_4 = x_1 * cosines;
        const float t_5 = t_3 + t_4;
        t_2_ptr[i * t_2_stride] = t_2;
        t_5_ptr[i * t_5_stride] = t_5;
    }
}
