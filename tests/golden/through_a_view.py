import numpy as np


def through_a_view(x):
    y = x * 2.0
    y[1] += 1.0
    y[:, 0] += y[1, 0]
    return y
