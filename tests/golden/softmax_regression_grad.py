def softmax_regression_grad(w, b, x, labels):
    s = x @ w + b
    t = np.max(s, axis=1, keepdims=True)
    t1 = np.exp(s - t)
    t2 = np.sum(t1, axis=1, keepdims=True)
    p = t1 / t2
    d_p = np.zeros_like(p)              # from line ..: p[np.arange(len(labels)), labels]
    d_p[np.arange(8), labels] = -0.125 / p[np.arange(8), labels]
    d_s = (d_p / t2 - np.sum(d_p * p, axis=1, keepdims=True) / t2) * t1  # from line ..: np.exp(s)
    t3 = s == t
    d_s -= np.sum(d_s, axis=1, keepdims=True) * (t3 / np.sum(t3, axis=1, keepdims=True))  # from line ..: np.max(s, axis=1, keepdims=True)
    return w * 0.02 + x.T @ d_s         # from line ..: x @ w
