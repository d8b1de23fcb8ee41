// x * gain + offset[:, None]
// scaled > 0
// np.where(positive, scaled, slope * scaled)
typedef int index_t;

extern "C" __global__ void leaky_positive(
    const float* __restrict__ x_ptr, const float* __restrict__ gain_ptr, const float* __restrict__ offset_ptr,
    bool* __restrict__ positive_ptr, float* __restrict__ t_2_ptr, double slope, index_t n_1, index_t n
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const index_t i_1 = i % n_1;
        const index_t i_0 = i / n_1;
        const float x = x_ptr[i];
        const float gain = gain_ptr[i_1];
        const float t = x * gain;
        const float offset = offset_ptr[i_0];
        const float scaled_1 = t + offset;
        const bool positive = scaled_1 > 0.0f;
        const float t_1 = (float)slope * scaled_1;
        const float t_2 = positive ? scaled_1 : t_1;
        positive_ptr[i] = positive;
        t_2_ptr[i] = t_2;
    }
}
