"""Incomplete gamma and beta functions, by series and continued fractions that run until nothing changes.

NIST Digital Library of Mathematical Functions, 8.7.1, 8.9.2 and 8.17.22, continued fractions by Lentz's method. The
derivative with respect to x is the density (8.8.13, 8.17.20); those with respect to a and b are those of the loops,
which are part of the program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.beta import betaln
from ..ops.gamma import gamma, gammaln, stirling_rest
from ..ops.implicit import sloped
from ..ops.selection import stop_gradient
from .support import real_float_of

_MOST = 5000  # trips of a loop; about 6 sqrt(a) are needed
_LEAST = 1e-300  # stands for a denominator of zero
_TINY = 2.2250738585072014e-308  # stands for 0 in logarithms: 0 times that is 0
_HUGE = 1e300  # stands for infinity: its exponential is 0 times anything
_STILL = 12  # steps without a change: where a is an integer the fraction ends, and its derivatives do not


def gammainc(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function."""
    p, z, dtype = doubles(a, stop_gradient(x))
    value = _ends(p, z, _lower(p, z)[0], 0.0, 1.0)
    return sloped(value, np.asarray(x), _density(a, x)).astype(dtype)[()]


def gammaincc(a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function."""
    p, z, dtype = doubles(a, stop_gradient(x))
    value = _ends(p, z, _lower(p, z)[1], 1.0, 0.0)
    return sloped(value, np.asarray(x), -_density(a, x)).astype(dtype)[()]


def _density(a: Any, x: Any) -> Any:
    """x ** (a - 1) * exp(-x) / gamma(a); by logarithms where x is not 0, of which some powers are infinite."""
    a, x = np.asarray(a).astype(np.float64), np.asarray(x).astype(np.float64)
    a = np.where(a < 0, np.nan, a)
    z = np.clip(x, _TINY, _HUGE)
    inside = np.exp((a - 1.0) * np.log(z) - z - gammaln(a))
    start = np.where(x == 0, x, 1.0)
    value = np.where(x == 0, np.power(start, a - 1.0) * np.exp(-start) / gamma(a), inside)
    return np.where(x < 0, np.nan * x, value)


def doubles(a: Any, x: Any) -> Any:
    """Both in double precision and of one shape, and the dtype of a function of them."""
    a, x = np.asarray(a), np.asarray(x)
    dtype = np.result_type(real_float_of(a.dtype), real_float_of(x.dtype))
    a, x = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    return a, x, dtype


def _ends(a: Any, x: Any, value: Any, at_zero: float, at_infinity: float) -> Any:
    """The values where x or a is 0 or infinite, and NaN outside the domain."""
    value = np.where((x == 0) | np.isinf(a), at_zero, value)
    value = np.where(((a == 0) & (x > 0)) | (np.isinf(x) & ~np.isinf(a)), at_infinity, value)
    outside = (a < 0) | (x < 0) | np.isnan(a) | np.isnan(x) | ((a == 0) & (x == 0)) | (np.isinf(a) & np.isinf(x))
    return np.where(outside, np.nan, value)


def _lower(a: Any, x: Any) -> Any:
    """Both functions, for a and x that are positive and finite; each lane by the one that is easily computed."""
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    a, x = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    below = x < a + 1.0
    front = _front(a, x)
    series = front * _series(a, np.where(below, x, 0.5 * a)) / a
    fraction = front * _fraction(np.where(below, 1.0, a), np.where(below, 3.0, x))
    return np.where(below, series, 1.0 - fraction), np.where(below, 1.0 - series, fraction)


def _front(a: Any, x: Any) -> Any:
    """x ** a * exp(-x) / gamma(a); of large a by Stirling's formula."""
    large = a >= 12.0
    p = np.where(large, a, 12.0)
    m = (np.where(large, x, 12.0) - p) / p
    far = np.sqrt(p / (2.0 * np.pi)) * np.exp(p * (np.log1p(m) - m) - stirling_rest(p))
    q, y = np.where(large, 1.0, a), np.where(large, 1.0, x)
    return np.where(large, far, np.exp(q * np.log(y) - y) / gamma(q))


def _series(a: Any, x: Any) -> Any:
    """The sum of x ** n / ((a + 1) ... (a + n))."""
    term = np.ones_like(x)
    total = np.ones_like(x)
    n = 1
    while n < _MOST and np.any(term > 1e-18 * total):
        term = term * x / (a + n)
        total = total + term
        n += 1
    return total


def _fraction(a: Any, x: Any) -> Any:
    """1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...))."""
    b = x + 1.0 - a
    c = np.full_like(x, 1.0 / _LEAST)
    d = 1.0 / b
    h = d
    still = np.zeros(x.shape, np.int64)
    n = 1
    while n < _MOST and np.any(still < _STILL):
        top = n * (a - n)
        b = b + 2.0
        d = 1.0 / _not_zero(top * d + b)
        c = _not_zero(b + top / c)
        change = c * d
        h = h * change
        still = np.where(np.absolute(change - 1.0) > 2.5e-16, 0, still + 1)
        n += 1
    return h


def _not_zero(x: Any) -> Any:
    return np.where(np.absolute(x) < _LEAST, _LEAST, x)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function."""
    return _beta_parts(a, b, x, False)


def betaincc(a: Any, b: Any, x: Any) -> Any:
    """1 - betainc(a, b, x), without cancellation."""
    return _beta_parts(a, b, x, True)


def _beta_parts(a: Any, b: Any, x: Any, complement: bool) -> Any:
    a, b, x = np.asarray(a), np.asarray(b), np.asarray(x)
    dtype = np.result_type(real_float_of(a.dtype), real_float_of(b.dtype), real_float_of(x.dtype))
    a, b, given = a.astype(np.float64), b.astype(np.float64), x.astype(np.float64)
    a, b = np.where(a > 0, a, np.nan), np.where(b > 0, b, np.nan)
    logs = (a - 1.0) * np.log(np.maximum(given, _TINY)) + (b - 1.0) * np.log(np.maximum(1.0 - given, _TINY))
    end = (given == 0) | (given == 1)
    edge = np.where(end, given, 0.5)
    powers = np.power(edge, a - 1.0) * np.power(1.0 - edge, b - 1.0)  # of 0 some are infinite
    slope = np.where(end, powers * np.exp(-betaln(a, b)), np.exp(logs - betaln(a, b)))
    slope = np.where((given < 0) | (given > 1), np.nan * given, slope)
    a, b, x = np.broadcast_arrays(a, b, stop_gradient(given))
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1)
    p, q, z = np.where(inside, a, 1.0), np.where(inside, b, 1.0), np.where(inside, x, 0.5)
    swapped = z > (p + 1.0) / (p + q + 2.0)
    front = np.exp(p * np.log(z) + q * np.log1p(-z) - betaln(p, q))
    p, q, z = np.where(swapped, q, p), np.where(swapped, p, q), np.where(swapped, 1.0 - z, z)
    part = front * _beta_fraction(p, q, z) / p
    value = np.where(swapped != complement, 1.0 - part, part)
    value = np.where(x == 0, 1.0 if complement else 0.0, np.where(x == 1, 0.0 if complement else 1.0, value))
    outside = ~((a > 0) & (b > 0) & (x >= 0) & (x <= 1))
    value = np.where(outside, np.nan, value)
    return sloped(value, given, -slope if complement else slope).astype(dtype)[()]


def _beta_fraction(p: Any, q: Any, z: Any) -> Any:
    c = np.ones_like(z)
    d = 1.0 / _not_zero(1.0 - (p + q) * z / (p + 1.0))
    h = d
    still = np.zeros(z.shape, np.int64)
    n = 1
    while n < _MOST and np.any(still < _STILL):
        even = n * (q - n) * z / ((p + 2.0 * n - 1.0) * (p + 2.0 * n))
        d = 1.0 / _not_zero(1.0 + even * d)
        c = _not_zero(1.0 + even / c)
        h = h * (c * d)
        odd = -(p + n) * (p + q + n) * z / ((p + 2.0 * n) * (p + 2.0 * n + 1.0))
        d = 1.0 / _not_zero(1.0 + odd * d)
        c = _not_zero(1.0 + odd / c)
        change = c * d
        h = h * change
        still = np.where(np.absolute(change - 1.0) > 2.5e-16, 0, still + 1)
        n += 1
    return h
