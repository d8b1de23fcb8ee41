def thomas_grad(a, b, c, d):
    c = c.copy()
    c[0] /= b[0]
    d = d.copy()
    d[0] /= b[0]
    t_tape = np.empty(9)
    t_tape_1 = np.empty(9)
    t_tape_2 = np.empty(9)
    t_tape_3 = np.empty(9)
    for i in range(1, 10):
        t = i - 1
        t1 = a[i]
        t2 = c[t]
        t_tape[t] = t2
        m = b[i] - t1 * t2
        t3 = c[i] / m
        t_tape_1[t] = t3
        c[i] = t3
        t4 = d[t]
        t_tape_2[t] = t4
        t5 = (d[i] - t1 * t4) / m
        t_tape_3[t] = t5
        d[i] = t5
    t_tape_4 = np.empty(9)
    for i in reversed(range(9)):
        t6 = d[i + 1]
        t_tape_4[i] = t6
        d[i] -= c[i] * t6
    d_d = np.ones_like(d)                         # from line ..: np.sum(d)
    d_c = np.zeros_like(c)                        # from line ..: for i in range(n - 2, -1, -1)
    for i in range(9):
        t7 = d_d[i]
        d_d[i] = 0.0                              # from line ..: d[i] = d[i] - c[i] * d[i + 1]
        t8 = -t7
        d_d[i + 1] += t8 * c[i]                   # from line ..: d[i + 1]
        d_c[i] += t8 * t_tape_4[i]                # from line ..: c[i]
        d_d[i] += t7                              # from line ..: d[i]
    d_a = np.zeros_like(a)                        # from line ..: for i in range(1, n)
    for i in reversed(range(1, 10)):
        t9 = i - 1
        t10 = t_tape[t9]
        t11 = a[i]
        m = b[i] - t11 * t10
        t12 = d_d[i]
        d_d[i] = 0.0                              # from line ..: d[i] = (d[i] - a[i] * d[i - 1]) / m
        t13 = t12 / m
        d_m = t12 * (-t_tape_3[t9] / m)           # from line ..: (d[i] - a[i] * d[i - 1]) / m
        t14 = -t13
        d_d[t9] += t14 * t11                      # from line ..: d[i - 1]
        d_d[i] += t13                             # from line ..: d[i]
        t15 = d_c[i]
        d_c[i] = 0.0                              # from line ..: c[i] = c[i] / m
        d_m -= t15 * (t_tape_1[t9] / m)           # from line ..: c[i] / m
        d_c[i] += t15 / m                         # from line ..: c[i]
        d_c[t9] += -d_m * t11                     # from line ..: c[i - 1]
        d_a[i] += t14 * t_tape_2[t9] - d_m * t10  # from line ..: a[i]
    return d_a
