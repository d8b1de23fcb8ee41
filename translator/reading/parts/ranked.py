"""Elements of selections by their number, in what is differentiated or batched.

    x[m][np.argsort(x[m])]          positions count among the selected elements, which stand in front (`compressed`)
    x[m] = values                   the k-th True place of m takes the k-th value
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import make
from ...ir import Atom
from ..core.context import Context
from ..core.values import FULL, Bounds, Masked, Part, Places, Ref, Value, is_runtime
from ..facts.runs import count
from .selection import along, compressed, condition, filled, is_front, is_mask


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


def taken(ctx: Context, s: Masked, at: Value) -> Value | None:
    """s[at] for positions along the first axis, in an array or a selection of such; None for other ones.

    Raises IndexError at run time where one is outside of the selection.
    """
    whole = at.whole if isinstance(at, Masked) else at
    if type(whole) is not Ref or whole.aval.dtype.kind not in "iu" or whole.aval.ndim != 1:
        return None
    s = compressed(ctx, s)
    first = s.parts[0]
    if not isinstance(first, Bounds) or not is_front(first):
        return None
    b, size = ctx.b, ctx.atom(first.stop)
    k = make.astype(b, ctx.read(whole), np.dtype(np.int64))
    if isinstance(at, Masked):
        k = filled(ctx, condition(ctx, at), k, 0)
    k = make.where(b, make.less(b, k, 0), make.add(b, k, size), k)
    outside = make.logical_or(b, make.less(b, k, 0), make.greater_equal(b, k, size))
    if isinstance(at, Masked):
        outside = make.logical_and(b, outside, condition(ctx, at))
    make.raise_if(b, make.any(b, outside), IndexError, "an index is out of bounds for a selection")
    inside = make.minimum(b, make.maximum(b, k, 0), first.n - 1)
    found = Ref(ctx.cell(along(ctx, ctx.read(s.whole), 0, inside)))
    parts = (*(at.parts if isinstance(at, Masked) else (FULL,)), *s.parts[1:])
    return found if all(p is None for p in parts) else Masked(found, parts)


def laid_out(ctx: Context, target: Masked, value: Value) -> Masked | None:
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
    b, first, atom = ctx.b, _parts(given)[0], ctx.read(given.whole) if isinstance(given, Masked) else ctx.atom(given)
    if any(p is not None for p in _parts(given)[1:]) or not atom.aval.shape[0]:
        return None
    if first is not None and not is_front(first):
        return None
    size = ctx.atom(first.stop) if isinstance(first, Bounds) else make.lift(atom.aval.shape[0])
    differ = make.not_equal(b, ctx.atom(count(ctx, target, 0)), size)
    make.raise_if(b, differ, ValueError, "the mask does not select as many elements as are assigned to them")
    rank = make.subtract(b, make.cumsum(b, make.reshape(b, part.mask, (-1,)), 0), 1)
    rank = make.minimum(b, make.maximum(b, rank, 0), atom.aval.shape[0] - 1)
    laid = make.reshape(b, along(ctx, atom, 0, rank), (*part.mask.aval.shape, *atom.aval.shape[1:]))
    return Masked(Ref(ctx.cell(laid)), target.parts)


def _parts(v: Value) -> tuple[Part, ...]:
    return v.parts if isinstance(v, Masked) else (FULL,) * len(v.aval.shape)
