def gaussian_grad(sigma, mu, x):
    z = (x - mu) / sigma
    d_sigma = -10.0 / np.float64(sigma)       # from line ..: np.log(sigma)
    d_z = -z                                  # from line ..: -0.5 * z
    return d_sigma - np.sum(d_z * z) / sigma  # from line ..: (x - mu) / sigma
