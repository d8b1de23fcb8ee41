def pair_energy_grad(q):
    d = q[:, None] - q
    r2 = np.sum(d * d, axis=2) + 0.1
    t = np.sqrt(r2)
    d_r2 = -(1.0 / t) / t * (0.5 / t)                 # from line ..: np.sqrt(r2)
    d_d = d_r2[..., None] * (2.0 * d)                 # from line ..: d * d
    return np.sum(d_d, axis=1) - np.sum(d_d, axis=0)  # from line ..: q[:, None, :] - q[None, :, :]
