"""Run-time checks for errors of Python's own numbers, where NumPy would give inf or nan.

    math.sqrt(x)        ValueError where x is negative
    x / y, x ** y       ZeroDivisionError
    range(a, b, step)   ValueError where the step is zero
    a << i              ValueError where i is negative
    int(x)              ValueError for nan, OverflowError for what 64 bits do not hold
    i + j, i * j        WideIntError for what 64 bits do not hold: the caller runs the function itself then
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from ...translator.bounds import is_natural_power, refuses_negative
from ...translator.errors import TOO_WIDE, PythonComplexError, WideIntError
from ...translator.ir import Apply, DType, Range
from ...translator.ops.core import Elementwise
from ...translator.ops.pythonic import error_of_infinity
from .writer import BOOL, F64, I64, Value, Writer

if TYPE_CHECKING:
    from .program import Emitter

_DOMAIN = "math domain error"


def check_divisor(e: Emitter, s: Apply) -> None:
    """Check that nothing is divided by zero."""
    w, of_ints = e.writer, all(a.aval.dtype.kind == "i" for a in s.args)
    by = e.value(s.args[1])
    rounded = "integer division or modulo" if of_ints else "float floor division"
    what = "division" if s.op.name == "divide" else rounded
    _fail(e, s, w.compare("EQ", by, w.splat(0, by)), ZeroDivisionError, f"{what} by zero")


def check_negative(e: Emitter, s: Apply) -> None:
    """Check the second operand of what takes no negative one: a shift, a power of integers."""
    w = e.writer
    y = e.value(s.args[1])
    bad = w.compare("LT", y, w.splat(0, y))
    some = w.reduce(bad, w.constant(False, (), BOOL), "or", range(len(bad.shape)))
    _fail(e, s, some, ValueError, refuses_negative(s))


def check_step(e: Emitter, step: Value, r: Range) -> None:
    """Check the step of a range."""
    if e.checked.enabled and 0 in e.checked.interval(r.step):
        w = e.writer
        zero = w.compare("EQ", step, w.integer(0))
        e.fail_where(zero, step, ValueError, "range() arg 3 must not be zero", None)


def check_function(e: Emitter, s: Apply, result: Value) -> None:
    """Check a function of `math`: NaN from numbers, and infinity from finite numbers, are errors."""
    assert isinstance(s.op, Elementwise)
    w = e.writer
    args = [e.spread(a, F64, ()) for a in s.args]
    _fail(e, s, w.both(w.is_nan(result), _numbers(w, args)), ValueError, _DOMAIN)
    infinite = error_of_infinity(s.op)
    if infinite is None:
        return
    diverged = w.both(w.is_infinite(result), _finite(w, args))
    if s.op.name == "math_pow":
        _fail(e, s, w.both(diverged, _is_zero(w, args[0])), ValueError, _DOMAIN)
    if s.op.name == "math_lgamma":
        pole = w.compare("LE", args[0], w.splat(0.0, args[0]))
        _fail(e, s, w.both(diverged, pole), ValueError, _DOMAIN)
    _fail(e, s, diverged, *infinite)


def check_power(e: Emitter, s: Apply, result: Value) -> None:
    """Check x ** y of Python floats."""
    w = e.writer
    x, y = (e.spread(a, F64, ()) for a in s.args)
    if not is_natural_power(s):
        pole = w.both(_is_zero(w, x), w.compare("LT", y, w.splat(0.0, y)))
        _fail(e, s, pole, ZeroDivisionError, "zero to a negative power")
        complex_ = w.both(w.is_nan(result), _numbers(w, [x, y]))
        _fail(e, s, complex_, PythonComplexError, "a negative Python float to a fractional power is a complex number")
    diverged = w.both(w.is_infinite(result), _finite(w, [x, y]))
    _fail(e, s, diverged, OverflowError, "(34, 'Numerical result out of range')")


def check_int(e: Emitter, s: Apply) -> None:
    """Check int(x) of a float, or of an unsigned number."""
    w = e.writer
    x = e.value(s.args[0])
    if x.dtype.kind == "u":
        signed = w.convert(x, I64)
        _fail(e, s, w.compare("LT", signed, w.splat(0, signed)), WideIntError, TOO_WIDE)
        return
    x = w.convert(x, F64)
    _fail(e, s, w.is_nan(x), ValueError, "cannot convert float NaN to integer")
    large = w.compare("GE", w.op("abs", x), w.splat(2.0**63, x))
    _fail(e, s, large, OverflowError, "cannot convert a float of 2**63 or more, or infinity, to a 64-bit integer")


def check_range(e: Emitter, s: Apply, operand: int, dtype: DType) -> None:
    """Check that a Python number fits the integer dtype it is cast to; CPython tells what is wrong with it."""
    w, info = e.writer, np.iinfo(dtype)
    x = e.value(s.args[operand])
    if x.dtype.kind == "f":
        above = w.compare("GT", x, w.splat(float(info.min) - 1, x))
        inside = w.both(above, w.compare("LT", x, w.splat(float(info.max) + 1, x)))
        e.fail_where(w.op("not", inside), w.integer(0), OverflowError, f"a Python float out of bounds for {dtype}", s)
        return
    low = w.compare("LT", x, w.splat(max(int(info.min), -(2**63)), x))
    outside = w.either(low, w.compare("GT", x, w.splat(min(int(info.max), 2**63 - 1), x)))
    e.fail_where(outside, x, OverflowError, f"Python integer {{index}} out of bounds for {dtype}", s)


def check_growth(e: Emitter, s: Apply, result: Value) -> None:
    """Check Python ints, which have no bounds: the 64-bit result must be close to that of floats."""
    w = e.writer
    x, y = (e.value(a) for a in s.args)
    if s.op.name == "left_shift":
        bad = w.compare("NE", w.op("shift_right_arithmetic", result, y), x)
    else:
        about = w.op(s.op.name, w.convert(x, F64), w.convert(y, F64))
        apart = w.op("abs", w.op("subtract", w.convert(result, F64), about))
        bad = w.op("not", w.compare("LT", apart, w.splat(2.0**62, apart)))
    _fail(e, s, bad, WideIntError, TOO_WIDE)


def _fail(e: Emitter, s: Apply, bad: Value, error: type[Exception], message: str) -> None:
    e.fail_where(bad, e.writer.integer(0), error, message, s)


def _is_zero(w: Writer, x: Value) -> Value:
    return w.compare("EQ", x, w.splat(0.0, x))


def _numbers(w: Writer, args: list[Value]) -> Value:
    """Whether none of them is nan."""
    return reduce(w.both, [w.compare("EQ", x, x) for x in args])


def _finite(w: Writer, args: list[Value]) -> Value:
    return reduce(w.both, [w.compare("LT", w.op("abs", x), w.splat(np.inf, x)) for x in args])
