import numpy as np


def histogram(x, bins):
    counts = np.zeros(4)
    np.add.at(counts, bins, x)
    return counts
