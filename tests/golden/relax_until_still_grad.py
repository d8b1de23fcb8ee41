def relax_until_still_grad(u, k):
    v_tape = []
    stop = False
    v = u
    while not stop:
        v_tape.append(v)
        v_1 = v.copy()
        v_1[1:-1] += k * (v[2:] - 2.0 * v[1:-1] + v[:-2]) * v[1:-1]
        v_1[0] = v_1[1]
        if np.max(np.abs(v_1 - v)) < 0.01:
            stop = True
        v = v_1
    d_v = v * 2.0                       # from line ..: v * v
    for v in reversed(v_tape):
        d_v[1] += d_v[0]                # from line ..: v[1]
        d_v[0] = 0.0                    # from line ..: v[0] = v[1]
        t = d_v[1:-1].copy()
        t1 = t * v[1:-1] * k
        d_v[:-2] += t1                  # from line ..: v[2:] - 2.0 * v[1:-1] + v[:-2]
        d_v[2:] += t1                   # from line ..: v[2:] - 2.0 * v[1:-1]
        d_v[1:-1] += t * (k * (v[2:] - 2.0 * v[1:-1] + v[:-2])) - t1 * 2.0  # from line ..: 2.0 * v[1:-1]
    return d_v
