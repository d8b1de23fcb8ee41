// np.mean(x, axis=-1, keepdims=True)
// np.var(x, axis=-1, keepdims=True)
// np.sqrt(variance + 1e-5)
typedef int index_t;

// x / y of many x: the product with 1 / y, and what that lacks of the quotient,
// where neither 1 / y nor that is subnormal: of quotients below `least`, which may be infinite, it may be.
struct Divisor { float y, inverse, least; };
__device__ inline Divisor divisor(float y) {
    const float inverse = 1 / y, size = fabsf(inverse), infinite = __int_as_float(0x7f800000);
    return {y, inverse, size >= 1.17549435e-38f ? fmaxf(size * 7.888609e-31f, 2.3509887e-38f) : infinite};
}
__device__ __attribute__((noinline)) float divided(float x, float y) { return x / y; }
__device__ inline float quotient(float x, Divisor by) {
    const float product = x * by.inverse;
    const float z = fmaf(-fmaf(product, by.y, -x), by.inverse, product);
    if (fabsf(z) >= by.least) return z;
    return x == 0 && product == 0 ? product : divided(x, by.y);
}

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

extern "C" __global__ void __launch_bounds__(BLOCK) normalised_grad_d_x(
    const float* __restrict__ x_ptr, const float* __restrict__ d_y_ptr, const float* __restrict__ gain_ptr,
    float* __restrict__ d_x_ptr, float* __restrict__ t_1_ptr, float* __restrict__ t_4_ptr, float count,
    index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float t[EACH];
        float x[EACH];
        float t_2[EACH];
        float t_17[EACH];
        float t_1_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            x[k] = x_ptr[row * columns + column];
            t_1_sofar = Sum()(t_1_sofar, x[k]);
        }
        const float t_1 = row_fold<Sum, float>(t_1_sofar, 0.0f);
        const float mean = t_1 / count;
        float t_4_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            t_2[k] = x[k] - mean;
            const float t_3 = t_2[k] * t_2[k];
            t_4_sofar = Sum()(t_4_sofar, t_3);
        }
        const float t_4 = row_fold<Sum, float>(t_4_sofar, 0.0f);
        const float variance = t_4 / count;
        const float t_5 = variance + 1e-05f;
        const float t_6 = sqrtf(t_5);
        const float t_12 = 0.5f / t_6;
        const Divisor t_6_divides = divisor(t_6);
        float t_10_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const float d_y = d_y_ptr[row * columns + column];
            const float gain = gain_ptr[column];
            t[k] = d_y * gain;
            const float t_8 = quotient(t_2[k], t_6_divides);
            const float t_9 = t[k] * t_8;
            t_10_sofar = Sum()(t_10_sofar, t_9);
        }
        const float t_10 = row_fold<Sum, float>(t_10_sofar, 0.0f);
        const float t_11 = t_10 / t_6;
        const float t_13 = t_11 * t_12;
        const float t_14 = t_13 / count;
        float t_18_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const float t_7 = quotient(t[k], t_6_divides);
            const float t_15 = 2.0f * t_2[k];
            const float t_16 = t_14 * t_15;
            t_17[k] = t_7 - t_16;
            t_18_sofar = Sum()(t_18_sofar, t_17[k]);
        }
        const float t_18 = row_fold<Sum, float>(t_18_sofar, 0.0f);
        const float t_19 = t_18 / count;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const float d_x = t_17[k] - t_19;
            d_x_ptr[row * columns + column] = d_x;
        }
        if (thread == 0) {
            t_1_ptr[row] = t_1;
            t_4_ptr[row] = t_4;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) normalised_grad_d_x_by4(
    const float* __restrict__ x_ptr, const float* __restrict__ d_y_ptr, const float* __restrict__ gain_ptr,
    float* __restrict__ d_x_ptr, float* __restrict__ t_1_ptr, float* __restrict__ t_4_ptr, float count,
    index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float t[EACH];
        float x[EACH];
        float t_2[EACH];
        float t_17[EACH];
        float t_1_sofar = 0.0f;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto x_pack = *reinterpret_cast<const Pack<float>*>(x_ptr + row * columns + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                x[k] = x_pack.at[lane];
                t_1_sofar = Sum()(t_1_sofar, x[k]);
            }
        }
        const float t_1 = row_fold<Sum, float>(t_1_sofar, 0.0f);
        const float mean = t_1 / count;
        float t_4_sofar = 0.0f;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                t_2[k] = x[k] - mean;
                const float t_3 = t_2[k] * t_2[k];
                t_4_sofar = Sum()(t_4_sofar, t_3);
            }
        }
        const float t_4 = row_fold<Sum, float>(t_4_sofar, 0.0f);
        const float variance = t_4 / count;
        const float t_5 = variance + 1e-05f;
        const float t_6 = sqrtf(t_5);
        const float t_12 = 0.5f / t_6;
        const Divisor t_6_divides = divisor(t_6);
        float t_10_sofar = 0.0f;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto d_y_pack = *reinterpret_cast<const Pack<float>*>(d_y_ptr + row * columns + first);
            const auto gain_pack = *reinterpret_cast<const Pack<float>*>(gain_ptr + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                const float d_y = d_y_pack.at[lane];
                const float gain = gain_pack.at[lane];
                t[k] = d_y * gain;
                const float t_8 = quotient(t_2[k], t_6_divides);
                const float t_9 = t[k] * t_8;
                t_10_sofar = Sum()(t_10_sofar, t_9);
            }
        }
        const float t_10 = row_fold<Sum, float>(t_10_sofar, 0.0f);
        const float t_11 = t_10 / t_6;
        const float t_13 = t_11 * t_12;
        const float t_14 = t_13 / count;
        float t_18_sofar = 0.0f;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                const float t_7 = quotient(t[k], t_6_divides);
                const float t_15 = 2.0f * t_2[k];
                const float t_16 = t_14 * t_15;
                t_17[k] = t_7 - t_16;
                t_18_sofar = Sum()(t_18_sofar, t_17[k]);
            }
        }
        const float t_18 = row_fold<Sum, float>(t_18_sofar, 0.0f);
        const float t_19 = t_18 / count;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            Pack<float> d_x_out_pack;
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int k = 4 * piece + lane;
                const float d_x = t_17[k] - t_19;
                d_x_out_pack.at[lane] = d_x;
            }
            *reinterpret_cast<Pack<float>*>(d_x_ptr + row * columns + first) = d_x_out_pack;
        }
        if (thread == 0) {
            t_1_ptr[row] = t_1;
            t_4_ptr[row] = t_4;
        }
    }
}

