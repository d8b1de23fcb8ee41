"""Squares of roots and of moduli, before they are derived: what is under them has the derivative.

    np.linalg.norm(x) ** 2        d_x = 2.0 * x        np.abs(z) ** 2        d_z = 2.0 * np.conjugate(z)

There is no root in the derivative, and nothing special at 0, where roots and moduli have kinks that their squares have
not. The value stays the square of the root: its last digit may differ from what is under it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Const, Function, Statement, Var, const, walk
from ..named import guarded_root
from ..ops.core import NO_ATTRS
from ..ops.implicit import SLOPED
from ..ops.selection import STOP_GRADIENT
from ..rewrite import spelled_out
from .corners import is_flat_at_zero
from .steepness import Makers


def smooth_squares(function: Function) -> Function:
    """The program with each square of a root or a modulus spelled out over what is under it."""
    made = {t: s for s in walk(function.body) if isinstance(s, Apply) for t in s.targets}
    roots = {s.targets[0]: root for s in made.values() if (root := _root_of(s, made)) is not None}
    if not roots:
        return function

    def each(s: Apply) -> Sequence[Statement]:
        root = roots.get(s.targets[0]) if s.targets else None
        return (s,) if root is None else _smooth(s, root, made)

    return replace(function, body=spelled_out(function.body, each))


def _smooth(s: Apply, root: Apply, makers: Makers) -> Sequence[Statement]:
    inner, b = root.args[0], Builder(s.span)
    if root.op is not ops.ABSOLUTE:
        under: Atom | None = _under(root, makers)
    elif inner.aval.dtype.kind == "f":
        return (replace(s, op=ops.SQUARE, args=(inner,), attrs=NO_ATTRS),)
    else:
        under = make.elementwise(b, ops.REAL, make.multiply(b, inner, make.elementwise(b, ops.CONJUGATE, inner)))
    assert under is not None
    value, fixed = (Var(s.targets[0].hint, s.targets[0].aval) for _ in range(2))
    return (
        replace(s, targets=(value,)), *b.statements,
        replace(s, targets=(fixed,), op=STOP_GRADIENT, args=(value,), attrs=NO_ATTRS),
        replace(s, op=SLOPED, args=(fixed, under, const(1.0)), attrs=NO_ATTRS),
    )  # fmt: skip


def _root_of(s: Apply, makers: Makers) -> Apply | None:
    """What makes the modulus, or the root of a sum of squares, that `s` squares."""
    x = s.args[0] if s.args else None
    if not isinstance(x, Var) or x.aval.weak or not _is_square(s) or s.targets[0].aval != x.aval:
        return None
    root = makers.get(x)
    if root is None or root.op is ops.ABSOLUTE:
        return root if root is not None and root.args[0].aval.dtype.kind in "fc" else None
    return root if _under(root, makers) is not None else None


def _is_square(s: Apply) -> bool:
    if s.op is ops.POWER:
        return isinstance(s.args[1], Const) and s.args[1].aval.shape == () and bool(s.args[1].value == 2)
    return s.op is ops.SQUARE or (s.op is ops.MULTIPLY and s.args[0] is s.args[1])


def _under(root: Apply, makers: Makers) -> Atom | None:
    """The sum of squares of which this is the root."""
    total = root.args[0] if root.op is ops.SQRT else guarded_root(root, makers.get)
    if total is None or total.aval != root.targets[0].aval:
        return None
    return total if is_flat_at_zero(total, makers, {}) else None
