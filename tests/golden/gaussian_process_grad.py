def gaussian_process_grad(x, y, scale, noise):
    d = x[:, None] - x
    t = scale ** 2
    t1 = np.exp(-0.5 * d ** 2 / t)
    t2 = np.arange(10)
    t3 = t2[:, None]
    k = t1 + noise * (t3 == t2)
    low = np.linalg.cholesky(k)
    a = np.linalg.solve(low, y)
    d_low = np.zeros_like(low)                             # from line ..: np.log(np.diag(low))
    np.add.at(d_low, (t2, t2), 1.0 / low[t2, t2])
    t4 = low.T
    d_low -= np.outer(np.linalg.solve(t4, a), a)           # from line ..: np.linalg.solve(low, y)
    t5 = t3 >= t2
    t6 = low.T @ np.where(t5, d_low, 0.0)
    t7 = t3 + -1 >= t2
    t8 = np.where(t7, t6, 0.0) + 0.5 * np.where(t5, np.where(t7, 0.0, t6), 0.0)
    t9 = np.linalg.solve(t4, np.linalg.solve(t4, t8).T)
    t10 = 0.5 * (t9.T + t9)
    d_k = np.where(t5, t10, 0.0) + np.where(t7, t10, 0.0)  # from line ..: np.linalg.cholesky(k)
    d_d = d_k * t1 / t * -0.5 * (2 * d)                    # from line ..: d**2
    return np.sum(d_d, axis=1) - np.sum(d_d, axis=0)       # from line ..: x[:, None] - x
