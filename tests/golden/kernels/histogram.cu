// np.add.at(counts, (x * 256).astype(np.int64) % 256, 1)
typedef int index_t;

template <class T> __device__ inline void add_at(T* x, T y) { atomicAdd(x, y); }
__device__ inline void add_at(long long* x, long long y) {
    atomicAdd((unsigned long long*)x, (unsigned long long)y);
}
extern "C" __global__ void histogram_counts(
    const float* __restrict__ x_ptr, long long* __restrict__ counts_ptr, float count, index_t positions
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t position = (index_t)blockIdx.x * blockDim.x + threadIdx.x; position < positions; position += step) {
        const float x = x_ptr[position];
        const float t = x * count;
        const long long t_1 = (long long)t;
        const long long t_2 = t_1 & 255LL;
        add_at(counts_ptr + t_2, 1LL);
    }
}
