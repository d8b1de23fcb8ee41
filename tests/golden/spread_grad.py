def spread_grad(x):
    t = x - np.mean(x)
    t1 = np.sqrt(np.mean(t * t))
    t2 = np.linalg.norm(x)
    t3 = t / (np.where(t1 == 0.0, np.inf, t1) * 10)
    return x / np.where(t2 == 0.0, np.inf, t2) + t3 - np.sum(t3) / 10.0  # from line ..: np.std(x)
