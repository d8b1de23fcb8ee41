def curvature_batched(x, a):
    t = np.eye(3) @ a.T * (-np.sin(x @ a.T))[:, None]
    d_d_x = t @ a                       # from line ..: a @ x
    return d_d_x.mT
