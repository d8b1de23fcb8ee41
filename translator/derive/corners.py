"""The corner of a norm: where `s` is a sum of squares, sqrt(s) has derivative 0 at 0, as np.linalg.norm has.

    r = np.sqrt(x**2 + y**2)         d_x = d_r / np.where(r == 0, np.inf, r) * x

The squares are zero there with their derivatives, so any number would do for the singular partial, but 0 * inf is NaN.
The square root of anything else keeps its infinite derivative at 0.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Const, Var
from ..named import guarded_root
from ..ops.core import NO_ATTRS, Contract, Index, Reshape
from .linear import is_square
from .steepness import Makers, may_be_steep_at_zero


def as_root(s: Apply, makers: Makers) -> Apply:
    """A norm, which stands as a guarded root, as the root: it needs no guard where nothing behind it is steep."""
    squares = guarded_root(s, makers.get)
    if squares is None or squares.aval.dtype.kind != "f" or not is_flat_at_zero(squares, makers, {}):
        return s
    return s if may_be_steep_at_zero(squares, makers) else Apply(s.targets, ops.SQRT, (squares,), NO_ATTRS, s.span)


def at_corner(b: Builder, s: Apply, makers: Makers) -> Apply:
    """The statement as its derivative rule shall see it: such a root, or what a power like it is of, infinite at 0."""
    if s.op is not ops.SQRT and not (s.op is ops.POWER and _is_root(s.args[1])):
        return s
    x, root = s.args[0], s.targets[0]
    if root.aval.dtype.kind != "f" or not is_flat_at_zero(_dividend(x, makers), makers, {}):
        return s
    if s.op is ops.SQRT:
        return dataclasses.replace(s, targets=(_infinite_at_zero(b, root),))
    return dataclasses.replace(s, args=(_infinite_at_zero(b, x), *s.args[1:]))


def _dividend(a: Atom, makers: Makers) -> Atom:
    """What a mean divides by its count: a quotient of any sign is 0 where the dividend is, with its derivative."""
    made = makers.get(a) if isinstance(a, Var) else None
    return _dividend(made.args[0], makers) if made is not None and made.op is ops.DIVIDE else a


def _infinite_at_zero(b: Builder, x: Atom) -> Any:
    return make.where(b, make.equal(b, x, 0.0), np.inf, x)


def _is_root(a: Atom) -> bool:
    return isinstance(a, Const) and not a.aval.shape and a.aval.dtype.kind == "f" and bool(0.5 <= a.value < 1)


def is_flat_at_zero(a: Atom, makers: Makers, known: dict[Var, bool]) -> bool:
    """Whether `a` is seen to be nowhere negative, and to have derivative 0 where it is 0."""
    made = makers.get(a) if isinstance(a, Var) else None
    if made is None or a.aval.dtype.kind != "f":
        return False
    target = made.targets[0]
    if target not in known:
        known[target] = _makes_flat(made, makers, known)
    return known[target]


def _makes_flat(s: Apply, makers: Makers, known: dict[Var, bool]) -> bool:
    op, args = s.op, s.args
    flat = [is_flat_at_zero(a, makers, known) for a in args]
    if op is ops.SQUARE:
        return True
    if op is ops.MULTIPLY:
        return args[0] is args[1] or all(f or _is_positive(a) for f, a in zip(flat, args, strict=True))
    if op is ops.DIVIDE:
        return flat[0] and _is_positive(args[1])
    if op is ops.POWER:
        return _is_even(args[1]) or (flat[0] and isinstance(args[1], Const) and bool(np.all(args[1].value >= 1)))
    if op in (ops.ADD, ops.SUM):
        return all(flat)
    if op is ops.WHERE:
        return all(f or _is_positive(a, or_zero=True) for f, a in zip(flat[1:], args[1:], strict=True))
    if isinstance(op, Contract):
        return is_square(s)
    return isinstance(op, Index | Reshape) and flat[0]


def _is_positive(a: Atom, or_zero: bool = False) -> bool:
    if not isinstance(a, Const) or a.aval.dtype.kind not in "iuf":
        return False
    return bool(np.all(a.value >= 0 if or_zero else a.value > 0))


def _is_even(a: Atom) -> bool:
    return isinstance(a, Const) and a.aval.dtype.kind in "iuf" and bool(np.all((a.value % 2 == 0) & (a.value > 0)))
