def attention_grad(q, k, v):
    s = q @ k.T / 5 ** 0.5
    s -= np.max(s, axis=1, keepdims=True)
    p = np.exp(s)
    t = np.sum(p, axis=1, keepdims=True)
    p_1 = p / t
    d_t = 2 * (p_1 @ v)                                           # from line ..: (p @ v) ** 2
    d_p = d_t @ v.T                                               # from line ..: p @ v
    d_p = d_p / t - np.sum(d_p * p_1, axis=1, keepdims=True) / t  # from line ..: np.sum(p, axis=-1, keepdims=True)
    d_s = d_p * p                                                 # from line ..: np.exp(s)
    d_t = d_s / 5 ** 0.5                                          # from line ..: q @ k.T / np.sqrt(q.shape[-1])
    return d_t @ k                                                # from line ..: q @ k.T
