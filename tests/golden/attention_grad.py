def attention_grad(q, k, v):
    s = q @ k.T / 5 ** 0.5
    t = np.max(s, axis=1, keepdims=True)
    p = np.exp(s - t)
    t1 = np.sum(p, axis=1, keepdims=True)
    p_1 = p / t1
    d_t = 2 * (p_1 @ v)                 # from line ..: (p @ v) ** 2
    d_p = d_t @ v.T                     # from line ..: p @ v
    d_p = d_p / t1 - np.sum(d_p * p_1, axis=1, keepdims=True) / t1  # from line ..: np.sum(p, axis=-1, keepdims=True)
    d_s = d_p * p                       # from line ..: np.exp(s)
    t2 = s == t
    d_s -= np.sum(d_s, axis=1, keepdims=True) * (t2 / np.sum(t2, axis=1, keepdims=True))  # from line ..: np.max(s, axis=-1, keepdims=True)
    d_t = d_s / 5 ** 0.5                # from line ..: q @ k.T / np.sqrt(q.shape[-1])
    return d_t @ k                      # from line ..: q @ k.T
