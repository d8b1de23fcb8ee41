def cholesky_grad(a):
    low = np.zeros((5, 5))
    low_tape_tape = np.empty((5, 5, 5, 5))
    t_tape_tape = np.empty((5, 5))
    for i in range(5):
        low_tape = np.empty((5, 5, 5))
        t_tape = np.empty(5)
        for j in range(i + 1):
            low_tape[j] = low
            t = low[i] @ low[j]
            t_tape[j] = t
            s = a[i, j] - t
            if i == j:
                t1 = np.sqrt(s)
            else:
                t1 = s / low[j, j]
            low[i, j] = t1
        low_tape_tape[i] = low_tape
        t_tape_tape[i] = t_tape
    d_low = np.ones_like(low)                          # from line ..: np.sum(low)
    d_a = np.zeros_like(a)                             # from line ..: for i in range(n)
    for i in reversed(range(5)):
        low_tape = low_tape_tape[i]
        t_tape = t_tape_tape[i]
        for j in reversed(range(i + 1)):
            low = low_tape[j]
            t2 = low[i]
            t3 = low[j]
            s = a[i, j] - t_tape[j]
            d_t = d_low[i, j]                          # from line ..: low[i, j] = np.sqrt(s) if i == j else s / low[j, j]
            d_low[i, j] = 0.0
            if i == j:
                d_s = d_t * (0.5 / np.sqrt(s))         # from line ..: np.sqrt(s)
            else:
                t4 = low[j, j]
                d_s = d_t / t4                         # from line ..: s / low[j, j]
                d_low[j, j] += d_t * (-(s / t4) / t4)  # from line ..: low[j, j]
            d_t = -d_s                                 # from line ..: a[i, j] - low[i] @ low[j]
            d_low[j] += t2 * d_t                       # from line ..: low[i] @ low[j]
            d_low[i] += d_t * t3
            d_a[i, j] += d_s                           # from line ..: a[i, j]
    return d_a
