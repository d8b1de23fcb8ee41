import untraced


def dropout_batched(key, x):
    t = untraced.random.threefry_bits32(key[:, None], np.arange(4, dtype=np.uint32)) >> 9
    return np.where((t | 1065353216).view(np.float32).copy() - 1.0 < 0.8, x / 0.8, 0.0)
