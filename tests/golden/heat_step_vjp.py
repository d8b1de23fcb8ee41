import numpy as np


def heat_step_vjp(u, steps, ct):
    d_u = ct.copy()
    for _ in reversed(range(steps)):
        t = d_u[1:-1, 1:-1] * 0.1
        d_u[1:-1, 1:-1] -= d_u[1:-1, 1:-1] * 0.4  # from line ..: 4.0 * u[1:-1, 1:-1]
        d_u[1:-1, 2:] += t                        # from line ..: u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        d_u[1:-1, :-2] += t                       # from line ..: u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2]
        d_u[2:, 1:-1] += t                        # from line ..: u[:-2, 1:-1] + u[2:, 1:-1]
        d_u[:-2, 1:-1] += t
    return d_u
