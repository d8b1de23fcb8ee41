def skew_symmetric_batched(v):
    t = np.stack([np.zeros(5), -v[:, 2], v[:, 1]], axis=1)
    t1 = np.stack([v[:, 2], np.zeros(5), -v[:, 0]], axis=1)
    return np.stack([t, t1, np.stack([-v[:, 1], v[:, 0], np.zeros(5)], axis=1)], axis=1)
