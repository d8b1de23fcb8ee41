def kepler_grad(mean, e):
    x = np.float64(mean)
    x_tape = np.empty(20)
    i = 0
    stop = False
    while not stop and i < 20:
        x_tape[i] = x
        step = (x - e * np.sin(x) - mean) / (1.0 - e * np.cos(x))
        x -= step
        if np.abs(step) < 1e-12:
            stop = True
        i += 1
    d_x, d_mean = np.float64(1.0), 0.0
    for k in reversed(range(i)):
        x = x_tape[k]
        t = np.sin(x)
        t1 = np.cos(x)
        t2 = 1.0 - e * t1
        step = (x - e * t - mean) / t2
        d_step = -d_x                                             # from line ..: x - step
        t3 = d_step / t2
        d_mean -= t3                                              # from line ..: x - e * np.sin(x) - mean
        d_x = d_x + d_x * (step / t2) * e * t + t3 - t3 * e * t1  # from line ..: np.sin(x)
    return d_mean + d_x                                           # from line ..: for _ in range(20)
