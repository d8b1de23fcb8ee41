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
import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ... import make
from ...errors import CutError
from ...ir import Atom, Var
from ...ops.core import Gather, Run
from ..core.context import Context
from ..core.demand import LENGTH, affine, demand, difference, interval, interval_of, plus, scaled
from ..core.values import FULL, Bounds, Masked, Part, Places, Ref, Value, is_runtime
from ..facts.contents import known_arrays
from ..facts.runs import axes_of, count, end_of, first, width_of
from .indexing import LEAVES, indexed, same_mask, strictly
from .shifting import shifted

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


def may_be_empty(ctx: Context, p: Bounds) -> bool:
    """False where the bounds themselves say that there is an element."""
    (low, high), stop = interval(ctx, p.start), min(p.stop, p.n) if type(p.stop) is int else p.stop
    start, end = affine(ctx, p.start), affine(ctx, stop)
    least = None if start is None or end is None else interval_of(ctx, plus(end, scaled(start, -1)))[0]
    return not (least is not None and least > 0 and low is not None and low >= 0 and high is not None and high < p.n)


# ---- elementwise ---------------------------------------------------------------------------------


def elementwise(ctx: Context, f: Callable[..., Value], operands: Sequence[Value], node: ast.AST, what: str) -> Value:
    """f of the whole arrays, where the selections among the operands agree; of the arrays themselves otherwise."""
    aligned = agreed(ctx, operands)
    if aligned is None:
        return f(*[concrete(ctx, v, node, what) if isinstance(v, Masked) else v for v in operands])
    wholes, parts = aligned
    if all(p is None for p in parts):
        return f(*wholes)
    strict = leaves = None
    selected = [v for v in operands if isinstance(v, Masked)]
    if all(s.strict is not None and s.is_as_made for s in selected):
        strict = Ref(ctx.cell(ctx.atom(f(*[v.strict if isinstance(v, Masked) else v for v in operands]))))
        outside = [s.leaves for s in selected if s.leaves is not None]
        leaves = functools.reduce(functools.partial(make.logical_or, ctx.b), outside) if outside else None
    whole = Ref(ctx.cell(ctx.atom(f(*wholes))))
    return Masked(whole, parts, strict, leaves, content=whole.cell.atom)


def align(ctx: Context, operands: Sequence[Value]) -> tuple[list[Value], tuple[Part, ...]] | None:
    """The operands with whole arrays in place of selections, and the parts of the result; None where they differ."""
    ndims = [len(v.parts) if isinstance(v, Masked) else len(shape_of(v)) for v in operands]
    ndim = max(ndims)
    parts: list[Part] = []
    lengths: list[tuple[Part, Part]] = []
    for i in range(ndim):
        found: Part = FULL
        for v, n in zip(operands, ndims, strict=True):
            p = v.parts[i - ndim + n] if isinstance(v, Masked) and i - ndim + n >= 0 else FULL
            found = found if p is None else p if found is None else found
        operands = [_moved(ctx, v, i - ndim + n, found) for v, n in zip(operands, ndims, strict=True)]
        for v, n in zip(operands, ndims, strict=True):
            p = v.parts[i - ndim + n] if isinstance(v, Masked) and i - ndim + n >= 0 else FULL
            if p is not None and found is not None and not same_part(ctx, p, found):
                if not _are_first_so_many(p, found):
                    return None
                lengths.append((p, found))
        for v, n in zip(operands, ndims, strict=True):
            j = i - ndim + n
            if found is not None and j >= 0 and not _fits(v, j):
                return None
        parts.append(found)
    for p, q in lengths:
        _check_lengths(ctx, p, q)
    wholes = [_spread(ctx, v, parts[ndim - n :]) for v, n in zip(operands, ndims, strict=True)]
    return wholes, tuple(parts)


_OF_TWO_LENGTHS = "operands could not be broadcast together: their lengths differ; of one element write xs[0], not xs"


