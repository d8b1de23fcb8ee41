"""Loops over columns: which arrays are turned for them, and that nothing else changes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad
from untraced.testing import check_grads
from untraced.translator.passes import columns

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(7, 5)), RANDOM.normal(size=(7, 5))
CUBE = RANDOM.normal(size=(4, 6, 5))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "LEAST", 1)
    monkeypatch.setattr(columns, "COLUMN", 1)


def running(x):
    y = np.empty_like(x)
    y[:, 0] = x[:, 0]
    for k in range(1, x.shape[1]):
        y[:, k] = 0.5 * y[:, k - 1] + np.sin(x[:, k])
    return y


def in_place(x):
    for k in range(x.shape[1] - 2, -1, -1):
        x[:, k] += x[:, k + 1] * 0.5
    return x.sum()


def branches(x, y):
    for k in range(x.shape[1]):
        if k == 0:
            y[:, k] = x[:, k]
        elif x[0, k] > 0:
            y[:, k] = y[:, k - 1] - x[:, k]
        else:
            y[1:, k] *= 2.0
    return y


def paths(x, s):
    spot, total = np.full(len(x), s), np.zeros(len(x))
    for t in range(x.shape[1]):
        spot *= np.exp(0.1 * x[:, t])
        total += spot
    return np.maximum(total - s, 0.0).mean()


def two_loops(c):
    low, high = np.zeros_like(c), np.zeros(c.shape)
    for k in range(c.shape[2]):
        low[:, :, k] = c[:, :, k] * 2 + (low[:, :, k - 1] if k else 0.0)
    for k in range(c.shape[2] - 1, -1, -1):
        high[:, :, k] = low[:, :, k] - c[:, :, k]
        c[:, :, k] = high[:, :, k] * 0.5
    return high


def inside_steps(c, n):
    for _ in range(n):
        for k in range(1, c.shape[2] - 1):
            c[:, :, k] = 0.5 * (c[:, :, k - 1] + c[:, :, k + 1])
    return c


def pairs(x):
    total = np.zeros(len(x))
    for i in range(x.shape[1]):
        for j in range(i):
            total += x[:, i] * x[:, j]
    return total


def planes(c):
    """Both axes come in front."""
    for i in range(1, c.shape[1]):
        for j in range(1, c.shape[2]):
            c[:, i, j] += c[:, i - 1, j] * c[:, i, j - 1]
    return c


def until_small(x):
    k = 0
    for k in range(x.shape[1]):
        while np.abs(x[:, k]).max() > 0.5:
            x[:, k] *= 0.7
    return x, k


TURNED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    f.__name__: (f, arguments)
    for f, arguments in [
        (running, (X,)), (in_place, (X,)), (branches, (X, Y)), (paths, (X, 2.0)), (two_loops, (CUBE,)),
        (inside_steps, (CUBE, 3)), (pairs, (X,)), (planes, (CUBE,)), (until_small, (X,)),
    ]
}  # fmt: skip


def whole(x):
    """The array is also used as it is."""
    for k in range(x.shape[1]):
        x[:, k] = x.sum(axis=1)
    return x


def rows_too(x):
    for k in range(4):
        x[k + 1, :] -= x[k, :] * x[k, k]
        x[:, k] *= 2.0
    return x


def rows(x):
    for k in range(1, len(x)):
        x[k] += x[k - 1]
    return x


def shown(x):
    for k in range(1, x.shape[1]):
        x[:, k] += x[:, k - 1] * 0.5
        if x[0, k] > 9.0:
            raise ValueError(f"too large: {x}")
    return x


def checked(x, places):
    """The error names the axis."""
    for p in places:
        x[:, p] += 1.0
    return x


KEPT: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    f.__name__: (f, arguments)
    for f, arguments in [
        (whole, (X,)), (rows_too, (X,)), (rows, (X,)), (shown, (X,)), (checked, (X, np.array([0, 4, 0]))),
    ]
}


def turns(f: Callable[..., Any], arguments: Any) -> bool:
    return ".T" in (text := accelerate(f, target="cpu").inspect(*arguments).stages["fuse"]) or "transpose(" in text


@pytest.mark.parametrize("name", [*TURNED, *KEPT])
def test_programs(name: str) -> None:
    f, arguments = (TURNED | KEPT)[name]
    assert turns(f, arguments) == (name in TURNED)
    mine, others = copy.deepcopy(arguments), copy.deepcopy(arguments)
    fast = accelerate(f, target="cpu")
    for found, wanted in zip((fast(*mine), mine), (f(*others), others), strict=True):
        for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, wanted)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
            assert np.shape(a) == np.shape(b)


def test_errors_name_the_axis() -> None:
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 1 with size 5"):
        accelerate(checked, target="cpu")(X.copy(), np.array([0, 5]))


@pytest.mark.parametrize("f", [running, paths, two_loops, branches])
def test_derivatives(f: Callable[..., Any]) -> None:
    _, arguments = TURNED[f.__name__]

    def total(*values: Any) -> Any:
        return np.sum(np.sin(f(*values)))

    check_grads(accelerate(total, target="cpu"), arguments, order=1, modes=("fwd", "rev"))
    wanted, found = grad(total)(*arguments), accelerate(grad(total), target="cpu")(*arguments)
    np.testing.assert_allclose(found, wanted, rtol=1e-10)
