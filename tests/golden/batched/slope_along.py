def slope_along_batched(x, v):
    return np.sum(x ** 3, axis=1), np.sum(v * (3 * x ** 2), axis=1)
