def outer_batched(x, y):
    return np.einsum("ij,ik->ijk", x, y)
