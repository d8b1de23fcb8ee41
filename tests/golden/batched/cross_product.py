def cross_product_batched(a, b):
    return np.cross(a, b)
