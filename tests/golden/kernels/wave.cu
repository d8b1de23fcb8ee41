// 2 * u - before
// after[1:-1, 1:-1] += 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
// after[0] = after[-1] = 0
typedef int index_t;

// i / n of 0 <= i < 2^31, by a multiplier and a shift that the host makes of n.
__device__ inline int whole_quotient(int i, unsigned int multiplier, int shift) {
    return (int)((__umulhi((unsigned int)i, multiplier) + (unsigned int)i) >> shift);
}

extern "C" __global__ void wave_after(
    const float* __restrict__ u_ptr, const float* __restrict__ before_1_ptr, float* __restrict__ after_4_ptr,
    unsigned int n_1_multiplier, index_t n_1_shift, index_t n_1, index_t edge, index_t edge_1,
    index_t u_offset, index_t u_offset_1, index_t u_offset_2, index_t u_offset_3, index_t n
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const index_t i_0 = whole_quotient(i, n_1_multiplier, n_1_shift);
        const index_t i_1 = i - i_0 * n_1;
        const bool inside_1 = i_0 == edge;
        const bool inside_2 = i_0 == 0;
        const bool inside_3 = i_0 >= 1 && i_0 < edge && i_1 >= 1 && i_1 < edge_1;
        const float u = inside_3 ? u_ptr[i + u_offset] : 0.0f;
        const float u_1 = inside_3 ? u_ptr[i + u_offset_1] : 0.0f;
        const float t = u + u_1;
        const float u_2 = inside_3 ? u_ptr[i + u_offset_2] : 0.0f;
        const float t_1 = t + u_2;
        const float u_3 = inside_3 ? u_ptr[i + u_offset_3] : 0.0f;
        const float t_2 = t_1 + u_3;
        const float u_4 = u_ptr[i];
        const float t_3 = 4.0f * u_4;
        const float t_4 = t_2 - t_3;
        const float t_5 = 0.25f * t_4;
        const float t_6 = 2.0f * u_4;
        const float before_1 = before_1_ptr[i];
        const float after = t_6 - before_1;
        const float after_1 = after + t_5;
        const float after_2 = inside_3 ? after_1 : after;
        const float after_3 = inside_2 ? 0.0f : after_2;
        const float after_4 = inside_1 ? 0.0f : after_3;
        after_4_ptr[i] = after_4;
    }
}
