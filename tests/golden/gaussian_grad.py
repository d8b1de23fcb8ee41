def gaussian_grad(sigma, mu, x):
    z = (x - mu) / sigma
    d_z = -z                                                    # from line ..: -0.5 * z
    return -10.0 / np.float64(sigma) - np.sum(d_z * z) / sigma  # from line ..: (x - mu) / sigma
