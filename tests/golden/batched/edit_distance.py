def edit_distance_batched(a, b):
    d = np.arange(6)
    d = np.broadcast_to(d, (5, 6))
    d = d.copy()
    for i in range(6):
        diagonal, left = d[:, 0].copy(), i + 1
        d[:, 0] = left
        left = np.full(5, np.int64(left))
        t = a[:, i]
        for j in range(5):
            t1 = d[:, j + 1].copy()
            left = np.minimum(diagonal + (t != b[:, j]), np.minimum(left + 1, t1 + 1))
            d[:, j + 1] = left
            diagonal = t1
    return d[:, -1]
