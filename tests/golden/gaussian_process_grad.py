def gaussian_process_grad(x, y, scale, noise):
    d = x[:, None] - x
    t = np.exp(-0.5 * d ** 2 / scale ** 2)
    t1 = np.eye(10)
    k = t + noise * t1
    low = np.linalg.cholesky(k)
    a = np.linalg.solve(low, y)
    d_low = np.diag(1.0 / np.diag(low)) - np.outer(np.linalg.solve(low.T, a), a)  # from line ..: np.linalg.solve(low, y)
    t2 = 1.0 - 0.5 * t1
    t3 = np.linalg.solve(low.T, np.tril(low.T @ np.tril(d_low)) * t2).T
    t4 = np.linalg.solve(low.T, t3)
    d_k = np.tril(t4.T + t4) * t2                     # from line ..: np.linalg.cholesky(k)
    d_d = -(d_k * t / scale ** 2) * d                 # from line ..: d**2
    return np.sum(d_d, axis=1) - np.sum(d_d, axis=0)  # from line ..: x[:, None] - x
