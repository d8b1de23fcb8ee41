import numpy as np


def double_buffer(u, steps):
    new = u.copy()
    u = u.copy()
    for _ in range(steps):
        new[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, new = new, u
    return u
