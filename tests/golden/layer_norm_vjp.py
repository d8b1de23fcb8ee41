import numpy as np


def layer_norm_vjp(x, gain, bias, ct):
    mean = np.mean(x, axis=1, keepdims=True)
    centred = x - mean
    var = np.mean(centred * centred, axis=1, keepdims=True)
    t = np.sqrt(var + 1e-05)
    t1 = ct * gain
    t2 = np.sum(t1 * (centred / t), axis=1, keepdims=True) / t * (0.5 / t) / 6 * (2.0 * centred)
    d_centred = t1 / t - t2             # from line ..: centred * centred
    return d_centred - np.sum(d_centred, axis=1, keepdims=True) / 6.0  # from line ..: np.mean(x, axis=-1, keepdims=True)
