"""Logistic functions, before they are derived: the slope is an expression of the value.

    s = 1.0 / (1.0 + np.exp(-z))        d_z = d_s * s * (1.0 - s)

It has no quotients, and no exponential that may be infinite: where z is far below 0, inf / inf would be NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Const, Function, Statement, Var, is_number, walk
from ..ops.core import NO_ATTRS
from ..ops.implicit import SLOPED
from ..ops.selection import STOP_GRADIENT
from ..rewrite import spelled_out
from .steepness import Makers


def smooth_logistics(function: Function) -> Function:
    """The program with each logistic function marked with its slope."""
    made = {t: s for s in walk(function.body) if isinstance(s, Apply) for t in s.targets}
    exponents = {s.targets[0]: u for s in made.values() if (u := _exponent(s, made)) is not None}
    if not exponents:
        return function

    def each(s: Apply) -> Sequence[Statement]:
        u = exponents.get(s.targets[0]) if s.targets else None
        return (s,) if u is None else _marked(s, u, made)

    return replace(function, body=spelled_out(function.body, each))


def _exponent(s: Apply, makers: Makers) -> Var | None:
    """u of `1.0 / (1.0 + np.exp(u))`."""
    target = s.targets[0]
    if s.op is not ops.DIVIDE or not is_number(s.args[0], 1) or target.aval.dtype.kind != "f" or target.aval.weak:
        return None
    total = makers.get(s.args[1]) if isinstance(s.args[1], Var) else None
    if total is None or total.op is not ops.ADD:
        return None
    for one, other in (total.args, total.args[::-1]):
        power = makers.get(other) if isinstance(other, Var) else None
        if is_number(one, 1) and power is not None and power.op is ops.EXP:
            return _like(target, power.args[0])
    return None


def _like(target: Var, u: Atom) -> Var | None:
    alike = (u.aval.shape, u.aval.dtype) == (target.aval.shape, target.aval.dtype)
    return u if isinstance(u, Var) and alike else None


def _marked(s: Apply, u: Var, makers: Makers) -> Sequence[Statement]:
    b = Builder(s.span)
    (target,) = s.targets
    value, fixed = (Var(target.hint, target.aval) for _ in range(2))
    x, factor = _times(u, makers)
    falls = factor > 0.0
    slope = make.multiply(b, value, make.subtract(b, value, 1.0) if falls else make.subtract(b, 1.0, value))
    if abs(factor) != 1.0:
        slope = make.multiply(b, slope, abs(factor))
    return (
        replace(s, targets=(value,)), *b.statements,
        replace(s, targets=(fixed,), op=STOP_GRADIENT, args=(value,), attrs=NO_ATTRS),
        replace(s, op=SLOPED, args=(fixed, x, slope), attrs=NO_ATTRS),
    )  # fmt: skip


def _times(u: Var, makers: Makers) -> tuple[Atom, float]:
    """x and c of an exponent `-x` or `c * x`."""
    made = makers.get(u)
    if made is not None and made.op is ops.NEGATIVE:
        return made.args[0], -1.0
    if made is not None and made.op is ops.MULTIPLY:
        for c, x in (made.args, made.args[::-1]):
            number = c.value if isinstance(c, Const) and c.aval.weak else None
            if isinstance(number, int | float) and number < 0.0 and x.aval.dtype == u.aval.dtype:
                return x, float(number)
    return u, 1.0
