def thomas_grad(a, b, c, d):
    c = c.copy()
    c[0] /= b[0]
    d = d.copy()
    d[0] /= b[0]
    for i in range(1, 10):
        t = a[i]
        m = b[i] - t * c[i - 1]
        c[i] /= m
        d[i] = (d[i] - t * d[i - 1]) / m
    d_1 = d.copy()
    for i in reversed(range(9)):
        d_1[i] -= c[i] * d_1[i + 1]
    d_d = np.ones_like(d)                             # from line ..: np.sum(d)
    d_c = np.zeros_like(c)                            # from line ..: for i in range(n - 2, -1, -1)
    for i in range(9):
        t1 = d_d[i]
        d_d[i + 1] -= t1 * c[i]                       # from line ..: d[i + 1]
        d_c[i] = -t1 * d_1[i + 1]                     # from line ..: c[i]
    d_a = np.zeros_like(a)                            # from line ..: for i in range(1, n)
    for i in reversed(range(1, 10)):
        t2 = a[i]
        t3 = c[i - 1]
        m = b[i] - t2 * t3
        t4 = d_d[i]
        t5 = t4 / m
        d_d[i - 1] -= t5 * t2                         # from line ..: d[i - 1]
        d_m = t4 * (-d[i] / m) - d_c[i] * (c[i] / m)  # from line ..: c[i] / m
        d_c[i - 1] -= d_m * t2                        # from line ..: c[i - 1]
        d_a[i] = -t5 * d[i - 1] - d_m * t3            # from line ..: a[i]
    return d_a
