def hidden_markov_grad(start, move, emit, seen):
    t = emit[:, seen[0]]
    a = start * t
    a_tape = np.empty((3, 3))
    for t1 in range(1, 4):
        a_tape[t1 - 1] = a
        total = np.sum(a)
        a = a / total @ move * emit[:, seen[t1]]
    d_a = -1.0 / np.sum(a)              # from line ..: np.log(np.sum(a))
    d_a = np.full(3, d_a)               # from line ..: np.sum(a)
    for t2 in reversed(range(1, 4)):
        a = a_tape[t2 - 1]
        total = np.sum(a)
        d_t = d_a * emit[:, seen[t2]]   # from line ..: (a / total) @ move * emit[:, seen[t]]
        t3 = d_t @ move.T
        d_total = -1.0 / total - np.sum(t3 * (a / total)) / total  # from line ..: np.log(total)
        d_a = t3 / total + d_total      # from line ..: np.sum(a)
    return d_a * t                      # from line ..: start * emit[:, seen[0]]
