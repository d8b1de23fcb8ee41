def cosine_batched(x, y):
    return np.vecdot(x, y) / (np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1))
