"""Whether the slope of what made a value may be infinite: behind a choice a cotangent of zero is then not enough.

    y = np.where(x > 0, np.sqrt(x), 0.0)         steep: at x = 0 the cotangent 0.0 of the root meets the slope inf
    y = np.where(x > 0, np.sin(x) * x, 0.0)      not steep: slopes of what is finite here are finite
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .. import ops
from ..ir import Apply, Atom, Const, Var
from ..ops.core import Cast, Concatenate, Contract, Elementwise, Index, Linalg, Reshape, is_tame

Makers = Mapping[Var, Apply]

# Where their values are finite, so is what they are made of, and their slopes.
_FINITE_THROUGHOUT = {ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.NEGATIVE, ops.SQUARE, ops.SUM, ops.SIN, ops.COS, ops.TAN}
_Carrier = Contract | Index | Reshape | Concatenate | Cast


def may_be_steep(a: Atom, makers: Makers) -> bool:
    """Whether some slope of what made `a` may be infinite."""
    waiting, seen = [a], set[Atom]()
    while waiting:
        x = waiting.pop()
        made = makers.get(x) if isinstance(x, Var) and x not in seen else None
        seen.add(x)
        if made is None or x.aval.dtype.kind not in "fc":
            continue
        if isinstance(made.op, Linalg) or (isinstance(made.op, Elementwise) and not _is_tame(made, makers)):
            return True
        waiting += made.args
    return False


def _finite(a: Atom, makers: Makers) -> bool:
    """Whether a slope is finite: not of what comes from outside, where infinities and NaN stand for missing data."""
    return bool(np.all(np.isfinite(a.value))) if isinstance(a, Const) else a in makers or a.aval.dtype.kind in "biu"


def _is_tame(s: Apply, makers: Makers) -> bool:
    match s.op, s.args:
        case Elementwise(name="divide"), (_, Const() as by):
            return bool(np.all(by.value != 0))
        case Elementwise(name="multiply"), (x, y) if x is not y:
            return all(_finite(factor, makers) for factor, other in ((x, y), (y, x)) if isinstance(other, Var))
        case Elementwise(name="power"), (_, Const() as to):
            return bool(np.all((np.real(to.value) >= 1) & (to.value == np.round(to.value))))  # x**1.5 has none below 0
        case op, _:
            return is_tame(op)


def may_be_steep_at_zero(a: Atom, makers: Makers) -> bool:
    """Whether a slope of what made `a` may be infinite where `a` is 0, which says that factors in it are finite."""
    waiting, seen = [(a, True)], set[tuple[Atom, bool]]()
    while waiting:
        x, finite = waiting.pop()
        made = makers.get(x) if isinstance(x, Var) and (x, finite) not in seen else None
        seen.add((x, finite))
        if made is None or x.aval.dtype.kind not in "fc":
            continue
        if finite and made.op is ops.DIVIDE:
            waiting += [(made.args[0], True), (made.args[1], False)]
        elif finite and (made.op in _FINITE_THROUGHOUT or isinstance(made.op, _Carrier)):
            waiting += [(y, True) for y in made.args]
        elif isinstance(made.op, Linalg) or (isinstance(made.op, Elementwise) and not _is_tame(made, makers)):
            return True
        else:
            waiting += [(y, False) for y in made.args]
    return False
