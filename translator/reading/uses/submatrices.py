"""Linear algebra of a principal submatrix a[np.ix_(m, m)], in what is differentiated or batched.

    np.linalg.det(a[m][:, m])           np.linalg.det(np.where(m[:, None] & m, a, np.eye(n)))
    np.linalg.solve(a[m][:, m], b[m])   np.linalg.solve(the same, np.where(m, b, 0.0))[m]

Rows and columns of the identity stand for what is not selected: they meet nothing that is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import make
from ..core.context import Context
from ..core.values import Masked, Part, Ref, Value
from ..facts.runs import width_of
from ..parts.agreeing import select_alike
from ..parts.ranked import compressed
from ..parts.selection import condition, filled, shadowed

_NUMBERS = (np.linalg.det, np.linalg.slogdet)
_DIAGONALS = ("diagonal", np.diagonal, np.diag)
_MATRICES = (np.linalg.inv, np.linalg.cholesky)


def call(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], again: Callable[..., Value]) -> Value:
    """f of a selection; NotImplemented for other functions, and for selections that are no principal submatrix."""
    if not ctx.transforms or kwargs or not args or not isinstance(args[0], Masked):
        return NotImplemented
    if f is np.diag and len(args) == len(args[0].parts) == args[0].whole.aval.ndim == 1:
        return Masked(again([_beside_zeros(ctx, args[0])], {}), args[0].parts * 2)
    known = any(f is g for g in (*_NUMBERS, *_MATRICES, np.trace, np.linalg.solve)) or f == "trace" or f in _DIAGONALS
    part = _selected(ctx, args[0]) if known else None
    if part is None:
        return NotImplemented
    if any(f is g for g in _NUMBERS) and len(args) == 1:
        return again([_beside_identity(ctx, args[0])], {})
    if any(f is g for g in _MATRICES) and len(args) == 1:
        return Masked(again([_beside_identity(ctx, args[0])], {}), (part, part))
    if f in _DIAGONALS and len(args) == 1:
        copied = Ref(ctx.cell(ctx.read(args[0].whole)))
        diagonal = again([copied], {})
        for copy in (copied, diagonal):
            shadowed(args[0], copy, "it is the diagonal of a selection")
        return Masked(diagonal, (part,))
    if f in ("trace", np.trace) and len(args) == 1:
        return again([_beside_zeros(ctx, args[0])], {})
    if f is np.linalg.solve and len(args) == 2:
        return _solved(ctx, args[0], args[1], part, again)
    return NotImplemented


def _selected(ctx: Context, s: Masked) -> Part | None:
    """What both axes of a square matrix select."""
    if len(s.parts) != 2 or s.whole.aval.ndim != 2 or s.parts[0] is None or s.parts[1] is None:
        return None
    n, m = s.whole.aval.shape
    return s.parts[0] if n == m and select_alike(ctx, *s.parts) else None


def _beside_identity(ctx: Context, s: Masked) -> Ref:
    x = ctx.read(s.whole)
    identity = make.lift(np.eye(x.aval.shape[0], dtype=x.aval.dtype))
    return Ref(ctx.cell(make.where(ctx.b, condition(ctx, s), x, identity)))


def _beside_zeros(ctx: Context, s: Masked) -> Ref:
    return Ref(ctx.cell(filled(ctx, condition(ctx, s), ctx.read(s.whole), 0)))


def _solved(ctx: Context, a: Masked, y: Value, part: Part, again: Callable[..., Value]) -> Value:
    if not isinstance(y, Masked) or len(y.parts) > 2 or any(width_of(p) != 1 for p in y.parts):
        return NotImplemented
    if not select_alike(ctx, part, y.parts[0]):
        front, right = compressed(ctx, a), compressed(ctx, y)
        if front is a and right is y:
            return NotImplemented
        return _solved(ctx, front, right, front.parts[0], again)
    given = Ref(ctx.cell(filled(ctx, condition(ctx, y, [0]), ctx.read(y.whole), 0)))
    return Masked(again([_beside_identity(ctx, a), given], {}), y.parts)
