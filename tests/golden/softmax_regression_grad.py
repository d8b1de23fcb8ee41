def softmax_regression_grad(w, b, x, labels):
    s = x @ w + b
    s -= np.max(s, axis=1, keepdims=True)
    t = np.exp(s)
    t1 = np.sum(t, axis=1, keepdims=True)
    p = t / t1
    d_p = np.zeros_like(p)              # from line ..: p[np.arange(len(labels)), labels]
    d_p[np.arange(8), labels] = -0.125 / p[np.arange(8), labels]
    d_s = (d_p / t1 - np.sum(d_p * p, axis=1, keepdims=True) / t1) * t  # from line ..: np.exp(s)
    return w * 0.02 + x.T @ d_s         # from line ..: x @ w
