import numpy as np


def clipped_step(x, lr):
    norm = np.sqrt(np.sum(x * x))
    if norm > 1.0:
        x = x / norm
    else:
        x = x * 0.5
    return x - lr * x
