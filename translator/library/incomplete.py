"""Incomplete gamma and beta functions, by series and continued fractions that run until nothing changes.

NIST Digital Library of Mathematical Functions, 8.7.1, 8.9.2 and 8.17.22, continued fractions by Lentz's method. The
derivative with respect to x is the density (8.8.13, 8.17.20). Those with respect to a and b are series and fractions
again, of a, b and x: so mixed derivatives are there in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.beta import betaln
from ..ops.gamma import digamma, gamma, gammaln, stirling_rest
from ..ops.implicit import log_slope, sloped
from ..ops.selection import stop_gradient
from .support import real_float_of

_MOST = 5000  # trips of a loop; about 6 sqrt(a) are needed
_LEAST = 1e-300  # stands for a denominator of zero
_TINY = 2.2250738585072014e-308  # stands for 0 in logarithms: 0 times that is 0
_HUGE = 1e300  # stands for infinity: its exponential is 0 times anything
_STILL = 12  # steps without a change: where a is an integer the fraction ends, and its derivatives do not


def gammainc(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function. Arguments broadcast; the result is of their common dtype,
    float64 for integers.
    """
    return _gamma_part(a, x, False)


def gammaincc(a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function. Arguments broadcast; the result is of their common dtype,
    float64 for integers.
    """
    return _gamma_part(a, x, True)


def gammainc_slope(a: Any, x: Any) -> Any:
    """The derivative of `gammainc` with respect to `a`."""
    p, z, dtype = doubles(a, x)
    return _gamma_slope(p, z, _density(p, z)).astype(dtype)[()]


def gamma_draw_slope(a: Any, sample: Any) -> Any:
    """The derivative of a draw of the gamma distribution of shape `a`, with respect to `a`: at a fixed quantile."""
    p, z, dtype = doubles(a, sample)
    density = _density(p, z)
    return (-_gamma_slope(p, z, density) / density).astype(dtype)[()]


def _gamma_part(a: Any, x: Any, upper: bool) -> Any:
    p, z, dtype = doubles(a, x)
    fixed, at = stop_gradient(p), stop_gradient(z)
    low, high = _lower(fixed, at)
    value = _ends(fixed, at, high, 1.0, 0.0) if upper else _ends(fixed, at, low, 0.0, 1.0)
    sign, density = -1.0 if upper else 1.0, _density(p, z)
    value = sloped(value, z, sign * density)
    return sloped(value, p, sign * _gamma_slope(p, z, density)).astype(dtype)[()]


def _gamma_slope(a: Any, x: Any, density: Any) -> Any:
    """The derivative of the lower function with respect to a; 0 where x is 0 or infinite."""
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    p, z = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    ends = (a > 0) & (x >= 0)
    return np.where(inside, -z * density * log_slope(p, np.log(z)), np.where(ends, 0.0, np.nan))


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
    """The regularized incomplete beta function. Arguments broadcast; the result is of their common dtype, float64 for
    integers.
    """
    return _beta_parts(a, b, x, False)


def betaincc(a: Any, b: Any, x: Any) -> Any:
    """1 - betainc(a, b, x), without cancellation."""
    return _beta_parts(a, b, x, True)


def _beta_parts(a: Any, b: Any, x: Any, complement: bool) -> Any:
    a, b, x = np.asarray(a), np.asarray(b), np.asarray(x)
    dtype = np.result_type(real_float_of(a.dtype), real_float_of(b.dtype), real_float_of(x.dtype))
    a, b, x = a.astype(np.float64), b.astype(np.float64), x.astype(np.float64)
    value, by_a, by_b, by_x = beta_slopes(a, b, x, complement)
    return sloped(sloped(sloped(value, x, by_x), a, by_a), b, by_b).astype(dtype)[()]


def beta_slopes(a: Any, b: Any, x: Any, complement: bool) -> Any:
    """The function, without derivatives, and the three that it has."""
    a, b = np.where(a > 0, a, np.nan), np.where(b > 0, b, np.nan)
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1)
    p, q, z = np.where(inside, a, 1.0), np.where(inside, b, 1.0), np.where(inside, x, 0.5)
    swapped = z > (p + 1.0) / (p + q + 2.0)
    p, q, z = np.where(swapped, q, p), np.where(swapped, p, q), np.where(swapped, 1.0 - z, z)
    part, by_p, by_q = _beta_near(p, q, z)
    turned = swapped != complement
    value = stop_gradient(np.where(turned, 1.0 - part, part))
    value = np.where(x == 0, 1.0 if complement else 0.0, np.where(x == 1, 0.0 if complement else 1.0, value))
    outside = ~((a > 0) & (b > 0) & (x >= 0) & (x <= 1))
    sign = np.where(outside, np.nan, np.where(inside, np.where(turned, -1.0, 1.0), 0.0))
    by_x = _beta_density(a, b, x)
    return (
        np.where(outside, np.nan, value),
        sign * np.where(swapped, by_q, by_p), sign * np.where(swapped, by_p, by_q), -by_x if complement else by_x,
    )  # fmt: skip


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    logs = (a - 1.0) * np.log(np.maximum(x, _TINY)) + (b - 1.0) * np.log(np.maximum(1.0 - x, _TINY))
    end = (x == 0) | (x == 1)
    edge = np.where(end, x, 0.5)
    powers = np.power(edge, a - 1.0) * np.power(1.0 - edge, b - 1.0)  # of 0 some are infinite
    density = np.where(end, powers * np.exp(-betaln(a, b)), np.exp(logs - betaln(a, b)))
    return np.where((x < 0) | (x > 1), np.nan * x, density)


def _beta_near(p: Any, q: Any, z: Any) -> Any:
    """The function where its fraction is short, and its derivatives with respect to p and q."""
    low, high = np.log(z), np.log1p(-z)
    scale = np.exp(p * low + q * high - betaln(p, q)) / p
    h = _beta_fraction(stop_gradient(p), stop_gradient(q), stop_gradient(z), 0.0, 0.0)[0]
    both = digamma(p + q)
    along_p, along_q = _beta_fraction(p, q, z, 1.0, 0.0), _beta_fraction(p, q, z, 0.0, 1.0)
    by_p = scale * (along_p[0] * (low - digamma(p) + both - 1.0 / p) + along_p[1])
    by_q = scale * (along_q[0] * (high - digamma(q) + both) + along_q[1])
    return scale * h, by_p, by_q


def _beta_fraction(p: Any, q: Any, z: Any, dp: float, dq: float) -> Any:
    """The fraction, and its derivative along (dp, dq); each step is Lentz's for one more pair of terms."""
    first = 1.0 - (p + q) * z / (p + 1.0)
    c, dc = np.ones_like(z), np.zeros_like(z)
    d = 1.0 / _not_zero(first)
    dd = d * d * z * ((dp + dq) - (p + q) * dp / (p + 1.0)) / (p + 1.0)
    h, dh = d, dd
    still = np.zeros(z.shape, np.int64)
    n = 1
    while n < _MOST and np.any(still < _STILL):
        u, v = p + 2.0 * n, n * z
        even = v * (q - n) / ((u - 1.0) * u)
        slope = (v * dq - even * dp * (2.0 * u - 1.0)) / ((u - 1.0) * u)
        c, d, dc, dd = _lentz(c, d, dc, dd, even, slope)
        h, dh = h * (c * d), dh * (c * d) + h * (dc * d + c * dd)
        odd = -(p + n) * (p + q + n) * z / (u * (u + 1.0))
        slope = (-z * (dp * (p + q + n) + (p + n) * (dp + dq)) - odd * dp * (2.0 * u + 1.0)) / (u * (u + 1.0))
        c, d, dc, dd = _lentz(c, d, dc, dd, odd, slope)
        change, turn = c * d, dc * d + c * dd
        h, dh = h * change, dh * change + h * turn
        moved = (np.absolute(change - 1.0) > 2.5e-16) | (np.absolute(turn) > 2.5e-16)
        still = np.where(moved, 0, still + 1)
        n += 1
    return h, dh


def _lentz(c: Any, d: Any, dc: Any, dd: Any, term: Any, slope: Any) -> Any:
    """One step with the term and its slope."""
    below = 1.0 / _not_zero(1.0 + term * d)
    return (
        _not_zero(1.0 + term / c), below,
        (slope - term * dc / c) / c, -(slope * d + term * dd) * below * below,
    )  # fmt: skip
