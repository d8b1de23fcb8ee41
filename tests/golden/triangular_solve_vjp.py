import numpy as np


def triangular_solve_vjp(a, b, ct):
    x = np.zeros(4)
    t_tape = np.empty(4)
    t_tape_1 = np.empty(4)
    for i in range(4):
        t = a[i] @ x
        t_tape[i] = t
        t_tape_1[i] = x[i]
        x[i] = (b[i] - t) / a[i, i]
    d_a = np.zeros_like(a)                                   # from line ..: for i in range(n)
    d_x = ct.copy()
    for i in reversed(range(4)):
        t1 = d_x[i]
        d_x[i] = 0.0                                         # from line ..: x[i] = (b[i] - a[i, :] @ x) / a[i, i]
        t2 = a[i, i]
        t3 = t1 / t2
        d_a[i, i] += t1 * (-((b[i] - t_tape[i]) / t2) / t2)  # from line ..: a[i, i]
        d_t = -t3                                            # from line ..: b[i] - a[i, :] @ x
        x[i] = t_tape_1[i]
        d_x -= a[i] * t3                                     # from line ..: a[i, :] @ x
        d_a[i] += d_t * x
    return d_a
