def hinge_batched(x):
    return np.where(x < -1, -1.0, np.where(x < 1, x ** 3, 1.0))
