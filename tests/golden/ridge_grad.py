def ridge_grad(w, x, y):
    r = x @ w - y
    return w * 0.2 + x.T @ r            # from line ..: x @ w
