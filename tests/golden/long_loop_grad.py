def long_loop_grad(x):
    y_tape = np.empty((10, 6))
    y = x
    for first in range(0, 100, 10):
        y_tape[first // 10] = y
        for k in range(10):
            y = np.sin(y) * x
    d_y = 2 * y                         # from line ..: decay(x) ** 2
    d_x = np.zeros_like(x)              # from line ..: for _ in range(100)
    for first in reversed(range(0, 100, 10)):
        y = y_tape[first // 10]
        y_tape_1 = np.empty((10, 6))
        for k in range(10):
            y_tape_1[k] = y
            y = np.sin(y) * x
        for k in reversed(range(10)):
            y = y_tape_1[k]
            d_x += d_y * np.sin(y)      # from line ..: np.sin(y) * x
            d_y = d_y * x * np.cos(y)   # from line ..: np.sin(y)
    return d_x + d_y                    # from line ..: for _ in range(100)
