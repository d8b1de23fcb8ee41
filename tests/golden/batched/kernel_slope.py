def kernel_slope_batched(x, ys):
    t = x[:, None] - ys
    t1 = -np.sum(np.eye(3) * (2 * t)[:, :, None], axis=3)
    return t1 * np.exp(-np.sum(t ** 2, axis=2, keepdims=True))
