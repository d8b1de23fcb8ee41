def thomas_grad(a, b, c, d):
    c = c.copy()
    c[0] /= b[0]
    d = d.copy()
    d[0] /= b[0]
    for i in range(1, 10):
        m = b[i] - a[i] * c[i - 1]
        c[i] /= m
        d[i] = (d[i] - a[i] * d[i - 1]) / m
    d_1 = d.copy()
    for i in reversed(range(9)):
        d_1[i] -= c[i] * d_1[i + 1]
    d_d = np.ones_like(d)                             # from line ..: np.sum(d)
    d_c = np.zeros_like(c)                            # from line ..: for i in range(n - 2, -1, -1)
    for i in range(9):
        t = d_d[i]
        d_d[i + 1] -= t * c[i]                        # from line ..: d[i + 1]
        d_c[i] = -t * d_1[i + 1]                      # from line ..: c[i]
    d_a = np.zeros_like(a)                            # from line ..: for i in range(1, n)
    for i in reversed(range(1, 10)):
        m = b[i] - a[i] * c[i - 1]
        t1 = d_d[i]
        t2 = t1 / m
        d_d[i - 1] -= t2 * a[i]                       # from line ..: d[i - 1]
        d_m = t1 * (-d[i] / m) - d_c[i] * (c[i] / m)  # from line ..: c[i] / m
        d_c[i - 1] -= d_m * a[i]                      # from line ..: c[i - 1]
        d_a[i] = -t2 * d[i - 1] - d_m * c[i - 1]      # from line ..: a[i]
    return d_a
