def rosenbrock_grad(x):
    t = x[1:] - x[:-1] ** 2
    d_x = np.zeros_like(x)                              # from line ..: x[1:] - x[:-1] ** 2
    d_x[1:] = t * 200.0
    d_x[:-1] += t * -400.0 * x[:-1] - 2 * (1 - x[:-1])  # from line ..: x[:-1] ** 2
    return d_x
