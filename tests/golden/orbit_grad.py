def orbit_grad(q, p, n):
    q_tape = np.empty((5, 10))
    for i in range(5):
        q_tape[i] = q
        p = p - 0.1 * np.sin(q)
        q = q + 0.1 * p
    d_p = p * 2.0                       # from line ..: p * p
    d_q = q * 2.0                       # from line ..: q * q
    for i in reversed(range(5)):
        q = q_tape[i]
        d_p += d_q * 0.1                # from line ..: 0.1 * p
        d_q -= d_p * 0.1 * np.cos(q)    # from line ..: np.sin(q)
    return d_q
