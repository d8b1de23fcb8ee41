def square_root_batched(a):
    x = np.ones(5)
    active = np.ones(5, dtype=np.bool_)
    i = 0
    while np.any(active):
        step = (x * x - a) / (2 * x)
        i += 1
        x = np.where(active, x - step, x)
        t = ~(np.abs(step) < 1e-09) & (i < 20)
        active = active & t
    return x
