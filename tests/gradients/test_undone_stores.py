"""Loops whose backward pass undoes their stores: right to order 2, and with tapes of what is overwritten only."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, value_and_grad
from untraced.testing import check_grads

RNG = np.random.default_rng(5)
SQUARE = RNG.uniform(-1.0, 1.0, (5, 5))
DEFINITE = SQUARE @ SQUARE.T + 5.0 * np.eye(5)
ROW = RNG.uniform(0.5, 1.0, 5)


def cholesky(a):
    low = np.zeros_like(a)
    for i in range(len(a)):
        for j in range(i + 1):
            s = a[i, j] - low[i] @ low[j]
            low[i, j] = np.sqrt(s) if i == j else s / low[j, j]
    return np.sum(low)


def eliminated(a):
    a = a.copy()
    for k in range(len(a)):
        for i in range(k + 1, len(a)):
            a[i, k] /= a[k, k]
            for j in range(k + 1, len(a)):
                a[i, j] -= a[i, k] * a[k, j]
    return np.sum(a * a)


def factored_by_rows(a):
    a = a.copy()
    n = len(a)
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return np.sum(np.sin(a))


def seidel(u):
    u = u.copy()
    for _ in range(3):
        for i in range(1, len(u) - 1):
            for j in range(1, len(u) - 1):
                u[i, j] = np.tanh(u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) * 0.25 * u[i, j]
    return np.sum(u * u)


def shortest_paths(d):
    d = d.copy()
    for k in range(len(d)):
        for i in range(len(d)):
            for j in range(len(d)):
                d[i, j] = np.minimum(d[i, j], d[i, k] + d[k, j])
    return np.sum(d * d)


def table(c):
    n = len(c)
    t = np.zeros((n + 1, n + 1))
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            t[i, j] = c[i - 1, j - 1] * t[i - 1, j - 1] + np.sin(t[i - 1, j]) + t[i, j - 1] * 0.5
    return t[n, n]


def stored_three_times(x):
    x = x.copy()
    for i in range(1, len(x) - 1):
        x[i] = x[i] * x[i - 1]
        x[i + 1] = x[i + 1] + np.sin(x[i]) * x[i + 1]
        x[i] = x[i] ** 2 * x[i + 1]
    return np.sum(x * x)


def both_before_and_after(x):
    x = x.copy()
    for i in range(len(x) - 1):
        old = x.copy()
        x[i] = x[i] * x[i + 1]
        x[i + 1] = np.sum(old * x)
    return np.sum(x * x)


def repeated_places(x):
    x = x.copy()
    places = np.array([1, 3, 4])
    for i in range(3):
        x[places[i]] = np.sin(x[places[i]]) * x[0]
        x[np.array([1, 1, 2])] *= x[places]
    return np.sum(x * x)


def stores_in_branches(x):
    x = x.copy()
    for i in range(1, len(x)):
        if x[i] > x[i - 1]:
            x[i] = x[i] * x[i - 1]
        else:
            x[i - 1] = x[i] * x[i]
    return np.sum(x * x)


def whole_rows(x):
    x = x.copy()
    for i in range(1, len(x)):
        x[i] = x[i] * np.sin(x[i - 1]) + x[i] @ x[i - 1]
    return np.sum(x * x)


def read_between_loops(x):
    x = x.copy()
    total = 0.0
    for i in range(1, len(x)):
        for j in range(i):
            x[j] = x[j] * x[i]
        total = total + np.sum(np.sin(x)) * x[0]
        for j in range(i):
            x[j] = np.cos(x[j]) + x[i]
    return total + np.sum(x)


def two_back(x):
    y = x.copy()
    for i in range(2, len(x)):
        v = x[i] * np.sin(y[i - 1])
        y[i] = np.exp(v) / (1.0 + v * v) + y[i - 2] * y[i - 1]
    return np.sum(y * y)


def from_the_end(x):
    y = x.copy()
    for i in range(len(x) - 2, -1, -1):
        y[i] = np.sin(y[i] * y[i + 1])
    for j in range(1, len(x)):
        y[j] *= y[j - 1]
    return np.sum(y * y)


def read_ahead_and_around(x):
    y = x.copy()
    for i in range(len(x) - 1):
        y[i] = np.sin(y[i + 1]) * np.cos(y[i - 1])
    return np.sum(y * y)


def stored_again(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = np.sin(y[i - 1])
        y[i - 1] = y[i] * y[i - 1]
    return np.sum(y * y)


def chosen_by_what_is_stored(a):
    """Whom a trip marks depends on who is marked: where it stores is kept, or the stores could not be undone."""
    reached, total = np.arange(5) == 0, 0.0
    best = np.full(5, 9.0)
    for _ in range(4):
        cost = np.where(reached[:, None] & ~reached[None], np.abs(a), np.inf)
        j = np.argmin(cost) % 5
        total += np.min(cost) * a[0, j]
        reached[j] = True
        k = np.argmin(np.where(best < 9.0, np.inf, a[j]))
        best[k] = a[k, j] ** 2
    return total**2 + np.sum(best * a[0])


PROGRAMS: list[tuple[Callable[..., Any], np.ndarray[Any, Any]]] = [
    (cholesky, DEFINITE),
    (eliminated, DEFINITE),
    (factored_by_rows, DEFINITE),
    (seidel, SQUARE),
    (shortest_paths, np.abs(SQUARE) + 1.0),
    (table, SQUARE),
    (stored_three_times, ROW),
    (both_before_and_after, ROW),
    (repeated_places, ROW),
    (stores_in_branches, ROW),
    (whole_rows, SQUARE),
    (read_between_loops, ROW),
    (two_back, ROW),
    (from_the_end, ROW),
    (read_ahead_and_around, ROW),
    (stored_again, ROW),
    (chosen_by_what_is_stored, SQUARE),
]


@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_to_order_two(f: Callable[..., Any], x: np.ndarray[Any, Any]) -> None:
    check_grads(f, (x,), order=2)
    value, g = accelerate(value_and_grad(f))(x)
    assert value == pytest.approx(f(x))
    np.testing.assert_allclose(g, grad(f)(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "stores"), [(factored_by_rows, 40), (seidel, 27), (shortest_paths, 125)]
)
def test_only_what_is_overwritten_is_kept(f: Callable[..., Any], stores: int) -> None:
    """A few numbers for each store of an element, not the array. Inner loops have padded tapes in outer ones."""
    source = grad(f).source(DEFINITE)
    shapes = [re.findall(r"\d+", text) for text in re.findall(r"tape\S* = np\.empty\((.*)\)", source)]
    assert shapes and sum(math.prod(map(int, shape)) for shape in shapes) <= 12 * stores


def test_an_array_that_is_filled_in_order_is_its_own_tape() -> None:
    assert "tape" not in grad(two_back).source(ROW)
    assert "tape" in grad(read_ahead_and_around).source(ROW)
