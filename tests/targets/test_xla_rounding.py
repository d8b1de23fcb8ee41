"""Arithmetic as it is written: where LLVM fuses and XLA simplifies, with NumPy's last bits, overflow and NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate
from untraced.tpu.emit.rounding import SMALL

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


SEEN_THROUGH: dict[str, Callable[[Any, Any], Any]] = {
    "sums over one element": lambda x, y: (np.sum((x * y)[None], axis=0) + y, np.prod((x * y)[:, None], axis=1) - x),
    "stack": lambda x, y: (np.stack([x * y, x])[0] + y, np.concatenate([x * y, y])[:5] - x[:5]),
    "contract": lambda x, y: (np.einsum("i,i->i", x, y) + y, np.outer(x, y) + y),
    "sign": lambda x, y: (y - -(x * y), 0.5 * x + 0.3 * y, (x * -0.25 - y * x)),
    "functions": lambda x, y: (
        (1e200 * x * (1e200 * x)) ** 0.5,
        np.log(np.stack([np.exp(x), y])[0]),
        np.log2(np.exp2(x)),
    ),
}


@pytest.mark.parametrize("through", SEEN_THROUGH)
def test_nothing_is_seen_through(through: str) -> None:
    x, y = np.abs(X[:50]) * 300, Y[:50]
    with np.errstate(all="ignore"):
        expected = SEEN_THROUGH[through](x, y)
    for found, e in zip(accelerate(SEEN_THROUGH[through], target="cpu")(x, y), expected, strict=True):
        np.testing.assert_array_max_ulp(found, e, 2 if through == "functions" else 0)


SIGNS: dict[str, Callable[[Any], Any]] = {
    "abs": lambda x: (np.abs(x) >= 0, 0 <= np.abs(x), np.abs(x) < 0, np.abs(x)[:3] >= 0),
    "squares": lambda x: (x * x >= 0, x**2 >= 0, np.square(x) < 0, np.abs(x * x), x * x // 2, np.square(x) // 3),
    "others": lambda x: (np.exp(x) >= 0, np.maximum(x, 0) >= 0, np.where(x > 0, x, x * x) >= 0),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32, np.int64, np.int8, np.uint8])
@pytest.mark.parametrize("function", SIGNS)
def test_no_sign_is_taken_for_granted(function: str, dtype: type) -> None:
    """NaN is not above zero, and squares and magnitudes of integers wrap."""
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        x = np.array([0, 1, 2, 13, info.min, info.min + 1, info.max, info.max // 2, round(info.max**0.5) + 1], dtype)
    else:
        x = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, -np.nan], dtype)
    with np.errstate(all="ignore"):
        expected = SIGNS[function](x)
    for found, e in zip(accelerate(SIGNS[function], target="cpu")(x), expected, strict=True):
        np.testing.assert_array_equal(found, e)


PARTS = [0.0, 1.0, -2.5, np.nan, np.inf, -np.inf]
COMPLEX = np.array([complex(a, b) for a in PARTS for b in PARTS])
OF_COMPLEX = {
    "abs": lambda z: (np.abs(z), np.abs(z) >= 0),
    "exp": lambda z: (np.exp(z), np.log(z), np.log(np.exp(z))),
    "sqrt": lambda z: (np.sqrt(z), z**0.5, np.sqrt(z * z)),
    "divide": lambda z: (1 / z, z / 3, z / (1 - 2j), (3 + 1j) / (z * 1j), z / z[::-1], z / 0),
}


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("function", OF_COMPLEX)
def test_complex_numbers_of_infinite_parts(function: str, dtype: type) -> None:
    """NaN and infinity stand in the part where NumPy has them."""
    z = COMPLEX.astype(dtype)
    with np.errstate(all="ignore"):
        expected = OF_COMPLEX[function](z)
    for found, e in zip(accelerate(OF_COMPLEX[function], target="cpu")(z), expected, strict=True):
        assert found.dtype == e.dtype
        for part in (np.real, np.imag):
            np.testing.assert_allclose(part(found), part(e), rtol=8 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).eps)


def test_no_complex_number_with_nan_is_in_order() -> None:
    x, y = (a.ravel() for a in np.meshgrid(COMPLEX, COMPLEX))
    function = accelerate(lambda x, y: (x < y, x <= y, x > y, x >= y, x >= 0), target="cpu")
    with np.errstate(invalid="ignore"):
        expected = function.__wrapped__(x, y)
    for f, e in zip(function(x, y), expected, strict=True):
        np.testing.assert_array_equal(f, e)


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


def test_powers_of_halves_are_rounded_once() -> None:
    """Their squares overflow where the powers do not."""
    x = np.array([800.0, -300.0, 0.1, 41.0, 3.7], np.float16)
    powers = accelerate(lambda x: (x**-2, x**3, x**4, np.abs(x) ** 1.5), target="cpu")
    with np.errstate(over="ignore"):
        expected = powers.__wrapped__(x)
    for found, e in zip(powers(x), expected, strict=True):
        np.testing.assert_array_equal(found, e)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_divisors_of_the_lowest_integer(dtype: type) -> None:
    info = np.iinfo(dtype)
    x, y = (a.ravel() for a in np.meshgrid(*[np.array([0, 1, 6, -9, info.max, info.min], dtype)] * 2))
    np.testing.assert_array_equal(accelerate(lambda x, y: np.gcd(x, y), target="cpu")(x, y), np.gcd(x, y))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.sqrt(np.abs(a * a)),
        lambda a: np.abs(a * np.float64(1.1)) - a * np.float64(1.3),
        lambda a: np.where(a > 0, a * 1.1, a * 1.7) + 0.3,
    ],
)
def test_magnitudes_and_choices_are_seen_through(function: Callable[..., Any]) -> None:
    x = np.concatenate([HUGE, X[:50]])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(accelerate(function, target="cpu")(x), function(x))


@pytest.mark.parametrize(
    "function", [lambda a: np.log(np.abs(np.exp(a))), lambda a: np.abs(np.exp(a)) * np.abs(np.exp(-a))]
)
def test_magnitudes_of_exponentials_overflow(function: Callable[..., Any]) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(accelerate(function, target="cpu")(HUGE), function(HUGE), rtol=1e-15)


FACTORS: dict[str, Callable[[Any], Any]] = {
    "powers": lambda x: (np.prod(x**2.5, axis=-1), np.prod(np.sqrt(x), axis=0), np.prod(1.5**x, axis=-1)),
    "exponentials": lambda x: (np.prod(np.exp(x), axis=-1), np.prod(np.exp2(x * 2), axis=0)),
    "sums of products": lambda x: (np.exp(x[0]) @ np.exp(x[1]), np.sum(x**1.5 * 2.5**x, axis=-1)),
    "multiples": lambda x: (
        np.prod((1e-300 * x) * 1e299, axis=-1),
        np.prod(x * [1e150, 1e-300, 1e-300, 1e250] * 1e200),
    ),
}


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("rows", [2, 60])
def test_products_along_short_axes_are_of_the_factors_themselves(factors: str, rows: int) -> None:
    """The product of two negative numbers has a root, and exponents may cancel: the factors are NaN, infinite and 0."""
    x = np.tile([[-1.0, -2.0, 3.0, 800.0], [2.0, -0.5, 600.0, -800.0]], (rows // 2, 1))
    with np.errstate(all="ignore"):
        expected = FACTORS[factors](x)
    for found, e in zip(accelerate(FACTORS[factors], target="cpu")(x), expected, strict=True):
        np.testing.assert_allclose(found, e, rtol=1e-14)  # some orders of up to sixty factors


def summed(x: Any) -> Any:
    return np.sum(x * 1e300), np.mean(2.0 * x), (x * 1e300)[::-1].sum(), np.sum(x[:, None] * -1e300, axis=0)


def summed_by_numbers(x: Any) -> Any:
    return np.sum(x * x[0]), np.sum(-(x * 1e300)), np.sum(-x), np.sum(np.float32(1e38) * x.astype(np.float32))


@pytest.mark.parametrize("function", [summed, summed_by_numbers])
def test_factors_stay_in_sums(function: Callable[..., Any]) -> None:
    """Moved out of the sum, a factor would make infinities of what is NaN, and lose the sign of zero."""
    for x in ([1e10, -1e10, 1.0], [1e308, 1e308, -1e308], [1.0, -1.0, 0.0], [3.0, 4.0]):
        given = np.array(x)
        with np.errstate(all="ignore"):
            for found, expected in zip(accelerate(function, target="cpu")(given), function(given), strict=True):
                np.testing.assert_array_equal(found, expected)
                np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def multiplied(x: Any) -> Any:
    y = x * 1e300
    return np.dot(y, np.ones(3)), y @ np.ones((3, 2)), np.inner(np.ones(3), y), np.sum(x * 1j * 1e300).imag


def test_infinite_factors_of_products_are_so_before_they_are_added() -> None:
    x = np.array([1e10, -1e10, 1.0])
    with np.errstate(all="ignore"):
        for found, expected in zip(accelerate(multiplied, target="cpu")(x), multiplied(x), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n", [20, 40, 63])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_sums_of_small_tables_are_as_exact_as_numpys(n, shape):
    """One after the other, 3,969 numbers were off by 80 units in the last place: loops ended some turns earlier."""
    x = np.full((*shape, n, n), 0.7, np.float32)
    found = accelerate(lambda x: np.sum(x, axis=(-2, -1)), target="cpu")(x)
    np.testing.assert_allclose(found, np.float32(0.7) * np.float64(n * n), rtol=4e-7)
