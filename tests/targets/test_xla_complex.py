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


def assert_parts(found, right, rtol):
    assert found.dtype == right.dtype
    for name in ("real", "imag"):
        x, y = getattr(found, name), getattr(right, name)
        size = np.where(np.isfinite(right), np.abs(right), 0)
        with np.errstate(invalid="ignore"):
            off = ~((np.isnan(x) & np.isnan(y)) | (x == y) | (np.abs(x - y) <= rtol * size))
        assert not off.any(), (name, np.flatnonzero(off)[:5], x[off][:5], y[off][:5])


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_powers(dtype):
    """Small whole ones are products, others have the infinities of C99's product."""
    z = grid(dtype)
    x, y = np.repeat(z, len(z)), np.tile(z, len(z))
    with np.errstate(all="ignore"):
        assert_parts(accelerate(lambda x, y: x**y)(x, y), x**y, 300 * np.finfo(dtype).eps)
        n = np.arange(-120, 121)
        z = np.array([0.7 + 0.3j, 1j, -1.01 + 0j], dtype)[:, None]
        assert_parts(accelerate(lambda z, n: z**n)(z, n), z**n, 300 * np.finfo(dtype).eps)
        for power in (lambda z: z**3, lambda z: z**-1, lambda z: z**-3, lambda z: z**7.0):
            assert_parts(accelerate(power)(x[::64]), power(x[::64]), 30 * np.finfo(dtype).eps)


@pytest.mark.parametrize("function", [np.tan, np.tanh, np.expm1, np.log], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_values_near_axes_poles_and_zeros(function, dtype):
    offsets = np.array([0.0, 1e-17, -3e-12, 1e-7, 2e-3, 0.4])
    centres = np.array([0, np.pi / 2, -np.pi / 2, 2 * np.pi, 1.0, 0.6, -0.8, 40.0])
    line = (centres[:, None] + offsets).ravel()
    z = (line[:, None] + 1j * line).ravel().astype(dtype)
    with np.errstate(all="ignore"):
        assert_parts(accelerate(lambda z: function(z))(z), function(z), 20 * np.finfo(dtype).eps)
