import numpy as np


def windows(x, width):
    out = np.zeros(5)
    for i in range(5):
        out[i] = np.sum(x[i:i + 3]) / width
    return out
