"""Complex functions with the signs that C99 gives zeros, which also say on which side of a cut an argument lies.

    np.sqrt(-1 - 0j)            -1j: XLA's own function loses the sign of the zero and gives 1j

XLA's functions are right where real and imaginary part are positive. The other quadrants follow by symmetry: all of
these have f(conj z) = conj f(z), the odd ones f(-z) = -f(z), the even ones f(-z) = f(z).
"""

from __future__ import annotations

import numpy as np

from ..translator import ops
from ..translator.ir import DType
from .emit_elementwise import Rule
from .writer import I32, I64, Value, Writer, real_dtype

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
    if name == "cos":  # cos(x + iy) = conj(cosh(y + ix))
        return real, w.op("negate", imag)
    return (imag, real) if name == "arctan" else (real, imag)  # arctan(x + iy): the parts of arctanh(y + ix) exchanged


def _has_sign(w: Writer, x: Value) -> Value:
    """Whether the sign bit is set, of zeros too."""
    bits = w.op("bitcast_convert", x, dtype=I64 if x.dtype == np.float64 else I32)
    return w.compare("LT", bits, w.splat(0, bits))
