def two_layers_batched(w1, w2, x):
    return np.maximum(x @ w1, 0.0) @ w2
