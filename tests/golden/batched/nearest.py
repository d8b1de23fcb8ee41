def nearest_batched(x, centres):
    return np.argmin(np.sum((centres - x[:, None]) ** 2, axis=2), axis=1)
