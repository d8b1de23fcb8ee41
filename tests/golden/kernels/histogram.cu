// np.add.at(counts, (x * 256).astype(np.int64) % 256, 1)
typedef int index_t;

template <class T> __device__ inline void add_at(T* x, T y) { atomicAdd(x, y); }
__device__ inline void add_at(long long* x, long long y) {
    atomicAdd((unsigned long long*)x, (unsigned long long)y);
}
extern "C" __global__ void histogram_counts(const float* __restrict__ x_ptr, int* __restrict__ outside_ptr, long long* __restrict__ counts_ptr, float count, index_t counts_size, index_t positions) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t position = (index_t)blockIdx.x * blockDim.x + threadIdx.x; position < positions; position += step) {
        const float x = x_ptr[position];
        const float t = x * count;
        const long long t_1 = (long long)t;
        const long long t_2 = t_1 / 256LL;
        const long long t_3 = t_2 * 256LL;
        const long long t_4 = t_1 - t_3;
        const bool t_5 = t_4 != 0LL;
        const bool t_6 = t_4 < 0LL;
        const bool t_7 = false != t_6;
        const bool t_8 = t_5 && t_7;
        const long long t_9 = t_4 + 256LL;
        const long long t_10 = t_8 ? t_9 : t_4;
        const long long counts_at = t_10 < 0 ? t_10 + counts_size : t_10;
        const bool inside = counts_at >= 0 && counts_at < counts_size;
        if (!inside) *outside_ptr = 1;
        if (inside) add_at(counts_ptr + (counts_at), 1LL);
    }
}
