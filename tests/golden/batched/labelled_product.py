def labelled_product_batched(a, b):
    return b @ a.T
