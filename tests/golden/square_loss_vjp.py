import numpy as np


def square_loss_vjp(w, x, y, ct):
    h = np.tanh(x @ w)
    e = h - y
    d_e = ct / 15 * (2.0 * e)           # from line ..: e * e
    d_t = d_e * (1.0 - h * h)           # from line ..: np.tanh(x @ w)
    return x.T @ d_t                    # from line ..: x @ w
