"""Arithmetic as it is written: where LLVM fuses and XLA simplifies, with NumPy's last bits, overflow and NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate
from untraced.tpu.rounding import SMALL

X, Y = np.random.default_rng(0).standard_normal((2, SMALL + 1))


def determinant(x: Any, y: Any) -> Any:
    return x[0] * y[1] - x[1] * y[0], np.cross(x.reshape(-1, 3)[:9], 3.5 * x.reshape(-1, 3)[:9])


def slopes(x: Any, y: Any) -> Any:
    return np.diff(x * y), (x * y)[::-1] - y * x, -(x * y) - (-y) * x


@pytest.mark.parametrize("size", [3, SMALL - 1])
@pytest.mark.parametrize("function", [determinant, slopes])
def test_differences_of_products_round_each(function: Callable[..., Any], size: int) -> None:
    size = size // 3 * 3
    x = X[:size]
    for found, expected in zip(accelerate(function, target="cpu")(x, 2.5 * x), function(x, 2.5 * x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_differences_of_products_of_large_arrays_round_each() -> None:
    assert not accelerate(lambda x, y: x * y - y * (x + 0), target="cpu")(X, Y).any()
    assert not accelerate(lambda x, y: x**2 - np.square(x + 0), target="cpu")(X, Y).any()


def lorenz(state: Any, steps: int) -> Any:
    x, y, z = state
    for _ in range(steps):
        dx, dy, dz = 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z
        x, y, z = x + dx * 0.01, y + dy * 0.01, z + dz * 0.01
    return np.array([x, y, z])


def logistic(x: Any, steps: int) -> Any:
    for _ in range(steps):
        x = 3.9 * x * (1 - x) + 1e-3 * x**2 * (1 - x)
    return x


@pytest.mark.parametrize(("function", "start"), [(lorenz, np.ones(3)), (logistic, np.linspace(0.1, 0.4, 5))])
def test_iterations_that_magnify_the_last_digit(function: Callable[..., Any], start: Any) -> None:
    """After so many steps an error of one rounding would be all of the result."""
    found = accelerate(function, target="cpu")(start, 3000)
    np.testing.assert_array_equal(found, function(start, 3000))


HUGE = np.array([0.0, -0.0, 0.3, -2.5, 1e16, 1e-150, 1e200, -1e200, 1e300, 750.0, -750.0, np.inf, -np.inf, np.nan])
REWRITTEN: dict[str, Callable[[Any, Any], Any]] = {
    "x + c - c": lambda x, y: (x + 1e16 - 1e16, 6755399441055744.0 + x - 6755399441055744.0, (x - 0.1) - 0.2),
    "x * c * c": lambda x, y: (x * 1e200 * 1e-200, x * 0.1 * 0.3),
    "x / y / z": lambda x, y: (x / 1e-200 / 1e-200, x / (1 + abs(y)) / 1e200, x / (y / 3), (x / 3) / (y / 3)),
    "exp * exp": lambda x, y: (np.exp(x) * np.exp(y), np.exp(x) ** 2, x / np.exp(y), np.exp(x) / np.exp(y)),
    "log(exp)": lambda x, y: (np.log(np.exp(x)), np.log(np.abs(x) ** y), np.log(np.abs(x) ** 2.5)),
    "(x ** y) ** z": lambda x, y: ((np.abs(x) ** y) ** 1.5, np.exp(x) ** y),
    "sqrt(x * x)": lambda x, y: (np.sqrt(x * x), np.sqrt(x**2), np.sqrt(np.abs(x)) * np.sqrt(np.abs(x))),
}


@pytest.mark.parametrize("rewritten", REWRITTEN)
@pytest.mark.parametrize("repeated", [1, 50])
def test_nothing_is_simplified_as_among_real_numbers(rewritten: str, repeated: int) -> None:
    """Where NumPy overflows or gives NaN, and where it does not. (XLA takes numbers below 2.2e-308 for 0.)"""
    function = REWRITTEN[rewritten]
    x, y = (np.tile(a.ravel(), repeated) for a in np.meshgrid(HUGE, HUGE))
    with np.errstate(all="ignore"):
        expected = function(x, y)
    for found, e in zip(accelerate(function, target="cpu")(x, y), expected, strict=True):
        normal = ~((np.abs(e) < np.finfo(float).tiny) & (e != 0))
        np.testing.assert_array_max_ulp(found[normal & np.isfinite(e)], e[normal & np.isfinite(e)], 4)
        np.testing.assert_array_equal(found[~np.isfinite(e)], e[~np.isfinite(e)])


@pytest.mark.parametrize("bounds", [(0.1, 1.3), (-1.3, 2.7)])
def test_grids_with_written_bounds(bounds: tuple[float, float]) -> None:
    """LLVM knows that what is made of counts and finite constants is no NaN: it is hidden all the same."""
    low, high = bounds

    @accelerate
    def grid() -> Any:
        return np.linspace(low, high, 9001), np.arange(low, 900.1, 0.1)

    @accelerate
    def counted(i: Any) -> Any:
        return i * 0.1 + 0.3, i * 0.1 - i[::-1] * 0.1

    for found, wanted in zip(grid(), grid.__wrapped__(), strict=True):
        np.testing.assert_array_equal(found, wanted)
    i = np.arange(1000)
    for found, wanted in zip(counted(i), counted.__wrapped__(i), strict=True):
        np.testing.assert_array_equal(found, wanted)
