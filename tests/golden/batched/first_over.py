def first_over_batched(x, limit):
    returned = np.zeros(5, dtype=np.bool_)
    value = np.zeros(5)
    active = np.ones(5, dtype=np.bool_)
    i = 0
    while np.any(active):
        t = x[:, i]
        t1 = t > limit
        i += 1
        t2 = active & t1
        returned = t2 | returned
        value = np.where(t2, t - limit, value)
        active = active & (~t1 & (i < 6))
    return np.where(returned, value, 0.0)
