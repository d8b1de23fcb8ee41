def kalman_grad(a, q, r, ys):
    m = np.zeros(4)
    p = np.eye(4)
    m_tape, p_tape = np.empty((8, 4)), np.empty((8, 4, 4))
    t_tape = np.empty((8, 4))
    t_tape_1 = np.empty((8, 4, 4))
    for i in range(8):
        m_tape[i], p_tape[i] = m, p
        m = a @ m
        p = a @ p @ a.T + q
        s = p + r
        y = ys[i]
        e = y - m
        t_tape[i] = np.linalg.solve(s, e)
        t = np.linalg.inv(s)
        t_tape_1[i] = t
        gain = p @ t
        m += gain @ e
        p -= gain @ p
    d_m, d_p, d_a = np.zeros_like(m), np.zeros_like(p), np.zeros_like(a)  # from line ..: for y in ys
    for i in reversed(range(8)):
        m, p = m_tape[i], p_tape[i]
        t1 = a @ p
        p_1 = t1 @ a.T + q
        s = p_1 + r
        y = ys[i]
        e = y - a @ m
        gain = p_1 @ t_tape_1[i]
        d_t = -d_p                                               # from line ..: p - gain @ p
        d_p += gain.T @ d_t                                      # from line ..: gain @ p
        d_gain = d_t @ p_1.T + np.outer(d_m, e)                  # from line ..: gain @ e
        d_p += d_gain @ t_tape_1[i].T                            # from line ..: p @ np.linalg.inv(s)
        t2 = np.linalg.solve(s.T, p_1.T @ d_gain) @ t_tape_1[i].T
        t3 = np.linalg.solve(s.T, e)
        d_s = np.linalg.inv(s).T - t2 - np.outer(t3, t_tape[i])  # from line ..: np.linalg.solve(s, e)
        d_e = gain.T @ d_m + t_tape[i] + t3
        d_m -= d_e                                               # from line ..: y - m
        d_p += d_s                                               # from line ..: p + r
        d_t = d_p @ a                                            # from line ..: a @ p @ a.T
        d_a += d_p.T @ t1
        d_a += d_t @ p.T                                         # from line ..: a @ p
        d_p = a.T @ d_t
        d_a += np.outer(d_m, m)                                  # from line ..: a @ m
        d_m = a.T @ d_m
    return d_a
