def prefix_batched(x, n):
    y = np.zeros((5, 6))
    for i in range(np.max(n)):
        t = x[:, i]
        y[:, i] = np.where(i < n, t * t, y[:, i])
    return y
