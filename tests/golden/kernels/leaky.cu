// x * gain + offset[:, None]
// scaled > 0
// np.where(positive, scaled, slope * scaled)
typedef int index_t;

// i / n of 0 <= i < 2^31, by a multiplier and a shift that the host makes of n.
__device__ inline int whole_quotient(int i, unsigned int multiplier, int shift) {
    return (int)((__umulhi((unsigned int)i, multiplier) + (unsigned int)i) >> shift);
}

extern "C" __global__ void leaky_positive(
    const float* __restrict__ x_ptr, const float* __restrict__ gain_ptr, const float* __restrict__ offset_ptr,
    bool* __restrict__ positive_ptr, float* __restrict__ t_2_ptr, double slope, unsigned int n_1_multiplier,
    index_t n_1_shift, index_t n_1, index_t n
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const index_t i_0 = whole_quotient(i, n_1_multiplier, n_1_shift);
        const index_t i_1 = i - i_0 * n_1;
        const float x = x_ptr[i];
        const float gain = gain_ptr[i_1];
        const float t = x * gain;
        const float offset = offset_ptr[i_0];
        const float scaled = t + offset;
        const bool positive = scaled > 0.0f;
        const float t_1 = (float)slope * scaled;
        const float t_2 = positive ? scaled : t_1;
        positive_ptr[i] = positive;
        t_2_ptr[i] = t_2;
    }
}

// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
template <class T> struct alignas(4 * sizeof(T)) Pack { T at[4]; };

extern "C" __global__ void leaky_positive_by4(
    const float* __restrict__ x_ptr, const float* __restrict__ gain_ptr, const float* __restrict__ offset_ptr,
    bool* __restrict__ positive_ptr, float* __restrict__ t_2_ptr, double slope, unsigned int n_1_multiplier,
    index_t n_1_shift, index_t n_1, index_t n
) {
    const index_t step = 4 * (index_t)gridDim.x * blockDim.x;
    for (index_t i = 4 * ((index_t)blockIdx.x * blockDim.x + threadIdx.x); i < n; i += step) {
        const index_t i_0 = whole_quotient(i, n_1_multiplier, n_1_shift);
        const index_t i_1 = i - i_0 * n_1;
        const auto x_pack = *reinterpret_cast<const Pack<float>*>(x_ptr + i);
        const auto gain_pack = *reinterpret_cast<const Pack<float>*>(gain_ptr + i_1);
        Pack<bool> positive_out_pack;
        Pack<float> t_2_out_pack;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float x = x_pack.at[k];
            const float gain = gain_pack.at[k];
            const float t = x * gain;
            const float offset = offset_ptr[i_0];
            const float scaled = t + offset;
            const bool positive = scaled > 0.0f;
            const float t_1 = (float)slope * scaled;
            const float t_2 = positive ? scaled : t_1;
            positive_out_pack.at[k] = positive;
            t_2_out_pack.at[k] = t_2;
        }
        *reinterpret_cast<Pack<bool>*>(positive_ptr + i) = positive_out_pack;
        *reinterpret_cast<Pack<float>*>(t_2_ptr + i) = t_2_out_pack;
    }
}
