"""Selections whose size only the run knows, x[mask] and x[lo:hi]: computed on the whole array, under a mask.

    s = np.sum(x[lo:hi])           s = np.sum(np.where((k >= lo) & (k < hi), x, 0.0))        k = np.arange(n)
    x[lo:hi] *= 2                  x = np.where((k >= lo) & (k < hi), x * 2, x)

A selection is an array and what each axis of the result takes of it: all, a run between two bounds, or the True places
of a mask. Operations on selections act on the whole arrays where all agree on the parts. What cannot be done so asks
for the size (`concrete`): the loop around is then unrolled, or the function refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import make
from ..builder import Builder
from ..errors import ShapeError
from ..fits import check_holds
from ..ir import Atom, For, Range, Var
from ..ops.core import At, Dyn
from ..purpose import purpose
from .contents import known_arrays
from .context import Context
from .demand import LENGTH, affine, demand, difference, follows_loops, interval, interval_of, plus, scaled
from .runs import axes_of, count, end_of, first, past, width_of
from .shifting import shifted
from .values import FULL, Bounds, Masked, Part, Places, Ref, Value, is_runtime

_WHY = "the size of the selection is not known before the run"
LEAVES = "a slice leaves its axis, and is shorter there: keep its ends inside, x[max(lo, 0):min(hi, n)]"
_INSTEAD = "use np.where(mask, x, neutral) in its place, e.g. np.sum(np.where(mask, x, 0.0))"


def masked(ctx: Context, whole: Ref, mask: Atom) -> Masked:
    """`whole[mask]`: the mask stands for the leading axes."""
    return Masked(whole, (Places(mask), *[FULL] * (whole.aval.ndim - mask.aval.ndim)))


def concrete(ctx: Context, s: Masked, node: ast.AST, what: str) -> Ref:
    """The selection as an array, where its size is known or can be had; raises Restart or UnsupportedError if not."""
    if s.strict is not None:
        return _strict(ctx, s, node)
    if any(isinstance(p, Places) for p in s.parts):
        masks = known_arrays(ctx, [p.mask for p in s.parts if isinstance(p, Places)])
        if masks is None or any(isinstance(p, Bounds) for p in s.parts):
            refuse(ctx, node, what)
        return _at_true(ctx, s, masks, node)
    ends = [v for p in s.parts if isinstance(p, Bounds) for v in (p.start, p.stop, p.step) if type(v) is Var]
    return demand(ctx, ends, node, LENGTH)


def _strict(ctx: Context, s: Masked, node: ast.AST) -> Ref:
    """The slice as the array that it is inside its axis: elsewhere it is shorter, whoever asks only for its length."""
    assert s.strict is not None
    if s.leaves is not None:
        ctx.at(node)
        make.raise_if(ctx.b, s.leaves, IndexError, LEAVES)
    return s.strict


def _at_true(ctx: Context, s: Masked, masks: Sequence[np.ndarray[Any, Any]], node: ast.AST) -> Ref:
    """The selection where the masks hold these values: one gather for each, the last first, as each joins its axes."""
    from .indexing import index_array

    x, feed = s.whole, iter(reversed(masks))
    for i in reversed(range(len(s.parts))):
        if isinstance(s.parts[i], Places):
            x = index_array(ctx, x, _true_places(s, i, next(feed)), node)
    made: Ref = x
    made.cell.ambiguous = _ELSEWHERE
    for cell in s.whole.cell.group:
        cell.shadows = (*cell.shadows, made.cell)
    return made


_ELSEWHERE = "it is a part of what a mask has selected, or a view of it"


def _true_places(s: Masked, i: int, mask: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    return (*(slice(None),) * sum(map(width_of, s.parts[:i])), *np.nonzero(mask))


def changed(ctx: Context, s: Masked, node: ast.AST, change: Callable[[Ref], Any], what: str) -> Any:
    """change(the selection as an array): what it stores there is put back into the whole."""
    from .stores import store_array

    array = concrete(ctx, s, node, what)
    if array.cell is s.whole.cell:
        return change(array)
    masks = {i: p.mask for i, p in enumerate(s.parts) if isinstance(p, Places)}
    known = known_arrays(ctx, masks.values())
    if known is None or len(known) != 1:
        refuse(ctx, node, what)
    own = Ref(ctx.cell(ctx.read(array)))
    result = change(own)
    store_array(ctx, s.whole, _true_places(s, next(iter(masks)), known[0]), own, node)
    return result


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
    aligned = align(ctx, operands)
    if aligned is None:
        return f(*[concrete(ctx, v, node, what) if isinstance(v, Masked) else v for v in operands])
    wholes, parts = aligned
    result = f(*wholes)
    return Masked(Ref(ctx.cell(ctx.atom(result))), parts)


def align(ctx: Context, operands: Sequence[Value]) -> tuple[list[Value], tuple[Part, ...]] | None:
    """The operands with whole arrays in place of selections, and the parts of the result; None where they differ."""
    ndims = [len(v.parts) if isinstance(v, Masked) else len(shape_of(v)) for v in operands]
    ndim = max(ndims)
    parts: list[Part] = []
    lengths: list[tuple[Bounds, Bounds]] = []
    for i in range(ndim):
        found: Part = FULL
        for v, n in zip(operands, ndims, strict=True):
            p = v.parts[i - ndim + n] if isinstance(v, Masked) and i - ndim + n >= 0 else FULL
            found = found if p is None else p if found is None else found
        operands = [_moved(ctx, v, i - ndim + n, found) for v, n in zip(operands, ndims, strict=True)]
        for v, n in zip(operands, ndims, strict=True):
            p = v.parts[i - ndim + n] if isinstance(v, Masked) and i - ndim + n >= 0 else FULL
            if p is not None and found is not None and not same_part(ctx, p, found):
                if not (isinstance(p, Bounds) and isinstance(found, Bounds) and _are_first_so_many(p, found)):
                    return None
                lengths.append((p, found))
        for v, n in zip(operands, ndims, strict=True):
            j = i - ndim + n
            if found is not None and j >= 0 and not _fits(v, j):
                return None
        parts.append(found)
    for p, q in lengths:
        differ = make.not_equal(ctx.b, ctx.atom(p.stop), ctx.atom(q.stop))
        make.raise_if(ctx.b, differ, ValueError, _OF_TWO_LENGTHS)
    wholes = [_spread(ctx, v, parts[ndim - n :]) for v, n in zip(operands, ndims, strict=True)]
    return wholes, tuple(parts)


_OF_TWO_LENGTHS = "operands could not be broadcast together: their lengths differ; of one element write xs[0], not xs"


def _are_first_so_many(p: Bounds, q: Bounds) -> bool:
    """Whether both are x[:n] of axes of one size: the run finds out whether they are equally long."""
    known = (type(x) is int and x == k for part in (p, q) for x, k in ((part.start, 0), (part.step, 1)))
    return p.n == q.n and all(known)


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
    from .indexing import same_mask

    if isinstance(p, Places) and isinstance(q, Places):
        return same_mask(ctx, p.mask, q.mask)
    if isinstance(p, Bounds) and isinstance(q, Bounds):
        pairs = ((p.start, q.start), (p.stop, q.stop), (p.step, q.step))
        return p.n == q.n and all(_equal(ctx, x, y) for x, y in pairs)
    return False


def _equal(ctx: Context, x: Value, y: Value) -> bool:
    from .indexing import same_mask

    return x is y or difference(ctx, x, y) == 0 or (type(x) is Var and type(y) is Var and same_mask(ctx, x, y))


def filled(ctx: Context, inside: Atom, x: Atom, neutral: Any) -> Atom:
    """`x`, and the neutral element where it does not count."""
    return make.where(ctx.b, inside, x, make.lift(np.array(neutral).astype(x.aval.dtype)[()]))


# ---- stores --------------------------------------------------------------------------------------


def store_selected(ctx: Context, target: Masked, value: Value, node: ast.AST, in_place: bool = False) -> None:
    """target[...] = value. `in_place`: casts within a kind only, as `+=` does."""
    aligned = align(ctx, [target, value])
    if aligned is not None and len(aligned[1]) > len(target.parts):
        aligned = None
    if aligned is None:
        if target.strict is not None:
            from .stores import store_view

            given = concrete(ctx, value, node, "a selection") if isinstance(value, Masked) else value
            store_view(ctx, _strict(ctx, target, node), ctx.atom(given))
            return
        _refuse_store(ctx, target, value, node)
    new = ctx.atom(aligned[0][1])
    whole = ctx.read(target.whole)
    if np.broadcast_shapes(new.aval.shape, whole.aval.shape) != whole.aval.shape:
        raise ctx.error(ShapeError, node, f"could not broadcast {new.aval.shape} into a part of {whole.aval.shape}")
    if in_place:
        from .stores import check_cast

        check_cast(ctx, new.aval, whole.aval.dtype, node)
    ctx.at(node)
    check_holds(whole.aval.dtype, new)
    if _is_sparse(ctx, target, new):
        ctx.write(target.whole, _stored_in_turn(ctx, target.parts[0], whole, new))
        return
    inside = condition(ctx, target)
    ctx.write(target.whole, make.where(ctx.b, inside, make.astype(ctx.b, new, whole.aval.dtype), whole))


def _is_sparse(ctx: Context, target: Masked, new: Atom) -> bool:
    """Whether a store in a loop, to every k-th element of a long line, is better a loop over these elements."""
    p, goal = target.parts[0], purpose()
    if len(target.parts) != 1 or not isinstance(p, Bounds) or new.aval.ndim > 1:
        return False
    if p.n < (_LONG if type(p.step) is Var and follows_loops(ctx, p.step) else _LONG_FOR_FEW):
        return False
    plain = goal.orders == 0 and not goal.keeps_calls and not ctx.is_printed
    return goal.runs_loops and plain and len(ctx.builders) > 1 and not (type(p.step) is int and p.step == 1)


_LONG = 1 << 10
_LONG_FOR_FEW = 1 << 14  # where perhaps few turns do so: the loop over such a line alone is worth compiling


def _stored_in_turn(ctx: Context, p: Part, whole: Atom, new: Atom) -> Atom:
    """`for k in range(start, stop, step): whole[k] = new[k]`"""
    assert isinstance(p, Bounds)
    k, line, made = Var("k", make.lift(0).aval), Var("line", whole.aval), Var("line", whole.aval)
    turns = Range(ctx.atom(first(ctx, p)), ctx.atom(past(ctx, p)), ctx.atom(p.step))
    inner, here = Builder(ctx.b.span), (At(Dyn(0)),)
    value = make.index(inner, new, here, (k,)) if new.aval.shape == whole.aval.shape else make.reshape(inner, new, ())
    body = inner.block((k, line), (make.put(inner, line, value, here, (k,)),))
    ctx.append(For((made,), turns, (whole,), body, span=ctx.b.span))
    return made


def _refuse_store(ctx: Context, target: Masked, value: Value, node: ast.AST) -> NoReturn:
    if isinstance(value, Masked):
        for s in (target, value):
            if not any(isinstance(p, Places) for p in (*target.parts, *value.parts)):
                concrete(ctx, s, node, "a slice")
        ctx.cut(node, "the selection on the right has another mask", instead="use np.where")
    if not any(isinstance(p, Places) for p in target.parts):
        concrete(ctx, target, node, "a slice")
    ctx.cut(
        node,
        "x[mask] = an array",
        why="how many elements the mask selects is not known before the run",
        instead="select on both sides, x[mask] = y[mask], or use np.where(mask, y, x)",
    )


# ---- attributes, indices -------------------------------------------------------------------------


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
    return NotImplemented


def index_selection(ctx: Context, s: Masked, key: Value, node: ast.AST) -> Value:
    """s[i], s[:, i], s[::-1], s[:, None], s[s > 0]; others need the array."""
    from .indexing import index_array, index_value

    if key is Ellipsis or key == ():
        return s

    if isinstance(key, Masked):
        part = part_of(ctx, s, key)
        if part is not None:
            return Masked(Ref(ctx.cell(ctx.read(part.whole))), part.parts)
        return index_array(ctx, concrete(ctx, s, node, "indexing x[mask]"), key, node)
    entries = list(key) if type(key) is tuple else [key]
    place = place_of(ctx, s, entries[0])
    if place is not None:
        rest = Masked(s.whole, (FULL, *s.parts[1:]))
        view = index_array(ctx, s.whole, (place, *[slice(None)] * (len(s.parts) - 1)), node)
        whole = all(p is None for p in rest.parts)
        if len(entries) == 1 and whole:
            return view
        selected = Masked(view, rest.parts[1:]) if type(view) is Ref and not whole else view
        return index_value(ctx, selected, tuple(entries[1:]) if len(entries) > 1 else Ellipsis, node)
    if len(entries) == 1 and entries[0] == slice(None, None, -1):
        backwards = reversed_(ctx, s, node)
        if backwards is not None:
            return backwards
    shorter = _shortened(ctx, s, entries, node)
    if shorter is not None:
        return index_selection(ctx, shorter, (slice(None), *entries[1:]), node)
    if all(width_of(p) == 1 for p in s.parts) and sum(e is not None for e in entries) <= len(s.parts):
        waiting = iter(s.parts)
        pairs = [(e, FULL if e is None else next(waiting)) for e in entries]
        if all(e is None or e == slice(None) or (part is FULL and _is_basic(e)) for e, part in pairs):
            view = index_array(ctx, s.whole, key, node)
            parts = (*(part for e, part in pairs if e is None or type(e) is slice), *waiting)
            return view if all(p is FULL for p in parts) else Masked(view, parts)
    beside = _beside(ctx, s, entries, node)
    return index_array(ctx, concrete(ctx, s, node, "indexing x[mask]"), key, node) if beside is None else beside


def _beside(ctx: Context, s: Masked, entries: list[Value], node: ast.AST) -> Masked | None:
    """s[:, i], s[..., 1:], s[:, [2, 0]]: an index of axes that the selection has whole; None for other ones."""
    from .indexing import index_array

    missing = len(s.parts) - sum(e is not Ellipsis for e in entries)
    if missing < 0 or sum(e is Ellipsis for e in entries) > 1 or any(e is None for e in entries):
        return None
    if not any(e is Ellipsis for e in entries):
        entries = [*entries, Ellipsis]
    key = [e for given in entries for e in ([slice(None)] * missing if given is Ellipsis else [given])]
    pairs = list(zip(s.parts, key, strict=True))
    if any(p is not None and not _is_all(e) for p, e in pairs) or not all(map(_is_plain, key)):
        return None
    gathers = sum(type(e) is list or type(e) is Ref for e in key)
    drops = [not (type(e) is slice or type(e) is list or type(e) is Ref) for e in key]
    if gathers > 1 or (gathers and any(drops)):
        return None
    spread = tuple(e for p, e in pairs for e in [e] * width_of(p))
    view = index_array(ctx, s.whole, spread, node)
    if type(view) is not Ref:
        return None
    return Masked(view, tuple(p for p, dropped in zip(s.parts, drops, strict=True) if not dropped))


def _is_all(e: Value) -> bool:
    return type(e) is slice and e.start is e.stop is e.step is None


def _is_plain(e: Value) -> bool:
    """A number, a slice between numbers, or positions along one axis."""
    if type(e) is slice:
        return all(p is None or type(p) is int for p in (e.start, e.stop, e.step))
    if type(e) is list:
        return bool(e) and all(type(i) is int for i in e)
    if type(e) is Ref or type(e) is Var:
        return e.aval.dtype.kind in "iu" and e.aval.ndim == (type(e) is Ref)
    return type(e) is int or isinstance(e, np.integer)


def _is_basic(e: Value) -> bool:
    """Whether an entry of an index is a number, which takes its axis away, or a slice."""
    return type(e) is slice or (isinstance(e, int | np.integer) and not isinstance(e, bool))


def _shortened(ctx: Context, s: Masked, entries: Sequence[Value], node: ast.AST) -> Masked | None:
    """s[j:-k, ...] of the first so many elements of an axis, by known j and k; None for others."""
    from .indexing import index_array

    first, part = entries[0], s.parts[0]
    if type(first) is not slice or first == slice(None) or not isinstance(part, Bounds) or first.step not in (None, 1):
        return None
    j, k = first.start or 0, first.stop or 0
    if type(part.start) is not int or (part.start, part.step) != (0, 1) or type(j) is not int or type(k) is not int:
        return None
    if not 0 <= j < part.n or not -part.n < k <= 0 or first.stop == 0:
        return None
    n = part.n - j + k
    if n <= 0:
        return None
    b = ctx.b
    stop = make.maximum(b, make.add(b, ctx.atom(part.stop), k - j), 0)
    view = index_array(ctx, s.whole, slice(j, part.n + k), node)
    return Masked(view, (Bounds(0, ctx.wrap(stop), 1, n), *s.parts[1:]))


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


def reversed_(ctx: Context, s: Masked, node: ast.AST) -> Masked | None:
    """s[::-1] along the first axis, to be read only."""
    from .indexing import index_array

    p = s.parts[0]
    if not isinstance(p, Bounds) or type(p.step) is not int or p.step != 1 or not p.n:
        return None
    b = ctx.b
    ends = make.subtract(b, make.add(b, ctx.atom(first(ctx, p)), ctx.atom(past(ctx, p))), 1)
    mirrored = make.subtract(b, ends, make.iota(b, p.n))
    inside = make.minimum(b, make.maximum(b, mirrored, 0), p.n - 1)
    whole = index_array(ctx, s.whole, Ref(ctx.cell(inside)), node)
    whole.cell.ambiguous = "it is a reversed view of a slice whose length is not known before the run"
    return Masked(whole, s.parts)


def gathered(ctx: Context, base: Ref, key: Masked, node: ast.AST) -> Value:
    """base[i[lo:hi]]: the places outside of the selection gather element 0."""
    from .indexing import index_array

    if not base.aval.shape or not base.aval.shape[0]:
        return index_array(ctx, base, concrete(ctx, key, node, "an index x[mask]"), node)
    numbers = filled(ctx, condition(ctx, key), ctx.read(key.whole), 0)
    whole = index_array(ctx, base, Ref(ctx.cell(numbers)), node)
    return Masked(whole, (*key.parts, *[FULL] * (base.aval.ndim - 1)))


def gathered_at(ctx: Context, base: Ref, keys: Sequence[Value], node: ast.AST) -> Value:
    """base[i[mask], j[mask]]: one index array an axis, some or all of them selections of the same places."""
    from .indexing import index_array

    aligned = align(ctx, keys)
    if aligned is None or len(keys) > base.aval.ndim or 0 in base.aval.shape[: len(keys)]:
        arrays = [concrete(ctx, k, node, "an index x[mask]") if isinstance(k, Masked) else k for k in keys]
        return index_array(ctx, base, tuple(arrays), node)
    wholes, parts = aligned
    inside = condition(ctx, Masked(Ref(ctx.cell(ctx.atom(wholes[0]))), parts))
    filling = [
        Ref(ctx.cell(filled(ctx, inside, ctx.read(w), 0))) if isinstance(k, Masked) and type(w) is Ref else w
        for k, w in zip(keys, wholes, strict=True)
    ]
    whole = index_array(ctx, base, tuple(filling), node)
    return Masked(whole, (*parts, *[FULL] * (base.aval.ndim - len(keys))))
