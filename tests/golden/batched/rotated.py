def rotated_batched(p, angle):
    c, s = np.cos(angle), np.sin(angle)
    t = np.stack([np.stack([c, -s], axis=1), np.stack([s, c], axis=1)], axis=1)
    return np.einsum("ijk,ik->ij", t, p)
