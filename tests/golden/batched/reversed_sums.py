def reversed_sums_batched(x):
    return np.cumsum(x.T, axis=1)[:, ::-1]
