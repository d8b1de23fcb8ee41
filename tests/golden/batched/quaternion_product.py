def quaternion_product_batched(p, q):
    a = p[:, 0]
    b = p[:, 1]
    c = p[:, 2]
    d = p[:, 3]
    e = q[:, 0]
    f = q[:, 1]
    g = q[:, 2]
    h = q[:, 3]
    return np.stack([a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g], axis=1)
