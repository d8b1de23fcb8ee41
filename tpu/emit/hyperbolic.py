"""Hyperbolic functions and log1p for XLA's CPU compiler, whose own are off by up to 90 units in the last place.

    sinh x, cosh x: exp(|x|) / 2 -+ exp(-|x|) / 2; sinh below 1 by its power series, both above 709 by exp(|x| / 2)
    arctanh x:      log1p(2 |x| / (1 - |x|)) / 2

They stay below 4 units, for arrays of every size. Those of float32 are computed in double precision. The 7 units of
XLA's own tanh are left to it: an exponential and a quotient would take three times as long.
"""

from __future__ import annotations

import math

from ...translator.ir import DType
from . import transcendentals
from .transcendentals import Rule, polynomial, widened
from .writer import Value, Writer

_SINH = tuple(1 / math.factorial(2 * k + 1) for k in range(1, 10))  # sinh(x) / x - 1 over x * x; the next 2e-20
_OVERFLOWS = 709.0  # exp of more than this, and a bit, is infinite


def rule_for(name: str, dtype: DType) -> Rule | None:
    """The expansion of an elementwise row on this dtype; None where XLA's own is as good."""
    return _RULES.get((name, dtype.name))


def _exponentials(w: Writer, a: Value) -> tuple[Value, Value, Value]:
    """exp(a) / 2 and exp(-a) / 2 for a <= 709, and exp(a) / 2 for what is above."""
    half = w.splat(0.5, a)
    e = w.op("exponential", w.op("minimum", a, w.splat(_OVERFLOWS, a)))
    root = w.op("exponential", w.multiply(a, half))
    return w.multiply(e, half), w.divide(half, e), w.multiply(w.multiply(root, half), root)


def _sinh(w: Writer, x: Value) -> Value:
    a = w.op("abs", x)
    up, down, far = _exponentials(w, a)
    one = w.splat(1.0, a)
    large = w.select(w.compare("GT", a, w.splat(_OVERFLOWS, a)), far, w.subtract(up, down))
    z = w.multiply(x, x)
    small = w.add(x, w.multiply(w.multiply(x, z), polynomial(w, z, _SINH)))
    signed = w.select(w.compare("LT", x, w.splat(0.0, x)), w.op("negate", large), large)
    return w.select(w.compare("LT", a, one), small, signed)


def _cosh(w: Writer, x: Value) -> Value:
    a = w.op("abs", x)
    up, down, far = _exponentials(w, a)
    return w.select(w.compare("GT", a, w.splat(_OVERFLOWS, a)), far, w.add(up, down))


def _arctanh(w: Writer, x: Value) -> Value:
    a = w.op("abs", x)
    ratio = w.multiply(w.divide(w.add(a, a), w.subtract(w.splat(1.0, a), a)), w.splat(1.0, a))
    y = w.multiply(transcendentals.log1p(w, ratio), w.splat(0.5, a))
    signed = w.select(w.compare("LT", x, w.splat(0.0, x)), w.op("negate", y), y)
    return w.select(w.compare("LT", a, w.splat(2.0**-27, a)), x, signed)


_RULES: dict[tuple[str, str], Rule] = {
    ("sinh", "float64"): _sinh,
    ("sinh", "float32"): widened(_sinh),
    ("cosh", "float64"): _cosh,
    ("cosh", "float32"): widened(_cosh),
    ("arctanh", "float64"): _arctanh,
    ("log1p", "float64"): transcendentals.log1p,
}
