def scatter_matrix_grad(x):
    c = x - np.sum(x, axis=0) / 8
    d_t = c.T @ c * 0.25                   # from line ..: (c.T @ c) ** 2
    d_c = c @ d_t.T                        # from line ..: c.T @ c
    d_c += c @ d_t
    return d_c + np.sum(-d_c, axis=0) / 8  # from line ..: np.mean(x, axis=0)
