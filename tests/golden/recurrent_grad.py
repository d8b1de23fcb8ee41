def recurrent_grad(w, h, xs):
    h_tape = np.empty((9, 4))
    for i in range(8):
        h_tape[i] = h
        x = xs[i]
        h = np.tanh(w @ h + x)
    h_tape[-1] = h
    d_h = h * 2.0                       # from line ..: h * h
    d_w = np.zeros_like(w)              # from line ..: for x in xs
    for i in reversed(range(8)):
        h, h_1 = h_tape[i], h_tape[i + 1]
        d_t = d_h * (1.0 - h_1 * h_1)   # from line ..: np.tanh(w @ h + x)
        d_w += np.outer(d_t, h)         # from line ..: w @ h
        d_h = w.T @ d_t
    return d_w
