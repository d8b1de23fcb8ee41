// out[places] = np.sqrt(y)
typedef int index_t;

extern "C" __global__ void scattered_out_claims(
    const long long* __restrict__ places_ptr, int* __restrict__ outside_ptr, int* __restrict__ last_ptr,
    index_t out_size, index_t positions
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t position = (index_t)blockIdx.x * blockDim.x + threadIdx.x; position < positions; position += step) {
        const long long places = places_ptr[position];
        const long long out_at = places < 0 ? places + out_size : places;
        const bool inside = out_at >= 0 && out_at < out_size;
        if (!inside) *outside_ptr = 1;
        if (inside) atomicMax(last_ptr + (out_at), (int)position + 1);
    }
}

// out[places] = np.sqrt(y)
typedef int index_t;

extern "C" __global__ void scattered_out(
    const long long* __restrict__ places_ptr, int* __restrict__ last_ptr, const float* __restrict__ y_ptr,
    float* __restrict__ out_ptr, index_t out_size, index_t positions
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t position = (index_t)blockIdx.x * blockDim.x + threadIdx.x; position < positions; position += step) {
        const long long places = places_ptr[position];
        const long long out_at = places < 0 ? places + out_size : places;
        const bool inside = out_at >= 0 && out_at < out_size;
        const float y = y_ptr[position];
        const float t = sqrtf(y);
        if (inside && last_ptr[out_at] == position + 1) out_ptr[out_at] = t;
    }
}
