// while a * a + b * b <= 4 and n < 1000
// 2 * a * b + y
// n += 1


extern "C" __global__ void escape_batched_batched_n(
    long long *__restrict__ n_1, const float *__restrict__ y, const float *__restrict__ x,
    const long long lanes
) {
    const long long lane = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= lanes) return;
    // while a * a + b * b <= 4 and n < 1000
    const long long outer = lane / 700LL;
    const long long inner = lane % 700LL;
    const float y_1 = y[outer];
    const float x_1 = x[inner];
    float a = 0.0f;
    float b = 0.0f;
    long long n_2 = 0LL;
    for (;;) {
        const float t = a * a;
        const float t_1 = b * b;
        const float t_2 = t + t_1;
        const bool t_3 = t_2 <= 4.0f;
        const bool t_4 = n_2 < 1000LL;
        const bool t_5 = t_3 && t_4;
        if (!t_5) break;
        // a * a - b * b + x
        const float t_6 = a * a;
        const float t_7 = b * b;
        const float t_8 = t_6 - t_7;
        const float a_1 = t_8 + x_1;
        const float t_9 = 2.0f * a;
        const float t_10 = t_9 * b;
        const float b_1 = t_10 + y_1;
        // n += 1
        const long long n_3 = n_2 + 1LL;
        a = a_1;
        b = b_1;
        n_2 = n_3;
    }
    // while a * a + b * b <= 4 and n < 1000
    n_1[lane] = n_2;
}
