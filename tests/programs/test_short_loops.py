"""Short loops over whole arrays: which are written turn behind turn, and that nothing else changes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad
from untraced.testing import check_grads
from untraced.translator.passes import turns

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(9, 8)), RANDOM.normal(size=(9, 8))
WEIGHTS = RANDOM.normal(size=(3, 3))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LARGE", 2)


def convolved(x, w):
    out = 0
    for i in range(3):
        for j in range(3):
            out = out + w[i, j] * x[i : x.shape[0] - 2 + i, j : x.shape[1] - 2 + j]
    return np.tanh(out)


def horner(x, w):
    y = np.zeros_like(x)
    for k in reversed(range(3)):
        y = y * x + w[k, 0]
    return y


def exponential(x):
    term, total, scale = np.ones_like(x), np.ones_like(x), 1.0
    for k in range(1, 8):
        scale *= 0.5
        term = term * x / k
        total += term * scale
    return total


def swapped(x, y):
    for k in range(3):
        x, y = y, x + y * k
    return x, y


def behind_each_other(x):
    y = x
    for _ in range(2):
        y = y * 2
    z = y
    for k in range(2):
        z = z + y / (k + 1)
    return y, z


def by_the_data(x, w):
    for k in range(2):
        if w[0, 0] > 0:
            for j in range(2, 4):
                x = x + w[k, k] * j
    return x


EVEN = [(convolved, (X, WEIGHTS)), (horner, (X, WEIGHTS)), (exponential, (X,)), (swapped, (X, Y))]
EVEN += [(behind_each_other, (X,))]


def loops(function: Callable[..., Any], *args: Any) -> int:
    return accelerate(function, target="cpu").inspect(*args, compile=False).stages["fuse"].count("for ")


@pytest.mark.parametrize(("function", "args"), EVEN)
def test_they_are_one_kernel(function: Callable[..., Any], args: Any) -> None:
    for target in ("cpu", "triton"):
        source = accelerate(function, target=target).inspect(*args, compile=False).stages["fuse"]
        assert "for " not in source and "_2(" not in source, source


@pytest.mark.parametrize(("function", "args"), [*EVEN, (by_the_data, (X, WEIGHTS)), (by_the_data, (X, -WEIGHTS))])
def test_equals_numpy(function: Callable[..., Any], args: Any) -> None:
    expected, found = function(*copy.deepcopy(args)), accelerate(function, target="cpu")(*copy.deepcopy(args))
    for e, f in zip(np.atleast_1d(expected), np.atleast_1d(found), strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-14, atol=1e-15)


def test_a_derivative_needs_no_tape() -> None:
    f = grad(lambda x: np.sum(horner(x, WEIGHTS) ** 2))
    source = accelerate(f, target="cpu").inspect(X, compile=False).stages["fuse"]
    assert "for " not in source and "np.stack" not in source and "_2(" not in source, source
    np.testing.assert_allclose(accelerate(f, target="cpu")(X), f(X), rtol=1e-13)


def test_derivatives() -> None:
    check_grads(lambda x: np.sum(convolved(x, WEIGHTS) * horner(x, WEIGHTS)[1:-1, 1:-1]), (X,), order=2)
    f = lambda x: np.sum(convolved(x, WEIGHTS) ** 2 + exponential(x)[1:-1, 1:-1])  # noqa: E731
    np.testing.assert_allclose(accelerate(grad(f), target="cpu")(X), grad(f)(X), rtol=1e-12, atol=1e-14)


def shifted(x):
    for _ in range(3):
        x = x + np.roll(x, 1)
    return x


def summed(x):
    for _ in range(3):
        x = x / np.sum(x)
    return x


def out_of_range(x):
    y = x[0]
    for k in range(8, 11):
        y = y + x[k]
    return y


def long(x):
    for k in range(turns.MOST_TURNS + 1):
        x = x * k + 1
    return x


def wide(x):
    for _ in range(turns.MOST_TURNS):
        for _ in range(turns.MOST_TURNS):
            x = x * 0.5 + 1
    return x


@pytest.mark.parametrize("function", [shifted, summed, long, wide])
def test_other_loops_stay(function: Callable[..., Any]) -> None:
    assert loops(function, X)
    np.testing.assert_allclose(accelerate(function, target="cpu")(X), function(X), rtol=1e-12)


def test_an_index_out_of_range_is_an_error() -> None:
    with pytest.raises(IndexError):
        accelerate(out_of_range, target="cpu")(X)


def test_small_arrays_keep_their_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert loops(horner, X, WEIGHTS)
