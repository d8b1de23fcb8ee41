def network_grad(params, x, y):
    params_1_0 = params[1][0]
    x_1 = np.tanh(x @ params[0][0] + params[0][1])
    logits = x_1 @ params_1_0 + params[1][1]
    t = np.exp(logits)
    d_logp = y * -0.125                      # from line ..: y * logp
    t1 = np.sum(d_logp, axis=1, keepdims=True) / np.sum(t, axis=1, keepdims=True) * t
    d_logits = d_logp - t1                   # from line ..: np.exp(logits)
    d_params_1_1 = np.sum(d_logits, axis=0)  # from line ..: x @ w + b
    d_x = d_logits @ params_1_0.T            # from line ..: x @ w
    d_params_1_0 = x_1.T @ d_logits
    t2 = d_x * (1.0 - x_1 * x_1)
    d_params_0_1 = np.sum(t2, axis=0)        # from line ..: x @ w + b
    d_params_0_0 = x.T @ t2                  # from line ..: x @ w
    return [(d_params_0_0, d_params_0_1), (d_params_1_0, d_params_1_1)]
