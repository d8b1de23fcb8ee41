static long long run(double *const __restrict a_memory, double *const __restrict b_memory, const long long n, char *const memory) {
    double *a = a_memory;
    double *b = b_memory;
    double *b_1 = (double *)(memory + 0);
    double *b_4 = (double *)(memory + 64);
    double *const __restrict value = (double *)(memory + 128);
    double *const __restrict value_1 = (double *)(memory + 192);
    // line: for k in range(n)
    for (long long k = 0; k < n; k++) {
        // line: np.cumsum(a)
        {
            double b_2 = 0.0;
            for (long long i = 0; i < 6; i++) {
                const double a_1 = a[i];
                b_2 = b_2 + a_1;
                b_1[i] = b_2;
            }
        }
        // line: a[0]
        const double b_3 = b[0];
        // line: b[-1]
        const double b_1_1 = b_1[5];
        // line: a[0] > b[-1]
        const bool t = b_3 > b_1_1;
        if (t) {
            // line: k % 4
            const long long t_1 = remainder_of(k, 4LL);
            // line: b[3]
            const double b_1_2 = b_1[3];
            // line: a[k % 4] = b[3]
            b[t_1] = b_1_2;
            {
                double *const place = b_1;
                double *const place_1 = b_4;
                b_4 = place;
                b_1 = place_1;
            }
        } else {
            // line: a + 1.0
            for (long long i_1 = 0; i_1 < 6; i_1++) {
                const double b_5 = b[i_1];
                const double b_6 = b_5 + 1.0;
                b_4[i_1] = b_6;
            }
        }
        {
            double *const place_2 = b;
            double *const place_3 = b_4;
            double *const place_4 = a;
            a = place_2;
            b = place_3;
            b_4 = place_4;
        }
    }
    __builtin_memcpy(value, a, 6 * sizeof *value);
    __builtin_memcpy(value_1, b, 6 * sizeof *value_1);
    if (value != a_memory) __builtin_memcpy(a_memory, value, 6 * sizeof *a_memory);
    if (value_1 != b_memory) __builtin_memcpy(b_memory, value_1, 6 * sizeof *b_memory);
    return 0;
}
}
