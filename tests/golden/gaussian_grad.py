def gaussian_grad(sigma, mu, x):
    z = (x - mu) / sigma
    d_sigma = -10.0 / np.float64(sigma)       # from line ..: np.log(sigma)
    return d_sigma + np.sum(z * (z / sigma))  # from line ..: (x - mu) / sigma
