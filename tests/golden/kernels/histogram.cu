// np.add.at(counts, (x * 256).astype(np.int64) % 256, 1)
typedef int index_t;

template <class T> __device__ inline void add_at(T* x, T y) { atomicAdd(x, y); }
__device__ inline void add_at(long long* x, long long y) {
    atomicAdd((unsigned long long*)x, (unsigned long long)y);
}

// Shared memory adds words of 32 bits: of a longer integer's lower half
// the carry goes to the upper one.
template <class T> __device__ inline void add_in_block(T* x, T y) { atomicAdd(x, y); }
__device__ inline void add_in_block(unsigned long long* x, unsigned long long y) {
    unsigned int* const half = (unsigned int*)x;
    const unsigned int low = (unsigned int)y, sum = atomicAdd(half, low) + low;
    const unsigned int high = (unsigned int)(y >> 32) + (sum < low);
    if (high != 0) atomicAdd(half + 1, high);
}
__device__ inline void add_in_block(long long* x, long long y) {
    add_in_block((unsigned long long*)x, (unsigned long long)y);
}

extern "C" __global__ void histogram_counts(
    const float* __restrict__ x_ptr, long long* __restrict__ counts_ptr, float count, index_t slots,
    index_t positions
) {
    // Each block has sums of its own, and adds them to the others' at its end.
    extern __shared__ __align__(16) unsigned char memory[];
    long long* const block_sums = reinterpret_cast<long long*>(memory);
    for (int k = threadIdx.x; k < slots; k += blockDim.x) block_sums[k] = 0;
    __syncthreads();
    const index_t step = (index_t)gridDim.x * blockDim.x;
#pragma unroll 4
    for (index_t position = (index_t)blockIdx.x * blockDim.x + threadIdx.x; position < positions; position += step) {
        const float x = x_ptr[position];
        const float t = x * count;
        const long long t_1 = (long long)t;
        const long long t_2 = t_1 & 255LL;
        add_in_block(block_sums + t_2, 1LL);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < slots; k += blockDim.x)
        if (block_sums[k] != 0) add_at(counts_ptr + k, block_sums[k]);
}
