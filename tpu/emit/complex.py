"""Complex functions with the signs that C99 gives zeros, which also say on which side of a cut an argument lies.

    np.sqrt(-1 - 0j)            -1j: XLA's own function loses the sign of the zero and gives 1j

XLA's functions are right where real and imaginary part are positive. The other quadrants follow by symmetry: all of
these have f(conj z) = conj f(z), the odd ones f(-z) = -f(z), the even ones f(-z) = f(z).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...translator import ops
from ...translator.ir import DType
from . import complex_values, hyperbolic
from .elementwise import Rule
from .rounding import hidden
from .writer import BOOL, F32, F64, Value, Writer, real_dtype

_SYMMETRY = {
    **dict.fromkeys(("sqrt", "exp", "log", "log1p", "expm1", "arccos", "arccosh"), "none"),
    **dict.fromkeys(("sin", "tan", "sinh", "tanh", "arcsin", "arctan", "arcsinh", "arctanh"), "odd"),
    **dict.fromkeys(("cos", "cosh"), "even"),
}
_HYPERBOLIC = {"sin": "sinh", "sinh": "sinh", "cos": "cosh", "cosh": "cosh"}
_SWAPPED = ("sin", "cos", "tan", "arctan")  # sin(x + iy): the parts of sinh(y + ix) exchanged
_LARGE = {F64: 709.0, F32: 88.0}  # exp of more than this, and a bit, is infinite


def with_signs(name: str, rule: Rule) -> Rule:
    """The rule of a complex function of one argument, asked in one quadrant or half-plane only."""
    symmetry = _SYMMETRY.get(name)
    if symmetry is None:
        return rule

    def whole(w: Writer, z: Value) -> Value:
        part = real_dtype(z.dtype)
        re, im = w.op("real", z, dtype=part), w.op("imag", z, dtype=part)
        left, below = complex_values.has_sign(w, re), complex_values.has_sign(w, im)
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


def power(w: Writer, x: Value, y: Value) -> Value:
    return complex_values.power(w, x, y, with_signs("exp", _exp), with_signs("log", _log))


_OF_TWO: dict[str, Rule] = {"divide": complex_values.quotient, "power": power, "float_power": power}


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
    ratio = hidden(w, w.divide(small, large))  # XLA would divide small by large * size, which may be too large
    size = w.add(large, w.multiply(small, ratio))
    along, across = w.divide(one, size), w.divide(ratio, size)
    return w.select(tall, across, along), w.op("negate", w.select(tall, along, across))


def _sign(w: Writer, re: Value, im: Value) -> tuple[Value, Value]:
    """z / |z|; of one infinite part its sign alone, of two NaN."""
    size = magnitude(w, w.op("complex", re, im, dtype=_COMPLEX[re.dtype]))
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


def constant_power(w: Writer, z: Value, exponent: float) -> Value | None:
    """The powers for which NumPy calls other functions."""
    match exponent:
        case 1:
            return z
        case 2:
            return w.multiply(z, z)
        case 0.5:
            return with_signs("sqrt", _sqrt)(w, z)
        case -1:
            rule = by_parts("reciprocal")
            return rule and rule(w, z)
    return None


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
    """XLA's own sines and cosines lose small numbers in differences of exponentials, its arctan signs of zeros, others
    digits near zeros and poles.
    """
    x, y = (im, re) if name in _SWAPPED else (re, im)
    if name in _HYPERBOLIC:
        real, imag = _products(w, _HYPERBOLIC[name], x, y)
    elif name in ("tan", "tanh"):
        real, imag = complex_values.tanh(w, x, y)
    elif name == "expm1":
        real, imag = complex_values.expm1(w, x, y)
    else:
        own = w.op(ops.ARCTANH.stablehlo, w.op("complex", x, y, dtype=dtype), dtype=dtype) if name == "arctan" else None
        z = own or rule(w, w.op("complex", re, im, dtype=dtype))
        real, imag = (w.op(part, z, dtype=re.dtype) for part in ("real", "imag"))
        real = complex_values.log(w, x, y, real) if name == "log" else real
    if name in _ENDS:
        real, imag = _ENDS[name](w, x, y, real, imag)
    if name == "cos":  # cos(x + iy) = conj(cosh(y + ix))
        return real, w.op("negate", imag)
    return (imag, real) if name in _SWAPPED else (real, imag)


def _products(w: Writer, name: str, x: Value, y: Value) -> tuple[Value, Value]:
    """sinh or cosh of x + iy: the real functions of x times those of y, for large x with the rest of exp(x) last."""
    most = w.splat(_LARGE[x.dtype], x)
    rest = w.op("exponential", w.op("maximum", w.subtract(x, most), w.splat(0, x)))
    odd, even = (_real_rule(part, x.dtype)(w, w.op("minimum", x, most)) for part in ("sinh", "cosh"))
    first, second = (odd, even) if name == "sinh" else (even, odd)
    real, imag = w.multiply(first, w.op("cosine", y)), w.multiply(second, w.op("sine", y))
    return w.multiply(real, rest), w.multiply(imag, rest)


def _real_rule(name: str, dtype: DType) -> Rule:
    rule = hyperbolic.rule_for(name, dtype)
    assert rule is not None
    return rule


# ---- where a part is 0, infinite or NaN: (x, y, parts of the value) -> parts, x and y without signs ------


def _exp_ends(w: Writer, x: Value, y: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    """Where the angle is infinite or NaN the magnitude alone counts, if it is 0 or infinite."""
    lost = w.invert(w.op("is_finite", y, dtype=BOOL))
    none = w.both(lost, w.compare("EQ", x, w.splat(-np.inf, x)))
    infinite = w.both(lost, w.compare("EQ", x, w.splat(np.inf, x)))
    real = w.select(none, w.splat(0, x), w.select(infinite, w.splat(np.inf, x), real))
    return real, w.select(none, w.splat(0, x), imag)


def _expm1_ends(w: Writer, x: Value, y: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    """NumPy multiplies exp(x) by sin(y), which is 0."""
    beyond = w.both(_is_zero(w, y), w.invert(w.op("is_finite", real, dtype=BOOL)))
    real = w.select(w.both(_is_zero(w, x), _is_zero(w, real)), x, real)
    return real, w.select(beyond, w.splat(np.nan, imag), imag)


def _sqrt_ends(w: Writer, x: Value, y: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    tall, wide = w.is_infinite(y), w.is_infinite(x)
    right = w.compare("GT", x, w.splat(0, x))
    infinity = w.splat(np.inf, x)
    real = w.select(w.either(tall, w.both(wide, right)), infinity, real)
    return real, w.select(w.either(tall, w.both(wide, w.invert(right))), infinity, imag)


def _log_ends(w: Writer, x: Value, y: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    return w.select(w.either(w.is_infinite(x), w.is_infinite(y)), w.splat(np.inf, real), real), imag


def _sinh_ends(w: Writer, x: Value, y: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    return w.select(_is_far(w, x, y), x, _no_nan_of_zero(w, x, real)), _no_nan_of_zero(w, y, imag)


def _cosh_ends(w: Writer, x: Value, y: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    return w.select(_is_far(w, x, y), x, real), _no_nan_of_zero(w, x, _no_nan_of_zero(w, y, imag))


def _tanh_ends(w: Writer, x: Value, y: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    return _no_nan_of_zero(w, x, real), _no_nan_of_zero(w, y, imag)


def _arcsin_ends(w: Writer, x: Value, y: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    lost, nan = _is_lost(w, x, y), w.splat(np.nan, x)
    return w.select(lost, w.select(_is_zero(w, x), x, nan), real), w.select(lost, nan, imag)


def _arcsinh_ends(w: Writer, x: Value, y: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    imag, real = _arcsin_ends(w, y, x, imag, real)
    return real, imag


def _arccos_ends(w: Writer, x: Value, y: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    lost, nan = _is_lost(w, x, y), w.splat(np.nan, x)
    angle = w.select(_is_zero(w, x), w.splat(np.pi / 2, x), nan)
    return w.select(lost, angle, real), w.select(lost, nan, imag)


def _arccosh_ends(w: Writer, x: Value, y: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    imag, real = _arccos_ends(w, x, y, imag, real)
    return real, imag


def _arctanh_ends(w: Writer, x: Value, y: Value, real: Value, imag: Value) -> tuple[Value, Value]:
    """XLA's has an angle for NaN too."""
    tall = w.is_infinite(y)
    nowhere = w.both(w.is_nan(y), _is_zero(w, x))
    imag = w.select(w.either(w.is_nan(x), w.is_nan(y)), w.splat(np.nan, imag), imag)
    imag = w.select(tall, w.splat(np.pi / 2, imag), imag)
    return w.select(w.either(tall, nowhere), w.splat(0, real), real), imag


