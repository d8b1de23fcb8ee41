def thomas_grad(a, b, c, d):
    c = c.copy()
    c[0] /= b[0]
    d = d.copy()
    d[0] /= b[0]
    for i in range(1, 10):
        t = a[i]
        t1 = i - 1
        m = b[i] - t * c[t1]
        c[i] /= m
        d[i] = (d[i] - t * d[t1]) / m
    d_1 = d.copy()
    for i in reversed(range(9)):
        d_1[i] -= c[i] * d_1[i + 1]
    d_d = np.ones_like(d)                 # from line ..: np.sum(d)
    d_c = np.zeros_like(c)                # from line ..: for i in range(n - 2, -1, -1)
    for i in range(9):
        t2 = i + 1
        t3 = d_d[i]
        d_d[t2] -= t3 * c[i]              # from line ..: d[i + 1]
        d_c[i] -= t3 * d_1[t2]            # from line ..: c[i]
    d_a = np.zeros_like(a)                # from line ..: for i in range(1, n)
    for i in reversed(range(1, 10)):
        t4 = i - 1
        t5 = a[i]
        t6 = c[t4]
        m = b[i] - t5 * t6
        t7 = d_d[i]
        t8 = t7 / m
        d_m = t7 * (-d[i] / m)            # from line ..: (d[i] - a[i] * d[i - 1]) / m
        d_d[t4] -= t8 * t5                # from line ..: d[i - 1]
        d_d[i] = t8                       # from line ..: d[i]
        t9 = d_c[i]
        d_m -= t9 * (c[i] / m)            # from line ..: c[i] / m
        d_c[i] = t9 / m                   # from line ..: c[i]
        d_c[t4] -= d_m * t5               # from line ..: c[i - 1]
        d_a[i] += -t8 * d[t4] - d_m * t6  # from line ..: a[i]
    return d_a
