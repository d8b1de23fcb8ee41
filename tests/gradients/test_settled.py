"""Arrays that nests of loops store into as their own tapes: where no later store meets a read, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad
from untraced.testing import check_grads

RNG = np.random.default_rng(3)
SQUARE = RNG.uniform(0.5, 1.5, (4, 4)) + 4.0 * np.eye(4)
DEFINITE = SQUARE @ SQUARE.T
X = RNG.uniform(0.5, 1.5, 7)


def eliminated(a):
    a = a.copy()
    for k in range(len(a)):
        for i in range(k + 1, len(a)):
            a[i, k] /= a[k, k]
            for j in range(k + 1, len(a)):
                a[i, j] -= a[i, k] * a[k, j]
    return np.sum(a * a)


def cholesky(a):
    n = len(a)
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= low[i, k] * low[j, k]
            if i == j:
                low[i, i] = np.sqrt(s)
            else:
                low[i, j] = s / low[j, j]
    return np.sum(low)


def backwards(x):
    y = np.zeros_like(x)
    y[-1] = x[-1]
    for i in range(len(x) - 2, -1, -1):
        y[i] = np.sin(y[i + 1]) * x[i]
    return np.sum(y * y)


def in_steps(x):
    y = x.copy()
    for i in reversed(range(2, len(x), 2)):
        y[i - 2] = np.sin(y[i]) * x[i - 1]
    return np.sum(y * y)


def tables(x):
    n = len(x)
    best = np.zeros((n, n))
    for i in range(n):
        best[i, i] = x[i] * x[i]
        for j in range(i - 1, -1, -1):
            best[j, i] = np.sin(best[j + 1, i]) + best[j, i - 1] * x[j]
    return best[0, n - 1]


SETTLED = [(eliminated, SQUARE), (cholesky, DEFINITE), (backwards, X), (in_steps, X), (tables, X)]


def from_the_end(x):
    y = x.copy()
    for i in range(len(x)):
        y[i] = np.sin(y[i - 1]) * x[i]
    return np.sum(y * y)


def read_too_early(x):
    y = x.copy()
    for i in range(len(x) - 1):
        y[i] = np.sin(y[i + 1]) * y[i]
    return np.sum(y * y)


def twice(x):
    y = x.copy()
    for i in range(1, len(x) - 1):
        y[i] = np.sin(y[i - 1]) * x[i]
        y[i + 1] = y[i] * y[i + 1]
    return np.sum(y * y)


def before_another(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(i + 1):
            if i != j:
                y[i] = x[i] * np.cos(y[j - 1]) + x[i]
    return np.sum(y * y)


def moving_place(x):
    y = x.copy()
    k = 1
    for i in range(3):
        y[k] = np.sin(y[k - 1]) * y[i]
        k = k + 2
    return np.sum(y * y)


def stored_in_a_branch(x):
    y = x.copy()
    for i in range(1, len(x)):
        if y[i] > 1.0:
            y[i - 1] = np.sin(y[i]) * y[i - 1]
        else:
            y[i] = np.sin(y[i - 1]) * y[i]
    return np.sum(y * y)


def sweeps(x):
    y = x.copy()
    for _ in range(2):
        for i in range(1, len(x)):
            y[i] = np.sin(y[i - 1]) * y[i]
    return np.sum(y * y)


def rows_and_elements(a):
    low = np.zeros_like(a)
    for i in range(len(a)):
        for j in range(i + 1):
            s = a[i, j] - low[i] @ low[j]
            low[i, j] = np.sqrt(s) if i == j else s / low[j, j]
    return np.sum(low)


UNSETTLED = [
    (from_the_end, X),
    (read_too_early, X),
    (twice, X),
    (before_another, X[:4]),
    (moving_place, X),
    (stored_in_a_branch, X),
    (sweeps, X),
    (rows_and_elements, DEFINITE),
]


@pytest.mark.parametrize(("f", "x"), SETTLED + UNSETTLED, ids=lambda v: getattr(v, "__name__", ""))
def test_gradients(f: Callable[..., Any], x: np.ndarray[Any, Any]) -> None:
    check_grads(f, (x,), order=2, modes=("rev",))
    np.testing.assert_allclose(accelerate(grad(f), target="cpu")(x), grad(f)(x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("f", "x"), SETTLED, ids=lambda v: getattr(v, "__name__", ""))
def test_no_tape_of_what_stays(f: Callable[..., Any], x: np.ndarray[Any, Any]) -> None:
    assert "tape" not in grad(f).source(x)


def test_what_is_put_back_is_not_kept_beside() -> None:
    """Rows are read before they are full: the array goes back trip by trip, to the zeros that it was made of."""
    source = grad(rows_and_elements).source(DEFINITE)
    assert "tape" not in source and "low[i, j] = 0.0" in source and "low.copy()" not in source


def swaps_under_a_branch(x, y):
    """b[i + 1] is stored at b[j] by some trips only: the others do not leave it there."""
    a, b = np.zeros(8), x * 0.5
    for i in range(5, -1, -1):
        j = i + 2
        a[i] = b[i + 1] * x[i + 1] + b[j]
        if y[i] > 0.3:
            a[i] += x[i]
        else:
            b[i + 1], b[j] = b[j], b[i + 1]
    return np.sum(a) + np.sum(b)


def swaps_at_a_place_of_the_branch(x, y):
    a, b = np.zeros(8), x * 0.5
    for i in range(5, -1, -1):
        a[i] = b[i + 1] * x[i + 1]
        if y[i] > 0.3:
            a[i] += x[i]
        else:
            b[i + 1], b[i + 2] = b[i + 2], b[i + 1]
    return np.sum(a) + np.sum(b)


def stores_in_a_loop_of_no_trips(x, y):
    b = x * 0.5
    for i in range(1, 7):
        v = np.sin(b[i - 1])
        b[i] = v * v
        for _ in range(i, 4):
            b[i + 1] = v
    return np.sum(b * x)


@pytest.mark.parametrize(
    "f", [swaps_under_a_branch, swaps_at_a_place_of_the_branch, stores_in_a_loop_of_no_trips], ids=lambda f: f.__name__
)
def test_what_only_some_trips_store(f):
    y = np.array([0.9, 0.1, 0.2, 0.7, 0.1, 0.8, 0.2, 0.4])
    check_grads(lambda x: f(x, y), (np.linspace(0.2, 0.9, 8),), order=2)
