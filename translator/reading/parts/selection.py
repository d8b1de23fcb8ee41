"""Selections whose size only the run knows, x[mask] and x[lo:hi]: computed on the whole array, under a mask.

    s = np.sum(x[lo:hi])           s = np.sum(np.where((k >= lo) & (k < hi), x, 0.0))        k = np.arange(n)
    x[lo:hi] *= 2                  x = np.where((k >= lo) & (k < hi), x * 2, x)

A selection is an array and what each axis of the result takes of it: all, a run between two bounds, or the True places
of a mask. Operations on selections act on the whole arrays where all agree on the parts. What cannot be done so asks
for the size (`concrete`): the loop around is then unrolled, or the function refused.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ... import make
from ...errors import CutError
from ...ir import Atom, Var
from ..core.context import Context
from ..core.demand import LENGTH, affine, demand, difference, interval, interval_of, plus, scaled
from ..core.values import Bounds, Masked, Part, Places, Ref, Value, is_runtime
from ..facts.contents import known_arrays
from ..facts.runs import count, end_of, width_of
from .indexing import LEAVES, indexed, same_mask, strictly

_WHY = "the size of the selection is not known before the run"
_INSTEAD = "use np.where(mask, x, neutral) in its place, e.g. np.sum(np.where(mask, x, 0.0))"
_ELSEWHERE = "it is a part of what a mask has selected, or a view of it"


def concrete(ctx: Context, s: Masked, node: ast.AST, what: str) -> Ref:
    """The selection as an array, where its size is known or can be had; raises Restart or UnsupportedError if not."""
    if s.strict is not None and s.content is None:
        return strict_of(ctx, s, node)
    if any(isinstance(p, Places) for p in s.parts):
        masks = masks_of(ctx, s)
        if masks is None or any(isinstance(p, Bounds) for p in s.parts):
            refuse(ctx, node, what)
        return _at_true(ctx, s, masks, node)
    ends = [v for p in s.parts if isinstance(p, Bounds) for v in (p.start, p.stop, p.step) if type(v) is Var]
    try:
        return demand(ctx, ends, node, LENGTH)
    except CutError:
        if s.strict is None or not s.is_as_made:
            s = strict_view(ctx, s, node)
        if s.strict is None:
            raise
    return strict_of(ctx, s, node)


def strict_view(ctx: Context, s: Masked, node: ast.AST) -> Masked:
    """The selection with `strict` a view of its whole, for stores and what they leave."""
    strict, leaves = strictly(ctx, s.whole, s.parts, node)
    return dataclasses.replace(s, strict=strict, leaves=leaves, content=None)


def strict_of(ctx: Context, s: Masked, node: ast.AST) -> Ref:
    """The slice as the array that it is inside its axis: elsewhere it is shorter, whoever asks only for its length."""
    assert s.strict is not None
    if s.leaves is not None:
        ctx.at(node)
        make.raise_if(ctx.b, s.leaves, IndexError, LEAVES)
    return s.strict


def _at_true(ctx: Context, s: Masked, masks: Sequence[np.ndarray[Any, Any]], node: ast.AST) -> Ref:
    """The selection where the masks hold these values: one gather for each, the last first, as each joins its axes."""
    x, feed = s.whole, iter(reversed(masks))
    for i in reversed(range(len(s.parts))):
        if isinstance(s.parts[i], Places):
            x = indexed(ctx, x, true_places(s, i, next(feed)), node)
    made: Ref = x
    shadowed(s, made)
    return made


def shadowed(s: Masked, copy: Ref, why: str = _ELSEWHERE) -> None:
    """What is a view in NumPy is a copy of elements of the selection: none may be written while the other is read."""
    copy.cell.ambiguous = why
    for cell in s.whole.cell.group:
        cell.shadows = (*cell.shadows, copy.cell)


def masks_of(ctx: Context, s: Masked) -> list[np.ndarray[Any, Any]] | None:
    """The masks of the selection, where they are known."""
    return known_arrays(ctx, [p.mask for p in s.parts if isinstance(p, Places)])


def true_places(s: Masked, i: int, mask: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    return (*(slice(None),) * sum(map(width_of, s.parts[:i])), *np.nonzero(mask))


def refuse(ctx: Context, node: ast.AST, what: str) -> NoReturn:
    ctx.cut(node, what, why=_WHY, instead=_INSTEAD)


# ---- what is selected ----------------------------------------------------------------------------


def condition(ctx: Context, s: Masked, chosen: Sequence[int] | None = None) -> Atom:
    """The condition of the selection: a bool array that broadcasts against the whole. `chosen`: only these parts."""
    found: Atom | None = None
    axis, ndim = 0, s.whole.aval.ndim
    for i, p in enumerate(s.parts):
        width = width_of(p)
        if p is not None and (chosen is None or i in chosen):
            mask = p.mask if isinstance(p, Places) else _inside(ctx, p)
            around = (*range(axis), *range(axis + width, ndim))
            mask = make.expand_dims(ctx.b, mask, around) if around else mask
            found = mask if found is None else make.logical_and(ctx.b, found, mask)
        axis += width
    return make.lift(np.bool_(True)) if found is None else found


def _inside(ctx: Context, p: Bounds) -> Atom:
    b = ctx.b
    k = make.iota(b, p.n)
    low = ctx.atom(end_of(ctx, p.start, p.n))
    inside = make.logical_and(b, make.greater_equal(b, k, low), make.less(b, k, ctx.atom(end_of(ctx, p.stop, p.n))))
    if type(p.step) is int and p.step == 1:
        return inside
    offset = make.remainder(b, make.subtract(b, k, make.maximum(b, low, 0)), ctx.atom(p.step))
    return make.logical_and(b, inside, make.equal(b, offset, 0))


def filled(ctx: Context, inside: Atom, x: Atom, neutral: Any) -> Atom:
    """`x`, and the neutral element where it does not count."""
    return make.where(ctx.b, inside, x, make.lift(np.array(neutral).astype(x.aval.dtype)[()]))


def may_be_empty(ctx: Context, p: Bounds) -> bool:
    """False where the bounds themselves say that there is an element."""
    (low, high), stop = interval(ctx, p.start), min(p.stop, p.n) if type(p.stop) is int else p.stop
    start, end = affine(ctx, p.start), affine(ctx, stop)
    least = None if start is None or end is None else interval_of(ctx, plus(end, scaled(start, -1)))[0]
    return not (least is not None and least > 0 and low is not None and low >= 0 and high is not None and high < p.n)


def is_front(p: Part) -> bool:
    """Whether it is x[:n]."""
    return isinstance(p, Bounds) and all(type(x) is int and x == k for x, k in ((p.start, 0), (p.step, 1)))


def is_mask(p: Part) -> bool:
    return isinstance(p, Places) and p.mask.aval.size > 0


def same_part(ctx: Context, p: Part, q: Part) -> bool:
    """Whether two axes select the same places, as far as can be seen."""
    if isinstance(p, Places) and isinstance(q, Places):
        return same_mask(ctx, p.mask, q.mask)
    if isinstance(p, Bounds) and isinstance(q, Bounds):
        pairs = ((p.start, q.start), (p.stop, q.stop), (p.step, q.step))
        return p.n == q.n and all(_equal(ctx, x, y) for x, y in pairs)
    return False


def _equal(ctx: Context, x: Value, y: Value) -> bool:
    return x is y or difference(ctx, x, y) == 0 or (type(x) is Var and type(y) is Var and same_mask(ctx, x, y))


def part_of(ctx: Context, s: Masked, key: Masked) -> Masked | None:
    """s[key] for a mask over the same places, as a selection of the whole; None for any other key."""
    if key.whole.aval.dtype.kind != "b" or len(key.parts) > len(s.parts):
        return None
    pairs = list(zip(s.parts, key.parts))
    if s.parts[0] is None or not all(p is q or same_part(ctx, p, q) for p, q in pairs):
        return None
    if key.whole.aval.shape != s.whole.aval.shape[: key.whole.aval.ndim]:
        return None
    inside = condition(ctx, Masked(key.whole, key.parts))
    mask = make.logical_and(ctx.b, inside, ctx.read(key.whole))
    return Masked(s.whole, (Places(mask), *s.parts[len(key.parts) :]))


# ---- attributes ----------------------------------------------------------------------------------


def shape_of(v: Value) -> tuple[int, ...]:
    if is_runtime(v):
        return v.aval.shape  # type: ignore[no-any-return]
    return np.shape(v) if not isinstance(v, list | tuple) else (len(v),)


def attribute(ctx: Context, s: Masked, name: str, node: ast.AST) -> Value:
    """An attribute that is known for a selection; NotImplemented for one that needs the array."""
    match name:
        case "ndim":
            return len(s.parts)
        case "dtype":
            return s.whole.aval.dtype
        case "shape":
            return tuple(count(ctx, s, i) for i in range(len(s.parts)))
        case "size":
            size = ctx.atom(count(ctx, s, 0))
            for i in range(1, len(s.parts)):
                size = make.multiply(ctx.b, size, ctx.atom(count(ctx, s, i)))
            return ctx.wrap(size)
        case "T" if len(s.parts) == 1:
            return s
        case "T" if any(map(is_mask, s.parts)) and all(width_of(p) == 1 for p in s.parts):
            turned = Ref(ctx.cell(make.transpose(ctx.b, ctx.read(s.whole))))
            shadowed(s, turned, "it is a transposed view of a selection")
            return Masked(turned, s.parts[::-1])
    return NotImplemented
