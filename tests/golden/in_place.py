import numpy as np


def in_place(x):
    x[0] = 3.0
    x[1:] *= 2.0
