"""Lists, dicts and sets, made inside and the caller's own, and the standard library over them."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

CASES = Cases()

A = np.arange(6.0)

M = np.arange(12.0).reshape(3, 4)


@CASES((30,))
def sieve_list(n):
    primes = []
    for k in range(2, n):
        for p in primes:
            if k % p == 0:
                break
        else:
            primes.append(k)
    return primes


@CASES(([1.0, 2.0, 3.0],))
def mean_list(xs):
    t = 0
    for x in xs:
        t += x
    return t / len(xs)


@CASES(([3, 1, 2],))
def bubble(xs):
    n = len(xs)
    for i in range(n):
        for j in range(n - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = (xs[j + 1], xs[j])
    return xs


@CASES((A,))
def lists(x):
    L = [1, 2, 3]
    L.append(4)
    L.extend([5, 6])
    L.insert(0, 0)
    L.pop()
    L.reverse()
    L.sort()
    L.remove(3)
    L += [9]
    L = L * 2 + [1]
    L[1:3] = [7, 7, 7]
    del L[0]
    return (
        L,
        L[::2],
        L[-1],
        L.index(7),
        L.count(7),
        (1, 2) + (3,),
        (1, 2) * 2,
        (1, 2) < (1, 3),
        [1, 2] == [1, 2],
        x * L[0],
    )


@CASES((A,))
def dicts(x):
    d = {"a": x, "b": 2}
    d["c"] = 3
    d.update(e=5)
    d.update({"f": 6})
    d.setdefault("g", 7)
    z = d.pop("b")
    del d["e"]
    t = 0
    for k, v in d.items():
        t = t + v
    e = {**d, "h": 1}
    f = d | {"z": 1}
    return (t, z, list(d.keys()), d.get("q"), d.get("q", 1), len(e), "a" in d, sorted(d), list(f), d.copy())


@CASES((A,))
def sets(x):
    s = {1, 2, 3}
    s.add(4)
    s |= {9}
    s.discard(1)
    return (sorted(s), 2 in s, len(s & {2, 3}), x * len(s), s - {2} == {3, 4, 9})


@CASES((A,))
def comps(x):
    return (
        [i * 2 for i in range(3)],
        {k: x * k for k in range(3) if k},
        sorted({i % 2 for i in range(5)}),
        sum((i * i for i in range(4))),
        min((x[i] for i in range(3))),
        max((1, 5, 2)),
        any((v > 2 for v in (1, 2, 3))),
        all((v > 0 for v in (1, 2))),
        tuple((i for i in "abc")),
        [(i, j) for i in range(2) for j in range(2)],
    )


@CASES((A,))
def gens(x):
    return (
        list(zip(range(3), "abc")),
        list(enumerate("ab", 1)),
        list(map(lambda v: v + 1, [1, 2])),
        list(filter(lambda v: v > 1, [1, 2, 3])),
        list(reversed([1, 2, 3])),
        sorted([3, 1, 2], key=lambda v: -v),
        sorted([3, 1, 2], reverse=True),
        max([1, -5, 2], key=abs),
        min("bca"),
    )


@CASES((A,))
def ftools(x):
    f = functools.partial(np.add, 1.0)
    return (
        functools.reduce(lambda a, b: a * b, [x, 2, 3]),
        f(x),
        functools.reduce(operator.add, [1, 2, 3], 10),
        math.prod([x[0], 2, x[1]], start=3),
        functools.reduce(np.maximum, [x, x[::-1]]),
    )


@CASES((A,))
def itools(x):
    r = []
    for i, j in itertools.product(range(2), range(2)):
        r.append(x[i] + j)
    for a, b in itertools.combinations(range(3), 2):
        r.append(x[a] * b)
    for p in itertools.permutations([0, 1, 2]):
        r.append(x[p[0]])
    for v in itertools.chain([1, 2], [3]):
        r.append(v)
    r += list(itertools.accumulate([1, 2, 3]))
    r += list(itertools.islice(range(10), 2, 5))
    r += [b for a, b in itertools.zip_longest([1], [2, 3], fillvalue=0)]
    r += [i for i, _ in zip(itertools.count(5), "ab")]
    r += list(itertools.repeat(1, 2))
    r += list(itertools.chain.from_iterable([[1], [2]]))
    r += [k for k, g in itertools.groupby([1, 1, 2])]
    r += [a for a, b in itertools.pairwise([1, 2, 3])]
    r += list(itertools.starmap(pow, [(2, 3)]))
    r += list(itertools.takewhile(lambda v: v < 3, [1, 2, 3]))
    return r


@CASES((A,))
def opmod(x):
    return (
        operator.mul(x, 2),
        operator.add(1, 2),
        operator.itemgetter(1)([1, 2]),
        operator.neg(x),
        operator.getitem(x, 1),
        operator.truediv(x, 2),
        operator.lt(x, 2),
        operator.matmul(x, x),
        operator.pow(x, 2),
    )


@CASES((A,))
def unpack(x):
    a, *b = [1, 2, 3]
    (c, d), e = ((1, 2), 3)
    *f, g = x[:3]
    [h, k] = x[:2]

    def fn(*a, **k):
        return (len(a), sorted(k))

    return (a, b, c, d, e, f, g, h + k, fn(*b, *(1, 2), z=1, y=2), [*b, *x[:2]], (*b, 1), {"a": 1})


@CASES((A,))
def dels(x):
    t = x * 2
    u = t + 1
    del t
    return u


@CASES((A, "a"), (A, "b"), (A, 3))
def matching(x, k):
    match k:
        case "a":
            return x
        case "b" | "c":
            return x * 2
        case int(n) if n > 2:
            return x * n
        case _:
            return x * 0


@CASES((A, (1, 2)), (A, [3]), (A, {"op": "add", "v": 2}))
def matching2(x, k):
    match k:
        case [a, b]:
            return x * a + b
        case [a]:
            return x * a
        case {"op": "add", "v": v}:
            return x + v
        case None:
            return x


@CASES((A,))
def fstr(x):
    n = len(x)
    name = f"k{n}"
    d = {f"k{i}": i for i in range(8)}
    return (
        x * d[name],
        f"{n:03d}-{3.14159:.2f}-{x.shape}-{x.dtype}",
        "%d" % n,
        "{}".format(n),
        "a".upper() + "b".join(["x", "y"]),
        name.startswith("k"),
        name[0],
        str(n),
    )


@CASES((3, [1.0, 2.0], True, "s", (1, (2, 3)), {"a": 1}))
def structs(n, l, b, s, t, d):
    return (n, l, b, s, t, d, {"k": [n, (b,)]})


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_containers(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)
