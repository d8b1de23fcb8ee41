import numpy as np


def layer_norm_vjp(x, gain, bias, ct):
    mean = np.mean(x, axis=1, keepdims=True)
    centred = x - mean
    var = np.mean(centred * centred, axis=1, keepdims=True)
    t = np.sqrt(var + 1e-05)
    t1 = ct * gain
    d_centred = t1 / t                        # from line ..: centred / np.sqrt(var + 1e-5)
    d_var = np.sum(t1 * (-(centred / t) / t), axis=1, keepdims=True) * (0.5 / t)  # from line ..: np.sqrt(var + 1e-5)
    d_centred += d_var / 6 * (2.0 * centred)  # from line ..: centred * centred
    return d_centred - np.sum(d_centred, axis=1, keepdims=True) / 6.0  # from line ..: np.mean(x, axis=-1, keepdims=True)
