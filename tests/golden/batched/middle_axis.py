def middle_axis_batched(x):
    return np.sum(x, axis=0).T
