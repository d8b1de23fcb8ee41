// np.exp(x - np.max(x, axis=1, keepdims=True))
// e / np.sum(e, axis=1, keepdims=True)
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
struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

// Lanes have rows that lie beside each other, warps have parts of them: all get the fold of their rows.
template <class Fold, class T> __device__ T row_fold(T value) {
    const Fold fold;
    __shared__ T partial[BLOCK];
    const int lane = threadIdx.x % 32;
    __syncthreads();
    partial[threadIdx.x] = value;
    __syncthreads();
    value = partial[lane];
    for (int warp = 1; warp < THREADS; warp++) value = fold(value, partial[lane + 32 * warp]);
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK) softmax_of_columns_t(
    const float* __restrict__ x_ptr, float* __restrict__ t_3_ptr, index_t rows_1, index_t x_stride,
    index_t t_3_stride, index_t rows, index_t columns
) {
    const int thread = threadIdx.x / 32;
    const index_t step = 32 * (index_t)gridDim.x;
    for (index_t first_row = 32 * (index_t)blockIdx.x; first_row < rows; first_row += step) {
        // The last rows have lanes without a row, which go along.
        const bool inside = first_row + threadIdx.x % 32 < rows;
        const index_t row = inside ? first_row + threadIdx.x % 32 : rows - 1;
        const index_t row_1 = row % rows_1;
        const index_t row_0 = row / rows_1;
        float x[EACH];
        float e[EACH];
        float t_sofar = __int_as_float(0xff800000);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (!inside || column >= columns) continue;
            x[k] = x_ptr[row_0 * rows_1 * columns + row_1 + column * x_stride];
            t_sofar = Largest()(t_sofar, x[k]);
        }
        const float t = row_fold<Largest, float>(t_sofar);
        float t_2_sofar = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (!inside || column >= columns) continue;
            const float t_1 = x[k] - t;
            e[k] = expf(t_1);
            t_2_sofar = Sum()(t_2_sofar, e[k]);
        }
        const float t_2 = row_fold<Sum, float>(t_2_sofar);
        const Divisor t_2_divides = divisor(t_2);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (!inside || column >= columns) continue;
            const float t_3 = quotient(e[k], t_2_divides);
            t_3_ptr[row_0 * rows_1 * columns + row_1 + column * t_3_stride] = t_3;
        }
    }
}
