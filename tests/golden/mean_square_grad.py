def mean_square_grad(w, x, y):
    h = np.tanh(x @ w)
    e = h - y
    d_e = e * 0.0625                    # from line ..: e * e
    d_t = d_e * (1.0 - h * h)           # from line ..: np.tanh(x @ w)
    return x.T @ d_t                    # from line ..: x @ w
