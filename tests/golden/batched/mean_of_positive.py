def mean_of_positive_batched(x):
    m = x > 0
    return np.sum(x * m, axis=1) / np.maximum(1, np.sum(m, axis=1))
