import numpy as np


def triangular_solve_vjp(a, b, ct):
    x = np.zeros(4)
    x_tape = np.empty((4, 4))
    t_tape = np.empty(4)
    for i in range(4):
        x_tape[i] = x
        t = a[i] @ x
        t_tape[i] = t
        x[i] = (b[i] - t) / a[i, i]
    d_a = np.zeros_like(a)              # from line ..: for i in range(n)
    d_x = ct.copy()
    for i in reversed(range(4)):
        x = x_tape[i]
        t1 = a[i, i]
        t2 = d_x[i]
        d_x[i] = 0.0                    # from line ..: x[i] = (b[i] - a[i, :] @ x) / a[i, i]
        t3 = t2 * (-((b[i] - t_tape[i]) / t1) / t1)
        d_a[i, i] += t3                 # from line ..: a[i, i]
        d_t = -(t2 / t1)                # from line ..: b[i] - a[i, :] @ x
        d_x += a[i] * d_t               # from line ..: a[i, :] @ x
        d_a[i] += d_t * x
    return d_a
