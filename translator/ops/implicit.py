"""Values whose derivative is known though the computation does not show it: roots, series, draws.

`sloped(value, x, slope)` is `value`; its derivative with respect to x is `slope`, an ordinary expression, besides what
value itself has. So the derivative of an incomplete gamma function is the density, not that of a series, and a root
has the derivative that the implicit function theorem gives.

Draws of a gamma distribution are functions of its parameter: the value is the draw, the derivative is implicit.

With P(a, x) the distribution function of gamma(a) and p(a, x) its density, P(a, x(a)) stays what it is along a, so
dx/da = -(dP/da) / p: M. Figurnov, S. Mohamed, A. Mnih, "Implicit reparameterization gradients", 2018. The derivatives
of P are those of its series below x = a + 1, of its continued fraction above (DLMF 8.7.1 and 8.9.2), term by term.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import Elementwise, promote_loop
from .gamma import digamma
from .samples import POSITIVE, REALS

_MOST = 5000  # trips of a loop; about 6 sqrt(a) are needed
_LEAST = 1e-300  # stands for a denominator of zero
_TINY = 2.2250738585072014e-308


def gamma_draw(a: Any, x: Any) -> Any:
    """x, a draw of gamma(a) with a derivative with respect to a; none with respect to x."""
    return np.broadcast_arrays(a, x)[1][()]


def loggamma_draw(a: Any, y: Any) -> Any:
    """y, the logarithm of a draw of gamma(a), with a derivative with respect to a; none with respect to y."""
    return np.broadcast_arrays(a, y)[1][()]


def as_drawn(a: Any, x: Any) -> Any:
    return x


def log_slope(a: Any, log: Any) -> Any:
    """d log(x) / d a at fixed P(a, x)."""
    below = log < np.log(a + 1.0)
    x = np.exp(np.where(below, log, np.log(a + 1.0)))
    s, ds = _series(a, x)
    near = -(s * (np.where(below, log, 0.0) - digamma(a + 1.0)) + ds) / a
    b, y = np.where(below, 1.0, a), np.where(below, 1.0, log)
    h, dh = _fraction(b, np.where(below, 3.0, np.exp(y)))
    return np.where(below, near, h * (y - digamma(b)) + dh)


def _series(a: Any, x: Any) -> Any:
    """The sum of x ** n / ((a + 1) ... (a + n)), and its derivative by a."""
    term, total = np.ones_like(x), np.ones_like(x)
    slope, slopes = np.zeros_like(x), np.zeros_like(x)
    n = 1
    while n < _MOST and np.any((term > 1e-17 * total) | (slope < 1e-17 * slopes)):
        step = x / (a + n)
        slope = step * (slope - term / (a + n))
        term = step * term
        total, slopes = total + term, slopes + slope
        n += 1
    return total, slopes


def _fraction(a: Any, x: Any) -> Any:
    """1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)) by Lentz's method, and its derivative by a."""
    b = x + 1.0 - a
    c, dc = np.full_like(x, 1.0 / _LEAST), np.zeros_like(x)
    d = 1.0 / b
    dd = d * d
    h, dh = d, dd
    moving = np.full_like(x, 1.0)
    n = 1
    while n < _MOST and np.any(moving > 2.5e-16):
        top = n * (a - n)
        b = b + 2.0
        denominator = _not_zero(top * d + b)
        dd = -(n * d + top * dd - 1.0) / (denominator * denominator)
        d = 1.0 / denominator
        dc = (n - top * dc / c) / c - 1.0
        c = _not_zero(b + top / c)
        change, slope = c * d, dc * d + c * dd
        h, dh = h * change, dh * change + h * slope
        moving = np.maximum(np.abs(change - 1.0), np.abs(slope))
        n += 1
    return h, dh


def _not_zero(x: Any) -> Any:
    return np.where(np.abs(x) < _LEAST, _LEAST, x)


def d_gamma(a: Any, x: Any, y: Any) -> Any:
    v = y.astype(np.float64)  # as the draw itself: further derivatives see that it moves
    slope = log_slope(a.astype(np.float64), np.log(np.where(v > 0, v, _TINY)))
    return (v * slope).astype(x.dtype)


def d_loggamma(a: Any, y: Any, z: Any) -> Any:
    return log_slope(a.astype(np.float64), z.astype(np.float64)).astype(y.dtype)


def sloped(value: Any, x: Any, slope: Any) -> Any:
    """`value`, of the broadcast shape, whose derivative with respect to x is `slope`, beside that of the value itself;
    none with respect to the slope. Printed programs have it where a derivative is known in another form than the value.
    """
    return np.broadcast_arrays(value, x, slope)[0][()]


def as_value(value: Any, x: Any, slope: Any) -> Any:
    return value


def d_value(value: Any, x: Any, slope: Any, y: Any) -> Any:
    return 1.0


def d_sloped(value: Any, x: Any, slope: Any, y: Any) -> Any:
    return slope


SLOPED = Elementwise(
    name="sloped", numpy="untraced.sloped", evaluate=sloped, arity=3, loop=promote_loop,
    partials=(d_value, d_sloped, None), decompose=as_value, samples=(REALS, REALS, REALS),
)  # fmt: skip
GAMMA_DRAW = Elementwise(
    name="gamma_draw", numpy="untraced.random.gamma_draw", evaluate=gamma_draw, arity=2, loop=promote_loop,
    partials=(d_gamma, None), decompose=as_drawn, samples=(POSITIVE, POSITIVE),
)  # fmt: skip
LOGGAMMA_DRAW = Elementwise(
    name="loggamma_draw", numpy="untraced.random.loggamma_draw", evaluate=loggamma_draw, arity=2, loop=promote_loop,
    partials=(d_loggamma, None), decompose=as_drawn, samples=(POSITIVE, POSITIVE),
)  # fmt: skip
ROWS = (GAMMA_DRAW, LOGGAMMA_DRAW, SLOPED)
