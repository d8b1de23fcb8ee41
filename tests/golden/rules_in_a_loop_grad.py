def rules_in_a_loop_grad(x):
    y_tape, t_tape = np.empty((4, 6)), np.empty((4, 6))
    y = x
    for i in range(4):
        y_tape[i] = y
        if np.sum(y) > 3.0:
            y = y * x + 0.1
            result = np.zeros(6)
        else:
            result = np.log1p(np.exp(y))
            y = result * x
        t_tape[i] = result
    d_y = np.ones_like(y)                         # from line ..: np.sum(y)
    d_x = np.zeros_like(x)                        # from line ..: for _ in range(4)
    for i in reversed(range(4)):
        y = y_tape[i]
        t = t_tape[i]
        if np.sum(y) > 3.0:
            t1 = np.clip(d_y, -1.0, 1.0)
            d_y = t1 * x                          # from line ..: y * x
            d_x += t1 * y
        else:
            d_x += d_y * t                        # from line ..: softplus(y) * x
            d_d_x = d_y * x / (1.0 + np.exp(-y))  # from line ..: t / (1.0 + np.exp(-x))
            d_y = d_d_x
    return d_x + d_y                              # from line ..: for _ in range(4)
