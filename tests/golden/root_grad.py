def root_grad(x):
    y = 1.0
    trips = 0
    while np.abs(y * y - x) > 1e-12:
        y = 0.5 * (y + x / y)
        trips += 1
    span = 1024 * (trips // 1048576 + 1)
    y_starts = np.empty(1024)
    y = 1.0
    for k in range((trips - 1) // span * span + 1):
        y_starts[-(-k // span)] = y
        y = 0.5 * (y + x / y)
    d_y = np.float64(1.0)
    d_x = np.float64(0.0)
    for first in reversed(range(0, trips, 1024)):
        y = float(y_starts[first // span])
        for k in range(first % span):
            y = 0.5 * (y + x / y)
        length = int(np.minimum(1024, trips - first))
        y_tape = np.empty(1024)
        for k in range(length):
            y_tape[k] = y
            y = 0.5 * (y + x / y)
        for k in reversed(range(length)):
            y = y_tape[k]
            d_y = d_y * 0.5             # from line ..: 0.5 * (y + x / y)
            d_x += d_y / y              # from line ..: x / y
            d_y -= d_y * (x / y / y)
    return d_x
