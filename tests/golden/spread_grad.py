def spread_grad(x):
    t = x - np.sum(x, keepdims=True) / 10
    t1 = np.sum(x * x)
    t2 = t1 == 0
    t3 = np.where(t2, 0.0, 0.5 / np.sqrt(np.where(t2, 1.0, t1)))
    d_x = np.where(t2, 0.0, t3) * (2.0 * x)  # from line ..: np.linalg.norm(x)
    t4 = 0.5 / np.sqrt(np.sum(t * t) / 10) / 10 * (2.0 * t)
    d_x += t4                                # from line ..: np.std(x)
    return d_x + np.sum(t4) / -10.0
