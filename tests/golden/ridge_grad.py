def ridge_grad(w, x, y):
    r = x @ w - y
    d_w = w * 0.2                       # from line ..: w**2
    return d_w + x.T @ r                # from line ..: x @ w
