"""Collectives over the batch axis: sums over axis 0, the batch itself, its rows in another order, an arange.

    y = x / lax.psum(x, "i")                 y = x / np.sum(x, axis=0)
    y = x @ lax.all_gather(x, "i")           y = x @ x
    y = lax.ppermute(x, "i", ring)           y = np.concatenate([x[3:], x[:-1]])
    i = lax.axis_index("i")                  i = np.arange(4)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Function, Statement, Var, blocks_of, const, walk
from ..ops.core import Attrs, CollectiveAttrs, Gather, Run
from ..rewrite import spelled_out, substituted
from .rules import Value, spread

FEW_PIECES = 3  # slices that are written side by side before an index array reads better


def told(b: Builder, s: Apply, values: Sequence[Value], size: int) -> Atom:
    """What the elements learn: one value for all of psum and all_gather, else a value with the batch axis in front."""
    assert isinstance(s.attrs, CollectiveAttrs)
    match s.op.name:
        case "axis_index":
            return make.iota(b, size)
        case "psum":
            (v,) = values
            total = make.reduce(b, ops.SUM, v.atom, (0,)) if v.batched else make.multiply(b, v.atom, size)
            return make.astype(b, total, v.aval.dtype)
        case "all_gather":
            return spread(b, values[0], size)
        case "ppermute":
            return _permuted(b, spread(b, values[0], size), s.attrs.pairs, size)
    raise AssertionError(s.op.name)


def places_first(function: Function) -> Function:
    """Positions that branches and loops ask for, asked for in front of them: they tell nobody anything, so elements
    that go different ways may ask."""
    asked = (t for s in function.body.statements for block in blocks_of(s) for t in walk(block) if _is_place(t))
    first: dict[Attrs, Apply] = {}
    found: dict[Var, Atom] = {}
    for s in asked:
        (t,) = s.targets
        found[t] = first.setdefault(s.attrs, replace(s, targets=(Var(t.hint, t.aval),))).targets[0]
    if not found:
        return function
    body = substituted(spelled_out(function.body, lambda s: () if s.targets[0] in found else (s,)), found)
    return replace(function, body=replace(body, statements=(*first.values(), *body.statements)))


def _is_place(s: Statement) -> TypeGuard[Apply]:
    return isinstance(s, Apply) and s.op is ops.AXIS_INDEX


def _permuted(b: Builder, x: Atom, pairs: Sequence[tuple[int, int]], size: int) -> Atom:
    """The rows of `x` where they are sent; zeros where nothing is."""
    senders = {destination: source for source, destination in pairs}
    rows = [senders.get(k) for k in range(size)]
    pieces: list[list[int | None]] = []
    for k, row in enumerate(rows):
        joins = k > 0 and (row is None) == (rows[k - 1] is None) and (row is None or row == (rows[k - 1] or 0) + 1)
        pieces[-1].append(row) if joins else pieces.append([row])
    if None not in rows and len(pieces) > FEW_PIECES and size <= make.FOLD_LIMIT:
        order = const(np.array(rows, np.int64))
        return make.index(b, x, (Gather(0), *(Run(0, n) for n in x.aval.shape[1:])), (order,))
    parts = [_piece(b, x, piece[0], len(piece)) for piece in pieces]
    return parts[0] if len(parts) == 1 else make.concatenate(b, parts, 0)


def _piece(b: Builder, x: Atom, start: int | None, count: int) -> Atom:
    rest = x.aval.shape[1:]
    if start is None:
        return make.zeros(b, (count, *rest), x.aval.dtype)
    return make.index(b, x, (Run(start, count), *(Run(0, n) for n in rest)))
