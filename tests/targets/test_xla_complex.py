"""Complex functions in XLA's programs where a part is zero, infinite or NaN: C99's values, as NumPy has them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from untraced import accelerate

PARTS = [0.0, -0.0, 1.0, -0.7, 2.5, np.inf, -np.inf, np.nan]
FUNCTIONS = [
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.sin, np.cos, np.tan, np.arcsin,
    np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh, np.reciprocal, np.sign,
    np.square, np.abs, np.angle,
]  # fmt: skip


def grid(dtype):
    z = np.empty(len(PARTS) ** 2, dtype)
    z.real, z.imag = np.transpose(list(itertools.product(PARTS, PARTS)))
    return z


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_values_at_the_ends(function, dtype):
    z = grid(dtype)
    with np.errstate(all="ignore"):
        right = function(z)
    found = accelerate(lambda z: function(z))(z)
    assert found.dtype == right.dtype
    for name in ("real", "imag"):
        x, y = getattr(found, name), getattr(right, name)
        odd = function in (np.sin, np.sinh)
        unsaid = odd and ~np.isfinite(z.real) & ~np.isfinite(z.imag)  # where C99 leaves the sign of the infinity open
        x, y = np.where(unsaid, np.abs(x), x), np.where(unsaid, np.abs(y), y)
        np.testing.assert_allclose(x, y, rtol=30 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps, err_msg=str(z))


@pytest.mark.parametrize("function", [np.sin, np.cos, np.sinh, np.cosh], ids=lambda f: f.__name__)
def test_small_and_large_parts_keep_their_digits(function):
    """Differences of exponentials lose small parts; the last ones are finite, though sinh(711) is not."""
    small = [1e-200, -3e-12, 1e-5, 0.02, 0.7, -3.0]
    z = np.array([complex(x, y) for x in small for y in small] + [complex(711, 1e-5), complex(np.pi, 710.2)])
    compiled = accelerate(lambda z: function(z))
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(compiled(z).view(float), function(z).view(float), rtol=1e-14)
    z = np.array([2.5j, 2.5 + 0j])
    np.testing.assert_array_equal(np.signbit(compiled(z).view(float)), np.signbit(function(z).view(float)))


def test_reciprocals_of_large_and_small_numbers():
    z = np.array([1e200 + 1e200j, 1e-200 - 3e-200j, 1e-300j, -1e300 + 1e-300j])
    np.testing.assert_allclose(accelerate(lambda z: np.reciprocal(z))(z), np.reciprocal(z), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_quotients_by_numbers_near_the_largest(dtype):
    """The reciprocal of such a number is subnormal, which XLA takes for zero."""
    most = np.finfo(dtype).max
    z = np.array([most / 3, most / 3 * 1j, most / 4 * (1 + 1j), most / 9, 1 + 2j], dtype)
    quotients = lambda z: (z / z, (3 - 2j) / z[4:], z / z[::-1], z / z.real.max())  # noqa: E731
    info = np.finfo(dtype)
    for found, right in zip(accelerate(quotients)(z), quotients(z), strict=True):
        np.testing.assert_allclose(found, right, rtol=20 * info.eps, atol=info.tiny)  # subnormal parts are zero
