def bumped_batched(x, i):
    x = x.copy()
    np.add.at(x, (np.arange(5), i), 1.0)
    return x
