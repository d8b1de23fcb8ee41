"""Several statements for which NumPy has one name, which reads as those statements again.

    s = np.sum(x * x)                                    n = np.linalg.norm(x)
    z = s == 0
    n = np.where(z, 0.0, np.sqrt(np.where(z, 1.0, s)))

What the name makes needless is dead code then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .. import ops
from ..ir import Apply, Atom, Const, Function, Var, walk
from ..ops.core import Op, Reduce, ReduceAttrs
from ..ops.structural import same, zero
from ..rewrite import rebuilt

# For the printer only: a program has the statements.
NORM = Reduce(name="norm", numpy="np.linalg.norm", evaluate=np.linalg.norm, dtype=same, identity=zero, stablehlo="")


def with_idioms(function: Function) -> Function:
    makers = {s.targets[0]: s for s in walk(function.body) if isinstance(s, Apply) and len(s.targets) == 1}
    return replace(function, body=rebuilt(function.body, lambda s: _norm(s, makers.get) or s))


def _norm(s: Apply, maker: Callable[[Var], Apply | None]) -> Apply | None:
    """np.linalg.norm of real numbers along one axis, or of a whole array of one or two."""

    def made(a: Atom, op: Op) -> tuple[Atom, ...] | None:
        by = maker(a) if isinstance(a, Var) else None
        return by.args if by is not None and by.op is op else None

    if s.op is not ops.WHERE or not _is(s.args[1], 0.0):
        return None
    is_zero, root = made(s.args[0], ops.EQUAL), made(s.args[2], ops.SQRT)
    guarded = made(root[0], ops.WHERE) if root is not None else None
    if is_zero is None or guarded is None or guarded[0] is not s.args[0] or not _is(guarded[1], 1.0):
        return None
    total = guarded[2]
    summed = maker(total) if isinstance(total, Var) and total is is_zero[0] and _is(is_zero[1], 0) else None
    if summed is None or summed.op is not ops.SUM or not isinstance(summed.attrs, ReduceAttrs):
        return None
    square = made(summed.args[0], ops.MULTIPLY)
    if square is None or square[0] is not square[1] or total.aval != s.targets[0].aval:
        return None
    x, attrs = square[0], summed.attrs
    every = len(attrs.axes) == x.aval.ndim <= 2 and not attrs.keepdims
    if x.aval.dtype.kind != "f" or not (every or len(attrs.axes) == 1):
        return None
    return Apply(s.targets, NORM, (x,), attrs, s.span)


def _is(a: Atom, number: float) -> bool:
    return isinstance(a, Const) and a.aval.shape == () and bool(a.value == number)
