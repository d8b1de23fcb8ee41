"""Functions of scipy.special that derivatives and batches alone have as NumPy source; other calls are SciPy's own.

NIST Digital Library of Mathematical Functions: 18.9.1 and 18.9.2 (recurrences of orthogonal polynomials), 10.47 and
10.51 (spherical Bessel functions), 8.19.12 and 8.19.17 (exponential integrals), 15.2.1, 15.5.1 and 15.8.1 (the
hypergeometric function), 7.5.1, 7.10.2 and 7.19.3 (functions of the complex error function w). That is the rational
approximation of J. A. C. Weideman, "Computation of the complex error function" (1994), right to about 1e-13.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..ops.implicit import sloped
from ..ops.selection import stop_gradient
from .integrals import exp1
from .support import integer_order, known, only_plain

_MOST = 20000  # terms of a series
_LEAST = 10  # trips at 0, where each term is that of one more derivative


def _reals(x: Any) -> Any:
    x = np.asarray(x)
    if x.dtype.kind == "c":
        raise DTypeError("this special function is for real numbers")
    return x.astype(np.float64)


# ---- orthogonal polynomials ----------------------------------------------------------------------


def _recurrence(n: Any, x: Any, first: Any, step: Any, function: str) -> Any:
    """p[0] = 1, p[1] = first(x), p[k + 1] = a x p[k] + b p[k] - c p[k - 1] with (a, b, c) = step(k)."""
    n, x = integer_order(known(n), function), _reals(x)
    only_plain(f"scipy.special.{function}", n >= 0, "of a degree below 0")
    before, p = np.ones_like(x), first(x)
    if n == 0:
        return before[()]
    for k in tuple(range(1, n)):
        a, b, c = step(k)
        before, p = p, (a * x + b) * p - c * before
    return p[()]


def eval_jacobi(n: Any, alpha: Any, beta: Any, x: Any) -> Any:
    def step(k: Any) -> Any:
        s = 2.0 * k + alpha + beta
        scale = 2.0 * (k + 1.0) * (k + alpha + beta + 1.0) * s
        a = s * (s + 1.0) * (s + 2.0) / scale
        b = (s + 1.0) * (alpha * alpha - beta * beta) / scale
        return a, b, 2.0 * (k + alpha) * (k + beta) * (s + 2.0) / scale

    return _recurrence(n, x, lambda x: alpha + 1.0 + (alpha + beta + 2.0) * (x - 1.0) / 2.0, step, "eval_jacobi")


def eval_legendre(n: Any, x: Any) -> Any:
    return _recurrence(n, x, lambda x: x, lambda k: ((2.0 * k + 1.0) / (k + 1.0), 0.0, k / (k + 1.0)), "eval_legendre")


def eval_chebyt(n: Any, x: Any) -> Any:
    return _recurrence(n, x, lambda x: x, lambda k: (2.0, 0.0, 1.0), "eval_chebyt")


def eval_chebyu(n: Any, x: Any) -> Any:
    return _recurrence(n, x, lambda x: 2.0 * x, lambda k: (2.0, 0.0, 1.0), "eval_chebyu")


def eval_hermite(n: Any, x: Any) -> Any:
    return _recurrence(n, x, lambda x: 2.0 * x, lambda k: (2.0, 0.0, 2.0 * k), "eval_hermite")


def eval_hermitenorm(n: Any, x: Any) -> Any:
    return _recurrence(n, x, lambda x: x, lambda k: (1.0, 0.0, 1.0 * k), "eval_hermitenorm")


def eval_genlaguerre(n: Any, alpha: Any, x: Any) -> Any:
    def step(k: Any) -> Any:
        return -1.0 / (k + 1.0), (2.0 * k + 1.0 + alpha) / (k + 1.0), (k + alpha) / (k + 1.0)

    return _recurrence(n, x, lambda x: 1.0 + alpha - x, step, "eval_genlaguerre")


def eval_laguerre(n: Any, x: Any) -> Any:
    return eval_genlaguerre(n, 0.0, x)


def eval_gegenbauer(n: Any, alpha: Any, x: Any) -> Any:
    def step(k: Any) -> Any:
        return 2.0 * (k + alpha) / (k + 1.0), 0.0, (k + 2.0 * alpha - 1.0) / (k + 1.0)

    return _recurrence(n, x, lambda x: 2.0 * alpha * x, step, "eval_gegenbauer")


# ---- spherical Bessel functions ------------------------------------------------------------------


def spherical_jn(n: Any, z: Any, derivative: Any = False) -> Any:
    n, x = integer_order(known(n), "spherical_jn"), _reals(z)
    if known(derivative):
        above = (n + 1.0) / (2.0 * n + 1.0) * _spherical(n + 1, x)
        return -above[()] if n == 0 else (n / (2.0 * n + 1.0) * _spherical(n - 1, x) - above)[()]
    return _spherical(n, x)[()]


def _spherical(n: int, x: Any) -> Any:
    """Upwards where that is stable, |x| > n; else the power series."""
    near = np.absolute(x) <= max(n, 1)
    y, s = np.where(near, n + 1.0, x), np.where(near, x, 0.0)
    before, j = np.sin(y) / y, np.sin(y) / (y * y) - np.cos(y) / y
    if n == 0:
        j = before
    for k in tuple(range(1, n)):
        before, j = j, (2.0 * k + 1.0) / y * j - before
    q, total = -0.5 * s * s, np.ones_like(s)
    for k in range(n + 24, 0, -1):
        total = 1.0 + total * q / (k * (2.0 * n + 2.0 * k + 1.0))
    scale = 1.0
    for k in tuple(range(1, n + 1)):
        scale = scale / (2.0 * k + 1.0)
    return np.where(near, total * scale * s**n, j)


# ---- exponential integrals and the hypergeometric function ---------------------------------------


def expn(n: Any, x: Any) -> Any:
    """The integral of exp(-x t) / t**n from 1 to infinity, of x > 0."""
    n, x = integer_order(known(n), "expn"), _reals(x)
    if n == 0:
        return (np.exp(-x) / x)[()]
    if n == 1:
        return exp1(x)
    return sloped(_expn(n, stop_gradient(x)), x, -expn(n - 1, x))[()]


def _expn(n: int, x: Any) -> Any:
    near = (x <= 1.0) & (x > 0)
    s, y = np.where(near, x, 1.0), np.where(x > 1.0, x, 2.0)
    value = exp1(s)
    for k in tuple(range(1, n)):
        value = (np.exp(-s) - s * value) / k
    b = y + n
    c, d = np.full_like(y, 1e300), 1.0 / b
    h = d
    for k in range(1, 120):
        a = -1.0 * k * (n - 1.0 + k)
        b = b + 2.0
        d = 1.0 / (a * d + b)
        c = b + a / c
        h = h * (c * d)
    at_zero = np.where(x == 0, 1.0 / (n - 1.0), np.nan)
    return np.where(near, value, np.where(x > 1.0, h * np.exp(-y), at_zero))


def hyp2f1(a: Any, b: Any, c: Any, z: Any) -> Any:
    """Gauss's function of real numbers with z < 1; OverflowError where its series would be longer than 20,000 terms."""
    return _gauss(a, b, c, _reals(z))[()]


