def mixture_grad(alphas, means, logs, x):
    centred = x[:, None] - means
    scaled = np.exp(logs) * centred
    each = alphas + np.sum(logs, axis=1) - 0.5 * np.sum(scaled ** 2, axis=2)
    top = np.max(each, axis=1, keepdims=True)
    t = np.exp(each - top)
    d_each = 1.0 / np.sum(t, axis=1, keepdims=True) * t  # from line ..: np.exp(each - top)
    return np.sum(d_each, axis=0)                        # from line ..: alphas + np.sum(logs, axis=1) - 0.5 * np.sum(scaled**2, axis=2)
