import numpy as np


def triangular_solve_vjp(a, b, ct):
    x = np.zeros(4)
    for i in range(4):
        x[i] = (b[i] - a[i] @ x) / a[i, i]
    d_a = np.zeros_like(a)                      # from line ..: for i in range(n)
    d_x = ct.copy()
    for i in reversed(range(4)):
        t = d_x[i] / a[i, i]
        d_a[i, i] -= d_x[i] * (x[i] / a[i, i])  # from line ..: a[i, i]
        x[i] = 0.0
        d_x[i] = 0.0                            # from line ..: x[i] = (b[i] - a[i, :] @ x) / a[i, i]
        d_x -= a[i] * t                         # from line ..: a[i, :] @ x
        d_a[i] -= t * x
    return d_a
