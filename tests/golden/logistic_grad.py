def logistic_grad(w, x, t):
    p = 1.0 / (1.0 + np.exp(-(x @ w)))
    t1 = 1.0 - p
    d_p = (1 - t) * 0.125 / t1 - t * 0.125 / p  # from line ..: np.log(p)
    d_t = d_p * (p * t1)                        # from line ..: 1.0 / (1.0 + np.exp(-(x @ w)))
    return x.T @ d_t                            # from line ..: x @ w
