def heat_energy_grad(u, k, n):
    u = u.copy()
    for t in range(n):
        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])
    d_u = u * 2.0                       # from line ..: u * u
    for t1 in reversed(range(n)):
        t2 = d_u[1:-1] * k
        d_u[:-2] += t2                  # from line ..: u[2:] - 2 * u[1:-1] + u[:-2]
        d_u[2:] += t2                   # from line ..: u[2:] - 2 * u[1:-1]
        d_u[1:-1] -= t2 * 2.0           # from line ..: 2 * u[1:-1]
    return d_u
