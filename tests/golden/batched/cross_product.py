def cross_product_batched(a, b):
    t = a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1]
    t1 = a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2]
    t2 = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    return np.stack([t, t1, t2], axis=1)