def _no_nan_of_zero(w: Writer, x: Value, product: Value) -> Value:
    """A product of which x is a factor, without NaN where x is 0: there the other factor does not count."""
    return w.select(w.both(_is_zero(w, x), w.is_nan(product)), x, product)


def _is_zero(w: Writer, x: Value) -> Value:
    return w.compare("EQ", x, w.splat(0, x))


def _is_far(w: Writer, x: Value, y: Value) -> Value:
    """Whether x is infinite, and the angle y infinite or NaN."""
    return w.both(w.is_infinite(x), w.invert(w.op("is_finite", y, dtype=BOOL)))


def _is_lost(w: Writer, x: Value, y: Value) -> Value:
    """Whether one is NaN, and none infinite."""
    infinite = w.either(w.is_infinite(x), w.is_infinite(y))
    return w.both(w.either(w.is_nan(x), w.is_nan(y)), w.invert(infinite))


_Ends = Callable[[Writer, Value, Value, Value, Value], tuple[Value, Value]]
_ENDS: dict[str, _Ends] = {
    "exp": _exp_ends,
    "expm1": _expm1_ends,
    "sqrt": _sqrt_ends,
    "log": _log_ends,
    "log1p": _log_ends,
    "sin": _sinh_ends,
    "sinh": _sinh_ends,
    "cos": _cosh_ends,
    "cosh": _cosh_ends,
    "tan": _tanh_ends,
    "tanh": _tanh_ends,
    "arcsin": _arcsin_ends,
    "arcsinh": _arcsinh_ends,
    "arccos": _arccos_ends,
    "arccosh": _arccosh_ends,
    "arctan": _arctanh_ends,
    "arctanh": _arctanh_ends,
}
