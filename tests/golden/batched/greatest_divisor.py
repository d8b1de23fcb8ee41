def greatest_divisor_batched(a, b):
    active = b != 0
    while np.any(active):
        t = a % b
        a = np.where(active, b, a)
        b = np.where(active, t, b)
        active = active & (b != 0)
    return a
