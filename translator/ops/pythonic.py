"""The functions of the module `math`: rows of Python numbers alone, which raise where Python raises.

They stand in `MATH`, not in `ops.ALL`: on arrays each is the row that it is made of, `plain`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir import Aval, DType
from .arithmetic import CBRT, COPYSIGN, FABS, FMOD, HYPOT, POWER, SQRT
from .core import Elementwise
from .exponential import EXP, EXP2, EXPM1, LOG, LOG1P, LOG2, LOG10
from .gamma import GAMMA, LGAMMA
from .special import ERF, ERFC
from .trigonometric import (
    ARCCOS,
    ARCCOSH,
    ARCSIN,
    ARCSINH,
    ARCTAN,
    ARCTAN2,
    ARCTANH,
    COS,
    COSH,
    DEG2RAD,
    RAD2DEG,
    SIN,
    SINH,
    TAN,
    TANH,
)


def _doubles(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
    double = np.dtype(np.float64)
    return (double,) * len(avals), double


def _row(name: str, plain: Elementwise) -> Elementwise:
    function = plain.evaluate

    def of_one(x: Any) -> Any:
        return function(x)

    def of_two(x: Any, y: Any) -> Any:
        return function(x, y)

    def of_lgamma(x: Any) -> Any:
        return np.where(x == -np.inf, np.inf, function(x))  # SciPy's is -inf there

    decompose = of_lgamma if name == "lgamma" else of_one if plain.arity == 1 else of_two
    return replace(
        plain, name=f"math_{name}", numpy=f"math.{name}", evaluate=getattr(math, name), operator="", loop=_doubles,
        decompose=decompose, stablehlo="", cuda="", triton="", samples=(), plain=plain,
    )  # fmt: skip


MATH: dict[str, Elementwise] = {
    name: _row(name, plain)
    for name, plain in (
        ("sqrt", SQRT),
        ("cbrt", CBRT),
        ("exp", EXP),
        ("exp2", EXP2),
        ("expm1", EXPM1),
        ("log", LOG),
        ("log2", LOG2),
        ("log10", LOG10),
        ("log1p", LOG1P),
        ("sin", SIN),
        ("cos", COS),
        ("tan", TAN),
        ("asin", ARCSIN),
        ("acos", ARCCOS),
        ("atan", ARCTAN),
        ("atan2", ARCTAN2),
        ("sinh", SINH),
        ("cosh", COSH),
        ("tanh", TANH),
        ("asinh", ARCSINH),
        ("acosh", ARCCOSH),
        ("atanh", ARCTANH),
        ("hypot", HYPOT),
        ("pow", POWER),
        ("fmod", FMOD),
        ("fabs", FABS),
        ("copysign", COPYSIGN),
        ("erf", ERF),
        ("erfc", ERFC),
        ("gamma", GAMMA),
        ("lgamma", LGAMMA),
        ("radians", DEG2RAD),
        ("degrees", RAD2DEG),
    )
    if hasattr(math, name)
}

_OUT_OF_DOMAIN = (ValueError, "math domain error")
_TOO_LARGE = (OverflowError, "math range error")
# what Python raises instead of giving infinity for finite arguments; instead of nan it always raises _OUT_OF_DOMAIN
_INFINITIES = {
    **dict.fromkeys(("log", "log2", "log10", "log1p", "atanh"), _OUT_OF_DOMAIN),
    **dict.fromkeys(("exp", "exp2", "expm1", "sinh", "cosh", "pow", "gamma", "lgamma"), _TOO_LARGE),
}
_NEVER_FAIL = frozenset({"cbrt", "atan", "atan2", "tanh", "asinh", "hypot", "fabs", "copysign", "erf", "erfc"})


def may_raise(op: Elementwise) -> bool:
    """Whether there are numbers for which a row of Python's raises."""
    return op.plain is not None and op.name.removeprefix("math_") not in (*_NEVER_FAIL, "radians", "degrees")


def error_of_infinity(op: Elementwise) -> tuple[type[Exception], str] | None:
    """What is raised where finite arguments would give infinity; None where they never do."""
    return _INFINITIES.get(op.name.removeprefix("math_"))
