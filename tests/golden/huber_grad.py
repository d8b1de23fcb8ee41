def huber_grad(x, d):
    a = np.abs(x)
    t = a < d
    t1 = np.where(t, 1.0, 0.0)
    d_a = np.where(t, 0.0, 1.0) * d     # from line ..: d * (a - 0.5 * d)
    d_x = t1 * (0.5 * x)                # from line ..: 0.5 * x * x
    d_x += t1 * x * 0.5                 # from line ..: 0.5 * x
    return d_x + d_a * np.sign(x)       # from line ..: np.abs(x)
