// np.arange(x.shape[0])
// np.where(i >= j, x, 0)
typedef int index_t;

// i / n of 0 <= i < 2^31, by a multiplier and a shift that the host makes of n.
__device__ inline int whole_quotient(int i, unsigned int multiplier, int shift) {
    return (int)((__umulhi((unsigned int)i, multiplier) + (unsigned int)i) >> shift);
}

extern "C" __global__ void positions_t(
    const float* __restrict__ x_ptr, float* __restrict__ t_3_ptr, unsigned int n_1_multiplier,
    index_t n_1_shift, index_t n_1, index_t n
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const index_t i_0 = whole_quotient(i, n_1_multiplier, n_1_shift);
        const index_t i_1 = i - i_0 * n_1;
        const bool t_2 = i_0 >= i_1;
        const float x = x_ptr[i];
        const float t_3 = t_2 ? x : 0.0f;
        t_3_ptr[i] = t_3;
    }
}
