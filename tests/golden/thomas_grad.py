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
        d_d[i] = 0.0                      # from line ..: d[i] = d[i] - c[i] * d[i + 1]
        t4 = -t3
        d_d[t2] += t4 * c[i]              # from line ..: d[i + 1]
        d_c[i] += t4 * d_1[t2]            # from line ..: c[i]
        d_d[i] += t3                      # from line ..: d[i]
    d_a = np.zeros_like(a)                # from line ..: for i in range(1, n)
    for i in reversed(range(1, 10)):
        t5 = i - 1
        t6 = a[i]
        t7 = c[t5]
        m = b[i] - t6 * t7
        t8 = d_d[i]
        d_d[i] = 0.0                      # from line ..: d[i] = (d[i] - a[i] * d[i - 1]) / m
        t9 = t8 / m
        d_m = t8 * (-d[i] / m)            # from line ..: (d[i] - a[i] * d[i - 1]) / m
        t10 = -t9
        d_d[t5] += t10 * t6               # from line ..: d[i - 1]
        d_d[i] += t9                      # from line ..: d[i]
        t11 = d_c[i]
        d_c[i] = 0.0                      # from line ..: c[i] = c[i] / m
        d_m -= t11 * (c[i] / m)           # from line ..: c[i] / m
        d_c[i] += t11 / m                 # from line ..: c[i]
        d_c[t5] += -d_m * t6              # from line ..: c[i - 1]
        d_a[i] += t10 * d[t5] - d_m * t7  # from line ..: a[i]
    return d_a
