def guarded_recurrence_grad(x, limit):
    y_tape = np.empty((20, 10))
    y = x
    for i in range(20):
        y_tape[i] = y
        y = np.sin(y) * x + y
        t = np.max(y)
        if t > limit:
            raise OverflowError(f"step {i}: {t:.3g} is beyond {limit}")
    d_y = np.ones_like(y)               # from line ..: np.sum(y)
    d_x = np.zeros_like(x)              # from line ..: for i in range(20)
    for i in reversed(range(20)):
        y = y_tape[i]
        d_x += d_y * np.sin(y)          # from line ..: np.sin(y) * x
        d_y += d_y * x * np.cos(y)      # from line ..: np.sin(y)
    return d_x + d_y                    # from line ..: for i in range(20)
