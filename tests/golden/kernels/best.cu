// np.argmax(scores * weight, axis=1)
typedef int index_t;

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };
struct Product { template <class T> __device__ T operator()(T a, T b) const { return a * b; } };
struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };
struct Smallest { template <class T> __device__ T operator()(T a, T b) const { return a < b || a != a ? a : b; } };

// All threads of the block get the fold of their values: within warps by shuffles, between them through shared memory.
template <class Fold, class T> __device__ T block_fold(T value, T identity) {
    const Fold fold;
    for (int offset = 16; offset > 0; offset >>= 1) value = fold(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (blockDim.x <= 32) return value;
    __shared__ T partial[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = lane < (int)(blockDim.x >> 5) ? partial[lane] : identity;
    for (int offset = 16; offset > 0; offset >>= 1) value = fold(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

extern "C" __global__ void best_t(const float* __restrict__ scores_ptr, const float* __restrict__ weight_ptr, long long* __restrict__ t_7_ptr, index_t rows, index_t columns) {
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float t_1_sofar = __int_as_float(0xff800000);
        for (index_t column = threadIdx.x; column < columns; column += blockDim.x) {
            const float scores = scores_ptr[row * columns + column];
            const float weight = weight_ptr[column];
            const float t = scores * weight;
            t_1_sofar = Largest()(t_1_sofar, t);
        }
        const float t_1 = block_fold<Largest, float>(t_1_sofar, __int_as_float(0xff800000));
        long long t_7_sofar = 9223372036854775807LL;
        for (index_t column = threadIdx.x; column < columns; column += blockDim.x) {
            const float scores = scores_ptr[row * columns + column];
            const float weight = weight_ptr[column];
            const float t = scores * weight;
            const bool t_2 = t == t_1;
            const bool t_3 = t != t;
            const bool t_4 = t_2 || t_3;
            const long long t_5 = (long long)column;
            const long long t_6 = t_4 ? t_5 : 9223372036854775807LL;
            t_7_sofar = Smallest()(t_7_sofar, t_6);
        }
        const long long t_7 = block_fold<Smallest, long long>(t_7_sofar, 9223372036854775807LL);
        if (threadIdx.x == 0) {
            t_7_ptr[row] = t_7;
        }
    }
}
