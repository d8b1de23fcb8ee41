"""Lists, dicts and sets of the caller's own, in which a function may leave something."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

from untraced import accelerate

CASES = Cases()

A = np.arange(6.0)

M = np.arange(12.0).reshape(3, 4)


@CASES(lambda: ([3.0, 1.0, 2.0],))
def bubble_p3(xs):
    n = len(xs)
    for i in range(n):
        for j in range(n - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = (xs[j + 1], xs[j])
    return xs


@CASES(([], A))
def app(l, x):
    l.append(x * 2)
    l.append("s")
    l.append(None)
    l.append((1, x.sum()))


@CASES(({"b": A, "a": 2}, A))
def dct(d, x):
    d["z"] = x + 1
    d["c"] = d["b"]
    d["a"] += 1
    del d["b"]
    return len(d)


@CASES(([1, 2, 3],))
def lsort(l):
    l.sort(reverse=True)
    l.insert(1, 9)
    l.pop()


@CASES(([[1, 2], [3]],))
def nested(l):
    l[0].append(5)
    l.append(l[1])


@dataclass
class S:
    x: np.ndarray
    n: int = 0


@CASES(lambda: (S(A.copy()),))
def obj(s):
    s.n += 1
    s.x = s.x + 1
    s.x[0] = 9
    return s.n


@CASES(lambda: (S(A.copy()),))
def obj2(s):
    for i in range(3):
        s.n += i
        s.x *= 2
    return s.n


@CASES(([A],))
def inpl(l):
    l[0] += 1
    l.append(l[0].sum())


@CASES((A, []))
def loopapp(x, out):
    for i in range(len(x)):
        out.append(x[i] * 2)


@CASES((3, {}))
def memo(n, m):
    if n in m:
        return m[n]
    m[n] = n if n < 2 else memo(n - 1, m) + memo(n - 2, m)
    return m[n]


@CASES(([1.0, 2.0], 3), ([1.0, 2.0], 0))
def cond(l, k):
    if k > 1:
        l.append(k)
    else:
        l[0] = 5.0


@CASES(({"b": 1.0, "a": 2.0, "c": A},))
def order(d):
    return ([k for k in d], [v for v in d.values()], {k: v * 2 for k, v in d.items()}, {"z": 1, "y": 2})


@CASES(({1, 2, 5},))
def sets_p3(s):
    s.add(3)
    t = {9, 8}
    return (s | {4}, t, frozenset(t))


@CASES((A,))
def dictloop(x):
    d = {}
    for i, k in enumerate("abc"):
        d[k] = x[i]
    for k in list(d):
        d[k] = d[k] * 2
    for k, v in sorted(d.items(), reverse=True):
        d[k + k] = v
    return (d, {v: k for k, v in {"p": 1}.items()}, max(d, key=len), list(d.values())[0], d.popitem())


@CASES((A,))
def by_known_heads(x):
    d = {"b": x[0] ** 2, "a": x[1] * x[2]}
    total = 0.0
    for _, v in sorted(d.items()):
        total = total * 2 + v
    rows = [(k % 3, "q", v) for k, v in zip((5, 3, 4), x)]
    return total, sorted(rows, reverse=True), min(d.items()), max(rows), max(d.items(), key=lambda kv: kv)


@CASES((A,))
def strbuild(x):
    s = ""
    for i in range(3):
        s += str(i) + ","
    return (
        s.rstrip(","),
        f"{len(s):>5}|{3.5:8.3f}|{'a':^5}|{10:#x}",
        "{:.2f} {}".format(1.234, "q"),
        "%5.2f" % 2.5,
        s.partition(","),
        "-".join(map(str, range(3))),
    )


@CASES((5, 2), (2, 5))
def ternaries(a, b):
    m = a if a > b else b
    n = "big" if a > 3 else "small"
    k = (1, 2) if a > b else (3, 4)
    return (m, n, k, [a, b][a > b], (a > b) * 1, {True: "y", False: "n"}[a > b])


@CASES((True, False, 3), (False, True, 0))
def bools(a, b, n):
    return (
        a and b,
        a or b,
        not a,
        a ^ b,
        a & b,
        a | b,
        a == b,
        int(a) + n,
        a + b,
        bool(n),
        n and a,
        any([a, b]),
        all([a, b]),
        sum([a, b, True]),
        a is True,
    )


@CASES((10**10, 7), (2**40, 3))
def bigint(a, b):
    return (a * b, a % b, a // b, a + b, a - b)


@CASES((3,))
def listmul(n):
    g = [[0] * n for _ in range(n)]
    g[1][1] = 5
    h = [[]] * 2
    h[0].append(1)
    a = [0] * n
    a[-1] = 2
    z = [None] * n
    return (g, h, a, z, [*a, *a], a[::-1], a[1:], a + [1], len(g[0]))


@CASES(([[1.0, 2.0], [3.0, 4.0]],))
def npfromlist(l):
    a = np.array(l)
    l2 = a.tolist()
    return (a, l2, np.array(l).sum(), np.mean(l), np.max(l), [r[0] for r in l], sum(map(sum, l)), np.dot(l, l))


@CASES(((1, 2, 3),))
def tupargs(t):
    a, b, c = t
    x, *y = t
    return (
        a + b + c,
        y,
        t[::-1],
        t + (4,),
        t * 2,
        t[1:],
        len(t),
        2 in t,
        t.index(2),
        t.count(1),
        min(t),
        sum(t),
        sorted(t),
        t == (1, 2, 3),
        t < (2,),
        np.zeros(t).shape,
    )


@CASES((A, (2, 3)))
def shapearg(x, s):
    return (x.reshape(s), np.ones(s), x.reshape(*s).T)


@CASES((A, "sum"), (A, "max"))
def getattr_fn(x, name):
    return (getattr(x, name)(), getattr(np, name)(x))


@CASES((A, np.sin), (A, np.cos))
def fnarg(x, f):
    return (f(x), [g(1.0) for g in (math.sin, math.cos)], {"a": np.exp, "b": np.log1p}["a"](x))


@CASES((A,))
def zips(x):
    return (
        [a * b for a, b in zip(x, [1, 2, 3])],
        dict(zip(["a", "b"], x)),
        [(i, j, k) for (i, j), k in zip([(1, 2), (3, 4)], "xy")],
        list(zip(*[[1, 2], [3, 4]])),
        [x[i] + j for i, j in enumerate([1, 2], start=1)],
        sum((i * v for i, v in enumerate(x))),
    )


@CASES(([5, 3, 1], 2), ([5, 3, 1], 9))
def sorted_apart(items, pivot):
    more, less = [], []
    for e in items:
        (more if e > pivot else less).append(e)
    return more, less


@CASES((np.array([5, 3, 1]), 2), (np.array([0, 3, 1]), 2))
def one_of_two(c, p):
    a, b, d, e, h = [1], [2], {"k": 1}, {"k": 2}, [[1], [2]]
    t = a if c[0] > p else b
    t.append(3)
    u = d if c[0] > p else e
    u["k"] = 3
    v = h[0] if c[0] > p else h[1]
    h[0].append(9)
    made = [1] if c[0] > p else [2]
    made[0] += 1
    return a, b, d, e, h, v, made


@CASES((np.array([5, 3, 1]), 2), (np.array([0, 3, 1]), 2))
def rebound_in_a_loop(c, p):
    a, b, f = [1.0], [2.0], [3.0]
    t = u = a
    i = 0
    while c[i] > p:
        t, u = b, [u[0] + 1]
        f = u
        i += 1
    t[0], u[0] = 9, 8
    return a, b, t, u, f


@CASES((np.array([5, 3, 1]), 2), (np.array([0, 3, 1]), 2))
def keys_in_two_orders(c, p):
    d = {}
    if c[0] > p:
        d["b"], d["a"] = 1, 2
    else:
        d["a"], d["b"] = 1, 2
    return d


@dataclass
class Box:
    v: int


@CASES((np.array([5, 3, 1]), 2), (np.array([0, 3, 1]), 2))
def equal_but_two(c, p):
    a, b, s, r = Box(1), Box(1), {1}, {1}
    t = a if c[0] > p else b
    t.v = 9
    q = s if c[0] > p else r
    q.add(3)
    return a.v, b.v, s, r


class Mean:
    def __init__(self, x):
        self.x, self.calls = x, 0

    @functools.cached_property
    def mean(self):
        self.calls += 1
        return self.x.mean()


@CASES((np.arange(3.0),))
def cached(x):
    m = Mean(x)
    return m.mean + m.mean, m.calls


@CASES(lambda: ([[0] * 3] * 2,), lambda: ([[0] * 3 for _ in range(2)],))
def rows_that_are_one(rows):
    rows[0][1] = 5
    return rows[1][1], rows


@CASES(([3, 1, 2],), ([],))
def class_inside(values):
    class Node:
        def __init__(self, value, tail):
            self.value, self.tail = value, tail

    head = None
    for v in values:
        head = Node(v, head)
    found = []
    while head is not None:
        found.append(head.value)
        head = head.tail
    return found


@CASES((2.5, [1.0, 2.5]), (float("nan"), [1.0, 2.0]), (2, [2, 3]), (np.float64(3), [1, 2]), (np.float32(0.1), [0.1]))
def among_numbers(v, numbers):
    return v in numbers, v in (1.0, 2, 3), v in [v], v in {2.5, 0.1, 1}, v in (1, 10**20), v not in numbers


@CASES((list(range(30)), list(range(20, 50))))
def in_both(first, second):
    known, found = set(first), []
    for v in second:
        found.append(v in known)
    return found


@CASES((np.array([3, 1]),), ([3, 1],))
def dicts_of_pairs(a):
    return dict(zip(a, range(len(a)))), dict([(a[0], 1)]), dict(a=a[0]), dict([(k, 2) for k in a], b=1)


class Record(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.default = 3.0

    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(name)

    def __missing__(self, key):
        return self.default


@CASES((Record(steps=4), 2.0))
def keys_as_attributes(d, x):
    return d.steps + x, min(d.steps, 3), d["steps"] * x


@CASES((2.0,))
def a_dict_of_its_own(x):
    d = Record({"a": x})
    return d["a"] * 2, d["other"] * x, len(d)


def test_objects_among_further_arguments() -> None:
    class Layer:
        def __init__(self):
            self.w = np.ones(2)

    def added(*layers, **options):
        return layers[0].w + options["last"].w + options["x"]

    def scaled(x, **options):
        return x * options["last"].w

    for target in TARGETS:
        found = accelerate(added, target=target)(Layer(), last=Layer(), x=2.0)
        np.testing.assert_array_equal(found, [4.0, 4.0])
        np.testing.assert_array_equal(accelerate(scaled, target=target)(3.0, last=Layer()), [3.0, 3.0])


@CASES((A,))
def attribute_deleted(x):
    m = Mean(np.sin(x))
    before = hasattr(m, "calls")
    del m.calls
    return before, hasattr(m, "calls"), m.x * 2


def test_a_cached_property_of_an_object_outside_is_kept_in_it() -> None:
    m = Mean(np.arange(3.0))
    scaled = accelerate(lambda k: m.mean * k)
    assert scaled(2) == 2.0
    m.x = np.ones(3) * 5
    assert scaled(3) == 3.0
    assert m.calls == 1


@CASES((A,))
def views_of_dicts(x):
    d = {"a": x[0], "b": x[1]}
    keys, values, seen = d.keys(), d.values(), []
    for _, v in d.items():
        d["b"] = v + 1
        seen.append(v)
    d["c"] = 5.0
    return seen, list(keys), list(values), len(values), "c" in keys, sum(values), list(zip(keys, values, strict=True))


@CASES((A,))
def views_are_no_lists(x):
    d, empty = {"a": x[0]}, {}
    k = empty.keys()
    return d.keys() == ["a"], d.keys() == {"a"}, isinstance(d.keys(), list), 1 if k else 2, sorted(d.keys() | {"b"})


@CASES((A,))
def lists_repeated_in_place(x):
    a = [x[0], 2]
    b, t = a, (1,)
    u = t
    a *= 2
    t *= 2
    k = [1]
    k *= 0
    m = [1, 2]
    m *= np.ones(2)
    return a, b, a is b, t, u, k, m


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_callers_containers(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)
