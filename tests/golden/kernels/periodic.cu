// u + 0.1 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u)
typedef int index_t;

// i / n of 0 <= i < 2^31, by a multiplier and a shift that the host makes of n.
__device__ inline int whole_quotient(int i, unsigned int multiplier, int shift) {
    return (int)((__umulhi((unsigned int)i, multiplier) + (unsigned int)i) >> shift);
}

extern "C" __global__ void periodic_t(
    const float* __restrict__ u_ptr, float* __restrict__ t_10_ptr, unsigned int n_1_multiplier,
    index_t n_1_shift, index_t n_1, index_t u_offset, index_t u_offset_1, index_t edge, index_t u_offset_2,
    index_t u_offset_3, index_t u_offset_4, index_t edge_1, index_t u_offset_5, index_t n
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const index_t i_0 = whole_quotient(i, n_1_multiplier, n_1_shift);
        const index_t i_1 = i - i_0 * n_1;
        const float u = u_ptr[i];
        const bool inside_1 = i_0 >= 1;
        const float u_1 = inside_1 ? u_ptr[i + u_offset] : 0.0f;
        const bool inside_2 = i_0 == 0;
        const float u_2 = inside_2 ? u_ptr[i_1 + u_offset_1] : 0.0f;
        const float t = inside_2 ? u_2 : u_1;
        const bool inside_3 = i_0 == edge;
        const float u_3 = inside_3 ? u_ptr[i_1] : 0.0f;
        const bool inside_4 = i_0 < edge;
        const float u_4 = inside_4 ? u_ptr[i + u_offset_2] : 0.0f;
        const float t_1 = inside_4 ? u_4 : u_3;
        const float t_2 = t + t_1;
        const bool inside_5 = i_1 >= 1;
        const float u_5 = inside_5 ? u_ptr[i + u_offset_3] : 0.0f;
        const bool inside_6 = i_1 == 0;
        const float u_6 = inside_6 ? u_ptr[i_0 * n_1 + u_offset_4] : 0.0f;
        const float t_3 = inside_6 ? u_6 : u_5;
        const float t_4 = t_2 + t_3;
        const bool inside_7 = i_1 == edge_1;
        const float u_7 = inside_7 ? u_ptr[i_0 * n_1] : 0.0f;
        const bool inside_8 = i_1 < edge_1;
        const float u_8 = inside_8 ? u_ptr[i + u_offset_5] : 0.0f;
        const float t_5 = inside_8 ? u_8 : u_7;
        const float t_6 = t_4 + t_5;
        const float t_7 = 4.0f * u;
        const float t_8 = t_6 - t_7;
        const float t_9 = 0.1f * t_8;
        const float t_10 = u + t_9;
        t_10_ptr[i] = t_10;
    }
}
