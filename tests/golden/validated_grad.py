def validated_grad(x, sigma):
    if sigma <= 0:
        raise ValueError(f"sigma must be positive, got {sigma}")
    assert not np.any(np.isnan(x)), "x has NaNs"
    t = x / sigma
    return -np.exp(-t ** 2) * (2 * t) / sigma  # from line ..: x / sigma
