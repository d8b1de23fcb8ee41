def quadratic_form_batched(x, a):
    return np.vecdot(x @ a, x)
