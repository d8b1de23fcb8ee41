def middle_axis_batched(x):
    return np.sum(x.transpose(1, 0, 2), axis=1).T
