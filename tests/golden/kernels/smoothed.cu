// np.zeros_like(x)
// y[0] = x[0]
typedef int index_t;

extern "C" __global__ void smoothed_y(const float* __restrict__ x_ptr, float* __restrict__ y_ptr, index_t n) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const bool inside_1 = i == 0;
        const float x = x_ptr[0];
        const float y = inside_1 ? x : 0.0f;
        y_ptr[i] = y;
    }
}

// for i in range(1, x.shape[0])
// y[i] = y[i - 1] + rate * (x[i] - y[i - 1])


extern "C" __global__ void smoothed_y(float *__restrict__ y, const float *__restrict__ x, const double rate) {
    // for i in range(1, x.shape[0])
    for (long long i_1 = 1; i_1 < 1000; i_1++) {
        // y[i] = y[i - 1] + rate * (x[i] - y[i - 1])
        const long long t = i_1 - 1LL;
        const float y_1 = y[t];
        const float x_1 = x[i_1];
        const float t_1 = x_1 - y_1;
        const float t_2 = (float)rate * t_1;
        const float t_3 = y_1 + t_2;
        y[i_1] = t_3;
    }
}
