def recurrent_grad(w, h, xs):
    h_tape = np.empty((8, 4))
    t_tape = np.empty((8, 4))
    for i in range(8):
        h_tape[i] = h
        t = w @ h
        t_tape[i] = t
        x = xs[i]
        h = np.tanh(t + x)
    d_h = h * 2.0                       # from line ..: h * h
    d_w = np.zeros_like(w)              # from line ..: for x in xs
    for i in reversed(range(8)):
        h = h_tape[i]
        x = xs[i]
        h_1 = np.tanh(t_tape[i] + x)
        d_t = d_h * (1.0 - h_1 * h_1)   # from line ..: np.tanh(w @ h + x)
        d_w += np.outer(d_t, h)         # from line ..: w @ h
        d_h = w.T @ d_t
    return d_w
