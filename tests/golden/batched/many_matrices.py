def many_matrices_batched(w, x):
    return w @ x
