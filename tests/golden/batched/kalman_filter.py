def kalman_filter_batched(x, f, h, measurements):
    p = np.eye(4)
    t = 0.1 * p
    t1 = np.eye(2)
    p_1 = p
    for i in range(6):
        x, p_1 = x @ f.T, f @ p_1 @ f.T + t
        t2 = h @ p_1
        t3 = np.linalg.solve(t2 @ h.T + t1, t2)
        z = measurements[i]
        x += (z - x @ h.T) @ t3
        p_1 = (p - t3.T @ h) @ p_1
    return x
