import numpy as np


def running_maximum_vjp(x, ct):
    best = x[0]
    best_tape = np.empty(6)
    for i in range(6):
        best_tape[i] = best
        best = np.maximum(best, x[i])
    d_x = np.zeros_like(x)                           # from line ..: for i in range(x.shape[0])
    d_best = 0.0
    for i in reversed(range(6)):
        best = best_tape[i]
        d_best += ct[i]                              # from line ..: out[i] = best
        t = np.where(best == x[i], 0.5 * d_best, 0.0)
        d_best_1 = np.where(best > x[i], d_best, t)  # from line ..: np.maximum(best, x[i])
        d_x[i] = np.where(x[i] > best, d_best, t)    # from line ..: x[i]
        d_best = d_best_1
    d_x[0] += d_best                                 # from line ..: x[0]
    return d_x
