"""Derivatives of functions in which a name has a value or not, as the data decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, vmap
from untraced.testing import check_grads

X = np.array([0.7, 0.5, -0.9, 1.2])


def last_of_the_positive(x):
    for v in x:
        if v > 0:
            last = v
    return last * last


def place_of_the_largest(x):
    best = -1.0
    for i, v in enumerate(x):
        if v > best:
            best = v
            k = i
    return x[k] ** 2


def in_one_branch(x):
    if x[0] > 0:
        y = x * 2
    return np.sum(y * y)


def an_array(x):
    for v in x:
        if v > 0.6:
            row = x * v
    return np.sum(row**2)


def read_from_the_second_trip_on(x):
    s = 0.0
    for i in range(4):
        if i > 0:
            s += prev * x[i]  # noqa: F821
        prev = x[i] ** 2
    return s


def of_a_while(x):
    t = x[0]
    while t < 5.0:
        t = t * 1.5 + x[1] ** 2
        last = t * x[3]
    return last**2


def where_it_breaks(x):
    for i in range(len(x)):
        if x[i] < 0:
            k = i
            break
    return x[k] ** 3


def in_nested_loops(x):
    for i in range(3):
        for j in range(3):
            if x[j] > x[i]:
                m = x[j] - x[i]
    return m**2


PROGRAMS: list[tuple[Callable[[Any], Any], Any]] = [
    (last_of_the_positive, -X * X),
    (place_of_the_largest, X - 10.0),
    (in_one_branch, -X),
    (an_array, -X * X),
    (read_from_the_second_trip_on, None),
    (of_a_while, X + 10.0),
    (where_it_breaks, X * X),
    (in_nested_loops, 0.0 * X),
]


@pytest.mark.parametrize("f, unbound", PROGRAMS)
def test_derivatives(f: Callable[[Any], Any], unbound: Any) -> None:
    check_grads(f, (X,), order=2)
    for derivative in (grad(f), accelerate(grad(f))):
        np.testing.assert_allclose(derivative(X), grad(f)(X), rtol=1e-13)
        if unbound is not None:
            with pytest.raises(UnboundLocalError, match="cannot access local variable"):
                derivative(unbound)


def test_batches() -> None:
    xs = np.stack([X, X[::-1]])
    for f in (last_of_the_positive, read_from_the_second_trip_on):
        np.testing.assert_allclose(vmap(f)(xs), np.stack([f(x) for x in xs]), rtol=1e-13)


def test_a_name_that_nothing_binds() -> None:
    def f(x):
        if x[0] > 0:
            return z * x[0]  # noqa: F821, F823
        z = x[0]
        return z

    assert grad(f)(-X)[0] == 1.0
    with pytest.raises(UnboundLocalError, match="z"):
        grad(f)(X)
