def differences_batched(x):
    y = np.zeros((5, 6))
    y[:, 1:-1] = x[:, 2:] - x[:, :-2]
    y[:, 0] = x[:, 0]
    return y
