// for _ in range(20)
// np.sin(y) * x


extern "C" __global__ void decaying_grad_y_tape(
    float *__restrict__ y_tape, const float *__restrict__ x, const long long lanes
) {
    const long long lane = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= lanes) return;
    // for _ in range(20)
    const float x_1 = x[lane];
    float y = x_1;
    for (long long _ = 0; _ < 20; _++) {
        y_tape[_ * 1048576 + lane] = y;
        // np.sin(y) * x
        const float t = sinf(y);
        const float y_1 = t * x_1;
        y = y_1;
    }
}

// for _ in range(20)
// np.sin(y)


extern "C" __global__ void decaying_grad_d_x(
    float *__restrict__ d_x, const float *__restrict__ x, const float *__restrict__ y_tape,
    const long long lanes
) {
    const long long lane = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= lanes) return;
    // for _ in range(20)
    const float x_1 = x[lane];
    float d_y = 1.0f;
    float d_x_1 = 0.0f;
    for (long long turn = 0; turn < 20; turn++) {
        const long long _ = 19 - turn;
        const float y_tape_1 = y_tape[_ * 1048576 + lane];
        // np.sin(y) * x
        const float t = sinf(y_tape_1);
        const float t_1 = d_y * x_1;
        const float t_2 = d_y * t;
        const float d_x_2 = d_x_1 + t_2;
        const float t_3 = cosf(y_tape_1);
        const float d_y_1 = t_1 * t_3;
        d_y = d_y_1;
        d_x_1 = d_x_2;
    }
    // for _ in range(20)
    const float d_x_3 = d_x_1 + d_y;
    d_x[lane] = d_x_3;
}
