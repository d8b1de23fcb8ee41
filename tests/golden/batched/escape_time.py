def escape_time_batched(a, b):
    n = np.empty(5, dtype=np.int64)
    for lane in range(5):
        a_1 = a[lane]
        b_1 = b[lane]
        x = np.float64(0.0)
        y = np.float64(0.0)
        n_1 = 0
        while x * x + y * y <= 4.0 and n_1 < 50:
            x_1, y = x * x - y * y + a_1, 2.0 * x * y + b_1
            n_1 += 1
            x = x_1
        n[lane] = n_1
    return n
