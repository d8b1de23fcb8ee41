"""Derivatives through Python's iterators that somebody holds: what `next` gives, and what is left behind it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad
from untraced.errors import CutError
from untraced.testing import check_grads

X = np.array([1.5, 2.5, 3.5, 4.1])


def first_two_apart(x):
    it = iter(x)
    p, q = next(it), next(it)
    s = 0.0
    for v in it:
        s += v * p * q
    return s


def to_the_end_of_a_list(x):
    it = iter([x[0], x[1]])
    return next(it) * 2 + next(it) ** 2 + next(it, x[2]) ** 3


def of_a_generator(x):
    def scaled():
        for i in range(3):
            yield x[i] * i

    it = scaled()
    next(it)
    return next(it) * next(it)


def once_in_every_turn(x):
    it = iter(x)
    s = 0.0
    for i in range(3):
        s += next(it) * (i + 1)
    return s + sum(it)


def sees_a_store(x):
    y = x * 2
    it = iter(y)
    p = next(it)
    y[1] = 100 * x[0]
    return p * next(it)


def numbered_pairs(x):
    it = enumerate(zip(x, x[::-1], strict=True))
    _, (p, q) = next(it)
    s = p * q
    for j, (u, v) in it:
        s += j * u / v
    return s


def from_behind(x):
    it = reversed(x)
    return next(it) * next(it) + sum(it) ** 2


def until_it_stops(x):
    it = iter(x)
    s = 0.0
    while True:
        try:
            s += next(it) ** 2
        except StopIteration:
            return s


def counted(x):
    c = itertools.count(1)
    s = 0.0
    for v in x:
        s += next(c) * v**2
    return s * next(c)


HELD: list[Callable[[Any], Any]] = [
    first_two_apart,
    to_the_end_of_a_list,
    of_a_generator,
    once_in_every_turn,
    sees_a_store,
    numbered_pairs,
    from_behind,
    until_it_stops,
    counted,
]


@pytest.mark.parametrize("f", HELD)
def test_what_next_gives(f: Callable[[Any], Any]) -> None:
    check_grads(f, (X,), order=2)
    np.testing.assert_allclose(accelerate(f)(X.copy()), f(X.copy()), rtol=1e-13)


def test_an_iterator_that_the_data_advance_is_refused() -> None:
    def by_the_data(x):
        it = iter(x)
        s = x[0]
        if x[0] > 2.0:
            s += next(it)
        return s + next(it)

    with pytest.raises(CutError, match="next"):
        grad(by_the_data)(X)
    assert accelerate(by_the_data)(X) == by_the_data(X)


def test_a_count_that_was_gone_through_goes_on_behind_it() -> None:
    def numbered(x):
        c = itertools.count(1)
        return sum(i * v for i, v in zip(c, x, strict=False)) + next(c) * x[0]

    with pytest.raises(CutError, match="consumed again"):
        grad(numbered)(X)
    assert accelerate(numbered)(X) == numbered(X)


def test_the_first_that_the_data_keep_is_refused() -> None:
    def first_large(x):
        return next(v for v in x if v > 2.0) ** 2

    with pytest.raises(CutError, match="depends on the data"):
        grad(first_large)(X)
    assert accelerate(first_large)(X) == first_large(X)
