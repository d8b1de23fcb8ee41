import numpy as np


def two_layers_vjp(params, x, ct):
    t = x @ params["w1"] + params["b1"]
    d_h = ct @ params["w2"].T           # from line ..: h @ params["w2"]
    t1 = np.where(t > 0.0, d_h, np.where(t == 0.0, 0.5 * d_h, 0.0))
    return np.sum(t1, axis=0)           # from line ..: x @ params["w1"] + params["b1"]
