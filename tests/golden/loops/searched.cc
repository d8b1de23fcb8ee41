static long long run(long long *const __restrict n_result, double *const __restrict s_result, const double limit, const double *const __restrict x, char *const memory) {
    const int begun = shared->interrupts;
    // line: while s < limit
    long long n = *n_result;
    double s = *s_result;
    for (;;) {
        if (__builtin_expect(shared->interrupts != begun, 0)) return INTERRUPTED;
        // line: s < limit
        const bool t = s < limit;
        if (!t) break;
        // line: x[n]
        if (__builtin_expect(n < -30 || n > 29, 0)) return failed(n, 1);
        const long long k = n < 0 ? n + 30 : n;
        const double x_1 = x[k];
        // line: s += x[n]
        const double s_1 = s + x_1;
        // line: n += 1
        const long long n_1 = n + 1LL;
        n = n_1;
        s = s_1;
    }
    *n_result = n;
    *s_result = s;
    return 0;
}
}
