"""Derivatives of functions in which a name is None or a value, as the data decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, vmap
from untraced.errors import CutError
from untraced.testing import check_grads

X = np.array([1.5, 2.5, 3.6, 4.1])


def gaps_between_large_ones(x):
    prev = None
    total = 0.0
    for v in x:
        if v > 2:
            if prev is not None:
                total += (v - prev) ** 2
            prev = v
    return total


def penalty(x):
    if np.sum(x) > 100:
        return None
    return np.sum(x**2)


def of_an_early_return(x):
    p = penalty(x)
    if p is None:
        return np.sum(x)
    return p * x[0]


def in_an_expression(x):
    p = penalty(x)
    return (x[0] if p is None else p * x[0]) + penalty(x) * penalty(10.0 * x[:1])


def least_so_far(x):
    best = None
    i = 0
    while i < 4:
        v = (x[i] - 3) ** 2 + x[0]
        if best is None or v < best:
            best = v
        i += 1
    return best * x[0]


def with_and_and_not(x):
    last = None
    s = 0.0
    for i in range(4):
        if x[i] > 3 and last is None:
            last = x[i] * 2
        elif last is not None and x[i] > last * 0.5:
            s += last * x[i]
        elif not (last is None or x[i] <= 0):
            s += 100 * last
    return s if last is None else s + last


def an_array_or_none(x):
    hit = None
    for i in range(4):
        if hit is None:
            if x[i] > 2:
                hit = x * x[i]
        else:
            hit = hit * 1.1
    if hit is None:
        return 0.0
    return np.sum(hit)


def stored_into(x):
    p = None
    if x[0] > 1:
        p = x * 2
    q = p
    if q is not None:
        q[0] = 7.0 * x[1]
    return np.sum(p)


def pairs_of_them(x):
    def near(i, j):
        if x[i] < 2:
            return None, None
        return x[i] * x[j], x[j]

    p, q = near(1, 2)
    if p is None or q is None:
        return x[0]
    return p * q


def back_and_forth(x):
    prev = None
    s = 0.0
    t = x[0]
    while t < 30:
        if prev is None:
            prev = t
        else:
            s += prev * t
            prev = None
        t = t + x[1]
    return s


class Best:
    def __init__(self):
        self.v = None

    def see(self, v):
        if self.v is None or v > self.v:
            self.v = v


def of_an_object(x):
    best = Best()
    for i in range(4):
        if x[i] > 2:
            best.see(np.sin(x[i]))
    return best.v * 3


def in_lists_and_dicts(x):
    found = [None] * 4
    state = {"p": None}
    for i in range(4):
        if x[i] > 2:
            found[i] = x[i] ** 2
        if state["p"] is None and x[i] > 3:
            state["p"] = x[i]
    return sum(v for v in found if v is not None) * state["p"]


PROGRAMS: list[Callable[[Any], Any]] = [
    gaps_between_large_ones,
    of_an_early_return,
    in_an_expression,
    least_so_far,
    with_and_and_not,
    an_array_or_none,
    stored_into,
    pairs_of_them,
    back_and_forth,
    of_an_object,
    in_lists_and_dicts,
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f: Callable[[Any], Any]) -> None:
    check_grads(f, (X,), order=2)


def test_compiled_and_batched() -> None:
    xs = np.stack([X, X[::-1], 0.4 * X])
    for f in (gaps_between_large_ones, of_an_early_return, an_array_or_none):
        np.testing.assert_allclose(accelerate(grad(f))(X), grad(f)(X), rtol=1e-13)
        np.testing.assert_allclose(vmap(grad(f))(xs), np.stack([grad(f)(x) for x in xs]), rtol=1e-13)


def test_none_where_a_value_is_needed() -> None:
    """It is Python's TypeError, and that of a result."""

    def chosen(x):
        found = None
        if x[0] > 2.0:
            found = x[0]
        return found

    assert grad(lambda x: chosen(x) * x[0])(2.0 * X)[0] == 6.0
    for f in (chosen, lambda x: chosen(x) * x[0], lambda x: np.sin(chosen(x))):
        with pytest.raises(TypeError, match="None stands where"):
            grad(f)(X)


def test_questions_about_what_may_be_none_are_refused() -> None:
    def asked(x):
        found = None
        if x[0] > 2.0:
            found = x[0]
        return x[0] if isinstance(found, float) else x[1]

    with pytest.raises(CutError, match="None or a value"):
        grad(asked)(X)
    assert accelerate(asked)(X) == asked(X)


def test_a_raise_behind_or_is_not_in_front_of_it() -> None:
    def root(v):
        if v < 0:
            raise ValueError("negative")
        return np.sqrt(v)

    def f(x):
        return 3.0 * x[0] if x[0] < 0 or root(x[0]) > 2 else x[0] ** 2

    assert grad(f)(-X)[0] == 3.0
    assert accelerate(grad(f))(X)[0] == 3.0
