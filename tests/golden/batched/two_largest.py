def two_largest_batched(x):
    return np.sort(x)[:, 2:]
