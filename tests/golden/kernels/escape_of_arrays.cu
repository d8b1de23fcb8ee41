// for _ in range(turns)
// a * a + b * b <= 4
// np.where(inside, 2 * a * b + y[:, None], b)
// n += inside

__device__ inline int wrapping_add(int x, int y) { return (int)((unsigned int)x + (unsigned int)y); }
__device__ inline long long wrapping_add(long long x, long long y) {
    return (long long)((unsigned long long)x + (unsigned long long)y);
}


extern "C" __global__ void escape_of_arrays_n(
    int *__restrict__ n_1, const float *__restrict__ x, const float *__restrict__ t, const long long turns,
    const long long lanes
) {
    const long long lane = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= lanes) return;
    // for _ in range(turns)
    const long long t_1 = lane % 700LL;
    const float x_1 = x[t_1];
    const long long t_2 = lane / 700LL;
    const float t_3 = t[t_2];
    float a = 0.0f;
    float b = 0.0f;
    int n_2 = 0;
    for (long long _ = 0; _ < turns; _++) {
        // a * a + b * b <= 4
        const float t_4 = a * a;
        const float t_5 = b * b;
        const float t_6 = t_4 + t_5;
        const bool inside_1 = t_6 <= 4.0f;
        // np.where(inside, 2 * a * b + y[:, None], b)
        const float t_7 = t_4 - t_5;
        const float t_8 = t_7 + x_1;
        const float a_1 = inside_1 ? t_8 : a;
        const float t_9 = 2.0f * a;
        const float t_10 = t_9 * b;
        const float t_11 = t_10 + t_3;
        const float b_1 = inside_1 ? t_11 : b;
        // n += inside
        const int n_3 = wrapping_add(n_2, (int)inside_1);
        a = a_1;
        b = b_1;
        n_2 = n_3;
    }
    // for _ in range(turns)
    n_1[lane] = n_2;
}
