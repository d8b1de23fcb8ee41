"""Bessel functions of any order, as NumPy source over those of order 0 and 1.

NIST Digital Library of Mathematical Functions: recurrences 10.6.1, power series 10.2.2 and 10.25.2, integrals 10.32.2
and 10.32.9, taken by the trapezoidal rule, which converges geometrically for them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ops.bessel_waves import j0, j1, y0, y1
from ..ops.gamma import gamma, gammaln
from ..ops.selection import stop_gradient
from .incomplete import doubles
from .support import integer_order, known, real_float_of

_TERMS = 250  # of a power series in x * x / 4: enough for x up to 30, or 4 times an order of up to 90
_POINTS = 160  # of the integral for K


def jv(v: Any, z: Any) -> Any:
    """Of the first kind, of orders that are whole numbers known before the run."""
    n = integer_order(known(v), "jv")
    z = np.asarray(z)
    x = z.astype(np.float64)
    return (_sign(n) * _first(abs(n), x)).astype(real_float_of(z.dtype))[()]


def yv(v: Any, z: Any) -> Any:
    """Of the second kind, of orders that are whole numbers known before the run: -inf at 0, NaN below."""
    n = integer_order(known(v), "yv")
    z = np.asarray(z)
    x = z.astype(np.float64)
    m = abs(n)
    if m == 0:
        return y0(x).astype(real_float_of(z.dtype))[()]
    safe = np.where(x > 0, x, 1.0)
    before, y = y0(safe), y1(safe)
    for k in tuple(range(1, m)):
        before, y = y, 2.0 * k / safe * y - before
    value = np.where(x > 0, y, np.where(x == 0, -np.inf, np.nan))
    return (_sign(n) * value).astype(real_float_of(z.dtype))[()]


def _sign(n: int) -> float:
    """Of order -n there is the function of order n, times this."""
    return -1.0 if n < 0 and n % 2 else 1.0


def _first(n: int, x: Any) -> Any:
    """J of order n: upwards from order 1 where that is stable, |x| >= n; else downwards from the power series."""
    if n < 2:
        return j1(x) if n else j0(x)
    inside = np.absolute(x) < n
    return np.where(inside, _inside(n, np.where(inside, x, 0.0)), _outside(n, np.where(inside, n, x)))


def _outside(n: int, x: Any) -> Any:
    before, j = j0(x), j1(x)
    for k in tuple(range(1, n)):
        before, j = j, 2.0 * k / x * j - before
    return j


def _inside(n: int, x: Any) -> Any:
    """With g[k] = J[k] k! (2 / x) ** k the recurrence is g[k - 1] = g[k] - (x x / 4) g[k + 1] / (k (k + 1))."""
    q = -0.25 * x * x
    top = max(n, n * n // 4 + 1)
    above, g = _series(top + 1, q), _series(top, q)
    for k in range(top, n, -1):
        above, g = g, g + q * above / (k * (k + 1.0))
    return g * (0.5 * x) ** n * math.exp(-math.lgamma(n + 1.0))


def _series(k: int, q: Any) -> Any:
    """The sum of q ** j / (j! (k + 1) ... (k + j)), for |q| up to about k."""
    total = np.ones_like(q)
    for j in range(24, 0, -1):
        total = 1.0 + total * q / (j * (k + j))
    return total


def iv(v: Any, z: Any) -> Any:
    """The modified function of the first kind, of real order; NaN below 0 unless the order is a whole number."""
    return _modified(v, z, False)


def ive(v: Any, z: Any) -> Any:
    """iv(v, z) exp(-|z|)."""
    return _modified(v, z, True)


def _modified(v: Any, z: Any, scaled: Any) -> Any:
    v, z, dtype = doubles(v, z)
    whole = v == np.floor(v)
    order = np.where(whole, np.absolute(v), v)
    x = np.absolute(z)
    inside = (x > 0) & np.isfinite(x) & np.isfinite(v)
    a, p = np.where(inside, x, 1.0), np.where(inside, order, 0.0)
    below = (p < -1) & (np.floor(p) % 2 == 0)  # gamma(p + 1) is negative
    log = p * np.log(0.5 * a) - gammaln(p + 1.0) - a
    scale = np.where(below, -1.0, 1.0) * np.exp(log + (0.0 if scaled else a))
    q = 0.25 * a * a
    small = a <= np.maximum(30.0, 4.0 * p)  # elsewhere the integral cancels little
    value = np.where(small, scale * _rising(p, np.where(small, q, 1.0)), _large(p, np.where(small, 30.0, a), scaled))
    at_zero = np.where(order == 0, 1.0, np.where(order > 0, 0.0, np.inf))
    value = np.where(x == 0, at_zero, np.where(np.isinf(x), np.nan, value))
    value = np.where((z < 0) & ~whole, np.nan, np.where((z < 0) & (order % 2 == 1), -value, value))
    return np.where(np.isnan(v) | np.isnan(z), np.nan, value).astype(dtype)[()]


def _rising(p: Any, q: Any) -> Any:
    """The sum of q ** j / (j! (p + 1) ... (p + j)), all of whose terms have one sign but for p < -1."""
    total = np.ones_like(q)
    for j in range(_TERMS, 0, -1):
        total = 1.0 + total * q / (j * (p + j))
    return total


def _large(p: Any, a: Any, scaled: Any) -> Any:
    """By the integral over an arc, outside which the integrand is nothing."""
    turn = stop_gradient(10.0 / np.sqrt(a))
    total = np.zeros_like(a)
    for k in range(_POINTS + 1):
        t = turn * (k / _POINTS)
        weight = 0.5 if k == 0 or k == _POINTS else 1.0
        half = np.sin(0.5 * t)
        total = total + weight * np.exp(-2.0 * a * half * half) * np.cos(p * t)
    value = total * turn / (_POINTS * np.pi)
    return value if scaled else np.exp(0.5 * a) * value * np.exp(0.5 * a)


def kv(v: Any, z: Any) -> Any:
    """The modified function of the second kind, of real order: inf at 0, NaN below."""
    return _decaying(v, z, False)


def kn(n: Any, x: Any) -> Any:
    """kv of a whole order: what an order has behind the point is cut off."""
    return kv(np.trunc(np.asarray(n)), x)


def kve(v: Any, z: Any) -> Any:
    """kv(v, z) exp(z); NaN at infinity, as SciPy's."""
    return _decaying(v, z, True, np.nan)


