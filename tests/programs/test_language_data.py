"""Values that must be known found by data flow: lists, strings, dicts and big numbers as arguments."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

from untraced import accelerate, grad
from untraced.translator.reading.text.signature import Opaque, unopened

CASES = Cases()


def a6():
    return np.arange(6.0)


def m34():
    return np.arange(12.0).reshape(3, 4)


def X(*fs):
    return lambda: tuple((f() if callable(f) else f for f in fs))


A = np.arange(6.0)


@CASES((2**70,), (2**63,), (-(2**63) - 1,))
def huge(n):
    return n + 1


@CASES((2**63 - 1, [-(2**63)]), (-(2**63), [2**63 - 1]))
def at_the_ends(n, more):
    return n + 1, n - 1, -n, abs(n), [-m for m in more]


@CASES((A, 2**64 - 1))
def hugemask(x, n):
    return n >> 3 & 255


@CASES((10, [3, 1, 2], "ab", (1.5, 2)))
def mix(n, l, s, t):
    d = {}
    for i, c in enumerate(s * 2):
        d.setdefault(c, []).append(i * n)
    l2 = sorted(l)
    l2.append(n)
    q = [x for x in l2 if x > 1]
    return (d, q, t[0] * n, {k: len(v) for k, v in d.items()})


# ---- long lists of numbers, which CPython keeps ----

LONG = [k * 37 % 101 for k in range(60)]


@CASES((list(LONG), np.linspace(0.0, 1.0, 50)), (tuple(LONG), 2.0))
def around_a_long_list(l, x):
    y = np.sin(x) * 2.0
    y = y + np.cos(y) * x
    a = np.array(l)
    return np.exp(-y) * (np.sum(y * y) + a.mean())


@CASES((list(LONG),))
def sorted_in_place(l):
    n = len(l)
    for i in range(n):
        for j in range(n - i - 1):
            if l[j] > l[j + 1]:
                l[j], l[j + 1] = l[j + 1], l[j]
    l.append(-1)
    return l


@CASES(([[float((3 * i + 5 * j) % 7 + (i == j) * 9) for j in range(6)] for i in range(6)],))
def eliminated(m):
    determinant = 1.0
    for i in range(len(m)):
        for j in range(i + 1, len(m)):
            ratio = m[j][i] / m[i][i]
            for k in range(len(m)):
                m[j][k] -= ratio * m[i][k]
        determinant *= m[i][i]
    return determinant


@CASES(({f"k{i}": v for i, v in enumerate(LONG)},))
def the_largest(d):
    return {k: v + 1 for k, v in d.items()}, sum(d.values()), max(d, key=d.get)


@CASES(([1, 2, 3, 4], 2), ([1, 2, 3, 4], 9))
def idx(l, v):
    try_i = -1
    for i, x in enumerate(l):
        if x == v:
            try_i = i
    return (try_i, v in l, l.count(v))


@CASES(([3, 1, 2],))
def minmaxidx(l):
    m = min(l)
    M = max(l)
    return (
        l.index(m),
        l.index(M),
        sorted(range(len(l)), key=lambda i: l[i]),
        sorted(l, key=lambda v: -v),
        max(l, key=lambda v: -v),
    )


@CASES(([1.5, 2.5], [1, 2]))
def listnum(a, b):
    return (
        [x * y for x, y in zip(a, b)],
        sum(a),
        a + b,
        [a] * 2,
        max(a + b),
        a == b,
        a < b,
        [*map(lambda x: x**2, a)],
        list(map(max, a, b)),
    )


@CASES((5,))
def dp(n):
    t = [[0] * (n + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        t[i][0] = 1
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            t[i][j] = t[i - 1][j] + (t[i][j - 1] if j <= i else 0)
    return (t[n][n], t)


@CASES((A, 3), (A, 10))
def kth(x, k):
    out = []
    i = 0
    while i < len(x) and len(out) < k:
        out.append(x[i])
        i += 2
    return out


@CASES((6,))
def primesieve(n):
    l = [True] * (n + 1)
    l[0] = l[1] = False
    for i in range(2, n + 1):
        if l[i]:
            for j in range(i * i, n + 1, i):
                l[j] = False
    return ([i for i, p in enumerate(l) if p], l.count(True))


@CASES((3, 4))
def gridpaths(m, n):

    @functools.lru_cache(None)
    def go(i, j):
        if i == 0 or j == 0:
            return 1
        return go(i - 1, j) + go(i, j - 1)

    return go(m, n)


@CASES((np.array([3, 1, 2]),))
def arr_to_list(a):
    l = a.tolist()
    l2 = list(a)
    return (l, l2, len(l))


@CASES((np.array([[1, 2], [3, 4]]),))
def sumgen(a):
    return (
        sum((sum(r) for r in a)),
        max((max(r) for r in a)),
        [int(v) for r in a for v in r],
        sum((a[i][i] for i in range(2))),
        any((v > 3 for r in a for v in r)),
    )


@CASES((4,))
def strnum(n):
    return (
        str(n) + "x",
        f"{n}",
        f"{n:05d}",
        f"{n / 3:.3f}",
        int(str(n) * 2),
        float(f"{n}.5"),
        len(str(n**5)),
        "%d items" % n,
        repr(n),
        bool(str(n)),
        ord("a") + n,
        chr(97 + n),
        "abc"[n % 3],
        "-" * n,
        str([n, n + 1]),
        str((n,)),
    )


@CASES((5, "x"), (5, "y"))
def kwcall(n, mode):

    def f(a, b=2, *args, c, d=4, **kw):
        return (a, b, args, c, d, sorted(kw.items()))

    opts = {"c": 1} if mode == "x" else {"c": 2, "e": 9}
    return (f(n, **opts), f(1, 2, 3, 4, c=5), f(*[1, 2], c=3))


@CASES((7,))
def tupleswap(n):
    a, b, c = (1, 2, 3)
    for _ in range(n):
        a, b, c = (b, c, a + b)
    (x, y), *z = ((a, b), c, n)
    return (a, b, c, x, y, z)


@CASES((np.arange(5),))
def intloop(x):
    s = 0
    p = 1
    m = -(10**9)
    for v in x:
        s += v
        p *= v + 1
        m = max(m, v)
    return (s, p, m)


@CASES((np.arange(5.0),))
def meanvar(x):
    n = 0
    mean = 0.0
    m2 = 0.0
    for v in x:
        n += 1
        d = v - mean
        mean += d / n
        m2 += d * (v - mean)
    return (mean, m2 / n, n)


@CASES((0.1, 20))
def logistic(x, n):
    xs = []
    for _ in range(n):
        x = 3.9 * x * (1 - x)
        xs.append(x)
    return (xs[-1], len(xs))


@CASES((1.0, 0.0, 0.01, 10))
def rk4(x, v, h, n):
    f = lambda x, v: (v, -x)
    for _ in range(n):
        k1 = f(x, v)
        k2 = f(x + h / 2 * k1[0], v + h / 2 * k1[1])
        k3 = f(x + h / 2 * k2[0], v + h / 2 * k2[1])
        k4 = f(x + h * k3[0], v + h * k3[1])
        x, v = (a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip((x, v), k1, k2, k3, k4))
    return (x, v)


@CASES((lambda t: t * 2, 3.0), (math.sqrt, 4.0))
def apply(f, x):
    return (f(x), [g(x) for g in (f, abs)])


@CASES((A,))
def condexpr_arr(x):
    y = x if x.sum() > 3 else -x
    z = np.where(x > 2, x, 0) if len(x) else None
    return (y, z, x.max() if x.any() else 0.0)


@CASES((3,))
def while_list(n):
    q = [n]
    seen = []
    while q:
        k = q.pop(0)
        seen.append(k)
        if k > 0:
            q.append(k - 1)
        if k > 1:
            q.append(k - 2)
    return seen


@CASES(({"a": [1, 2], "b": [3]},))
def graph(g):
    order = []
    visited = set()

    def dfs(k):
        if k in visited:
            return
        visited.add(k)
        for v in g.get(k, []):
            order.append(v)

    for k in g:
        dfs(k)
    return (order, sorted(visited))


@CASES(({0: [1, 2], 1: [2], 2: [0, 3], 3: []}, 2))
def bfs(g, s):
    from collections import deque

    q = deque([s])
    seen = {s}
    out = []
    while q:
        v = q.popleft()
        out.append(v)
        for w in g[v]:
            if w not in seen:
                seen.add(w)
                q.append(w)
    return out


@CASES((np.array([1.0, 2.0, 3.0]), np.array([[2.0, 1.0], [1.0, 3.0]])))
def genexp(x, m):
    return (
        tuple((v * 2 for v in x)),
        dict(((i, v) for i, v in enumerate(x))),
        np.array([r.sum() for r in m]),
        np.sum([v**2 for v in x]),
        np.array([[i * j for j in range(3)] for i in range(2)]),
        np.stack([x * k for k in range(2)]),
        np.concatenate([r for r in m]),
    )


@CASES((A,))
def aug_attr(x):
    d = {"k": x.copy(), "n": 0}
    d["k"] += 1
    d["n"] += 2
    l = [x.copy(), 1]
    l[0] *= 2
    l[1] += 1
    t = (x.copy(),)
    t[0][0] = 9
    return (d, l, t)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_data(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)


def test_long_lists_are_not_read_one_by_one() -> None:
    """A list of any length is one argument: neither its length nor what it holds asks for another program."""

    @accelerate
    def total(l: Any) -> Any:
        s = 0.0
        for v in l:
            s += v * v
        return s

    for n in (17, 1000, 30_000):
        values = [0.5] * n
        assert total(values) == 0.25 * n
    assert "for v in l" in total.source([0.5] * 1000)
    mixed = {"name": "n", **{f"w{k}": np.ones(2) for k in range(40)}}
    assert unopened(mixed) is mixed, "arrays among them are worth compiling"
    ragged = [[1.0], [2.0] * 400]
    assert unopened(ragged) == unopened([ragged, 1]) == Opaque(list)
    endless: list[Any] = [1.0]
    endless.append(endless)
    assert unopened(endless) is endless
    np.testing.assert_array_equal(grad(total.__wrapped__)([0.5] * 20), [1.0] * 20)  # its parameters, here
