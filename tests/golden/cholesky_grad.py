def cholesky_grad(a):
    low = np.zeros((5, 5))
    for i in range(5):
        for j in range(i + 1):
            s = a[i, j] - low[i] @ low[j]
            if i == j:
                t = np.sqrt(s)
            else:
                t = s / low[j, j]
            low[i, j] = t
    d_low = np.ones_like(low)                                     # from line ..: np.sum(low)
    d_a = np.zeros_like(a)                                        # from line ..: for i in range(n)
    for i in reversed(range(5)):
        for j in reversed(range(i + 1)):
            d_t = d_low[i, j]                                     # from line ..: low[i, j] = np.sqrt(s) if i == j else s / low[j, j]
            d_low[i, j] = 0.0
            low[i, j] = 0.0
            t1 = low[i]
            t2 = low[j]
            s = a[i, j] - t1 @ t2
            if i == j:
                d_s = d_t * (0.5 / np.sqrt(s))                    # from line ..: np.sqrt(s)
            else:
                d_s = d_t / low[j, j]                             # from line ..: s / low[j, j]
                d_low[j, j] -= d_t * (s / low[j, j] / low[j, j])  # from line ..: low[j, j]
            d_low[j] -= t1 * d_s                                  # from line ..: low[i] @ low[j]
            d_low[i] -= d_s * t2
            d_a[i, j] = d_s                                       # from line ..: a[i, j]
    return d_a
