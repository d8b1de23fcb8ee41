"""Pieces of an array that grow by one value are sums over windows of it on the cpu, with NumPy's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import accelerate, grad

N = 130
RNG = Drawn(0)
T, X = RNG.normal(size=(N - 2, N - 2)), RNG.normal(size=(N, N))
X[0, 0], T[3, 4] = -0.0, np.inf


def five_points(x: Any, t: Any) -> Any:
    x[1:-1, 1:-1] -= t * 4.0
    x[1:-1, :-2] += t
    x[1:-1, 2:] += -t
    x[:-2, 1:-1] += t / 3.0
    x[2:, 1:-1] += t
    return x


def own_slices(x: Any, t: Any) -> Any:
    k = x[1:-1, 1:-1] * 0.1
    x[1:-1, 1:-1] -= x[1:-1, 1:-1] * 0.4
    x[1:-1, :-2] += k
    x[1:-1, 2:] += k
    x[2:, 1:-1] += k
    return x


def added(x: Any, t: Any) -> Any:
    x[1:-1, 1:-1] -= t * -4.0
    x[1:-1, :-2] += t
    x[1:-1, 2:] -= -t
    x[:-2, 1:-1] += t / 3.0
    return x


def added_once(x: Any, t: Any) -> Any:
    x[1:-1, 1:-1] += t
    return x


def into_zeros(x: Any, t: Any) -> Any:
    y = np.full_like(x, -0.0)
    y[1:-1, 1:-1] = t
    return y


def two_values(x: Any, t: Any) -> Any:
    u = t * t
    x[2:, 2:] += t
    x[:-2, 2:] += u
    x[2:, :-2] += u
    x[:-2, :-2] += t
    return x


def infinite_factor(x: Any, t: Any) -> Any:
    x[2:, 2:] += t * np.inf
    x[:-2, 2:] += t * np.inf
    x[2:, :-2] += t * np.inf
    return x


def read_in_between(x: Any, t: Any) -> Any:
    x[2:, 2:] += t
    s = np.sum(x[5])
    x[:-2, 2:] += t
    x[2:, :-2] += t * s
    return x


def rows_apart(x: Any, t: Any) -> Any:
    x[::2] += t[:65, :1]
    x[1:-1, 1:] += t[:, :1]
    x[:-2, 2:] += t
    return x


def in_two_branches(x: Any, t: Any) -> Any:
    if t[0, 0] > 0.0:
        u = t[1:, 1:]
        x[3:, 3:] += u
        x[:-3, 3:] += u
        x[:-3, :-3] += u
    else:
        u = t[1:, 1:]
        x[3:, 3:] -= u
        x[:-3, 3:] -= u
        x[3:, :-3] -= u
    return x


CASES: list[tuple[Callable[..., Any], int | None]] = [
    (five_points, 1),
    (own_slices, 1),
    (two_values, 2),
    (in_two_branches, 2),
    (infinite_factor, None),
    (read_in_between, None),
    (rows_apart, None),
]


@pytest.mark.parametrize(("function", "pads"), CASES)
def test_stores_that_add(function: Callable[..., Any], pads: int | None) -> None:
    compiled = accelerate(function, target="cpu")
    for dtype in (np.float64, np.float32):
        x, t = X.astype(dtype), T.astype(dtype)
        with np.errstate(invalid="ignore"):
            want = function(x.copy(), t)
        few = 16 * np.finfo(dtype).eps  # of terms of some units that may cancel: XLA fuses products with sums
        np.testing.assert_allclose(compiled(x.copy(), t), want, rtol=few, atol=few)
    if pads is not None:
        assert compiled.inspect(X, T).stablehlo.count("stablehlo.pad ") == pads


@pytest.mark.parametrize("function", [added, added_once, into_zeros])
def test_negative_zeros_stay(function: Callable[..., Any]) -> None:
    x = np.full_like(X, -0.0)
    found = accelerate(function, target="cpu")(x.copy(), T)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(function(x.copy(), T)))


@pytest.mark.parametrize("shape", [(130, 131), (30, 31, 32)])
def test_gradients_of_stencils(shape: tuple[int, ...]) -> None:
    inner = (slice(1, -1),) * len(shape)

    def moved(axis: int, by: slice) -> tuple[slice, ...]:
        return tuple(by if k == axis else s for k, s in enumerate(inner))

    def energy(u: Any) -> Any:
        u = u.copy()
        for _ in range(3):
            around = -2.0 * len(shape) * u[inner]
            for axis in range(len(shape)):
                around = around + u[moved(axis, slice(2, None))] + u[moved(axis, slice(None, -2))]
            u[inner] += 0.1 * around * u[inner]
        return np.sum(u * u)

    def steepness(u: Any) -> Any:
        return np.sum(grad(energy)(u) ** 2)

    u = RNG.normal(size=shape) * 0.3
    for function in (energy, steepness):
        found = accelerate(grad(function), target="cpu")(u)
        np.testing.assert_allclose(found, grad(function)(u), rtol=1e-11, atol=1e-13)
    assert accelerate(grad(energy), target="cpu").inspect(u).stablehlo.count("stablehlo.pad ") < 2 * len(shape) + 2
