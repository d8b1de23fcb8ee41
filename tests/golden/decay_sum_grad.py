def decay_sum_grad(x, n):
    y_tape = np.empty((7, 10))
    y = x
    for i in range(7):
        y_tape[i] = y
        y = np.sin(y) * x
    d_y = np.ones_like(y)               # from line ..: np.sum(y)
    d_x = np.zeros_like(x)              # from line ..: for i in range(n)
    for i in reversed(range(7)):
        y = y_tape[i]
        d_x += d_y * np.sin(y)          # from line ..: np.sin(y) * x
        d_y = d_y * x * np.cos(y)       # from line ..: np.sin(y)
    return d_x + d_y                    # from line ..: for i in range(n)
