"""Elementwise operations in StableHLO. A row that names a primitive becomes that primitive; the others are decomposed.

Here stands what is neither: comparisons, whose loops may mix dtypes, and powers by small constants. Every rule takes
values that have been cast to the loop's dtypes and broadcast to one shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...translator.ir import Atom, Const, DType, Shape
from ...translator.powers import product, whole
from ..client import host_calls
from .control import emit_branches
from .writer import BOOL, F32, I32, I64, Value, Writer, is_float, real_dtype

Rule = Callable[..., Value]

COMPARISONS = {
    "equal": "EQ",
    "not_equal": "NE",
    "less": "LT",
    "less_equal": "LE",
    "greater": "GT",
    "greater_equal": "GE",
}


def is_bound(name: str, args: Sequence[Atom], dtypes: Sequence[DType]) -> bool:
    """Whether a comparison asks if integers are within a bound: any and all of them then need an extreme only."""
    ordered = name in ("less", "less_equal", "greater", "greater_equal")
    of_ints = ordered and dtypes[0] == dtypes[1] and dtypes[0].kind in "iu"
    return of_ints and args[0].aval.size > 0 and not args[1].aval.shape


def rule_for(name: str, primitive: str, result: DType) -> Rule | None:
    """How an elementwise row is written; None: by its decomposition. `result` is the loop's result dtype."""
    if name in COMPARISONS:
        direction = COMPARISONS[name]
        return lambda w, x, y: compare(w, direction, x, y)
    match name:
        case "where":
            return lambda w, condition, x, y: w.select(condition, x, y)
        case "multiply" if result.kind == "c":  # then ad + bc is rounded where NumPy rounds it
            return lambda w, x, y: w.op(primitive, y, x, dtype=result)
        case "isnan":
            return isnan
        case "absolute" if result.kind == "i":
            return absolute
        case "right_shift" if result.kind == "u":  # XLA's shifts by the width and more give 0, as NumPy's do
            return lambda w, x, y: w.op("shift_right_logical", x, y)
    return (lambda w, *args: w.op(primitive, *args, dtype=result)) if primitive else None


def is_positive_zero(a: Atom) -> bool:
    if not isinstance(a, Const) or a.aval.shape or a.value != 0:
        return False
    return not np.signbit(np.real(a.value)) and not np.signbit(np.imag(a.value))


def plus_zero(w: Writer, x: Value) -> Value:
    """x + 0.0, which is 0.0 where x is -0.0: XLA would take it for x, whatever stands around the zero."""
    if x.dtype.kind != "c":
        return w.select(w.compare("EQ", x, w.splat(0, x)), w.splat(0, x), x)
    part = real_dtype(x.dtype)
    return w.op("complex", *(plus_zero(w, w.op(name, x, dtype=part)) for name in ("real", "imag")), dtype=x.dtype)


def isnan(w: Writer, x: Value) -> Value:
    return w.constant(False, x.shape, BOOL) if x.dtype.kind in "iub" else w.is_nan(x)


def absolute(w: Writer, x: Value) -> Value:
    """|x| of integers, written out: XLA takes its own function's result for positive, though the lowest one wraps."""
    return w.select(w.compare("LT", x, w.splat(0, x)), w.op("negate", x), x)


def extreme(name: str, dtype: DType, second: Atom) -> Rule | None:
    """The larger or smaller of two floats; of zeros of different signs the one that NumPy takes.

    Not XLA's operation, with which YNNPACK loses NaN where it fuses one with a reduction. Where the second is a
    constant that is neither NaN nor zero, one comparison will do: it is false for NaN, and equals are the same.
    """
    if dtype.kind != "f":
        return None
    if isinstance(second, Const) and np.all(second.value) and not np.any(np.isnan(second.value)):
        strict = "GT" if name == "maximum" else "LT"
        return lambda w, x, c: w.select(w.compare(strict, c, x), c, x)
    direction = ("GE" if name == "maximum" else "LE") if dtype.itemsize == 2 else ("GT" if name == "maximum" else "LT")
    return lambda w, x, y: w.select(w.either(w.compare(direction, x, y), w.is_nan(x)), x, y)


# ---- powers --------------------------------------------------------------------------------------


