def iterated_batched(x, n):
    for _ in range(n):
        x = x + np.sin(x)
    return x
