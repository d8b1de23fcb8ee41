"""The normal distribution function and its logarithm: rows, since their derivatives are simpler than they are.

    ndtr(x) = erfc(-x / sqrt(2)) / 2            its derivative is the density exp(-x * x / 2) / sqrt(2 pi)

NIST Digital Library of Mathematical Functions, 7.18; that of the logarithm is the density over it, below 0
sqrt(2 / pi) / erfcx(-x / sqrt(2)), which neither overflows nor cancels there, nor do its own derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import Elementwise
from .samples import REALS
from .special import erf, erfcx, evaluated, exp_of_square, float_loop

SQRT_HALF = 0.7071067811865476
_DENSITY_AT_ZERO = 0.3989422804014327  # 1 / sqrt(2 pi)
_ROOT_OF_TWO_OVER_PI = 0.7978845608028654


def ndtr_source(x: Any) -> Any:
    """The probability that a standard normal number is at most x."""
    v = x.astype(np.float64)
    far = np.absolute(v) > 1.0
    tail = _tail(np.where(far, v, 2.0))
    near = 0.5 + 0.5 * erf(np.where(far, 0.0, v) * SQRT_HALF)
    return np.where(far, np.where(v > 0, 1.0 - tail, tail), near).astype(x.dtype)


def _tail(x: Any) -> Any:
    """ndtr(-|x|)."""
    return 0.5 * erfcx(np.absolute(x) * SQRT_HALF) * exp_of_square(x, -0.5)


def log_ndtr_source(x: Any) -> Any:
    """log(ndtr(x)), without underflow."""
    v = x.astype(np.float64)
    low = v < -1.0
    s = np.where(low, v, -1.0)
    tail = np.log(0.5 * erfcx(-s * SQRT_HALF)) - 0.5 * s * s
    high = v > 1.0
    above = _tail(np.where(high, v, 1.0))
    less = np.where(high, above, 0.5 - 0.5 * erf(np.where(low | high, 0.0, v) * SQRT_HALF))
    return np.where(low, tail, np.log1p(-less)).astype(x.dtype)


def d_ndtr(x: Any, y: Any) -> Any:
    return _DENSITY_AT_ZERO * np.exp(-0.5 * (x * x))


def d_log_ndtr(x: Any, y: Any) -> Any:
    below = np.where(x > 0, 0.0, x)
    return np.where(
        x > 0, _DENSITY_AT_ZERO * np.exp(-0.5 * x * x - y), _ROOT_OF_TWO_OVER_PI / erfcx(-SQRT_HALF * below)
    )


ndtr = evaluated(ndtr_source)
log_ndtr = evaluated(log_ndtr_source)

NDTR = Elementwise(
    name="ndtr", numpy="untraced.scipy.special.ndtr", evaluate=ndtr, loop=float_loop, partials=(d_ndtr,),
    decompose=ndtr_source, samples=(REALS,),
)
LOG_NDTR = Elementwise(
    name="log_ndtr", numpy="untraced.scipy.special.log_ndtr", evaluate=log_ndtr, loop=float_loop,
    partials=(d_log_ndtr,), decompose=log_ndtr_source, samples=(REALS,),
)  # fmt: skip
