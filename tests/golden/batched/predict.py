def predict_batched(w, b, x):
    return np.tanh(x @ w.T + b)
