"""Elements of selections by their number, in what is differentiated or batched.

    x[m][3]                         where its fourth True place is
    x[m][np.argsort(x[m])]          positions count among the selected elements, which stand in front (`compressed`)
    x[m] = values                   the k-th True place of m takes the k-th value
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import make
from ...ir import Atom, Var
from ...ops.core import Gather, Run
from ..core.context import Context
from ..core.values import FULL, Bounds, Masked, Part, Places, Ref, Value, is_runtime
from ..facts.runs import count, first, width_of
from .selection import condition, filled, is_front, is_mask, may_be_empty


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


def along(ctx: Context, x: Atom, axis: int, places: Atom) -> Atom:
    dims = [Run(0, n) for n in x.aval.shape]
    return make.index(ctx.b, x, (*dims[:axis], Gather(0), *dims[axis + 1 :]), (places,))


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


def places_of(ctx: Context, mask: Atom) -> tuple[Masked, ...]:
    """Where the mask is True: positions along each of its axes."""
    b, shape = ctx.b, mask.aval.shape
    part = Places(mask)

    def along_axis(axis: int) -> Masked:
        others = tuple(a for a in range(len(shape)) if a != axis)
        numbers = make.broadcast_to(b, make.expand_dims(b, make.iota(b, shape[axis]), others), shape)
        return Masked(Ref(ctx.cell(numbers)), (part,), axis=axis, content=numbers)

    return tuple(map(along_axis, range(len(shape))))


def crossing(ctx: Context, base: Ref, keys: Sequence[Value]) -> Masked | None:
    """base[np.ix_(m, n)] by masks as a selection of `base` itself; None for other keys."""
    masks = [_mask_across(k, i, len(keys)) for i, k in enumerate(keys)]
    if [None if m is None else m.aval.shape for m in masks] != [(n,) for n in base.aval.shape]:
        return None
    return Masked(base, tuple(Places(m) for m in masks if m is not None))


def _mask_across(key: Value, i: int, n: int) -> Atom | None:
    """The mask that np.ix_ gives the places of along axis `i` of `n`."""
    if not isinstance(key, Masked) or key.axis != 0 or not key.is_as_made or len(key.parts) != n:
        return None
    part = key.parts[i]
    return part.mask if isinstance(part, Places) and sum(p is not None for p in key.parts) == 1 else None


def at_numbers(ctx: Context, s: Masked, at: Value) -> Value | None:
    """s[at] for positions along the first axis, in an array or a selection of such; None for other ones.

    Raises IndexError at run time where one is outside of the selection.
    """
    whole = at.whole if isinstance(at, Masked) else at
    if type(whole) is not Ref or whole.aval.dtype.kind not in "iu" or whole.aval.ndim != 1:
        return None
    s = compressed(ctx, s)
    front = s.parts[0]
    if not isinstance(front, Bounds) or not is_front(front):
        return None
    b, size = ctx.b, ctx.atom(front.stop)
    k = make.astype(b, ctx.read(whole), np.dtype(np.int64))
    if isinstance(at, Masked):
        k = filled(ctx, condition(ctx, at), k, 0)
    k = make.where(b, make.less(b, k, 0), make.add(b, k, size), k)
    outside = make.logical_or(b, make.less(b, k, 0), make.greater_equal(b, k, size))
    if isinstance(at, Masked):
        outside = make.logical_and(b, outside, condition(ctx, at))
    make.raise_if(b, make.any(b, outside), IndexError, "an index is out of bounds for a selection")
    inside = make.minimum(b, make.maximum(b, k, 0), front.n - 1)
    found = Ref(ctx.cell(along(ctx, ctx.read(s.whole), 0, inside)))
    parts = (*(at.parts if isinstance(at, Masked) else (FULL,)), *s.parts[1:])
    return found if all(p is None for p in parts) else Masked(found, parts)


def scattered(ctx: Context, target: Masked, value: Value) -> Masked | None:
    """What is stored into a selection by one mask, its elements at the True places: the k-th at the k-th of them.

    None where the value is no line of elements, or CPython can run the store. Raises ValueError at run time where there
    are more or fewer elements than places.
    """
    part, *others = target.parts
    if not ctx.transforms or not isinstance(part, Places) or not is_mask(part) or any(p is not None for p in others):
        return None
    given = compressed(ctx, value) if isinstance(value, Masked) else value
    if not (isinstance(given, Masked) or is_runtime(given)) or len(_parts(given)) != len(target.parts):
        return None
    b, line, atom = ctx.b, _parts(given)[0], ctx.read(given.whole) if isinstance(given, Masked) else ctx.atom(given)
    if any(p is not None for p in _parts(given)[1:]) or not atom.aval.shape[0]:
        return None
    if line is not None and not is_front(line):
        return None
    size = ctx.atom(line.stop) if isinstance(line, Bounds) else make.lift(atom.aval.shape[0])
    differ = make.not_equal(b, ctx.atom(count(ctx, target, 0)), size)
    make.raise_if(b, differ, ValueError, "the mask does not select as many elements as are assigned to them")
    rank = make.subtract(b, make.cumsum(b, make.reshape(b, part.mask, (-1,)), 0), 1)
    rank = make.minimum(b, make.maximum(b, rank, 0), atom.aval.shape[0] - 1)
    laid = make.reshape(b, along(ctx, atom, 0, rank), (*part.mask.aval.shape, *atom.aval.shape[1:]))
    return Masked(Ref(ctx.cell(laid)), target.parts)


def _parts(v: Value) -> tuple[Part, ...]:
    return v.parts if isinstance(v, Masked) else (FULL,) * len(v.aval.shape)
