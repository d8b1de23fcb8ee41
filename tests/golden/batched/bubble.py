def bubble_batched(x):
    x = x.copy()
    for i in range(5):
        t = x[:, i].copy()
        t1 = t > x[:, i + 1]
        x[:, i] = np.where(t1, x[:, i + 1], t)
        x[:, i + 1] = np.where(t1, t, x[:, i + 1])
    return x
