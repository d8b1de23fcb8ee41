import numpy as np


def power_iteration_vjp(a, v, ct):
    ct_1 = ct[1]
    v_tape = np.empty((6, 4))
    for i in range(5):
        v_tape[i] = v
        v = a @ v
        v /= np.sqrt(v @ v)
    v_tape[-1] = v
    d_v = ct[0] + ct_1 * (a @ v)        # from line ..: v @ (a @ v)
    d_t = v * ct_1
    d_a = np.outer(d_t, v)              # from line ..: a @ v
    d_v += a.T @ d_t
    for i in reversed(range(5)):
        v = v_tape[i]
        v_1 = a @ v
        t = np.sqrt(v_1 @ v_1)
        t1 = np.sum(d_v * v_tape[i + 1]) / t
        d_v = d_v / t - 2.0 * (t1 * (0.5 / np.where(t == 0.0, np.inf, t))) * v_1  # from line ..: v @ v
        d_a += np.outer(d_v, v)         # from line ..: a @ v
        d_v = a.T @ d_v
    return d_a
