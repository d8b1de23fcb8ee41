def normalised_rows_batched(x):
    centred = x - np.mean(x, axis=2, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=2, keepdims=True) + 1e-05)
