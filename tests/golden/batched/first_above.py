def first_above_batched(x, levels):
    def go_on_1(k, total_1, levels):
        t = k < 4
        if t:
            t = levels[k] < total_1
        return t

    total = np.sum(x, axis=1)
    t = total < 0.0
    t1 = np.empty(5)
    for lane in range(5):
        total_1 = total[lane]
        if t[lane]:
            t4 = -1.0
        else:
            k = 0
            while go_on_1(k, total_1, levels):
                k += 1
            t4 = k / 4.0
        t1[lane] = t4
    return t1, total
