def lorenz_grad(y, p, n):
    y_tape = np.empty((5, 3))
    for i in range(5):
        y_tape[i] = y
        t = y[0] * (p[1] - y[2]) - y[1]
        slope = np.array([p[0] * (y[1] - y[0]), t, y[0] * y[1] - p[2] * y[2]])
        y = y + 0.01 * slope
    d_y = y * 2.0                                         # from line ..: y * y
    for i in reversed(range(5)):
        y = y_tape[i]
        d_slope = d_y * 0.01                              # from line ..: 0.01 * slope
        d_y[2] += -d_slope[2] * p[2] - d_slope[1] * y[0]  # from line ..: y[2]
        d_y[0] += d_slope[2] * y[1] + d_slope[1] * (p[1] - y[2]) - d_slope[0] * p[0]  # from line ..: y[0]
        d_y[1] += d_slope[2] * y[0] - d_slope[1] + d_slope[0] * p[0]  # from line ..: y[1]
    return d_y
