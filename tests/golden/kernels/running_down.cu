// np.cumsum(x * y, axis=0) * 2 + y
typedef int index_t;

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };

extern "C" __global__ void down_t(
    const float* __restrict__ y_ptr, const float* __restrict__ x_ptr, float* __restrict__ t_3_ptr,
    index_t x_stride, index_t t_3_stride, index_t rows, index_t columns
) {
    const index_t row = (index_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        const float y = y_ptr[row];
        float t_1_sofar = (-0.0f);
#pragma unroll 4
        for (index_t column = 0; column < columns; column++) {
            const float x = x_ptr[row + column * x_stride];
            const float t = x * y;
            t_1_sofar = Sum()(t_1_sofar, t);
            const float t_1 = t_1_sofar;
            const float t_2 = t_1 * 2.0f;
            const float t_3 = t_2 + y;
            t_3_ptr[row + column * t_3_stride] = t_3;
        }
    }
}
