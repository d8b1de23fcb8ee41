def mixture_grad(alphas, means, logs, x):
    centred = x[:, None] - means
    scaled = np.exp(logs) * centred
    each = alphas + np.sum(logs, axis=1) - 0.5 * np.sum(scaled ** 2, axis=2)
    top = np.max(each, axis=1, keepdims=True)
    t = np.exp(each - top)
    t1 = 1.0 / np.sum(t, axis=1, keepdims=True) * t
    d_top = 1.0 - np.sum(t1, axis=1, keepdims=True)  # from line ..: each - top
    t2 = each == top
    d_each = t1 + d_top * (t2 / np.sum(t2, axis=1, keepdims=True))  # from line ..: np.max(each, axis=1, keepdims=True)
    return np.sum(d_each, axis=0)                    # from line ..: alphas + np.sum(logs, axis=1) - 0.5 * np.sum(scaled**2, axis=2)
