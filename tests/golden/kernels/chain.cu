// 0.5 * (x + y)
// np.sin(mixed) - mixed * x
typedef int index_t;

extern "C" __global__ void chain_t(
    const float* __restrict__ x_ptr, const float* __restrict__ y_ptr, float* __restrict__ t_3_ptr, index_t n
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const float x = x_ptr[i];
        const float y = y_ptr[i];
        const float t = x + y;
        const float mixed = 0.5f * t;
        const float t_1 = sinf(mixed);
        const float t_2 = mixed * x;
        const float t_3 = t_1 - t_2;
        t_3_ptr[i] = t_3;
    }
}

// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
template <class T> struct alignas(4 * sizeof(T)) Pack { T at[4]; };

extern "C" __global__ void chain_t_by4(
    const float* __restrict__ x_ptr, const float* __restrict__ y_ptr, float* __restrict__ t_3_ptr, index_t n
) {
    const index_t step = 4 * (index_t)gridDim.x * blockDim.x;
    for (index_t i = 4 * ((index_t)blockIdx.x * blockDim.x + threadIdx.x); i < n; i += step) {
        const auto x_pack = *reinterpret_cast<const Pack<float>*>(x_ptr + i);
        const auto y_pack = *reinterpret_cast<const Pack<float>*>(y_ptr + i);
        Pack<float> t_3_out_pack;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float x = x_pack.at[k];
            const float y = y_pack.at[k];
            const float t = x + y;
            const float mixed = 0.5f * t;
            const float t_1 = sinf(mixed);
            const float t_2 = mixed * x;
            const float t_3 = t_1 - t_2;
            t_3_out_pack.at[k] = t_3;
        }
        *reinterpret_cast<Pack<float>*>(t_3_ptr + i) = t_3_out_pack;
    }
}
