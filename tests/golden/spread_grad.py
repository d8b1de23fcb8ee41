def spread_grad(x):
    t = x - np.mean(x, keepdims=True)
    t1 = np.sum(x * x)
    t2 = t1 == 0
    d_x = np.where(t2, 0.0, 0.5 / np.sqrt(np.where(t2, 1.0, t1))) * (2.0 * x)  # from line ..: np.linalg.norm(x)
    t3 = 0.5 / np.sqrt(np.mean(t * t)) / 10 * (2.0 * t)
    d_x += t3                           # from line ..: np.std(x)
    return d_x - np.sum(t3) / 10.0