// np.mean(x, axis=-1, keepdims=True)
// np.var(x, axis=-1, keepdims=True)
// (x - mean) / np.sqrt(variance + 1e-5) * gain
typedef int index_t;

// x / y of many x: the product with 1 / y, and what that lacks of the quotient,
// where neither 1 / y nor that is subnormal: of quotients below `least`, which may be infinite, it may be.
struct Divisor { float y, inverse, least; };
__device__ inline Divisor divisor(float y) {
    const float inverse = 1 / y, size = fabsf(inverse), infinite = __int_as_float(0x7f800000);
    return {y, inverse, size >= 1.17549435e-38f ? fmaxf(size * 7.888609e-31f, 2.3509887e-38f) : infinite};
}
__device__ __attribute__((noinline)) float divided(float x, float y) { return x / y; }
__device__ inline float quotient(float x, Divisor by) {
    const float product = x * by.inverse;
    const float z = fmaf(-fmaf(product, by.y, -x), by.inverse, product);
    if (fabsf(z) >= by.least) return z;
    return x == 0 && product == 0 ? product : divided(x, by.y);
}

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };

// Thread k of the first `row_threads` gets the fold of the values of all threads that work on its row.
template <class Fold, class T> __device__ T tile_fold(T value, int row_threads) {
    const Fold fold;
    __shared__ T partial[256];
    __syncthreads();
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half >= row_threads; half >>= 1) {
        if ((int)threadIdx.x < half) partial[threadIdx.x] = fold(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    return partial[threadIdx.x];
}

extern "C" __global__ void normalised_grad_d_bias_parts(
    const float* __restrict__ d_y_ptr, const float* __restrict__ x_ptr, const float* __restrict__ t_ptr,
    const float* __restrict__ t_2_ptr, float* __restrict__ d_bias_part_ptr,
    float* __restrict__ d_gain_part_ptr, float count, index_t d_y_stride, index_t x_stride, index_t rows,
    index_t columns, index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    float d_bias_sofar = 0.0f;
    float d_gain_sofar = 0.0f;
    if (row < rows) {
        const Divisor count_divides = divisor(count);
#pragma unroll 4
        for (index_t column = begin + threadIdx.x / row_threads; column < end; column += blockDim.x / row_threads) {
            const float d_y = d_y_ptr[row + column * d_y_stride];
            const float x = x_ptr[row + column * x_stride];
            const float t = t_ptr[column];
            const float mean = quotient(t, count_divides);
            const float t_1 = x - mean;
            const float t_2 = t_2_ptr[column];
            const float variance = quotient(t_2, count_divides);
            const float t_3 = variance + 1e-05f;
            const float t_4 = sqrtf(t_3);
            const float t_5 = t_1 / t_4;
            const float t_6 = d_y * t_5;
            d_bias_sofar = Sum()(d_bias_sofar, d_y);
            d_gain_sofar = Sum()(d_gain_sofar, t_6);
        }
    }
    d_bias_sofar = tile_fold<Sum>(d_bias_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) d_bias_part_ptr[row * chunks + chunk] = d_bias_sofar;
    d_gain_sofar = tile_fold<Sum>(d_gain_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) d_gain_part_ptr[row * chunks + chunk] = d_gain_sofar;
}

// np.mean(x, axis=-1, keepdims=True)
// np.var(x, axis=-1, keepdims=True)
// (x - mean) / np.sqrt(variance + 1e-5) * gain
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

extern "C" __global__ void __launch_bounds__(BLOCK) normalised_grad_d_bias_finish(
    const float* __restrict__ d_bias_part_ptr, const float* __restrict__ d_gain_part_ptr,
    float* __restrict__ d_bias_ptr, float* __restrict__ d_gain_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float d_bias_sofar = 0.0f;
        float d_gain_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const float d_bias_part = d_bias_part_ptr[row * columns + column];
            const float d_gain_part = d_gain_part_ptr[row * columns + column];
            d_bias_sofar = Sum()(d_bias_sofar, d_bias_part);
            d_gain_sofar = Sum()(d_gain_sofar, d_gain_part);
        }
        const float d_bias = row_fold<Sum, float>(d_bias_sofar, 0.0f);
        const float d_gain = row_fold<Sum, float>(d_gain_sofar, 0.0f);
        if (thread == 0) {
            d_bias_ptr[row] = d_bias;
            d_gain_ptr[row] = d_gain;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) normalised_grad_d_bias_finish_by4(
    const float* __restrict__ d_bias_part_ptr, const float* __restrict__ d_gain_part_ptr,
    float* __restrict__ d_bias_ptr, float* __restrict__ d_gain_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        float d_bias_sofar = 0.0f;
        float d_gain_sofar = 0.0f;
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto d_bias_part_pack = *reinterpret_cast<const Pack<float>*>(d_bias_part_ptr + row * columns + first);
            const auto d_gain_part_pack = *reinterpret_cast<const Pack<float>*>(d_gain_part_ptr + row * columns + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const float d_bias_part = d_bias_part_pack.at[lane];
                const float d_gain_part = d_gain_part_pack.at[lane];
                d_bias_sofar = Sum()(d_bias_sofar, d_bias_part);
                d_gain_sofar = Sum()(d_gain_sofar, d_gain_part);
            }
        }
        const float d_bias = row_fold<Sum, float>(d_bias_sofar, 0.0f);
        const float d_gain = row_fold<Sum, float>(d_gain_sofar, 0.0f);
        if (thread == 0) {
            d_bias_ptr[row] = d_bias;
            d_gain_ptr[row] = d_gain;
        }
    }
}