def _decaying(v: Any, z: Any, scaled: Any, at_infinity: float = 0.0) -> Any:
    """The integral of exp(-x cosh(t)) cosh(v t) from 0 to where nothing is left of it."""
    v, z, dtype = doubles(v, z)
    inside = (z > 0) & np.isfinite(z)
    tiny = inside & (z < 1e-12)
    x = np.where(inside & ~tiny, z, 1.0)
    reach = np.arcsinh(np.sqrt(20.0 / x)) * 2.0 + np.absolute(v) / (np.absolute(v) + 20.0) * 4.0
    step = stop_gradient(reach) / _POINTS
    total = 0.5 * np.ones_like(x)
    for k in range(1, _POINTS + 1):
        t = step * k
        half = np.sinh(0.5 * t)
        fall = -2.0 * x * half * half
        total = total + 0.5 * (np.exp(fall + v * t) + np.exp(fall - v * t))
    value = step * total if scaled else step * total * np.exp(-x)
    value = np.where(tiny, _at_zero(np.absolute(v), np.where(tiny, z, 1e-12)), value)
    value = np.where(z == 0, np.inf, np.where(np.isposinf(z), at_infinity, value))
    return np.where((z < 0) | np.isnan(z), np.nan, value).astype(dtype)[()]


def _at_zero(v: Any, x: Any) -> Any:
    """The leading terms, gamma(v) / 2 (2 / x) ** v and the same of -v; together a logarithm where v is 0."""
    log = np.log(2.0) - np.log(x)
    still = v < 1e-9
    p = np.where(still, 1.0, v)
    low = p < 0.5
    rest = np.where(low, gamma(np.where(low, 1.0 - p, 1.0)) * np.exp(-p * log), 0.0)
    return np.where(still, log - np.euler_gamma, (gamma(1.0 + p) * np.exp(p * log) - rest) / (2.0 * p))


def k0(z: Any) -> Any:
    """The modified Bessel function of the second kind, of order 0."""
    return kv(0, z)


def k1(z: Any) -> Any:
    """The modified Bessel function of the second kind, of order 1."""
    return kv(1, z)


def k0e(z: Any) -> Any:
    """exp(z) k0(z)."""
    return _decaying(0, z, True)


def k1e(z: Any) -> Any:
    """exp(z) k1(z)."""
    return _decaying(1, z, True)
