def distance_batched(x, y):
    return np.sqrt(np.sum((x - y) ** 2, axis=1))