def _are_first_so_many(p: Part, q: Part) -> bool:
    """Whether both are x[:n] of axes of one size: the run finds out whether they are equally long."""
    return is_front(p) and is_front(q) and p.n == q.n  # type: ignore[union-attr]


def is_front(p: Part) -> bool:
    """Whether it is x[:n]."""
    return isinstance(p, Bounds) and all(type(x) is int and x == k for x, k in ((p.start, 0), (p.step, 1)))


def _check_lengths(ctx: Context, p: Any, q: Any) -> None:
    differ = make.not_equal(ctx.b, ctx.atom(p.stop), ctx.atom(q.stop))
    make.raise_if(ctx.b, differ, ValueError, _OF_TWO_LENGTHS)


def meet(ctx: Context, p: Part, q: Part) -> bool:
    """Whether two axes select the same places. Raises ValueError at run time where as many are meant, and are not."""
    if p is None or q is None or same_part(ctx, p, q):
        return p is q or (p is not None and q is not None)
    if not _are_first_so_many(p, q):
        return False
    _check_lengths(ctx, p, q)
    return True


def _moved(ctx: Context, v: Value, j: int, to: Part) -> Value:
    """The operand, its axis `j` moved to where another operand has its slice, if that is possible and needed."""
    if not isinstance(v, Masked) or j < 0 or not isinstance(to, Bounds) or same_part(ctx, v.parts[j], to):
        return v
    if any(width_of(p) != 1 for p in v.parts):
        return v
    return shifted(ctx, v, j, to) or v


def shape_of(v: Value) -> tuple[int, ...]:
    if is_runtime(v):
        return v.aval.shape  # type: ignore[no-any-return]
    return np.shape(v) if not isinstance(v, list | tuple) else (len(v),)


def _fits(v: Value, j: int) -> bool:
    """Whether axis `j` of an operand may stand beside a selection: it is one, or has size 1."""
    if isinstance(v, Masked):
        return v.parts[j] is not None or v.whole.aval.shape[axes_of(v, [j])[0]] == 1
    return shape_of(v)[j] == 1


def _spread(ctx: Context, v: Value, parts: Sequence[Part]) -> Value:
    """The whole of an operand, with more axes of size 1 where a mask merges several into one."""
    own: Sequence[Part] = v.parts if isinstance(v, Masked) else [FULL] * len(parts)
    whole = Ref(ctx.cell(ctx.read(v.whole))) if isinstance(v, Masked) else v
    if all(width_of(p) == width_of(q) for p, q in zip(own, parts, strict=True)):
        return whole
    atom, axis = ctx.atom(whole), 0
    sizes: list[int] = []
    for p, q in zip(own, parts, strict=True):
        sizes += atom.aval.shape[axis : axis + width_of(p)]
        sizes += [1] * (width_of(q) - width_of(p))
        axis += width_of(p)
    return Ref(ctx.cell(make.reshape(ctx.b, atom, sizes)))


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


def filled(ctx: Context, inside: Atom, x: Atom, neutral: Any) -> Atom:
    """`x`, and the neutral element where it does not count."""
    return make.where(ctx.b, inside, x, make.lift(np.array(neutral).astype(x.aval.dtype)[()]))


# ---- masks as the first so many elements ---------------------------------------------------------


def compressed(ctx: Context, s: Masked) -> Masked:
    """The selection with runs from 0 in place of its masks; itself where it has none, or CPython can run a part."""
    if not ctx.transforms or not any(is_mask(p) for p in s.parts):
        return s
    b, x = ctx.b, ctx.read(s.whole)
    parts: list[Part] = []
    for i, p in enumerate(s.parts):
        if isinstance(p, Places) and is_mask(p):
            shape = x.aval.shape
            x = make.reshape(b, x, (*shape[:i], p.mask.aval.size, *shape[i + width_of(p) :]))
            x = along(ctx, x, i, make.argsort(b, make.logical_not(b, make.reshape(b, p.mask, (-1,))), 0))
            p = Bounds(0, count(ctx, s, i), 1, p.mask.aval.size)
        parts.append(p)
    return Masked(Ref(ctx.cell(x)), tuple(parts))


