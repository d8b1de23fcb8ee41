"""Small algorithms of numbers, strings and lists; integers of any size."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

CASES = Cases()

A = np.arange(6.0)

M = np.arange(12.0).reshape(3, 4)

I = np.arange(8)


@CASES((5,), (10,))
def fibo(n):
    return n if n < 2 else fibo(n - 1) + fibo(n - 2)


@CASES((3, 4))
def acker(m, n):
    return 1 if n > 100 else (acker(m - 1, 1) if n == 0 else n + 1) if m == 0 or n == 0 else m + n


@CASES(([1, 2, 3, 4],))
def evens(l):
    return [x for x in l if x % 2 == 0]


@CASES(([3, 1, 2],))
def srt(l):
    return (sorted(l), min(l), max(l), sum(l), l[::-1], len(l), 2 in l, l.index(1), l.count(3), l + [1], l * 2)


@CASES(([3.0, 1.0, 2.0],))
def fl(l):
    return (
        sum(l) / len(l),
        min(l),
        max(l),
        [math.sqrt(x) for x in l],
        sorted(l),
        math.fsum(l),
        max(l) - min(l),
        [round(x) for x in l],
    )


@CASES(("hello",))
def strs(s):
    return (
        s.upper(),
        s[::-1],
        len(s),
        "l" in s,
        s.count("l"),
        s.find("o"),
        s.replace("l", "L"),
        [c for c in s],
        s.split("e"),
        "".join(sorted(s)),
        s + "!",
        s * 2,
        ord(s[0]),
        chr(65),
        s.isalpha(),
        "%s-%d" % (s, 3),
        s.center(9, "*"),
        s.title(),
        s.strip("h"),
        s.startswith("he"),
        s.index("l"),
        s < "z",
        s == "hello",
        int("12"),
        float("1.5"),
        str(12),
        hex(255),
        bin(5),
        oct(8),
        repr(s),
    )


@CASES(("hello world foo",))
def wc(s):
    d = {}
    for w in s.split():
        for c in w:
            d[c] = d.get(c, 0) + 1
    return d


@CASES(([1, 2, 2, 3],))
def cnt(l):
    c = Counter(l)
    dd = defaultdict(list)
    for i, x in enumerate(l):
        dd[x].append(i)
    di = defaultdict(int)
    for x in l:
        di[x] += 1
    return (dict(c), dict(dd), dict(di), c.most_common(1))


@CASES((10,))
def pascal(n):
    rows = [[1]]
    for i in range(1, n):
        prev = rows[-1]
        rows.append([1] + [prev[j] + prev[j + 1] for j in range(len(prev) - 1)] + [1])
    return rows


@CASES((2.0, 1e-10))
def newton(a, tol):
    x = a
    while abs(x * x - a) > tol:
        x = 0.5 * (x + a / x)
    return x


@CASES((0.0, 2.0, 1e-06))
def bisect(lo, hi, tol):
    f = lambda x: x * x - 2
    it = 0
    while hi - lo > tol:
        mid = (lo + hi) / 2
        if f(lo) * f(mid) <= 0:
            hi = mid
        else:
            lo = mid
        it += 1
    return ((lo + hi) / 2, it)


@CASES(([[1, 2], [3, 4]], [[5, 6], [7, 8]]))
def matmul_lists(a, b):
    n = len(a)
    m = len(b[0])
    k = len(b)
    c = [[0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            s = 0
            for t in range(k):
                s += a[i][t] * b[t][j]
            c[i][j] = s
    return c


@CASES(([[1, 2], [3, 4]],))
def transpose(a):
    return ([list(r) for r in zip(*a)], list(map(list, zip(*a))), [[r[i] for r in a] for i in range(2)])


@CASES((3,))
def hanoi(n):
    moves = []

    def mv(k, a, b, c):
        if k == 0:
            return
        mv(k - 1, a, c, b)
        moves.append((a, c))
        mv(k - 1, b, a, c)

    mv(n, "A", "B", "C")
    return (len(moves), moves)


@CASES((6,))
def queens(n):

    def ok(q, c):
        return all((c != qc and abs(c - qc) != len(q) - i for i, qc in enumerate(q)))

    def solve(q):
        if len(q) == n:
            return 1
        return sum((solve(q + [c]) for c in range(n) if ok(q, c)))

    return solve([])


@CASES(([5, 2, 8, 1],))
def qsort(l):
    if len(l) <= 1:
        return l
    p = l[0]
    return qsort([x for x in l[1:] if x < p]) + [p] + qsort([x for x in l[1:] if x >= p])


@CASES(([5, 2, 8, 1],))
def insertion(l):
    l = list(l)
    for i in range(1, len(l)):
        k = l[i]
        j = i - 1
        while j >= 0 and l[j] > k:
            l[j + 1] = l[j]
            j -= 1
        l[j + 1] = k
    return l


@CASES(([1, 3, 5, 7], 5), ([1, 3, 5, 7], 4))
def bsearch(l, t):
    lo, hi = (0, len(l) - 1)
    while lo <= hi:
        m = (lo + hi) // 2
        if l[m] == t:
            return m
        if l[m] < t:
            lo = m + 1
        else:
            hi = m - 1
    return -1


@CASES((5,))
def gen_sum(n):
    return (
        sum((i * i for i in range(n))),
        sum([1.5] * n),
        list(range(n)),
        tuple(range(0, n, 2)),
        set(range(n)) == {0, 1, 2, 3, 4},
        dict(zip("ab", range(2))),
        [*range(n)],
        max(range(n)),
        sorted(range(n), reverse=True),
        n in range(10),
    )


@CASES((M,), (-M,))
def nested_break(m):
    found = False
    pos = (-1, -1)
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] > 5:
                found = True
                pos = (i, j)
                break
        if found:
            break
    return (found, pos)


@CASES((A,))
def cont(x):
    s = 0.0
    c = 0
    for v in x:
        if v % 2 == 0:
            continue
        s += v
        c += 1
    return (s, c, s / c)


@CASES((A,))
def maxloc(x):
    best = None
    bi = -1
    for i in range(len(x)):
        if best is None or x[i] > best:
            best = x[i]
            bi = i
    return (best, bi)


@CASES((A,))
def none_then_array(x):
    prev = None
    for k in range(4):
        cur = x * k
        if prev is not None:
            cur = cur + prev
        prev = cur
    return prev


@CASES((A,))
def carried_mixed(x):
    st = (0, x, [x, x * 2], {"a": 1.0})
    i = 0
    f = 1
    while i < 4:
        a, b, c, d = st
        st = (a + 1, b * 0.5, [c[1], c[0]], {"a": d["a"] + b[1]})
        f = f * 1.5
        i += 1
    return (st, f)


@CASES((3,))
def lam(n):
    fs = [lambda x, i=i: x + i for i in range(n)]
    gs = [lambda x: x + i for i in range(n)]
    return ([f(1) for f in fs], [g(1) for g in gs])


@CASES((2.0,))
def compose(x):

    def comp(*fs):

        def h(v):
            for f in reversed(fs):
                v = f(v)
            return v

        return h

    return comp(math.sin, math.cos, lambda t: t * 2)(x)


@CASES((5,))
def counter(n):

    def mk():
        c = 0

        def inc(k=1):
            nonlocal c
            c += k
            return c

        return inc

    a = mk()
    b = mk()
    for i in range(n):
        a()
        b(2)
    return (a(), b())


@CASES((4,))
def spiral(n):
    m = np.zeros((n, n), int)
    r = c = 0
    dr, dc = (0, 1)
    for k in range(1, n * n + 1):
        m[r, c] = k
        if not (0 <= r + dr < n and 0 <= c + dc < n and (m[r + dr, c + dc] == 0)):
            dr, dc = (dc, -dr)
        r += dr
        c += dc
    return m


@CASES((20,))
def collatz_list(n):
    seq = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        seq.append(n)
    return seq


@CASES(("kitten", "sitting"))
def lev(a, b):
    d = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) + 1):
        d[i][0] = i
    for j in range(len(b) + 1):
        d[0][j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
    return d[-1][-1]


@CASES(([1, 5, 10, 25], 63))
def coins(cs, t):
    ways = [1] + [0] * t
    for c in cs:
        for i in range(c, t + 1):
            ways[i] += ways[i - c]
    return ways[t]


@CASES(([-2, 1, -3, 4, -1, 2, 1, -5, 4],))
def kadane(l):
    best = cur = l[0]
    for x in l[1:]:
        cur = max(x, cur + x)
        best = max(best, cur)
    return best


@CASES((b"abc",))
def byt(b):
    return ([x for x in b], len(b), b[0])


@CASES((0.5,))
def taylor(x):
    t = 1.0
    s = 0.0
    n = 0
    while abs(t) > 1e-12:
        s += t
        n += 1
        t *= x / n
    return (s, n)


@CASES((np.sin(np.arange(30.0)).reshape(5, 6), 2))
def seams_removed(image, count):
    """The cheapest path from top to bottom, `count` times (S. Avidan, A. Shamir, "Seam carving", 2007)."""
    for _ in range(count):
        energy = np.abs(np.gradient(image, axis=0)) + np.abs(np.gradient(image, axis=1))
        rows, columns = energy.shape
        back = np.zeros((rows, columns), dtype=int)
        for i in range(1, rows):
            for j in range(columns):
                low = max(j - 1, 0)
                back[i, j] = low + np.argmin(energy[i - 1, low : j + 2])
                energy[i, j] += energy[i - 1, back[i, j]]
        keep = np.ones((rows, columns), dtype=bool)
        j = np.argmin(energy[-1])
        for i in reversed(range(rows)):
            keep[i, j] = False
            j = back[i, j]
        image = image[keep].reshape((rows, columns - 1))
    return image


@CASES((np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, 3.0, 3.0, 2.0, 2.5])))
def warped(x, y):
    """Dynamic time warping, with its path (H. Sakoe, S. Chiba, 1978)."""
    n, m = len(x), len(y)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost[i, j] = abs(x[i - 1] - y[j - 1]) + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    i, j, path = n, m, [(n - 1, m - 1)]
    while (i, j) != (1, 1):
        step = np.argmin([cost[i - 1, j - 1], cost[i - 1, j], cost[i, j - 1]])
        if step != 2:
            i -= 1
        if step != 1:
            j -= 1
        path.append((i - 1, j - 1))
    return cost[n, m], path[::-1]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_algorithms(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)
