"""The error functions, their inverses, and what the rows of special functions share.

    erfcx(x) = exp(x * x) erfc(x)        erf(erfinv(x)) = x        erfc(erfcinv(x)) = x

Functions without a primitive are NumPy source that computes in double precision. Polynomials are Chebyshev
interpolants, fitted for these files in 60 digits (mpmath.chebyfit). The others are in `library/special.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..ir import Aval, DType
from .core import Elementwise
from .samples import REALS, UNIT, Domain

TWO_OVER_SQRT_PI = 1.1283791670955126
HALF_SQRT_PI = 0.886226925452758


def float_loop(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
    """The floating-point dtypes of np.tan, without complex numbers."""
    (x,) = avals
    dtype = np.tan.resolve_dtypes((float if x.weak and x.dtype.kind != "c" else x.dtype, None))[1]
    if dtype.kind == "c":
        raise DTypeError("this special function is for real numbers")
    return (dtype,), dtype


def mapped(function: Callable[[float], float], name: str) -> Callable[[Any], Any]:
    """`function` on every element, in double precision."""
    mapped = np.vectorize(function, otypes=[np.float64])

    def evaluate(x: Any) -> Any:
        (dtype,), _ = float_loop([Aval((), np.asarray(x).dtype)])
        return mapped(x).astype(dtype)[()]

    evaluate.__name__ = evaluate.__qualname__ = name
    evaluate.__doc__ = function.__doc__
    return evaluate


erf = mapped(math.erf, "erf")
erfc = mapped(math.erfc, "erfc")


def d_erf(x: Any, y: Any) -> Any:
    return TWO_OVER_SQRT_PI * np.exp(-x * x)


ERF = Elementwise(
    name="erf", numpy="untraced.scipy.special.erf", evaluate=erf, loop=float_loop, partials=(d_erf,),
    stablehlo="chlo.erf", cuda="erf{f}({0})", triton="libdevice.erf({0})", samples=(REALS,),
)


# (1 + 2 x) erfcx(x) for x = 3.75 (1 + t) / (1 - t), t from -1 to 1: relative error 2e-19
_ERFCX = (
    1.2375126308378275, -0.14024059858554702, 0.003585415485463656, 0.08227673849015103, -0.10880393014170556,
    0.09230432116019804, -0.05869339859058929, 0.028362277421519668, -0.009746579547145438, 0.0017556258323895534,
    0.000293713591593492, -0.0002901539791322486, 5.1649421745236465e-05, 2.2383911531916976e-05,
    -1.144508983794941e-05, -9.728484952656482e-07, 1.7535246298697825e-06, -5.826439766695699e-08,
    -2.6125820988901525e-07, 2.429131177189471e-08, 4.107398937332565e-08, -4.390251943140879e-09,
    -6.606829477916605e-09, 5.460657473630792e-10, 9.234867707529155e-10, -3.7587308035623257e-11,
    -7.666209795998097e-11,
)  # fmt: skip


def horner(t: Any, coefficients: Sequence[float]) -> Any:
    """A polynomial, its constant term first in the list."""
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * t + c
    return total


def evaluated(source: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """NumPy source as a function of anything that is an array: in the dtypes of `float_loop`, without warnings."""

    def evaluate(x: Any) -> Any:
        (dtype,), _ = float_loop([Aval((), np.asarray(x).dtype)])
        with np.errstate(all="ignore"):
            return np.asarray(source(np.asarray(x).astype(dtype))).astype(dtype)[()]

    evaluate.__name__ = evaluate.__qualname__ = source.__name__.removesuffix("_source")
    evaluate.__doc__ = source.__doc__
    return evaluate


def erfcx_source(x: Any) -> Any:
    """exp(x * x) erfc(x): 2 exp(x * x) - erfcx(-x) for negative x."""
    v = x.astype(np.float64)
    a = np.absolute(v)
    y = horner((a - 3.75) / (a + 3.75), _ERFCX) / (1.0 + 2.0 * a)
    y = np.where(a > 1e15, 0.5 * TWO_OVER_SQRT_PI / a, y)
    return np.where(v < 0, 2.0 * exp_of_square(v, 1.0) - y, y).astype(x.dtype)


def exp_of_square(x: Any, factor: float) -> Any:
    """exp(factor * x * x) for |factor| <= 1, with x split so that the leading part of the square is exact."""
    x = np.clip(x, -40.0, 40.0)
    head = np.round(x * 64.0) / 64.0
    rest = np.exp(factor * ((x - head) * (x + head)))
    return np.exp(factor * (head * head)) * np.maximum(rest, 0.25)  # XLA would make one exponential of two


def erfc_source(x: Any) -> Any:
    """1 - erf(x), without cancellation. Element by element, of any shape; floats keep their dtype, integers become
    float64.
    """
    v = x.astype(np.float64)
    a = np.absolute(v)
    far = a > 0.5
    tail = exp_of_square(np.where(far, v, 1.0), -1.0) * erfcx(np.where(far, a, 1.0))
    near = 1.0 - erf(np.where(far, 0.0, v))
    return np.where(far, np.where(v < 0, 2.0 - tail, tail), near).astype(x.dtype)


def erfinv_source(x: Any) -> Any:
    """The x of which erf is `x`, between -1 and 1. Element by element, of any shape; floats keep their dtype, integers
    become float64.
    """
    v = x.astype(np.float64)
    a = np.absolute(v)
    far = np.copysign(_erfc_root(np.where(a > 0.5, 1.0 - a, 0.25)), v)
    y = np.where(a > 0.5, far, _erf_root(np.where(a > 0.5, 0.0, v)))
    return np.where(v == 0, v, y).astype(x.dtype)


def erfcinv_source(x: Any) -> Any:
    """The x of which erfc is `x`, between 0 and 2."""
    v = x.astype(np.float64)
    low, high = v < 0.5, v > 1.5
    tail = _erfc_root(np.where(low, v, np.where(high, 2.0 - v, 0.25)))
    return np.where(low, tail, np.where(high, -tail, _erf_root(np.where(low | high, 0.0, 1.0 - v)))).astype(x.dtype)


def _start(log: Any) -> Any:
    """An approximation of erfinv(x) by log(1 - x * x), to 0.2 %: S. Winitzki (2008)."""
    c = 4.3307467508 + 0.5 * log
    return np.sqrt(np.sqrt(c * c - log / 0.147) - c)


def _erf_root(v: Any) -> Any:
    """erfinv for |v| <= 0.5, by two steps of Halley's method: relative errors 2e-3, 1e-8, none."""
    y = np.copysign(_start(np.log1p(-v * v)), v)
    for _ in (1, 2):
        d = (erf(y) - v) * (HALF_SQRT_PI * np.exp(y * y))
        y = y - d / (1.0 + y * d)
    return y


