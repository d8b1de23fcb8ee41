"""Special functions that have primitives on every target; the others are NumPy source in `library/special.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..ir import Aval, DType
from .core import ABOVE_ONE, REALS, Elementwise

TWO_OVER_SQRT_PI = 1.1283791670955126


def float_loop(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
    """The floating-point dtypes of np.tan, without complex numbers."""
    (x,) = avals
    dtype = np.tan.resolve_dtypes((float if x.weak else x.dtype, None))[1]
    if dtype.kind == "c":
        raise DTypeError("this special function is for real numbers")
    return (dtype,), dtype


def _mapped(function: Callable[[float], float], name: str) -> Callable[[Any], Any]:
    """`function` on every element, in double precision."""
    mapped = np.vectorize(function, otypes=[np.float64])

    def evaluate(x: Any) -> Any:
        (dtype,), _ = float_loop([Aval((), np.asarray(x).dtype)])
        return mapped(x).astype(dtype)[()]

    evaluate.__name__ = evaluate.__qualname__ = name
    return evaluate


def _log_gamma(x: float) -> float:
    if not math.isfinite(x):
        return abs(x)
    if x <= 0 and x == math.floor(x):
        return math.inf  # a pole
    return math.lgamma(x)


erf = _mapped(math.erf, "erf")
erfc = _mapped(math.erfc, "erfc")
gammaln = _mapped(_log_gamma, "gammaln")


def d_erf(x: Any, y: Any) -> Any:
    return TWO_OVER_SQRT_PI * np.exp(-x * x)


ERF = Elementwise(
    name="erf", numpy="untraced.scipy.special.erf", evaluate=erf, loop=float_loop, partials=(d_erf,),
    stablehlo="chlo.erf", cuda="erf{f}({0})", triton="libdevice.erf({0})", samples=(REALS,),
)


def d_erfc(x: Any, y: Any) -> Any:
    return -TWO_OVER_SQRT_PI * np.exp(-x * x)


ERFC = Elementwise(
    name="erfc", numpy="untraced.scipy.special.erfc", evaluate=erfc, loop=float_loop, partials=(d_erfc,),
    stablehlo="chlo.erfc", cuda="erfc{f}({0})", triton="libdevice.erfc({0})", samples=(REALS,),
)


def digamma(x: Any) -> Any:
    """The derivative of log gamma: reflection for x < 0.5, recurrence up to x >= 8, then the asymptotic series.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 6.3.5, 6.3.7 and 6.3.18; relative error about 1e-14.
    """
    x = np.asarray(x)
    low = x < 0.5
    z = np.where(low, 1.0 - x, x)
    below = 0.0
    for k in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0):
        below = below + 1.0 / (z + k)
    w = z + 8.0
    r = 1.0 / (w * w)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))))))
    value = np.log(w) - 0.5 / w - series - below
    reflected = value - np.pi / np.tan(np.pi * np.where(low, x, 0.25))
    pole = low & (x == np.floor(x))
    return np.where(pole, np.where(x == 0, -1.0 / x, x.dtype.type(np.nan)), np.where(low, reflected, value))


def d_lgamma(x: Any, y: Any) -> Any:
    return digamma(x)


LGAMMA = Elementwise(
    name="lgamma", numpy="untraced.scipy.special.gammaln", evaluate=gammaln, loop=float_loop, partials=(d_lgamma,),
    stablehlo="chlo.lgamma", cuda="lgamma{f}({0})", triton="libdevice.lgamma({0})", samples=(ABOVE_ONE,),
)
