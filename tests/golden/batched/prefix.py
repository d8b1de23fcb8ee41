def prefix_batched(x, n):
    y = np.zeros((5, 6))
    for i in range(np.max(n)):
        y[:, i] = np.where(i < n, x[:, i] * x[:, i], y[:, i])
    return y
