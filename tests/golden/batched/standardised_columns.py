def standardised_columns_batched(x):
    t = x - np.mean(x, axis=1, keepdims=True)
    return t / np.sqrt(np.mean(t * t, axis=1, keepdims=True))
