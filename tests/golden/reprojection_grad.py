def reprojection_grad(rotation, centre, focal, point, feature):
    theta = np.sqrt(np.sum(rotation ** 2))
    axis = rotation / theta
    p = point - centre
    t = np.cos(theta)
    t1 = np.cross(axis, p)
    t2 = np.sin(theta)
    t3 = axis @ p
    t4 = axis * t3
    q = p * t + t1 * t2 + t4 * (1.0 - t)
    t5 = focal * q[:-1] / q[2]
    r = t5 - feature
    d_r = 2.0 * r                                                 # from line ..: r @ r
    d_q = np.concatenate([d_r / q[2] * focal, np.array([-(np.sum(d_r * t5) / q[2])])])  # from line ..: focal * q[:2]
    t6 = d_q * (1.0 - t)
    d_axis = t6 * t3 + np.sum(t6 * axis) * p + np.cross(p, d_q * t2)  # from line ..: np.cross(axis, p)
    d_theta = np.sum(d_q * t1) * t - np.sum(d_q * (p - t4)) * t2  # from line ..: np.cos(theta)
    d_theta -= np.sum(d_axis * axis) / theta                      # from line ..: rotation / theta
    return d_axis / theta + d_theta / np.where(theta == 0.0, np.inf, theta) * rotation  # from line ..: rotation**2
