def scatter_matrix_grad(x):
    c = x - np.mean(x, axis=0)
    d_t = c.T @ c * 0.25                      # from line ..: (c.T @ c) ** 2
    d_c = c @ d_t.T + c @ d_t                 # from line ..: c.T @ c
    t = np.sum(c, axis=0)
    return d_c - (t @ d_t.T + t @ d_t) / 8.0  # from line ..: np.mean(x, axis=0)
