// np.add.at(d_table, words, d_y * 8.0)
typedef int index_t;

template <class T> __device__ inline void add_at(T* x, T y) { atomicAdd(x, y); }
__device__ inline void add_at(long long* x, long long y) {
    atomicAdd((unsigned long long*)x, (unsigned long long)y);
}

extern "C" __global__ void embedding_gradient_d_table(
    const long long* __restrict__ words_ptr, int* __restrict__ outside_ptr, const float* __restrict__ d_y_ptr,
    float* __restrict__ d_table_ptr, index_t d_table_size, index_t d_table_stride, index_t positions,
    index_t n
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t k = (index_t)blockIdx.x * blockDim.x + threadIdx.x; k < positions * n; k += step) {
        const index_t position = k / n, i = k % n;
        const long long words = words_ptr[position];
        const long long d_table_at = words < 0 ? words + d_table_size : words;
        const bool inside = d_table_at >= 0 && d_table_at < d_table_size;
        if (!inside) *outside_ptr = 1;
        const float d_y = d_y_ptr[position * n + i];
        const float t = d_y * 8.0f;
        if (inside) add_at(d_table_ptr + i + d_table_at * d_table_stride, t);
    }
}
