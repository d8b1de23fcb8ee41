def pooled_batched(x):
    return np.max(x.reshape(5, 2, 2, 3, 2), axis=(2, 4))
