def matrix_vector_batched(w, x):
    return np.einsum("ijk,ik->ij", w, x)
