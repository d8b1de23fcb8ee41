import numpy as np


def decay(x, n):
    y = x
    for i in range(n):
        y = np.sin(y) * x
    return np.sum(y)
