// u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
// 0.5 * u[1:-1, 1:-1] + 0.125 * around
typedef int index_t;

// i / n of 0 <= i < 2^31, by a multiplier and a shift that the host makes of n.
__device__ inline int whole_quotient(int i, unsigned int multiplier, int shift) {
    return (int)((__umulhi((unsigned int)i, multiplier) + (unsigned int)i) >> shift);
}

extern "C" __global__ void heat_t(
    const float* __restrict__ u_ptr, float* __restrict__ t_4_ptr, unsigned int n_1_multiplier,
    index_t n_1_shift, index_t n_1, index_t u_stride, index_t u_offset, index_t u_offset_1,
    index_t u_offset_2, index_t u_offset_3, index_t u_offset_4, index_t n
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const index_t i_0 = whole_quotient(i, n_1_multiplier, n_1_shift);
        const index_t i_1 = i - i_0 * n_1;
        const float u = u_ptr[i_0 * u_stride + i_1 + u_offset];
        const float t = 0.5f * u;
        const float u_1 = u_ptr[i_0 * u_stride + i_1 + u_offset_1];
        const float u_2 = u_ptr[i_0 * u_stride + i_1 + u_offset_2];
        const float t_1 = u_1 + u_2;
        const float u_3 = u_ptr[i_0 * u_stride + i_1 + u_offset_3];
        const float t_2 = t_1 + u_3;
        const float u_4 = u_ptr[i_0 * u_stride + i_1 + u_offset_4];
        const float around = t_2 + u_4;
        const float t_3 = 0.125f * around;
        const float t_4 = t + t_3;
        t_4_ptr[i] = t_4;
    }
}
