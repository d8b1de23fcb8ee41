def option_grad(spot, strike, time, rate, volatility):
    deviation = volatility * np.sqrt(time)
    t = spot / strike
    d1 = (np.log(t) + (rate + 0.5 * volatility ** 2) * time) / deviation
    d2 = d1 - deviation
    n1 = 1.0 / (1.0 + np.exp(-1.702 * d1))
    n2 = 1.0 / (1.0 + np.exp(-1.702 * d2))
    d_d1 = spot * (n1 * (1.0 - n1) * 1.702)    # from line ..: 1.0 / (1.0 + np.exp(-1.702 * d1))
    d_d1 -= strike * np.exp(-rate * time) * (n2 * (1.0 - n2) * 1.702)  # from line ..: d1 - deviation
    return n1 + d_d1 / deviation / t / strike  # from line ..: spot / strike
