def reprojection_grad(rotation, centre, focal, point, feature):
    theta = np.sqrt(np.sum(rotation ** 2))
    axis = rotation / theta
    p = point - centre
    t = np.cos(theta)
    t1 = np.cross(axis, p)
    t2 = np.sin(theta)
    t3 = axis @ p
    t4 = axis * t3
    t5 = 1.0 - t
    q = p * t + t1 * t2 + t4 * t5
    t6 = focal * q[:-1] / q[2]
    r = t6 - feature
    d_r = 2.0 * r                                         # from line ..: r @ r
    d_q = np.zeros_like(q)                                # from line ..: q[2]
    d_q[2] = -(np.sum(d_r * t6) / q[2])
    d_q[:-1] = d_r / q[2] * focal                         # from line ..: focal * q[:2]
    t7 = d_q * t5
    d_t = np.sum(t7 * axis)                               # from line ..: axis * (axis @ p)
    d_theta = np.sum(d_q * t1) * t                        # from line ..: np.sin(theta)
    d_axis = t7 * t3 + d_t * p + np.cross(p, d_q * t2)    # from line ..: np.cross(axis, p)
    d_theta -= (np.sum(d_q * p) - np.sum(d_q * t4)) * t2  # from line ..: np.cos(theta)
    d_theta -= np.sum(d_axis * axis) / theta              # from line ..: rotation / theta
    return d_axis / theta + d_theta / np.where(theta == 0.0, np.inf, theta) * rotation  # from line ..: rotation**2
