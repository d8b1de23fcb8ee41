// table[words] * 8.0 + places
typedef int index_t;

// i / n of 0 <= i < 2^31, by a multiplier and a shift that the host makes of n.
__device__ inline int whole_quotient(int i, unsigned int multiplier, int shift) {
    return (int)((__umulhi((unsigned int)i, multiplier) + (unsigned int)i) >> shift);
}

extern "C" __global__ void embedding_t(
    const long long* __restrict__ words_ptr, const float* __restrict__ t_ptr, int* __restrict__ outside_ptr,
    const float* __restrict__ places_ptr, float* __restrict__ t_2_ptr, unsigned int n_1_multiplier,
    index_t n_1_shift, index_t n_1, index_t t_size, index_t t_stride, index_t n
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const index_t i_0 = whole_quotient(i, n_1_multiplier, n_1_shift);
        const index_t i_1 = i - i_0 * n_1;
        const long long words = words_ptr[i_0];
        const long long t_at = words < 0 ? words + t_size : words;
        const bool t_inside = t_at >= 0 && t_at < t_size;
        if (!t_inside) *outside_ptr = 1;
        const float t = t_inside ? t_ptr[i_1 + t_at * t_stride] : 0.0f;
        const float t_1 = t * 8.0f;
        const float places = places_ptr[i];
        const float t_2 = t_1 + places;
        t_2_ptr[i] = t_2;
    }
}
