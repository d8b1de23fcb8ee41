def settled(a, b, tol):
    # line 43: np.zeros_like(b)
    x = empty((600,), float64)
    x[...] = float64(0.0)
    err, k = float64(1.0), 0
    def going(x, err, k):
        # line 44: err > tol
        t = greater(err, tol)
        # line 44: k < 100
        t1 = less(k, 100)
        # line 44: err > tol and k < 100
        t2 = logical_and(t, t1)
        return t2
    def turn(x, err, k):
        # line 45: np.roll(x, 1)
        t3 = x[599:600]
        t4 = x[0:599]
        t5 = concatenate(t3, t4)
        del t3, t4
        # line 45: b - a * np.roll(x, 1); line 46: np.max(np.abs(new - x))
        new = empty((600,), float64)
        err = empty((), float64)
        settled_new(b, a, t5, x, new, err)       # 1 block of 128 threads
        del t5, x
        # line 46: k + 1
        k = add(k, 1)
        return (new, err, k)
    (x, err, k) = turns(going, turn, x, err, k)  # asks the device after several turns
    return (x, k)
