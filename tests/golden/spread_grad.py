def spread_grad(x):
    t = x - np.mean(x)
    t1 = np.sum(x * x)
    d_x = np.where(t1 == 0, 0.0, 1.0 / np.sqrt(np.where(t1 == 0, 1.0, t1))) * x  # from line ..: np.linalg.norm(x)
    t2 = t / (np.sqrt(np.mean(t * t)) * 10)
    return d_x + t2 - np.sum(t2) / 10.0  # from line ..: np.std(x)
