def root_grad(x):
    y_tape = []
    y = 1.0
    while np.abs(y * y - x) > 1e-12:
        y_tape.append(y)
        y = 0.5 * (y + x / y)
    d_y, d_x = np.float64(1.0), 0.0
    for k in reversed(range(len(y_tape))):
        y = np.float64(y_tape[k])
        d_y *= 0.5                      # from line ..: 0.5 * (y + x / y)
        d_x += d_y / y                  # from line ..: x / y
        d_y -= d_y * (x / y / y)
    return d_x
