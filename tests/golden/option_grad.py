def option_grad(spot, strike, time, rate, volatility):
    deviation = volatility * np.sqrt(time)
    t = spot / strike
    d1 = (np.log(t) + (rate + 0.5 * volatility ** 2) * time) / deviation
    d2 = d1 - deviation
    t1 = np.exp(-1.702 * d1)
    t2 = 1.0 + t1
    n1 = 1.0 / t2
    t3 = np.exp(-1.702 * d2)
    t4 = 1.0 + t3
    n2 = 1.0 / t4
    d_d1 = spot * (-n1 / t2) * t1 * -1.702     # from line ..: -1.702 * d1
    d_d1 -= strike * np.exp(-rate * time) * (n2 / t4) * t3 * 1.702  # from line ..: d1 - deviation
    return n1 + d_d1 / deviation / t / strike  # from line ..: spot / strike