def is_mask(p: Part) -> bool:
    return isinstance(p, Places) and p.mask.aval.size > 0


def along(ctx: Context, x: Atom, axis: int, places: Atom) -> Atom:
    dims = [Run(0, n) for n in x.aval.shape]
    return make.index(ctx.b, x, (*dims[:axis], Gather(0), *dims[axis + 1 :]), (places,))


def agreed(ctx: Context, operands: Sequence[Value]) -> tuple[list[Value], tuple[Part, ...]] | None:
    """`align` of the operands; where their masks differ of first elements, as many, and beside an array as it has."""
    found = align(ctx, operands)
    if found is None and ctx.transforms:
        fronts = [compressed(ctx, v) if isinstance(v, Masked) else v for v in operands]
        found = align(ctx, fronts) or align(ctx, _as_long_as_arrays(ctx, fronts))
    return found


def _as_long_as_arrays(ctx: Context, operands: Sequence[Value]) -> Sequence[Value]:
    for back in range(1, 1 + max(len(v.parts) if isinstance(v, Masked) else len(shape_of(v)) for v in operands)):
        whole = [v for v in operands if not isinstance(v, Masked) and len(shape_of(v)) >= back]
        sizes = {shape_of(v)[-back] for v in whole} - {1}
        if len(sizes) == 1:
            operands = [_cut_to(ctx, v, len(v.parts) - back, *sizes) if isinstance(v, Masked) else v for v in operands]
    return operands


def _cut_to(ctx: Context, s: Masked, i: int, size: int) -> Value:
    """The selection with so many elements along its axis `i`, if they are its first. Raises ValueError at run time
    where it has not as many.
    """
    p = s.parts[i] if i >= 0 else FULL
    if not isinstance(p, Bounds) or not is_front(p) or size > p.n or any(width_of(q) != 1 for q in s.parts):
        return s
    differ = make.not_equal(ctx.b, ctx.atom(p.stop), size)
    make.raise_if(ctx.b, differ, ValueError, _OF_TWO_LENGTHS)
    x = ctx.read(s.whole)
    cut = [Run(0, size if axis == i else n) for axis, n in enumerate(x.aval.shape)]
    whole = Ref(ctx.cell(make.index(ctx.b, x, tuple(cut))))
    parts = (*s.parts[:i], FULL, *s.parts[i + 1 :])
    return Masked(whole, parts) if any(q is not None for q in parts) else whole


# ---- attributes and places -----------------------------------------------------------------------


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


def place_of(ctx: Context, s: Masked, i: Value) -> Value | None:
    """Where the element `i` of a run or mask along the first axis stands in the whole; None for what is no such index.

    Outside of the run it is a place outside of the axis, so that taking it is the error that it is in NumPy. The True
    of a mask are counted in derivatives and batches alone: elsewhere CPython is faster.
    """
    p = s.parts[0]
    is_var = type(i) is Var and i.aval.dtype.kind in "iu"
    if p is None or not (is_var or type(i) is int):
        return None
    if isinstance(p, Places) and (width_of(p) > 1 or not p.mask.aval.size or not ctx.transforms):
        return None
    if isinstance(p, Bounds) and type(p.step) is Var:
        return None
    b = ctx.b
    if type(i) is int and i == 0 and isinstance(p, Bounds) and not may_be_empty(ctx, p):
        return p.start
    size, at = ctx.atom(count(ctx, s, 0)), ctx.atom(i)
    at = make.where(b, make.less(b, at, 0), make.add(b, at, size), at)
    inside = make.logical_and(b, make.greater_equal(b, at, 0), make.less(b, at, size))
    if isinstance(p, Places):
        return ctx.wrap(make.where(b, inside, make.place_of_true(b, p.mask, at), p.mask.aval.size))
    place = make.add(b, ctx.atom(first(ctx, p)), make.multiply(b, at, p.step))
    return ctx.wrap(make.where(b, inside, place, p.n))
