def logistic_grad(w, x, t):
    t1 = np.exp(-(x @ w))
    t2 = 1.0 + t1
    p = 1.0 / t2
    d_p = (1 - t) * 0.125 / (1 - p) - t * 0.125 / p  # from line ..: np.log(p)
    d_t = d_p * (p / t2) * t1                        # from line ..: -(x @ w)
    return x.T @ d_t                                 # from line ..: x @ w
