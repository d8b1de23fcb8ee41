def heat(u, n):
    def loop(n, u):
        v = u
        for i in range(n):
            # line 38: i + 1
            t = add(i, 1)
            # line 37: v[1:-1, 1:-1] += 0.1 * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4 * v[1:-1, 1:-1]); line 38: v[0] = v[-2] * (i + 1)
            v_new_2 = empty((9, 12), float64)
            heat_v(v, v_new_2, t)          # 1 block of 256 threads
            v = v_new_2
            del v_new_2
        return (v,)
    (v,) = recorded(range(n), loop, n, u)  # a graph when it comes again
    return (v,)
