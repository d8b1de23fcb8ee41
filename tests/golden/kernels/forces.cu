// places[:, None] - places
// np.sum(d * d, axis=2) + 1e-3
// np.sum(d * (masses / (square * np.sqrt(square)))[..., None], axis=1)
typedef int index_t;

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };

template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Pack { T at[4]; };

// All threads of a row get the fold of their values: within warps by shuffles, between them through shared memory.
// Several short rows share a warp, and may leave it one after the other.
template <class Fold, class T> __device__ T row_fold(T value, T identity) {
    const Fold fold;
    const unsigned others = threadIdx.x % 32 / THREADS * THREADS;  // lanes with rows before this one
    const unsigned lanes = THREADS < 32 ? ((1u << THREADS % 32) - 1) << others : 0xffffffffu;
    for (int offset = (THREADS < 32 ? THREADS : 32) / 2; offset > 0; offset >>= 1)
        value = fold(value, __shfl_xor_sync(lanes, value, offset));
    if (THREADS <= 32) return value;
    __shared__ T partial[(THREADS + 31) / 32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = lane < THREADS / 32 ? partial[lane] : identity;
    for (int offset = 16; offset > 0; offset >>= 1) value = fold(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK) forces_t(
    const float* __restrict__ places_ptr, const float* __restrict__ masses_ptr, float* __restrict__ t_10_ptr,
    float* __restrict__ t_12_ptr, float* __restrict__ t_14_ptr, index_t places_stride, index_t places_offset,
    index_t places_offset_1, index_t places_stride_1, index_t t_10_stride, index_t t_12_stride,
    index_t t_14_stride, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        const float places = places_ptr[row * places_stride];
        const float places_2 = places_ptr[row * places_stride + places_offset];
        const float places_4 = places_ptr[row * places_stride + places_offset_1];
        float t_10_sofar = 0.0f;
        float t_12_sofar = 0.0f;
        float t_14_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const float places_1 = places_ptr[column * places_stride_1];
            const float d = places - places_1;
            const float masses = masses_ptr[column];
            const float t = d * d;
            const float places_3 = places_ptr[column * places_stride_1 + places_offset];
            const float d_1 = places_2 - places_3;
            const float t_1 = d_1 * d_1;
            const float t_2 = t + t_1;
            const float places_5 = places_ptr[column * places_stride_1 + places_offset_1];
            const float d_2 = places_4 - places_5;
            const float t_3 = d_2 * d_2;
            const float t_4 = t_2 + t_3;
            const float t_5 = t_4 + 0.0f;
            const float square = t_5 + 0.001f;
            const float t_6 = sqrtf(square);
            const float t_7 = square * t_6;
            const float t_8 = masses / t_7;
            const float t_9 = d * t_8;
            const float t_11 = d_1 * t_8;
            const float t_13 = d_2 * t_8;
            t_10_sofar = Sum()(t_10_sofar, t_9);
            t_12_sofar = Sum()(t_12_sofar, t_11);
            t_14_sofar = Sum()(t_14_sofar, t_13);
        }
        const float t_10 = row_fold<Sum, float>(t_10_sofar, 0.0f);
        const float t_12 = row_fold<Sum, float>(t_12_sofar, 0.0f);
        const float t_14 = row_fold<Sum, float>(t_14_sofar, 0.0f);
        if (thread == 0) {
            t_10_ptr[row * t_10_stride] = t_10;
            t_12_ptr[row * t_12_stride] = t_12;
            t_14_ptr[row * t_14_stride] = t_14;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) forces_t_by4(
    const float* __restrict__ places_ptr, const float* __restrict__ masses_ptr, float* __restrict__ t_10_ptr,
    float* __restrict__ t_12_ptr, float* __restrict__ t_14_ptr, index_t places_stride, index_t places_offset,
    index_t places_offset_1, index_t places_stride_1, index_t t_10_stride, index_t t_12_stride,
    index_t t_14_stride, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        const float places = places_ptr[row * places_stride];
        const float places_2 = places_ptr[row * places_stride + places_offset];
        const float places_4 = places_ptr[row * places_stride + places_offset_1];
        float t_10_sofar = 0.0f;
        float t_12_sofar = 0.0f;
        float t_14_sofar = 0.0f;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto masses_pack = *reinterpret_cast<const Pack<float>*>(masses_ptr + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const index_t column = first + lane;
                const float places_1 = places_ptr[column * places_stride_1];
                const float d = places - places_1;
                const float masses = masses_pack.at[lane];
                const float t = d * d;
                const float places_3 = places_ptr[column * places_stride_1 + places_offset];
                const float d_1 = places_2 - places_3;
                const float t_1 = d_1 * d_1;
                const float t_2 = t + t_1;
                const float places_5 = places_ptr[column * places_stride_1 + places_offset_1];
                const float d_2 = places_4 - places_5;
                const float t_3 = d_2 * d_2;
                const float t_4 = t_2 + t_3;
                const float t_5 = t_4 + 0.0f;
                const float square = t_5 + 0.001f;
                const float t_6 = sqrtf(square);
                const float t_7 = square * t_6;
                const float t_8 = masses / t_7;
                const float t_9 = d * t_8;
                const float t_11 = d_1 * t_8;
                const float t_13 = d_2 * t_8;
                t_10_sofar = Sum()(t_10_sofar, t_9);
                t_12_sofar = Sum()(t_12_sofar, t_11);
                t_14_sofar = Sum()(t_14_sofar, t_13);
            }
        }
        const float t_10 = row_fold<Sum, float>(t_10_sofar, 0.0f);
        const float t_12 = row_fold<Sum, float>(t_12_sofar, 0.0f);
        const float t_14 = row_fold<Sum, float>(t_14_sofar, 0.0f);
        if (thread == 0) {
            t_10_ptr[row * t_10_stride] = t_10;
            t_12_ptr[row * t_12_stride] = t_12;
            t_14_ptr[row * t_14_stride] = t_14;
        }
    }
}
