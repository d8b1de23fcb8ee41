def network_grad(w1, b1, w2, x, y):
    # line 27: np.tanh(x @ w1 + b1)
    h = empty((32, 16), float32)
    network_grad_h(x, w1, b1, h)          # 1 block of 128 threads
    del w1, b1
    # line 28: h @ w2
    z = contract(h, w2)                   # ab,bc->ac
    # lines 29 to 31
    d_z = empty((32, 10), float32)
    network_grad_d_z(y, z, d_z)           # 1 block of 128 threads
    del z, y
    # line 27: np.tanh(x @ w1 + b1); line 28: h @ w2
    t = empty((32, 16), float32)
    network_grad_t(d_z, w2, h, t)         # 1 block of 128 threads
    del w2
    # line 28: h @ w2
    d_w2 = contract_2(h, d_z)             # ab,ac->bc
    del h, d_z
    # line 27: x @ w1 + b1
    d_b1 = empty((16,), float32)
    part = empty((16, 1), float32)
    network_grad_d_b1_parts(t, part)      # 1 block of 128 threads
    network_grad_d_b1_finish(part, d_b1)  # 1 block of 128 threads
    del part
    # line 27: x @ w1
    d_w1 = contract_3(x, t)               # ab,ac->bc
    return (d_w1, d_b1, d_w2)
