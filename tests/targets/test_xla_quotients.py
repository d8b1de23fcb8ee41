"""Quotients by a product with the reciprocal and its correction: which they are, and that they have NumPy's bits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import accelerate, device_put

RNG = Drawn(5)


def by_rows(x: Any, d: Any) -> Any:
    return x / d


def centred_by_rows(x: Any, d: Any) -> Any:
    return (x - 1) / d * 2


def is_corrected(function: Callable[..., Any], *args: Any) -> bool:
    """Whether no array of the size of the first argument is divided."""
    text = accelerate(function, target="cpu").inspect(*args).stablehlo
    whole = "tensor<" + "".join(f"{n}x" for n in args[0].shape)
    return not any("stablehlo.divide" in line and whole in line for line in text.splitlines())


def same_bits(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


def ends(dtype: Any) -> Any:
    """Numbers of either sign at the ends of a dtype's range and in between, none of them subnormal."""
    info = np.finfo(dtype)
    some = [0, np.inf, np.nan, 1, 3, 1 / 3, 2 - info.eps, 1 - info.epsneg, info.max, info.max / 2, info.max / 4]
    some += [info.tiny, 2 * info.tiny, 5 * info.tiny, np.sqrt(info.max), np.sqrt(info.tiny), 1e7, 1e-7]
    values = np.array(some, dtype)
    return np.concatenate([values, -values])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_at_the_ends_of_the_range(dtype: Any) -> None:
    d = ends(dtype)[:, None]
    x = np.tile(ends(dtype), (len(d), 1 + (1 << 17) // d.size**2))
    assert is_corrected(by_rows, x, d)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        expected = by_rows(x, d)
    found = np.array(accelerate(by_rows, target="cpu")(device_put(x), device_put(d)))
    tiny = np.finfo(dtype).tiny
    # What lacks of a quotient of a tiny number is subnormal, which XLA takes for 0.
    exact = (np.abs(x) > tiny / np.finfo(dtype).eps ** 2) | (x == 0) | np.isnan(x)
    subnormal = (np.abs(expected) < tiny) & (expected != 0)
    same_bits(found[exact & ~subnormal], expected[exact & ~subnormal])
    np.testing.assert_allclose(found[~exact], expected[~exact], rtol=2 * np.finfo(dtype).eps, atol=tiny)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [by_rows, centred_by_rows])
def test_rounds_as_a_division(function: Callable[..., Any], dtype: Any) -> None:
    x = RNG.standard_normal((300, 1000)).astype(dtype)
    d = np.concatenate([RNG.standard_normal(200), 2 - RNG.random(100) * 1e-6]).astype(dtype)[:, None]
    x[100:200], x[200:] = np.round(x[100:200] * 100) / 100, 2 - np.abs(x[200:]) * dtype(1e-6)
    assert is_corrected(function, x, d)
    same_bits(np.array(accelerate(function, target="cpu")(device_put(x), device_put(d))), function(x, d))


def softmax(x: Any, d: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True) * d


CORRECTED: dict[str, Callable[[Any, Any], Any]] = {
    "a number": lambda x, d: (x - 2.0) / d[0, 0],
    "a constant": lambda x, d: x / 3.0,
    "layer norm": lambda x, d: (x - np.mean(x, 1, keepdims=True)) / np.sqrt(np.var(x, 1, keepdims=True) + 1e-5) * 2 + 1,
    "columns": lambda x, d: (x - 1.0) / (x[0] + 3),
    "what is summed as well": softmax,
}
DIVIDED: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda x, d: np.sum((x / d) ** 2, axis=1),
    "much else": lambda x, d: np.exp(x) / d,
    "as many": lambda x, d: x / (x + 3.0),
    "powers of two": lambda x, d: x / 4.0,
    "numbers of float32": lambda x, d: x.astype(np.float32) / np.float32(3),
    "no normal reciprocal": lambda x, d: x / -1e308,
}


@pytest.mark.parametrize("name", [*CORRECTED, *DIVIDED])
def test_where_a_kernel_does_little_else(name: str) -> None:
    x, d = RNG.standard_normal((40, 1000)), np.abs(RNG.standard_normal((40, 1))) + 0.5
    function = (CORRECTED | DIVIDED)[name]
    assert is_corrected(function, x, d) == (name in CORRECTED)
    found = np.array(accelerate(function, target="cpu")(device_put(x), device_put(d)))
    np.testing.assert_allclose(found, function(x, d), rtol=1e-13, atol=1e-13)


def parts(x: Any) -> Any:
    y = x[:, ::-1] / 3.0
    return y, (y * 0.5)[:, ::-1] + y, x.reshape(20, -1)[::-1] / -7.0, np.roll(x / 3.0, 3, 1) + x


def test_of_constants_where_parts_are_moved() -> None:
    x = RNG.standard_normal((40, 1000))
    for found, expected in zip(accelerate(parts, target="cpu")(x), parts(x), strict=True):
        same_bits(found, expected)
