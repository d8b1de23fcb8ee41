def horner_grad(c, x):
    return np.cumprod(np.concatenate([np.array([1.0]), np.full(9, x)]))[::-1]
