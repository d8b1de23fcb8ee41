static long long run(double *const __restrict a_memory, char *const memory) {
    double *const __restrict a = a_memory;
    // line: for _ in range(3)
    for (long long _ = 0; _ < 3; _++) {
        // line: for i in range(1, a.shape[0] - 1)
        for (long long i = 1; i < 6; i++) {
            // line: i - 1
            const long long t = i - 1LL;
            // line: i + 1
            const long long t_1 = i + 1LL;
            // line: for j in range(1, a.shape[1] - 1)
            for (long long j = 1; j < 8; j++) {
                // line: a[i - 1, j]
                const double a_1 = a[t * 9 + j];
                // line: a[i + 1, j]
                const double a_2 = a[t_1 * 9 + j];
                // line: j - 1
                const long long t_2 = j - 1LL;
                // line: a[i, j - 1]
                const double a_3 = a[i * 9 + t_2];
                // line: j + 1
                const long long t_3 = j + 1LL;
                // line: a[i, j + 1]
                const double a_4 = a[i * 9 + t_3];
                // line: a[i - 1, j] + a[i + 1, j]
                const double t_4 = a_1 + a_2;
                // line: a[i - 1, j] + a[i + 1, j] + a[i, j - 1]
                const double t_5 = t_4 + a_3;
                // line: a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
                const double t_6 = t_5 + a_4;
                // line: (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25
                const double t_7 = t_6 * 0.25;
                // line: a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25
                a[i * 9 + j] = t_7;
            }
        }
    }
    return 0;
}
}
