def discounted_batched(x):
    carry = np.zeros(5)
    t = np.empty((5, 4))
    for i in range(4):
        t[:, i] = carry
        carry = carry * 0.9 + x[:, i]
    return carry, t
