"""Exponential and elliptic integrals, the dilogarithm and Kummer's function: series and iterations that run until
nothing changes, with the derivative that the integral itself shows.

NIST Digital Library of Mathematical Functions: 6.2, 6.6.2, 6.9.1 and 6.12.2, 13.2.2 and 13.2.39, 19.8.5 and 19.8.6,
25.12.1 to 25.12.7.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.implicit import sloped
from ..ops.selection import stop_gradient
from .support import real_float_of

_EULER = 0.5772156649015329
_MOST = 500  # terms of a series
_LEAST = 10  # trips at 0, where each term is that of one more derivative
_ROUNDS = 14  # of arithmetic-geometric means, each of which doubles the digits


def _double(x: Any) -> Any:
    """In double precision, and the dtype of a function of it."""
    x = np.asarray(x)
    return x.astype(np.float64), real_float_of(x.dtype)


# ---- exponential integrals -----------------------------------------------------------------------


def exp1(x: Any) -> Any:
    """The integral of exp(-t) / t from x to infinity."""
    x, dtype = _double(x)
    value = np.where(x < 0, np.nan, _upper(stop_gradient(x)))
    return sloped(value, x, np.where(x < 0, np.nan, -np.exp(-x) / x)).astype(dtype)[()]


def expi(x: Any) -> Any:
    """The principal value of the integral of exp(t) / t up to x."""
    x, dtype = _double(x)
    z = stop_gradient(x)
    value = np.where(z > 0, _principal(np.where(z > 0, z, 1.0)), -_upper(np.where(z > 0, 1.0, -z)))
    return sloped(value, x, np.exp(x) / x).astype(dtype)[()]


def _upper(x: Any) -> Any:
    """exp1 of what is not negative: by the series to 1, by the continued fraction above."""
    near = x <= 1.0
    s, y = np.where(near & (x > 0), x, 1.0), np.where(near, 2.0, np.where(np.isinf(x), 2.0, x))
    series = -_EULER - np.log(s) - _exponential_sum(-s)
    b = y + 1.0
    c, d = np.full_like(y, 1e300), 1.0 / b
    h = d
    moving = np.ones_like(y)
    n = 1
    while n < _MOST and np.any(moving > 2.3e-16):
        b = b + 2.0
        d = 1.0 / (b - n * n * d)
        c = b - n * n / c
        h = h * (c * d)
        moving = np.absolute(c * d - 1.0)
        n += 1
    value = np.where(near, series, h * np.exp(-y))
    return np.where(x == 0, np.inf, np.where(np.isinf(x), 0.0, value))


def _principal(x: Any) -> Any:
    """expi of what is positive: by the series to 40, where the asymptotic one has all digits."""
    near = x <= 40.0
    s, y = np.where(near, x, 1.0), np.where(near | np.isinf(x), 50.0, x)
    term, total = np.ones_like(y), np.ones_like(y)
    for k in range(1, 41):
        term = np.where(k < y, term * (k / y), 0.0)
        total = total + term
    value = np.where(near, _EULER + np.log(s) + _exponential_sum(s), np.exp(y) / y * total)
    return np.where(np.isinf(x), np.inf, value)


def _exponential_sum(x: Any) -> Any:
    """The sum of x ** k / (k * k!)."""
    power, total = x, x
    k = 1
    while k < _MOST and np.any(np.absolute(power) > 1e-18 * np.absolute(total)):
        k += 1
        power = power * (x / k)
        total = total + power / k
    return total


def spence(z: Any) -> Any:
    """The dilogarithm as SciPy has it: the integral of log(t) / (1 - t) from 1 to z."""
    z, dtype = _double(z)
    x = stop_gradient(z)
    small, large = x <= 0.5, x > 2.0
    y = np.where(large, 1.0 / np.where(large, x, 2.0), np.where(x > 0, x, 1.0))
    low = small | large
    inner = np.where(low & (x > 0), y, 1.0 - y)  # from -1 to 1/2
    turned = inner < 0
    middle = _dilogarithm(np.where(turned, inner / (inner - 1.0), inner))
    direct = np.where(turned, -middle - 0.5 * np.log1p(-inner) ** 2, middle)
    log = np.log(y)
    value = np.where(low, np.pi * np.pi / 6.0 - log * np.log1p(-np.where(low, y, 0.0)) - direct, direct)
    value = np.where(large, -value - 0.5 * log * log, value)
    value = np.where(x == 0, np.pi * np.pi / 6.0, np.where(x > 0, value, np.nan))
    gap = z - 1.0
    close = np.absolute(gap) < 1e-4
    rate = np.log1p(np.where(close, 1.0, gap)) / np.where(close, 1.0, gap)
    slope = -np.where(close, 1.0 - gap * (0.5 - gap * (1 / 3 - 0.25 * gap)), rate)
    return sloped(value, z, slope).astype(dtype)[()]


def _dilogarithm(x: Any) -> Any:
    """The sum of x ** k / k ** 2, for x from 0 to 1/2."""
    power, total = x, x
    k = 1
    while k < _MOST and np.any(np.absolute(power) > 1e-17 * k * k * np.absolute(total)):
        k += 1
        power = power * x
        total = total + power / (k * k)
    return total


# ---- complete elliptic integrals -----------------------------------------------------------------


def ellipk(m: Any) -> Any:
    """Of the first kind, of the parameter m."""
    m, dtype = _double(m)
    return _first(m, 1.0 - m).astype(dtype)[()]


def ellipkm1(p: Any) -> Any:
    """ellipk(1 - p), which is exact where p is small."""
    p, dtype = _double(p)
    return _first(1.0 - p, p).astype(dtype)[()]


def ellipe(m: Any) -> Any:
    """Of the second kind, of the parameter m."""
    m, dtype = _double(m)
    z = np.where(m < 1, m, 0.0)
    k, d = _complete(z, 1.0 - z)
    value = np.where(m < 1, k - z * d, np.where(m == 1, 1.0, np.nan))
    slope = np.where(m < 1, -0.5 * d, np.where(m == 1, -np.inf, np.nan))
    return sloped(stop_gradient(value), m, slope).astype(dtype)[()]


def _first(m: Any, rest: Any) -> Any:
    inside = rest > 0
    z, r = np.where(inside, m, 0.0), np.where(inside, rest, 1.0)
    k, d = _complete(z, r)
    value = np.where(inside, k, np.where(rest == 0, np.inf, np.nan))
    return sloped(stop_gradient(value), m, 0.5 * (k - d) / r)


def _complete(m: Any, rest: Any) -> Any:
    """The integral of the first kind, K, and (K - E) / m, where E is that of the second; `rest` is 1 - m."""
    g = np.sqrt(rest)
    a = 0.5 * (1.0 + g)
    g = np.sqrt(g)
    share = 0.25 / a  # half the difference of the two means, over m
    total, weight = 0.5 + m * share * share, 1.0
    for _ in range(_ROUNDS):
        a, g = 0.5 * (a + g), np.sqrt(a * g)
        share = 0.25 * m * share * share / a
        weight = 2.0 * weight
        total = total + weight * m * share * share
    k = 0.5 * np.pi / a
    return k, k * total


# ---- Kummer's function ---------------------------------------------------------------------------


def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """The confluent hypergeometric function; of negative x by Kummer's transformation.

    Where the series would lose more than six digits, or b is an integer that is not positive, CPython has the call.
    """
    a, b, x = np.asarray(a), np.asarray(b), np.asarray(x)
    dtype = np.result_type(real_float_of(a.dtype), real_float_of(b.dtype), real_float_of(x.dtype))
    a, b, x = a.astype(np.float64), b.astype(np.float64), x.astype(np.float64)
    return _kummer(a, b, x).astype(dtype)[()]


def _kummer(a: Any, b: Any, x: Any) -> Any:
    below = x < 0
    total, largest = _kummer_series(np.where(below, b - a, a), b, np.where(below, -x, x))
    value = np.where(below, np.exp(np.where(below, x, 0.0)) * total, total)
    lost = ~(largest <= 1e6 * np.absolute(total)) | np.isnan(value) | ((b <= 0) & (b == np.floor(b)))
    if np.any(lost & ~np.isnan(a + b + x)):
        raise OverflowError("the series of hyp1f1 loses its digits here")
    return value


def _kummer_series(a: Any, b: Any, x: Any) -> Any:
    term = np.ones_like(a + b + x)
    total = largest = term
    n = 0
    while n < 4 * _MOST and np.any((n < _LEAST) | (np.absolute(term) > 1e-18 * np.absolute(total))):
        term = term * ((a + n) * x / ((b + n) * (n + 1.0)))
        total = total + term
        largest = np.maximum(largest, np.absolute(stop_gradient(term)))
        n += 1
    return total, largest
