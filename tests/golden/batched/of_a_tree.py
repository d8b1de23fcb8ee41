def of_a_tree_batched(p):
    b = p["b"]
    return {"y": p["w"] @ np.ones(4) + b, "scale": np.sum(b ** 2, axis=1)}
