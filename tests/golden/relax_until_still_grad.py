def relax_until_still_grad(u, k):
    stop = False
    v = u
    trips = 0
    while not stop:
        t = v[1:-1]
        t1 = k * (v[2:] - 2.0 * t + v[:-2]) * t
        v_1 = v.copy()
        v_1[1:-1] += t1
        v_1 = v_1.copy()
        v_1[0] = v_1[1]
        if np.max(np.abs(v_1 - v)) < 0.01:
            stop = True
        trips += 1
        v = v_1
    d_v = v * 2.0                          # from line ..: v * v
    for first in reversed(range(0, trips, 1024)):
        v = u.copy()
        for k_1 in range(first):
            t2 = v[1:-1]
            t3 = k * (v[2:] - 2.0 * t2 + v[:-2]) * t2
            v[1:-1] += t3
            v[0] = v[1]
        t4 = int(np.minimum(1024, trips - first))
        v_tape = np.empty((1024, 10))
        for k_1 in range(t4):
            v_tape[k_1] = v
            t5 = v[1:-1]
            t6 = k * (v[2:] - 2.0 * t5 + v[:-2]) * t5
            v[1:-1] += t6
            v[0] = v[1]
        for k_1 in reversed(range(t4)):
            v = v_tape[k_1]
            t7 = v[1:-1]
            t8 = d_v[0]
            d_v[0] = 0.0                   # from line ..: v[0] = v[1]
            d_v[1] += t8                   # from line ..: v[1]
            t9 = d_v[1:-1]
            t10 = t9 * (k * (v[2:] - 2.0 * t7 + v[:-2]))
            t11 = t9 * t7 * k
            d_v[:-2] += t11                # from line ..: v[2:] - 2.0 * v[1:-1] + v[:-2]
            d_v[2:] += t11                 # from line ..: v[2:] - 2.0 * v[1:-1]
            d_v[1:-1] += t10 + t11 * -2.0  # from line ..: 2.0 * v[1:-1]
    return d_v
