def two_springs_grad(x, v, k, n):
    for _ in range(n):
        f = np.zeros(10)
        t = k * (x[1:] - x[:-1])
        f[:-1] += t
        f[1:] -= t
        v = v + 0.1 * f
        x = x + 0.1 * v
    d_x = x * 2.0                       # from line ..: x * x
    d_v = np.zeros_like(v)              # from line ..: for _ in range(n)
    for _ in reversed(range(n)):
        d_v += d_x * 0.1                # from line ..: 0.1 * v
        d_f = d_v * 0.1                 # from line ..: 0.1 * f
        t1 = (d_f[:-1] - d_f[1:]) * k
        d_x[:-1] -= t1                  # from line ..: x[1:] - x[:-1]
        d_x[1:] += t1
    return d_x
