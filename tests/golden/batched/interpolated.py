def interpolated_batched(x, y):
    i = np.floor(x).astype(np.int64)
    t = x - i
    return (1 - t) * y[i] + t * y[i + 1]
