def horner_grad(c, x):
    d_c = np.zeros_like(c)              # from line ..: for i in range(len(c))
    d_y = np.float64(1.0)
    for i in reversed(range(10)):
        d_c[i] += d_y                   # from line ..: c[i]
        d_y = d_y * x                   # from line ..: y * x
    return d_c
