def switched_batched(i, x):
    t = np.where((i <= 1)[:, None], np.cos(x), x * 2)
    return np.where((i <= 0)[:, None], np.sin(x), t)
