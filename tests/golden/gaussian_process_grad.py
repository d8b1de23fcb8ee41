def gaussian_process_grad(x, y, scale, noise):
    d = x[:, None] - x
    t = scale ** 2
    t1 = np.exp(-0.5 * d ** 2 / t)
    t2 = np.eye(10)
    k = t1 + noise * t2
    low = np.linalg.cholesky(k)
    a = np.linalg.solve(low, y)
    d_low = np.diag(1.0 / np.diag(low)) - np.outer(np.linalg.solve(low.T, a), a)  # from line ..: np.linalg.solve(low, y)
    t3 = 1.0 - 0.5 * t2
    t4 = np.linalg.solve(low.T, np.tril(low.T @ np.tril(d_low)) * t3).T
    t5 = np.linalg.solve(low.T, t4)
    d_k = np.tril(t5.T + t5) * t3                     # from line ..: np.linalg.cholesky(k)
    d_d = -(d_k * t1 / t) * d                         # from line ..: d**2
    return np.sum(d_d, axis=1) - np.sum(d_d, axis=0)  # from line ..: x[:, None] - x
