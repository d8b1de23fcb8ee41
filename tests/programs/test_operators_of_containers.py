"""Operators of containers that hold run-time numbers: `==`, which `in` and `index` go by, and `+=` beside arrays."""

from __future__ import annotations

import collections
import dataclasses
import operator
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

CASES = Cases()
X = np.array([3.0, 1.0, 2.0])


@CASES(({"u": 1, "v": 2.5}, {"v": 2.5, "u": 1}), ({1: 2}, {1: 3}), ({1: 2}, {2: 2}), ({1: [2]}, {1: [2]}))
def dicts(a, b):
    return a == b, a != b, operator.eq(a, b), {"in": a} == {"in": b}, a in [b], [b, a].index(a), [b].count(a)


@CASES((X,), (X[::-1].copy(),))
def chosen(x):
    if {"first": x[0], "last": x[-1]} == {"first": 3, "last": 2}:
        return x * 2
    return x


@CASES((1, 2), (2, 1))
def ordered(a, b):
    mine, others = collections.OrderedDict(x=a, y=b), collections.OrderedDict(y=b, x=a)
    counted = collections.defaultdict(int)
    counted["x"] += a
    return mine == others, mine == dict(y=b, x=a), counted == {"x": 1}, {"x": 1} == counted


@CASES((1, 1), (1, 2))
def of_other_kinds(a, b):
    Pair = collections.namedtuple("Pair", "x y")
    Other = collections.namedtuple("Other", "x y")
    return Pair(a, b) == Other(a, b), Pair(a, b) == (1, 1), slice(a, 5) == slice(b, 5), range(a) == range(b)


@CASES(([X], [X.copy()]), ([X[:1]], [X[:1].copy()]))
def lists_of_arrays(a, b):
    return a == b


@CASES((X,))
def an_array_itself(x):
    return [x] == [x], {1: x} == {1: x}, x in [x]


class Valued:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> Any:
        return isinstance(other, Valued) and self.x == other.x


@dataclasses.dataclass
class Point:
    x: float
    rest: dict[str, int]


@CASES((2, 5), (2, 2))
def objects(a, b):
    plain = object.__new__(Plain)
    return (
        {"k": Valued(a)} == {"k": Valued(2)},
        Valued(a) in [Valued(b), Valued(2)],
        Point(a, {"n": b}) == Point(2, {"n": 5}),
        [(Point(a, {}), 1)] != [(Point(b, {}), 1)],
        plain in [object.__new__(Plain), plain],
    )


class Plain:
    pass


@CASES((3,), ([1], [2]), ("ab", "c"), (X, X), (np.array(0.0), 1))
def concatenated(a, b=2):
    return operator.truth(a is None), operator.concat(a, b)


@CASES((np.array(0.0),), (np.array([2]),), (3,), ([],))
def truth(a):
    return operator.truth(a), operator.not_(a)


# ---- lists and tuples beside arrays -----------------------------------------------------------------


class Added:
    def __radd__(self, other: Any) -> Any:
        return "added", other


@CASES(([1, 2, 3], X), ([], X), ([1], X), ([1, 2, 3], np.float64(2.5)), ([1, 2], np.array(3)), ([1, 2], X[:2] > 1))
def added_in_place(a, b):
    before = a
    a += b
    return a, before


@CASES((X,))
def summed(x):
    total, nested, row = [0.0, 0.0, 0.0], [[1, 2, 3], 1], (1, 2, 3)
    for i in range(4):
        total += x * i
    nested[0] += x
    row += x
    return total, nested, row


@CASES((X,))
def extended(x):
    out, other = [], [1]
    for v in x:
        out.append(v)
        out += [v * 2]
    out += (v for v in x)
    out += {5: 1}
    other += Added()
    return out, other


@CASES((X,))
def filled_and_added_to(x):
    out = []
    for v in x:
        if v > 1:
            out.append(v)
    out += x[:2]
    return out


# ---- kinds that Python or NumPy refuses -------------------------------------------------------------


@CASES((np.array(3), {1, 2}), (np.array([3]), {1: 2}), (np.int64(1), {1, 2}))
def member(a, b):
    return a in b


@CASES(((1, 2, 3), np.bool_(True)), ([1], np.int8(2)), ("ab", True))
def repeated(a, b):
    return a * b


@CASES((1 + 2j, True), (np.complex128(1 + 2j), True), (np.array([1 + 2j]), True))
def less(a, b):
    return a < b


@CASES((np.array(2.5),), ({1, 2},), (range(3),), (np.array(True),), ([1, 2],))
def asked_of_kinds(a):
    if isinstance(a, set):
        return list(reversed(a))
    if isinstance(a, range):
        return abs(a)
    return a**2 if a.dtype == bool else round(a, 1)


@CASES((np.array([True, False]), True), (np.array([True, True]), np.array([True])))
def quotient_and_rest(a, b):
    return divmod(a, b)


@CASES((np.arange(2.0), np.ones(2)), (np.ones(2), np.arange(2.0)), (np.full(2, np.nan), np.ones(2)))
def order_of_tuples(x, y):
    p, q = (x[0], y[0]), (x[1], y[1])
    return p < q, p <= q, p > q, (x[0], 1) < (x[1], 0), (x[0],) < (x[0], 2.0), (x[0], "a") < (x[1], "b")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_as_cpython(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)
