def horner_grad(c, x):
    d_c = np.zeros_like(c)              # from line ..: for i in range(len(c))
    d_c[::-1] += np.cumprod(np.concatenate([np.array([1.0]), np.full(9, x)]))
    return d_c
