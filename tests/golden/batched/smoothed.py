def smoothed_batched(x):
    y = x.copy()
    for _ in range(3):
        y[:, 1:-1] = (y[:, 2:] + y[:, :-2]) / 2
    return y
