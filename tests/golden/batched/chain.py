def chain_batched(x, a):
    return x @ a.T @ a.T + x
