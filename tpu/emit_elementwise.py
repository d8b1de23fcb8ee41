"""Elementwise operations in StableHLO. A row that names a primitive becomes that primitive; the others are decomposed.

Here stands what is neither: comparisons, whose loops may mix dtypes, and powers by small constants. Every rule takes
values that have been cast to the loop's dtypes and broadcast to one shape.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..translator.ir import Atom, DType, Var
from .writer import BOOL, Value, Writer, is_float, real_dtype

Rule = Callable[..., Value]

COMPARISONS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "equal": ("EQ", operator.eq),
    "not_equal": ("NE", operator.ne),
    "less": ("LT", operator.lt),
    "less_equal": ("LE", operator.le),
    "greater": ("GT", operator.gt),
    "greater_equal": ("GE", operator.ge),
}


def rule_for(name: str, primitive: str, result: DType) -> Rule | None:
    """How an elementwise row is written; None: by its decomposition. `result` is the loop's result dtype."""
    if name in COMPARISONS:
        direction = COMPARISONS[name][0]
        return lambda w, x, y: compare(w, direction, x, y)
    match name:
        case "where":
            return lambda w, condition, x, y: w.select(condition, x, y)
        case "isnan":
            return isnan
    return (lambda w, *args: w.op(primitive, *args, dtype=result)) if primitive else None


def is_kept_as_quotient(divisor: Atom, dtype: DType) -> bool:
    """Whether a quotient needs a barrier around its divisor, lest XLA multiply by the reciprocal of a constant, of what
    is broadcast, of a root or an exponential. That rounds twice: 3 * (1 / 10) is not 3 / 10. Powers of two it may have.
    The barrier is gone before the fusion.
    """
    if dtype.kind not in "fc":
        return False
    return isinstance(divisor, Var) or bool(np.any(np.abs(np.frexp(np.real(divisor.value))[0]) != 0.5))


def isnan(w: Writer, x: Value) -> Value:
    return w.constant(False, x.shape, BOOL) if x.dtype.kind in "iub" else w.is_nan(x)


# ---- powers --------------------------------------------------------------------------------------


def power_by_constant(w: Writer, x: Value, exponent: float) -> Value | None:
    """Powers that are a few multiplications; None for the others. NumPy takes the same ways for 2, 0.5 and -1."""
    match exponent:
        case 1:
            return x
        case 2:
            return w.multiply(x, x)
        case 3:
            return w.multiply(w.multiply(x, x), x)
        case 4:
            square = w.multiply(x, x)
            return w.multiply(square, square)
        case 0.5 if is_float(x.dtype):
            return w.op("sqrt", x)
        case -1 if is_float(x.dtype):
            return w.divide(w.splat(1, x), x)
        case -2 if is_float(x.dtype):
            return w.divide(w.splat(1, x), w.multiply(x, x))
        case 1.5 if is_float(x.dtype):
            infinite = w.compare("EQ", x, w.splat(-np.inf, x))  # pow(-inf, 1.5) is inf, not NaN
            return w.select(infinite, w.splat(np.inf, x), w.multiply(x, w.op("sqrt", x)))
    return None


# ---- comparisons ---------------------------------------------------------------------------------


def compare(w: Writer, direction: str, x: Value, y: Value) -> Value:
    if x.dtype != y.dtype:  # NumPy compares int64 with uint64 exactly
        return _compare_mixed(w, direction, x, y)
    if x.dtype.kind == "c" and direction not in ("EQ", "NE"):
        return complex_order(w, direction, x, y)
    return w.compare(direction, x, y)


def _compare_mixed(w: Writer, direction: str, x: Value, y: Value) -> Value:
    """A signed and an unsigned integer: a negative number is below every unsigned one."""
    signed, unsigned = (x, y) if x.dtype.kind == "i" else (y, x)
    below = w.compare("LT", signed, w.splat(0, signed))
    wide = w.convert(signed, unsigned.dtype)
    plain = w.compare(direction, wide, y) if signed is x else w.compare(direction, x, wide)
    answer = direction == "NE" or direction in (("LT", "LE") if signed is x else ("GT", "GE"))
    return w.select(below, w.constant(answer, x.shape, BOOL), plain)


def complex_order(w: Writer, direction: str, x: Value, y: Value) -> Value:
    """Lexicographic, as NumPy orders complex numbers."""
    part = real_dtype(x.dtype)
    a, b = w.op("real", x, dtype=part), w.op("real", y, dtype=part)
    c, d = w.op("imag", x, dtype=part), w.op("imag", y, dtype=part)
    strict = w.compare(direction[0] + "T", a, b)
    return w.either(strict, w.both(w.compare("EQ", a, b), w.compare(direction, c, d)))


def representable(value: object, dtype: DType) -> bool:
    """Whether a Python integer fits an integer dtype; NumPy compares integers that do not fit exactly."""
    if type(value) is not int or dtype.kind not in "iu":
        return True
    info = np.iinfo(dtype)
    return int(info.min) <= value <= int(info.max)