def _gauss(a: Any, b: Any, c: Any, x: Any) -> Any:
    below = x < 0
    y = np.where(below, x / (x - 1.0), x)
    p = np.where(below, c - b, b)
    term = np.ones_like(y + a + p + c)
    total = term
    n = 0
    while n < _MOST and np.any((n < _LEAST) | (np.absolute(term) > 1e-17 * np.absolute(total))):
        term = term * ((a + n) * (p + n) * y / ((c + n) * (n + 1.0)))
        total = total + term
        n += 1
    if n == _MOST or np.any(x >= 1.0):
        raise OverflowError("the series of hyp2f1 is too long here")
    return np.where(below, (1.0 - np.where(below, x, 0.0)) ** (-1.0 * a), 1.0) * total


# ---- functions of the complex error function -----------------------------------------------------


def _weideman(n: int) -> tuple[float, Any]:
    """The width and the coefficients, the highest first, of his approximation."""
    m = 2 * n
    width = np.sqrt(n / np.sqrt(2.0))
    t = width * np.tan(np.arange(-m + 1, m) * np.pi / (2.0 * m))
    values = np.concatenate([[0.0], np.exp(-t * t) * (width * width + t * t)])
    return float(width), np.flip(np.real(np.fft.fft(np.fft.fftshift(values)))[1 : n + 1] / (2 * m))


_WIDTH, _TERMS = _weideman(40)


def _faddeeva(x: Any, y: Any) -> Any:
    """w(x + i y), for y >= 0."""
    z = x + 1j * y
    below = _WIDTH - 1j * z
    r = (_WIDTH + 1j * z) / below
    p = np.zeros_like(r)
    for k in range(40):
        p = p * r + _TERMS[k]
    return 2.0 * p / (below * below) + (1.0 / np.sqrt(np.pi)) / below


def dawsn(x: Any) -> Any:
    """Dawson's integral of real numbers."""
    x = _reals(x)
    value = np.sqrt(np.pi) / 2.0 * np.imag(_faddeeva(stop_gradient(x), 0.0))
    return sloped(value, x, 1.0 - x * np.sqrt(np.pi) * np.imag(_faddeeva(x, 0.0)))[()]


def erfi(z: Any) -> Any:
    """-i erf(i z) of real numbers."""
    x = _reals(z)
    value = stop_gradient(np.exp(x * x) * np.imag(_faddeeva(x, 0.0)))
    return sloped(value, x, 2.0 / np.sqrt(np.pi) * np.exp(x * x))[()]


def voigt_profile(x: Any, sigma: Any, gamma: Any) -> Any:
    """A normal distribution of this deviation, which is positive, folded with a Cauchy distribution."""
    x, sigma, gamma = _reals(x), _reals(sigma), _reals(gamma)
    scale = 1.0 / (np.sqrt(2.0) * sigma)
    return (np.real(_faddeeva(x * scale, gamma * scale)) * scale / np.sqrt(np.pi))[()]


TRANSFORMED: dict[str, Callable[..., Any]] = {
    "eval_jacobi": eval_jacobi,
    "eval_legendre": eval_legendre,
    "eval_chebyt": eval_chebyt,
    "eval_chebyu": eval_chebyu,
    "eval_hermite": eval_hermite,
    "eval_hermitenorm": eval_hermitenorm,
    "eval_genlaguerre": eval_genlaguerre,
    "eval_laguerre": eval_laguerre,
    "eval_gegenbauer": eval_gegenbauer,
    "spherical_jn": spherical_jn,
    "expn": expn,
    "hyp2f1": hyp2f1,
    "dawsn": dawsn,
    "erfi": erfi,
    "voigt_profile": voigt_profile,
}
