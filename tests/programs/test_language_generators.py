"""Generator functions called inside: their values, and what is left to CPython for its order of effects."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

from untraced import accelerate, grad

CASES = Cases()

A = np.arange(6.0)


def hyield(x, n):
    for i in range(n):
        yield (x[i] * 2)


@CASES((A + 1,))
def until_it_is_small(x):
    for turn in itertools.count():
        x = x * 0.5
        if np.sum(x) < 1e-3:
            break
    return x, turn


@CASES((A,))
def every_second(x):
    for k in itertools.count(1, 2):
        if k > 7:
            break
        x = x + k
    return x


@CASES((A,))
def numbered_without_end(x):
    for i, c in enumerate(itertools.cycle([2.0, 3.0])):
        x = x / c
        if x.max() < 0.1:
            return x, i
    return None


def htry(x):
    try:
        return x[10]
    except IndexError:
        return -1.0


@CASES((A,))
def loop_over(x):
    s = 0.0
    for v in hyield(x, 3):
        s += v
    return (s, x.sum())


@CASES((A,))
def catches(x):
    return htry(x) + x.sum()


@CASES((A,))
def listed(x):
    l = list(hyield(x, 4))
    return (sum(l), x * 2)


@CASES((A,))
def inner(x):

    def g(n):
        for i in range(n):
            yield i

    return [x[i] for i in g(3)]


def deco(x):
    yield from (x[i] for i in range(2))
    yield x.sum()


def filt(x):
    for i in range(len(x)):
        if i % 2:
            continue
        if i > 4:
            return
        yield (i, x[i])


def views(m):
    for i in range(m.shape[0]):
        yield m[i]


def sums(m):
    for i in range(m.shape[0]):
        yield m[i].sum()


def writer(m):
    for i in range(3):
        m[i] = 0
        yield m.sum()


def endless(n):
    while True:
        yield n
        n += 1


@CASES((A,))
def every_consumer(x):
    a, b, c = deco(x)
    d = dict(filt(x))
    e = [v for v in deco(x * 2)]
    f = max(deco(x))
    g = list(zip(deco(x), filt(x)))
    s = ",".join((str(i) for i, _ in filt(x)))
    h = list(enumerate(deco(x)))
    return (a, b, c, d, e, f, g, s, h)


@CASES(lambda: (np.arange(12.0).reshape(3, 4),))
def consumer_writes(m):
    for r in views(m):
        r *= 2
    for s in sums(m):
        m[:] = m + s
    return m.sum()


@CASES(lambda: (np.arange(12.0).reshape(3, 4),))
def generator_writes(m):
    return ([v for v in writer(m)], list(writer(m)))


@CASES((A,))
def twice(x):
    g = deco(x)
    a = list(g)
    b = list(g)
    return (a, b)


@CASES((A,))
def no_end(x):
    s = 0
    for k in endless(3):
        if k > 6:
            break
        s += k
    return s + x.sum()


@CASES((A,), (-A,))
def by_data(x):

    def pos():
        for i in range(4):
            if x[i] > 1:
                yield x[i]

    return (sum(pos()), x)


@CASES((5,))
def chained(n):

    def fibs(n):
        a, b = (0, 1)
        for _ in range(n):
            yield a
            a, b = (b, a + b)

    def evens(it):
        for v in it:
            if v % 2 == 0:
                yield v

    return (list(fibs(n)), sum(evens(fibs(10))), max(fibs(7)))


# an iterator that somebody holds is empty after the first time


@CASES((4,))
def expression_summed_twice(n):
    g = (i * i for i in range(n))
    return sum(g), sum(g)


@CASES(([1, 2],), (A,))
def held_iterators(a):
    m, z, e, f = map(lambda t: t + 1, a), zip(a, a), enumerate(a), filter(None, [0, 1])
    return list(m), list(m), list(z), list(z), list(e), list(e), list(f), list(f)


@CASES(([1, 2, 3],), (A,))
def left_half_way(a):
    rest = iter(a)
    s = 0
    for v in rest:
        s += v
        break
    return s, list(rest), list(rest)


@CASES(([1, 2, 3, 4],))
def pairs_of_one_iterator(a):
    it = iter(a)
    return list(zip(it, it, strict=True)), list(zip(*[iter(a)] * 2, strict=True))


@CASES(([1, 2, 3],), (A,), ([1],))
def asks_for_the_next(a):
    it = iter(a)
    return next(it), next(it), list(it), next(it, -1)


def _total_twice(values):
    return sum(values), sum(values)


@CASES(([1, 2, 3],), (A,))
def passes_an_iterator(a):
    return _total_twice(map(abs, a)), [v for v in zip(a, a, strict=True)], 2 in (v for v in [1, 2])


@CASES((A,))
def runs_over_a_held_iterator(x):
    s = 0.0
    places = enumerate(x)
    for i, v in places:
        s += i * v
    return s


# ---- what is evaluated a piece at a time ----------------------------------------------------------


@CASES((A,))
def any_stops_early(x):
    seen = []
    found = any(seen.append(i) or i > 3 for i in range(10))
    every = all(not seen.append(v) and v < 2 for v in range(9))
    return found, every, seen


@CASES((A,))
def any_stops_a_map(x):
    seen = []

    def note(v):
        seen.append(v)
        return v > 3

    return any(map(note, range(10))), next(filter(note, range(10))), seen


@CASES((A,))
def zip_asks_once_too_often(x):
    seen = []

    def note(v):
        seen.append(v)
        return v

    return [a + b for a, b in zip(map(note, range(9)), x[:3], strict=False)], seen


@CASES((A,))
def binds_in_a_generator(x):
    n = 0
    found = any((n := i) > 3 for i in range(10))
    return found, n


@CASES(lambda: (A.copy(),))
def loop_writes_what_comes(x):
    for i, v in enumerate(x[j] * 2 for j in range(4)):
        x[i + 1] += v
    for v in map(lambda j: x[j], range(3)):
        x[-1] += v
        x[1] = 5.0
    return x


@CASES(lambda: (A.copy(),))
def read_when_asked(x):
    k, items = 2.0, [1, 2, 3]
    later = (v * k for v in items)
    squares = (x[j] ** 2 for j in range(4))
    x[0], k = 100.0, 5.0
    items.append(4)
    return sum(later), sum(squares)


@CASES(lambda: (A.copy(),))
def body_begins_when_asked(x):
    def rows():
        for i in range(3):
            yield x[i] * k

    k, given = 2.0, deco(x)
    made = rows()
    x[0], k = 100.0, 5.0
    return sum(made), sum(given)


@CASES((A,))
def passed_and_asked_twice(x):
    return _total_twice(v for v in x)


SCALE = 1.0
OUTSIDE = np.ones(3)


def _scaled(v):
    return v * SCALE + OUTSIDE[0]


def _scaling(x):
    for i in range(3):
        yield x[i] * SCALE


@CASES((A,))
def read_outside_when_asked(x):
    global SCALE
    SCALE = 1.0
    mapped, made, expressed = map(_scaled, [1.0, 2.0]), _scaling(x), (v * SCALE for v in [x[1], x[2]])
    SCALE = 7.0
    return list(mapped), sum(made), sum(expressed)


@CASES((A,))
def stored_outside_before_it_is_asked(x):
    OUTSIDE[0] = 1.0
    mapped = map(_scaled, [1.0, 2.0])
    OUTSIDE[0] = 5.0
    return list(mapped)


@CASES((A,))
def none_is_a_meaning(x):
    k = None
    made = (v if k is None else 0.0 for v in [x[1], x[2]])
    k = 1
    return sum(made), k


def _returning(x):
    yield x[0]
    return 5


def _delegating(x):
    z = yield from _returning(x)
    yield z


@CASES((A,))
def what_a_generator_returns(x):
    return list(_delegating(x))


def test_what_nobody_changes_is_compiled() -> None:
    def unchanged(x: Any) -> Any:
        out, s = np.zeros(4), 0.0
        doubled = (v * 2 for v in x)
        y = x + 1
        for i, v in enumerate(x[j] * 2 for j in range(4)):
            out[i] = v
        for v in map(lambda a: a * 2, y):
            s += v
            out[0] += s
        return out, s + sum(doubled), sum(v * s for v in x)

    f = accelerate(unchanged)
    for found, expected in zip(f(A), unchanged(A), strict=True):
        np.testing.assert_allclose(found, expected)
    assert "stays with CPython" not in f.source(A)


def test_iterators_are_returned_as_such() -> None:
    def returns_iterators(a):
        return map(abs, a), zip(a, a, strict=True), (v for v in a)

    for found, expected in zip(accelerate(returns_iterators)([1, 2]), returns_iterators([1, 2]), strict=True):
        assert type(found) is type(expected)
        assert list(found) == list(expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_generators(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)


def test_a_count_is_compiled_and_derived() -> None:
    f = accelerate(until_it_is_small)
    assert "itertools" not in f.source(A) and "while" in f.source(A)

    def last(x):
        return np.sum(until_it_is_small(x)[0] ** 2)

    turns = until_it_is_small(A)[1] + 1
    np.testing.assert_allclose(grad(last)(A), 2.0 * A * 0.25**turns, rtol=1e-12)
    np.testing.assert_allclose(accelerate(grad(last))(A), 2.0 * A * 0.25**turns, rtol=1e-12)