def power_by_constant(w: Writer, x: Value, exponent: float, rooted: bool) -> Value | None:
    """Powers that are a few products or a root; None for the others. `rooted`: x ** 0.5 is the square root at -inf and
    -0.0, too, as NumPy's of arrays; of numbers it is inf and 0.0 there.
    """
    if (factors := whole(exponent)) is not None:
        return product(x, factors, w.multiply)
    if not is_float(x.dtype):
        return None
    if (factors := whole(-exponent)) is not None:
        return w.divide(w.splat(1, x), product(x, factors, w.multiply))
    if exponent == 0.5 and rooted:
        return w.op("sqrt", x)
    if exponent not in (0.5, 1.5):
        return None
    infinite = w.compare("EQ", x, w.splat(-np.inf, x))  # pow gives inf, not NaN, and 0.0 of -0.0
    power = w.op("abs", w.op("sqrt", x)) if exponent == 0.5 else w.multiply(x, w.op("sqrt", x))
    return w.select(infinite, w.splat(np.inf, x), power)


def power_by_numpy(w: Writer, args: Sequence[Atom], given: Sequence[Value], shape: Shape) -> Value:
    """x ** y of floats by NumPy's function, of |x|: where x is negative it takes thirty times as long."""
    base, exponent = args
    dtype = given[0].dtype
    if isinstance(exponent, Const) or (isinstance(base, Const) and bool(np.all(base.value > 0))):
        return host_calls.call(w, "power", given, shape, dtype)
    result = host_calls.call(w, "power", [w.op("abs", given[0]), given[1]], shape, dtype)
    x, y = (w.broadcast(v, shape) for v in given)
    half = w.multiply(y, w.splat(0.5, y))
    odd = w.both(_is_whole(w, y), w.invert(_is_whole(w, half)))
    bits = w.op("bitcast_convert", x, dtype=I32 if dtype == F32 else I64)
    below = w.compare("LT", bits, w.splat(0, bits))  # -0.0, too
    result = w.select(w.both(odd, below), w.op("negate", result), result)
    if exponent.aval.dtype.kind in "biu":
        return result
    unreal = w.both(w.compare("LT", x, w.splat(0, x)), w.compare("GT", x, w.splat(-np.inf, x)))
    return w.select(w.both(unreal, w.invert(_is_whole(w, y))), w.splat(np.nan, x), result)


def _is_whole(w: Writer, x: Value) -> Value:
    return w.compare("EQ", x, w.op("floor", x))


def integer_power(w: Writer, x: Value, y: Value) -> Value:
    """x ** y modulo the number of bits, for exponents that are not negative: XLA's looks at six bits of them only. For
    many numbers the others are looked at where an exponent has some, which takes ten times as long.
    """
    if math.prod(y.shape) < _MANY:
        return _power_by_digits(w, x, y)
    most = w.reduce(y, w.constant(0, (), y.dtype), "maximum", range(len(y.shape)))
    (result,) = w.several("power", [(x.shape, x.dtype)])
    few = w.compare("LE", most, w.splat(63, most))
    emit_branches(w, [result], few, lambda: [w.op("power", x, y)], lambda: [_power_by_digits(w, x, y)])
    return result


_MANY = 1 << 12  # numbers


def _power_by_digits(w: Writer, x: Value, y: Value) -> Value:
    bits, low = 8 * y.dtype.itemsize - (y.dtype.kind == "i"), w.splat(63, y)
    result = w.op("power", x, w.op("and", y, low))
    for first in range(6, bits, 6):
        x = w.op("power", x, w.splat(32, x))
        x = w.multiply(x, x)
        digit = w.op("and", w.op("shift_right_logical", y, w.splat(first, y)), low)
        result = w.multiply(result, w.op("power", x, digit))
    return result


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
    """Lexicographic, as NumPy orders complex numbers: false where a part is NaN."""
    part = real_dtype(x.dtype)
    a, b = w.op("real", x, dtype=part), w.op("real", y, dtype=part)
    c, d = w.op("imag", x, dtype=part), w.op("imag", y, dtype=part)
    known = w.both(w.compare("EQ", c, c), w.compare("EQ", d, d))
    strict = w.both(w.compare(direction[0] + "T", a, b), known)
    return w.either(strict, w.both(w.compare("EQ", a, b), w.compare(direction, c, d)))
