def spread_grad(x):
    t = x - np.mean(x)
    t1 = np.sqrt(np.mean(t * t))
    t2 = np.sum(x * x)
    d_x = np.where(t2 == 0, 0.0, 1.0 / np.sqrt(np.where(t2 == 0, 1.0, t2))) * x  # from line ..: np.linalg.norm(x)
    t3 = t / (np.where(t1 == 0.0, np.inf, t1) * 10)
    return d_x + t3 - np.sum(t3) / 10.0  # from line ..: np.std(x)
