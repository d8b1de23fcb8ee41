def spectral_gap_batched(a):
    w = np.linalg.eigvalsh(a + a.mT)
    return w[:, 3] - w[:, 2]