def _erfc_root(v: Any) -> Any:
    """erfcinv for 0 < v <= 0.5, by Newton's method on log(erfc), which is nearly a parabola; infinite at 0."""
    log = np.log(v)
    y = _start(log + np.log(2.0 - v))
    for _ in (1, 2, 3):
        e = erfcx(y)
        y = y + (np.log(e) - y * y - log) * e * HALF_SQRT_PI
    return np.where(v == 0, np.inf, y)


erfcx = evaluated(erfcx_source)
erfinv = evaluated(erfinv_source)
erfcinv = evaluated(erfcinv_source)


def d_erfc(x: Any, y: Any) -> Any:
    return -TWO_OVER_SQRT_PI * np.exp(-x * x)


ERFC = Elementwise(
    name="erfc", numpy="untraced.scipy.special.erfc", evaluate=erfc, loop=float_loop, partials=(d_erfc,),
    decompose=erfc_source, cuda="erfc{f}({0})", triton="libdevice.erfc({0})", samples=(REALS,),
)


def d_erfcx(x: Any, y: Any) -> Any:
    return 2.0 * x * y - TWO_OVER_SQRT_PI


ERFCX = Elementwise(
    name="erfcx", numpy="untraced.scipy.special.erfcx", evaluate=erfcx, loop=float_loop, partials=(d_erfcx,),
    decompose=erfcx_source, samples=(REALS,),
)


def d_erfinv(x: Any, y: Any) -> Any:
    return HALF_SQRT_PI * np.exp(y * y)


ERFINV = Elementwise(
    name="erfinv", numpy="untraced.scipy.special.erfinv", evaluate=erfinv, loop=float_loop, partials=(d_erfinv,),
    decompose=erfinv_source, samples=(UNIT,),
)


def d_erfcinv(x: Any, y: Any) -> Any:
    return -HALF_SQRT_PI * np.exp(y * y)


ERFCINV = Elementwise(
    name="erfcinv", numpy="untraced.scipy.special.erfcinv", evaluate=erfcinv, loop=float_loop, partials=(d_erfcinv,),
    decompose=erfcinv_source, samples=(Domain(low=0.1, high=1.9),),
)
