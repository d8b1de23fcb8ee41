"""Complex functions with the signs that C99 gives zeros, which also say on which side of a cut an argument lies.

    np.sqrt(-1 - 0j)            -1j: XLA's own function loses the sign of the zero and gives 1j

XLA's functions are right where real and imaginary part are positive. The other quadrants follow by symmetry: all of
these have f(conj z) = conj f(z), the odd ones f(-z) = -f(z), the even ones f(-z) = f(z).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..translator import ops
from ..translator.ir import DType
from .emit_elementwise import Rule
from .writer import BOOL, I32, I64, Value, Writer, real_dtype

_SYMMETRY = {
    **dict.fromkeys(("sqrt", "exp", "log", "log1p", "expm1", "arccos", "arccosh"), "none"),
    **dict.fromkeys(("sin", "tan", "sinh", "tanh", "arcsin", "arctan", "arcsinh", "arctanh"), "odd"),
    **dict.fromkeys(("cos", "cosh"), "even"),
}
_TWINS = {"cos": ops.COSH.stablehlo, "arctan": ops.ARCTANH.stablehlo}


def with_signs(name: str, rule: Rule) -> Rule:
    """The rule of a complex function of one argument, asked in one quadrant or half-plane only."""
    symmetry = _SYMMETRY.get(name)
    if symmetry is None:
        return rule

    def whole(w: Writer, z: Value) -> Value:
        part = real_dtype(z.dtype)
        re, im = w.op("real", z, dtype=part), w.op("imag", z, dtype=part)
        left, below = _has_sign(w, re), _has_sign(w, im)
        start = re if symmetry == "none" else w.op("abs", re)
        real, imag = _value(w, name, rule, start, w.op("abs", im), z.dtype)
        imag = w.select(below, w.op("negate", imag), imag)
        if symmetry == "odd":
            real = w.select(left, w.op("negate", real), real)
        elif symmetry == "even":
            imag = w.select(left, w.op("negate", imag), imag)
        return w.op("complex", real, imag, dtype=z.dtype)

    return whole


def magnitude(w: Writer, z: Value) -> Value:
    """|z|, which is infinite where a part is, whatever the other."""
    part = real_dtype(z.dtype)
    size = w.op("abs", z, dtype=part)
    beyond = w.either(*(w.is_infinite(w.op(name, z, dtype=part)) for name in ("real", "imag")))
    return w.select(beyond, w.splat(np.inf, size), size)


def quotient(w: Writer, x: Value, y: Value) -> Value:
    """x / y by the ratio of the divisor's smaller part to its larger, as NumPy divides (R. L. Smith, Communications of
    the ACM 5, 1962): XLA's own recovers infinities where NumPy has NaN.
    """
    part = real_dtype(x.dtype)
    a, b, c, d = (w.op(name, z, dtype=part) for z in (x, y) for name in ("real", "imag"))
    tall = w.compare("GT", w.op("abs", d), w.op("abs", c))
    large, small = w.select(tall, d, c), w.select(tall, c, d)
    nowhere = w.both(w.compare("EQ", large, w.splat(0, c)), w.compare("EQ", small, w.splat(0, c)))
    large = w.select(nowhere, w.op("abs", large), large)
    ratio = w.select(nowhere, w.splat(0, c), w.divide(small, large))
    scale = w.divide(w.splat(1, c), w.add(large, w.multiply(small, ratio)))
    first, second = w.select(tall, b, a), w.select(tall, a, b)
    real = w.multiply(w.add(first, w.multiply(second, ratio)), scale)
    across = w.multiply(first, ratio)
    imag = w.multiply(w.select(tall, w.subtract(across, second), w.subtract(second, across)), scale)
    real = w.select(nowhere, w.multiply(a, scale), real)
    imag = w.select(nowhere, w.multiply(b, scale), imag)
    return w.op("complex", real, imag, dtype=x.dtype)


def power(w: Writer, x: Value, y: Value) -> Value:
    """A power of zero by NumPy's rules: 0 if the exponent's real part is positive, 1 if the exponent is 0, else NaN."""
    part = real_dtype(x.dtype)
    a, b, c, d = (w.op(name, z, dtype=part) for z in (x, y) for name in ("real", "imag"))
    zero = w.splat(0, a)
    rooted = w.select(w.compare("GT", c, zero), zero, w.splat(np.nan, a))
    nothing = w.both(w.compare("EQ", c, zero), w.compare("EQ", d, zero))
    real, imag = w.select(nothing, w.splat(1, a), rooted), w.select(nothing, zero, rooted)
    of_zero = w.both(w.compare("EQ", a, zero), w.compare("EQ", b, zero))
    return w.select(of_zero, w.op("complex", real, imag, dtype=x.dtype), w.op(ops.POWER.stablehlo, x, y))


_OF_TWO: dict[str, Rule] = {"divide": quotient, "power": power, "float_power": power}


def by_parts(name: str) -> Rule | None:
    """The rule of a complex function that NumPy computes part by part, infinities and zeros with it."""
    if name in _OF_TWO:
        return _OF_TWO[name]
    function = _BY_PARTS.get(name)
    if function is None:
        return None

    def rule(w: Writer, z: Value) -> Value:
        part = real_dtype(z.dtype)
        re, im = function(w, w.op("real", z, dtype=part), w.op("imag", z, dtype=part))
        return w.op("complex", re, im, dtype=z.dtype)

    return rule


def _rint(w: Writer, re: Value, im: Value) -> tuple[Value, Value]:
    return w.op(ops.RINT.stablehlo, re), w.op(ops.RINT.stablehlo, im)


def _reciprocal(w: Writer, re: Value, im: Value) -> tuple[Value, Value]:
    """1 / z by the ratio of its smaller part to the larger one."""
    one, tall = w.splat(1, re), w.compare("GT", w.op("abs", im), w.op("abs", re))
    large, small = w.select(tall, im, re), w.select(tall, re, im)
    ratio = w.divide(small, large)
    size = w.add(large, w.multiply(small, ratio))
    along, across = w.divide(one, size), w.divide(ratio, size)
    return w.select(tall, across, along), w.op("negate", w.select(tall, along, across))


def _sign(w: Writer, re: Value, im: Value) -> tuple[Value, Value]:
    """z / |z|; of one infinite part its sign alone, of two NaN."""
    size = w.op("abs", w.op("complex", re, im, dtype=_COMPLEX[re.dtype]), dtype=re.dtype)
    zero, infinity = w.splat(0, re), w.splat(np.inf, re)
    beyond = w.compare("EQ", size, infinity)
    parts = []
    for x in (re, im):
        infinite = w.compare("EQ", w.op("abs", x), infinity)
        of_large = w.select(infinite, w.op("sign", x), zero)
        parts.append(w.select(beyond, of_large, w.divide(x, size)))
    both = w.both(*(w.compare("EQ", w.op("abs", x), infinity) for x in (re, im)))
    nowhere = w.compare("EQ", size, zero)
    nan = w.splat(np.nan, re)
    first, second = (w.select(both, nan, w.select(nowhere, zero, p)) for p in parts)
    return first, second


def _logarithm(unit: float) -> Parts:
    def function(w: Writer, re: Value, im: Value) -> tuple[Value, Value]:
        z = with_signs("log", _log)(w, w.op("complex", re, im, dtype=_COMPLEX[re.dtype]))
        x, y = (w.op(part, z, dtype=re.dtype) for part in ("real", "imag"))
        return w.multiply(x, w.splat(unit, x)), w.multiply(y, w.splat(unit, y))

    return function


def _exp2(w: Writer, re: Value, im: Value) -> tuple[Value, Value]:
    unit = w.splat(np.log(2.0), re)
    z = w.op("complex", w.multiply(re, unit), w.multiply(im, unit), dtype=_COMPLEX[re.dtype])
    z = with_signs("exp", _exp)(w, z)
    return w.op("real", z, dtype=re.dtype), w.op("imag", z, dtype=re.dtype)


def square_root(w: Writer, z: Value) -> Value:
    """z ** 0.5 too, as NumPy takes it."""
    return with_signs("sqrt", _sqrt)(w, z)


def _sqrt(w: Writer, *args: Value) -> Value:
    return w.op(ops.SQRT.stablehlo, *args)


def _log(w: Writer, *args: Value) -> Value:
    return w.op(ops.LOG.stablehlo, *args)


def _exp(w: Writer, *args: Value) -> Value:
    return w.op(ops.EXP.stablehlo, *args)


Parts = Callable[[Writer, Value, Value], tuple[Value, Value]]
_COMPLEX: dict[DType, DType] = {
    np.dtype(np.float32): np.dtype(np.complex64),
    np.dtype(np.float64): np.dtype(np.complex128),
}
_BY_PARTS: dict[str, Parts] = {
    "rint": _rint,
    "reciprocal": _reciprocal,
    "sign": _sign,
    "log2": _logarithm(1 / np.log(2.0)),
    "log10": _logarithm(1 / np.log(10.0)),
    "exp2": _exp2,
}


def _value(w: Writer, name: str, rule: Rule, re: Value, im: Value, dtype: DType) -> tuple[Value, Value]:
    """cos and arctan by their hyperbolic twins, with the signs of zeros that XLA's own have not."""
    twin = _TWINS.get(name)
    if twin is None:
        y = rule(w, w.op("complex", re, im, dtype=dtype))
    else:
        y = w.op(twin, w.op("complex", im, re, dtype=dtype), dtype=dtype)
    real, imag = (w.op(part, y, dtype=re.dtype) for part in ("real", "imag"))
    if name in ("arctan", "arctanh"):  # XLA's has an angle for NaN too
        imag = w.select(w.either(w.is_nan(re), w.is_nan(im)), w.splat(np.nan, imag), imag)
    if name == "exp":
        real, imag = _of_no_angle(w, re, im, real, imag)
    if name == "sqrt":
        tall, wide = w.is_infinite(im), w.is_infinite(re)
        right = w.compare("GT", re, w.splat(0, re))
        infinity = w.splat(np.inf, re)
        real = w.select(w.either(tall, w.both(wide, right)), infinity, real)
        imag = w.select(w.either(tall, w.both(wide, w.invert(right))), infinity, imag)
    if name == "log":
        real = w.select(w.either(w.is_infinite(re), w.is_infinite(im)), w.splat(np.inf, real), real)
    if name == "cos":  # cos(x + iy) = conj(cosh(y + ix))
        return real, w.op("negate", imag)
    return (imag, real) if name == "arctan" else (real, imag)  # arctan(x + iy): the parts of arctanh(y + ix) exchanged


def _of_no_angle(w: Writer, re: Value, im: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    """exp where the angle is infinite or NaN: the magnitude alone counts where it is 0 or infinite."""
    lost = w.invert(w.op("is_finite", im, dtype=BOOL))
    none = w.both(lost, w.compare("EQ", re, w.splat(-np.inf, re)))
    infinite = w.both(lost, w.compare("EQ", re, w.splat(np.inf, re)))
    real = w.select(none, w.splat(0, re), w.select(infinite, w.splat(np.inf, re), real))
    return real, w.select(none, w.splat(0, re), imag)


def _has_sign(w: Writer, x: Value) -> Value:
    """Whether the sign bit is set, of zeros too."""
    bits = w.op("bitcast_convert", x, dtype=I64 if x.dtype == np.float64 else I32)
    return w.compare("LT", bits, w.splat(0, bits))
