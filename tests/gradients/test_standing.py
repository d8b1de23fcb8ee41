"""Elements of an array that a loop does not store into are read once, before it; all others where they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad
from untraced.testing import check_grads

A = np.random.default_rng(4).uniform(0.5, 1.5, (4, 4)) + 3.0 * np.eye(4)
X = np.linspace(0.3, 1.2, 7)


def by_rows(a):
    a = a.copy()
    for k in range(len(a)):
        for i in range(k + 1, len(a)):
            a[i] = a[i] - np.sin(a[i, k] / a[k, k]) * a[k]
    return np.sum(a * a)


def with_borders(x):
    u = x.copy()
    for _ in range(4):
        for i in range(1, len(x) - 1):
            u[i] = u[i] * u[0] + np.sin(u[i - 1]) * u[-1]
    return np.sum(u * u)


def of_the_first(x):
    y = x.copy()
    for i in range(1, 7):
        if y[i] > 0.7:
            y[i] = np.sin(y[0] * y[i])
    return np.sum(y * y)


READ_AHEAD = [(by_rows, A), (with_borders, X), (of_the_first, X)]


def changing(x):
    y = x.copy()
    for i in range(7):
        y[i] = np.sin(y[2] * y[i])
    return np.sum(y * y)


def from_the_end(x):
    y = x.copy()
    for i in range(-1, 5):
        y[i] = np.sin(y[6] * y[i])
    return np.sum(y * y)


def swapped(a):
    a = a.copy()
    for k in range(3):
        row = a[k].copy()
        a[k] = np.sin(a[3])
        a[3] = row
    return np.sum(a * a * A)


def columns(a):
    a = a.copy()
    for k in range(4):
        for i in range(4):
            a[i, k] = np.sin(a[k, i] * a[k, k])
    return np.sum(a * a * A)


IN_THE_LOOP = [(changing, X), (from_the_end, X), (swapped, A), (columns, A)]


@pytest.mark.parametrize(("f", "x"), READ_AHEAD + IN_THE_LOOP, ids=lambda v: getattr(v, "__name__", ""))
def test_gradients(f: Callable[..., Any], x: np.ndarray[Any, Any]) -> None:
    check_grads(f, (x,), order=2, modes=("fwd", "rev"))
    np.testing.assert_allclose(accelerate(grad(f), target="cpu")(x), grad(f)(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("f", "x"), READ_AHEAD, ids=lambda v: getattr(v, "__name__", ""))
def test_no_tape_per_trip(f: Callable[..., Any], x: np.ndarray[Any, Any]) -> None:
    """Of what is read in each trip the same, one value is enough, or one for each trip of the loop around."""
    assert "tape_tape_2" not in grad(f).source(x)


def read_where_it_does_not_reach(x):
    y = x.copy()
    for k in range(9):
        for i in range(k, 7):
            y[i] = np.sin(y[i] * y[0]) if k < 7 and i > 0 else y[i]
    return np.sum(y * y)


def test_what_may_be_outside_stays() -> None:
    check_grads(read_where_it_does_not_reach, (X,), order=1, modes=("rev",))
