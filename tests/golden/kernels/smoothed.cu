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
