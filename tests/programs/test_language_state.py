"""State that changes under run-time conditions: nonlocal names, containers, objects, names bound before break."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

CASES = Cases()


def a6():
    return np.arange(6.0)


A = np.arange(6.0)


@CASES((A, 4))
def nl_loop(x, n):
    tot = 0.0
    cnt = 0

    def add(v):
        nonlocal tot, cnt
        if v > 1:
            tot += v
            cnt += 1

    for i in range(n):
        add(x[i])
    return (tot, cnt)


@CASES((A,), (A - 5,))
def nl_arr(x):
    best = x[:2] * 1.0

    def upd(k):
        nonlocal best
        if x[k] > best[0]:
            best = x[k : k + 2] * 2

    for k in range(4):
        upd(k)
    return best


@CASES((A,), (A * 100,))
def wal_else(x):
    n = 0
    while (s := x.sum()) > 1:
        x = x / 2
        n += 1
        if n > 5:
            break
    else:
        n = -n
    return (n, s, x)


@CASES((A, 2), (A, 0), (A, 5))
def match_rt(x, n):
    match n:
        case 0:
            r = x
        case 2 | 3:
            r = x * 2
        case k if k > 4:
            r = x * k
        case _:
            r = -x
    return r


@CASES((A,), (A + 3,))
def match_data(x):
    s = x.sum()
    match int(s):
        case 15:
            return x
        case v:
            return x * v


@CASES((A, 3.5))
def forelse_ret(x, t):
    for i in range(len(x)):
        if x[i] > t:
            r = x[i]
            k = i
            break
    else:
        return (-1.0, -1)
    return (r, k)


@CASES((A, 3.5), (A, 99.0))
def forelse_nested(x, t):
    out = 0.0
    for rep in range(3):
        for i in range(len(x)):
            if x[i] > t:
                hit = i
                break
        else:
            out -= 1
            continue
        out += hit
    return out


@CASES(lambda: ({}, a6(), 2), lambda: ({}, a6(), -2))
def dict_branch(d, x, k):
    if k > 0:
        d["pos"] = x * k
    else:
        d["neg"] = x
    return len(d)


@CASES(lambda: ({"n": 0, "s": 0.0}, a6()))
def dict_acc(d, x):
    for v in x:
        d["n"] += 1
        if v > 2:
            d["s"] += v


@CASES(lambda: ([1.0, 2.0], a6()))
def early_change(l, x):
    l.append(3.0)
    if x[0] > 100:
        l[0] = 9.0
        return 1
    l[1] = 5.0
    return 2


@CASES(lambda: ([a6()], a6()))
def alias_list(l, x):
    v = l[0]
    v += 1
    l.append(x)
    x[0] = 50
    l[0] = v * 2


@CASES(lambda: ([a6(), a6()],))
def swap_list(l):
    l[0], l[1] = (l[1], l[0])
    l[0][0] = 7


@CASES(lambda: ({"a": {"b": [1, 2]}},))
def deepc(d):
    d["a"]["b"].append(3)
    d["a"]["c"] = 4
    d["e"] = d["a"]


@CASES(lambda: ([3, 1, 2],))
def raises(l):
    l.append(1)
    raise ValueError("no")


class Acc:
    def __init__(self):
        self.v = []
        self.t = 0.0

    def add(self, x):
        self.v.append(x)
        self.t += x.sum()
        return self


@CASES((A, 5))
def obj_loop(x, n):
    a = Acc()
    for i in range(n):
        a.add(x * i)
    return (a.t, len(a.v), a.v[-1])


class Ctr:
    def __init__(self, n):
        self.n = n
        self.log = {}

    def tick(self, x):
        if x > 1:
            self.n += 1
        self.log["last"] = x


@CASES((A,))
def obj_branch(x):
    c = Ctr(0)
    for v in x:
        c.tick(v)
    return (c.n, c.log["last"])


@CASES((A, {1, 2}), (A, {7}))
def set_branch(x, s):
    t = {1}
    if x.sum() > 3:
        pass
    t |= s
    if 7 in s:
        t.add(9)
    return (sorted(t), len(s))


@CASES((A,))
def del_loop(x):
    d = {i: x[i] for i in range(4)}
    for k in list(d):
        if k % 2:
            del d[k]
    l = [1, 2, 3, 4]
    del l[::2]
    del l[-1]
    return (d, l)


@CASES((5,), (0,))
def rec_mut(n):
    out = []

    def go(k):
        if k < 0:
            return 0
        out.append(k)
        return go(k - 1) + k

    return (go(n), out)


@CASES((A,))
def shadow(x):
    len_ = len
    sum = 0.0
    for v in x:
        sum += v
    return (sum, len_(x))


@CASES((A,))
def nested_comp_closure(x):
    k = 2
    fs = [[lambda v, a=a: v * a * k + b for a in range(2)] for b in range(2)]
    k = 3
    return [f(x[1]) for r in fs for f in r]


@CASES((A,), (-A,))
def mixed_none(x):
    best = None
    for i in range(len(x)):
        if x[i] > 0 and best is None:
            best = i
    return -1 if best is None else best


@CASES((A, 3))
def lists_of_arrays(x, n):
    hist = [x]
    for t in range(n):
        hist.append(hist[-1] * 0.5 + hist[0])
    return (np.array(hist), hist[-1], len(hist), [h[0] for h in hist[::2]])


@CASES((A, 0.5), (A, 20.0))
def while_hist(x, tol):
    hist = []
    while np.abs(x).max() > tol and len(hist) < 10:
        x = x * 0.5
        hist.append(x.sum())
    return (x, hist)


@CASES((np.array([5, 3, 8, 1]),))
def selsort(a):
    n = len(a)
    for i in range(n):
        m = i
        for j in range(i + 1, n):
            if a[j] < a[m]:
                m = j
        a[i], a[m] = (a[m], a[i])
    return a


@CASES((np.array([5, 3, 8, 1]),))
def bubble_np(a):
    n = len(a)
    swapped = True
    while swapped:
        swapped = False
        for i in range(n - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = (a[i + 1], a[i])
                swapped = True
        n -= 1
    return (a, swapped)


@CASES((np.array([1, 4, 9, 16]), 9), (np.array([1, 4, 9, 16]), 5))
def bs(a, t):
    lo, hi = (0, len(a) - 1)
    while lo <= hi:
        m = (lo + hi) // 2
        if a[m] == t:
            return m
        elif a[m] < t:
            lo = m + 1
        else:
            hi = m - 1
    return None if lo > 100 else -1


@CASES((np.arange(10.0) % 4,))
def hist(x):
    h = {}
    for v in x:
        h[int(v)] = h.get(int(v), 0) + 1
    return h


@CASES((np.array([[1, 0], [1, 1]]), 5))
def matpow(m, n):
    r = np.eye(2, dtype=m.dtype)
    while n:
        if n & 1:
            r = r @ m
        m = m @ m
        n >>= 1
    return r


@CASES(("+", 2.0, 3.0), ("/", 2.0, 0.5), ("?", 1.0, 1.0))
def calc(op, a, b):
    ops = {"+": lambda x, y: x + y, "/": lambda x, y: x / y}
    if op not in ops:
        raise KeyError(op)
    return ops[op](a, b)


@CASES((A, "grow"), (A, "shrink"), (A, "last"), (A, "swap"), (A, "values"), (A, "set"), (A, "assign"), (A, "leave"))
def loops_over_what_they_change(x, how):
    d, s = {"a": x, "b": x * 2}, {1, 2}
    for k in s if how == "set" else d.values() if how == "values" else d:
        if how == "grow":
            d[k + "c"] = x
        elif how == "shrink" and k == "a":
            del d["b"]
        elif how in ("last", "leave") and k == "b":
            d["c"] = x
            if how == "leave":
                break
        elif how == "swap":
            d["n" + k] = d.pop(k)
        elif how == "values":
            d["c"] = x
        elif how == "set":
            s.add(k + 10)
        elif how == "assign":
            d[k] = d[k] + 1
    return d


@CASES((A, "zip"), (A, "enumerate"), (A, "items"), (A, "comprehension"))
def pairs_of_what_grows(x, how):
    d = {"a": x}
    if how == "comprehension":
        return [d.setdefault(k + "c", x) for k in d]
    for k, v in zip(d, [1, 2]) if how == "zip" else enumerate(d) if how == "enumerate" else d.items():
        d[k if how == "enumerate" else k + "c"] = x * v
    return d


@CASES((A, A + 1, 1), (A, A + 1, 0), (A * 0, A, 1))
def perhaps_the_argument_on_a_list(x, y, n):
    found = [x, y * 2]
    turns = 0
    while turns < int((x / 2).argmax()):
        turns += 1
        found[n % 2] = np.cumsum(y)
    x[:] = y * 3
    return found


@CASES((A, 3, "append"), (A, 3, "method"), (A, 3, "add"), (A, 3, "item"), (A, 3, "delete"), (A, 3, "operator"))
def bytes_that_change(x, n, how):
    d = bytearray(b"abc")
    other = d
    for i in range(n):
        if how == "append":
            d.append(i)
        elif how == "method":
            bytearray.extend(d, b"xy")
        elif how == "add":
            d += b"xyz"
        elif how == "item":
            d[i] = d[i] - 90
        elif how == "delete":
            del d[-1]
        else:
            operator.setitem(d, i, 7)
    return x + len(other), sum(d)


@CASES((A,), (A - 5,))
def bytes_that_change_where_the_data_say(x):
    d = bytearray(b"ab")
    if x[1] > 0:
        d.insert(0, 65)
    while len(d) % 8 != 7:
        d.append(0)
    return x * len(d) + d[0]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_state(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)
