def log_density_batched(p, x):
    scale = p["scale"]
    z = (x - p["loc"]) / scale
    return -0.5 * z * z - np.log(scale)
