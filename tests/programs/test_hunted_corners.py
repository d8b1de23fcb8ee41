"""Small functions at the corners of what NumPy takes: odd dtypes, NaN, counts below zero, arrays without elements."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

CASES = Cases()
X = np.array([0.5, -1.5, 2.0, -0.25, 3.0])
K = np.array([2, 0, 1, 1, 2])
PARTS = (0.0, 1.0, 2.0, np.nan)
COMPLEX = np.array([complex(a, b) for a in PARTS for b in PARTS])

# ---- making arrays ---------------------------------------------------------------------------------


@CASES((np.int8(0), np.int8(5), np.int8(2)), (np.uint8(1), 4, 1), (np.float32(0), 3, 1), (0, np.uint64(3), 1))
def counted(start, stop, step):
    return np.arange(start, stop, step), np.arange(stop)


@CASES((0, -6, -2), (0.0, -1.0, -0.25))
def counted_downwards(start, stop, step):
    return 1 / np.arange(start, stop, step, dtype=np.float32), np.signbit(np.arange(0.0, stop, step))


@CASES((-4, None), (3, -1), (-2, 2))
def triangles(n, m):
    return np.tri(n, m), np.tri(n, m, 1)


@CASES((K, 2.5, 9), (K, [1.0, 2.0], 9), (K, np.array([[1, 2]]), 9), (K, [], 9), (K, [2.0], 9))
def inserted(x, places, values):
    return np.insert(x, places, values)


@CASES((X[None], 0), (X[None], 2))
def joined_behind_columns_that_may_be_none(x, n):
    y = np.hstack((np.zeros((1, n)), x))
    return y[:, 0], y[:, 1:] - np.outer(y[:, 0], x[0, n:]).sum(), np.concatenate((x[:0], x, x))[1]


@CASES((K,))
def halves_of_elements(x):
    return np.lib.stride_tricks.as_strided(x, strides=(x.strides[0] // 2,))[:5:2]


# ---- searches ----------------------------------------------------------------------------------------


@CASES((np.sort(COMPLEX), COMPLEX), (np.sort(COMPLEX), PARTS), (np.array(PARTS), COMPLEX), (X[:1] + 1j, K))
def found_among_complex_numbers(a, v):
    return np.searchsorted(a, v), np.searchsorted(a, v, side="right"), np.searchsorted(a, np.tile(v, 300)).sum()


@CASES((np.array([3.0, -1.0, 2.0, 0.0, 7.0]),), (np.array([[3.0, np.nan], [1.0, 0.0]]),))
def overwritten(x):
    return np.median(x, overwrite_input=True), np.nanquantile(x, 0.5, overwrite_input=True)


@CASES((np.arange(24.0).reshape(2, 3, 4),), (np.full(300, 100, np.int8),))
def means_in_narrow_integers(x):
    return np.mean(x, dtype=np.int8), x.mean(axis=0, dtype=np.int16)


@CASES((np.array([100, -128, 3, 127], np.int8), 4), (K * 5, 6), (X.astype(np.float32), 2.0), (K, 2.5))
def unwrapped(x, period):
    return np.unwrap(x, period=period)


@CASES((X, 1.0), (X, True), (K, [2.0]), (K, []), (K, 2), (X, [0, 3]))
def partitioned(x, place):
    return np.partition(x, place)[place], np.argpartition(x, place)[place].shape


@CASES(([5, 5, 5],), ((5, 2, 5),), ([-1, -1],), (5,))
def partitioned_more_than_once(places):
    x = np.arange(20, 0, -1)
    return np.partition(x, places), np.argpartition(x, places)


@CASES((3,), (2.0,), (np.float64(3),), (np.int8(2),))
def columns_of_powers(n):
    return np.vander(X, n)


@CASES((1.0,), (1.5,), (np.nan,), (0,))
def covariances(ddof):
    return np.cov(X, ddof=ddof)


THIRDS = np.array([0.15, 2.675, 1e-3, -2.25, 12.35])


@CASES(*[(THIRDS.astype(a), np.zeros(5, b)) for a in "fd" for b in "fdD"], (K * 7, np.zeros(5)))
@CASES(((THIRDS - 1j * THIRDS).astype("F"), np.zeros(5, "D")))
def rounded_into(x, out):
    np.around(x, 1, out)
    return x.round(2, out=out.copy()), np.round(x, -1, out=out.copy())


@CASES((1.7,), ([1.7],), ((1.2, 2.9),), ([np.float64(1.7)],), ([True, False],), (np.array([1.7]),), (K,))
def taken(places):
    return X.take(places), np.take(X, places, mode="clip")


# ---- narrow integers where Python's or positions are meant ------------------------------------------------

LONG = np.arange(300.0)
NARROW = [(LONG, np.array([100, 250, 3], np.uint8)), (LONG, np.array([-100, 100, 3], np.int8)), (LONG, K + 1)]


@CASES(*NARROW)
def ranges_of_narrow_integers(x, k):
    lengths = len(range(k[1], k[0])), len(range(k[0], k[1], 2)), len(range(k[0], k[1], -k[2]))
    return lengths, k[2] in range(k[0], k[1], 3), int(k[1]) in range(k[0], 300, 50)


@CASES(*NARROW)
def slices_of_narrow_integers(x, k):
    n = len(x[k[1] : k[0]]), len(x[k[0] : k[1] : 3]), x[k[1] : k[0]].shape
    return n, x[k[0] : k[1]].sum(), x[k[0] : k[1]].std(), x[-k[2] :]


@CASES(*NARROW)
def turned_by_narrow_integers(x, k):
    return np.roll(x, k[0]), np.roll(x[:120], k[1]), np.roll(x, (k[0], k[1]), (0, 0))


@CASES(*NARROW)
def positions_of_narrow_integers(x, k):
    np.put(x, k, -1.0, mode="wrap")
    return x, np.take(x, k, mode="wrap"), np.take(x, k, mode="clip"), np.ravel_multi_index((k, k), (300, 300), "wrap")


@CASES((["b", "a", "B"], 1), (["b", "a", "B"], 0))
def sorted_as_asked(words, falls):
    return sorted(words, reverse=falls)


@CASES((np.int64, np.uint64, 3), (np.float64, np.int64, 2.5), (np.int8, np.uint8, -1), (np.float64, np.int64, 3))
def bits_of_python_numbers(kind, other, x):
    return kind(x).view(other), kind(x).dtype


@CASES(("a b\nc a", 1), ("", 0))
def keywords_of_texts(text, n):
    return text.split(None, maxsplit=n), text.rsplit(maxsplit=n), text.splitlines(keepends=n)


# ---- Python's containers ------------------------------------------------------------------------------


class Point(NamedTuple):
    x: Any
    y: Any


class Size(NamedTuple):
    width: Any
    height: Any


@CASES((1, 2), (1.5, 2), (np.float64(1), 2))
def named_and_plain(a, b):
    p, q = Point(a, b), Size(a, b)
    return p == (a, b), (b, a) != p, p == q, p == Point(b, a), (a, b) in [p], [a] == (a,)


@CASES((Size(1, 2), Point(1, 3)), (Point(1.0, 2.0), (1.0, 2.0)))
def order_of_tuples(p, q):
    return p < q, p <= q, p > q, q >= p


@CASES((np.ones(3), 1), (np.ones(3, int), 2.5), (np.arange(3), 1))
def equal_containers(x, y):
    return (x[0], 1) == (x[1], 1), (x[0], 1) != (x[1], 1), [x[0], y] == [x[1], y], ((x[0], 2), y) == ((x[1], 2), y)


PAIRS = [(1, 2), (3, 4), (1, 2)], [(3, 4), (1, 3)]


@CASES(PAIRS, ([(1.5, 2.0)], [(1.5, 2), (2, 1.5)]), ([(np.int64(1), 2)], [(1, 2)]), ([(1, 2), 3], [(1, 2), 3.0]))
def pairs_in_sets_and_dicts(a, b):
    seen: set[Any] = set()
    for v in a:
        seen.add(v)
    return [v in set(a) for v in b], [v in {w: 1 for w in a} for v in b], [v in seen for v in b], (1, 2) in frozenset(a)


@CASES((1, 2), (1.5, 2.0), (np.float64(1), np.int32(2)))
def methods_that_compare(a, b):
    t = (a, b)
    methods = t.__eq__((1, 2)), t.__contains__(1), t.__lt__((1, 3)), [a, b].__ne__([1, 2]), t.__hash__() == hash((a, b))
    return methods, t.__class__ is tuple, [a].__class__, operator.contains(t, 1)


@CASES((1, 2), (1.5, 2), (np.int64(1), 2))
def equal_dicts(a, b):
    same = {"x": a, "y": [b]} == {"y": [2], "x": 1}, {"x": (a, b)} != {"x": (1, 2)}, {"x": a} == {"y": a}
    return same, ([a], {"k": b}) == ([1], {"k": 2}), slice(a, b) == slice(1, 2)


@CASES((1, 2), (np.uint8(1), 3))
def equal_ranges(a, b):
    return range(a, b) == range(1, 2), range(a, b) != range(a, b, 1)


@CASES((1,), (2.5,), (np.float64(1),), (True,))
def unlike_texts(a):
    return a == "s", a != "s", (a > 0) == "s", [a] == "s", a in ("s", 1), (a, "s") == (1, "s")


@CASES((1,), ([True, False],), ([[1, 2.5]],))
def lists_of_arrays(x):
    known = np.array([1.0, 2.0]), np.eye(2, dtype=bool)
    return np.asarray(x).tolist(), [k.tolist() for k in known], 1 in np.ones(2).tolist()


@CASES((1,), (2.5,))
def texts(a):
    return str(object=a), str(), str(b"ab", "utf8"), repr(a)


@CASES((np.float64(1), 2))
def keys_without_an_order(a, b):
    return {(a, b): 3, a: 5}


@CASES((X, 1.5), (X[:1], np.nan))
def among_itself(x, v):
    return x in [x], x in (v, x) if x.size == 1 else None, v in [v], {"k": x} == {"k": x}, (x, v) in [(x, v)]


@CASES((np.float64(2),), (2.0,), (np.int8(2),))
def repeated(count):
    return [0] * count


@pytest.mark.filterwarnings("error::UserWarning")  # CPython runs what the reader takes for an error of the user
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_functions(function: Any, arguments: Any, target: str) -> None:
    with np.errstate(divide="ignore"):
        check(function, arguments, target)
