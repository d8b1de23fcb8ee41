def relax_until_still_grad(u, k):
    stop = False
    v = u
    trips = 0
    while not stop:
        v_1 = v.copy()
        v_1[1:-1] += k * (v[2:] - 2.0 * v[1:-1] + v[:-2]) * v[1:-1]
        v_1 = v_1.copy()
        v_1[0] = v_1[1]
        if np.max(np.abs(v_1 - v)) < 0.01:
            stop = True
        trips += 1
        v = v_1
    d_v = v * 2.0                       # from line ..: v * v
    span = 1024 * (trips // 1048576 + 1)
    v_starts = np.empty((1024, 10))
    v = u.copy()
    for k_1 in range((trips - 1) // span * span + 1):
        v_starts[-(-k_1 // span)] = v
        v[1:-1] += k * (v[2:] - 2.0 * v[1:-1] + v[:-2]) * v[1:-1]
        v[0] = v[1]
    for first in reversed(range(0, trips, 1024)):
        v = v_starts[first // span]
        v = v.copy()
        for k_1 in range(first % span):
            v[1:-1] += k * (v[2:] - 2.0 * v[1:-1] + v[:-2]) * v[1:-1]
            v[0] = v[1]
        length = int(np.minimum(1024, trips - first))
        v_tape = np.empty((1024, 10))
        for k_1 in range(length):
            v_tape[k_1] = v
            v[1:-1] += k * (v[2:] - 2.0 * v[1:-1] + v[:-2]) * v[1:-1]
            v[0] = v[1]
        for k_1 in reversed(range(length)):
            v = v_tape[k_1]
            d_v[1] += d_v[0]            # from line ..: v[1]
            d_v[0] = 0.0                # from line ..: v[0] = v[1]
            t = d_v[1:-1].copy()
            t1 = t * v[1:-1] * k
            d_v[:-2] += t1              # from line ..: v[2:] - 2.0 * v[1:-1] + v[:-2]
            d_v[2:] += t1               # from line ..: v[2:] - 2.0 * v[1:-1]
            d_v[1:-1] += t * (k * (v[2:] - 2.0 * v[1:-1] + v[:-2])) - t1 * 2.0  # from line ..: 2.0 * v[1:-1]
    return d_v
