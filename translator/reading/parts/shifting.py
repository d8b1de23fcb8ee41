"""Operations on slices of equal length at different places: one slice is moved to where the other stands.

    y[1 : k + 1] - x[:k]            y - np.concatenate((np.zeros(1), x[:-1]))      under the mask of y's slice
    x[k:0:-1]                       x[1 : k + 1][::-1]

    x[k:] - x[:-k]                  the second is x[: n - k], where k certainly is positive

A slice of unknown length that is known to be short lies in a window of that size:

    x[max(i - 5, 0) : min(i + 6, n)]    w[k : k + m] of w = x[i - 5 - k : i + 6 - k], where k is 0 but near the ends
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import make
from ...ir import Atom, Var
from ...ops.core import Dim, Dyn, Run
from ...records import dataclass
from ...surface.python import as_python
from ..core.context import Context
from ..core.demand import Affine, affine, difference, interval, interval_of, plus, scaled
from ..core.values import Bounds, Masked, Ref, Value


@dataclass(frozen=True, slots=True)
class Window:
    """A part of an axis, from `first` on, and where in it a slice lies."""

    first: Atom
    bounds: Bounds


def window_of(ctx: Context, start: Value, stop: Value, n: int) -> Window | None:
    """The window of `start:stop` along an axis of `n`; None where that need not be short, or an end may be negative."""
    b, ends = ctx.b, [affine(ctx, end) for end in (start, stop)]
    forms = [e for e in ends if e is not None]
    lows = [interval_of(ctx, e)[0] for e in forms]
    if len(forms) < 2 or any(low is None or low < 0 for low in lows):
        return None
    _, size = interval_of(ctx, plus(forms[1], scaled(forms[0], -1)))
    if size is None or not 0 < 2 * size <= n:
        return None
    beyond = make.maximum(b, make.subtract(b, ctx.atom(start), n - size), 0)  # so far from the end a window begins
    first = make.subtract(b, ctx.atom(start), as_python(b, beyond))
    begin, end = (_kept_within(ctx, make.subtract(b, ctx.atom(x), first), size) for x in (start, stop))
    return Window(first, Bounds(begin, end, 1, size))


def _kept_within(ctx: Context, end: Atom, size: int) -> Value:
    """An end of a slice of `size` elements, as far as it is not known to be one."""
    low, high = interval(ctx, ctx.wrap(end))
    if low is None or low < 0 or high is None or high > size:
        end = as_python(ctx.b, make.minimum(ctx.b, make.maximum(ctx.b, end, 0), size))
    return ctx.wrap(end)


def shifted(ctx: Context, v: Masked, axis: int, to: Bounds) -> Masked | None:
    """The same elements, to be read only, from a whole in which they stand at `to`; None where the lengths may differ.

    `axis` counts the axes of the selection, each of which is one axis of the whole.
    """
    p = v.parts[axis]
    if not isinstance(p, Bounds) or not (_is_inside(ctx, p) and _is_inside(ctx, to) and _same_length(ctx, p, to)):
        return None
    x = _window(ctx, ctx.read(v.whole), axis, p.start, to.start, to.n)
    return Masked(Ref(ctx.cell(x)), (*v.parts[:axis], to, *v.parts[axis + 1 :]))


def _is_inside(ctx: Context, p: Bounds) -> bool:
    """Whether neither end is outside of the axis, or counted from its back."""
    if type(p.step) is not int or p.step != 1:
        return False
    (low, high), (least, most) = interval(ctx, p.start), interval(ctx, p.stop)
    ends = (low, high, least, most)
    return all(e is not None and 0 <= e <= p.n for e in ends)


def _same_length(ctx: Context, p: Bounds, q: Bounds) -> bool:
    total: Affine = ({}, 0)
    for end, sign in ((p.stop, 1), (p.start, -1), (q.stop, -1), (q.start, 1)):
        form = affine(ctx, end)
        if form is None:
            return False
        total = plus(total, scaled(form, sign))
    return total == ({}, 0)


def _window(ctx: Context, x: Atom, axis: int, start: Value, to: Value, size: int) -> Atom:
    """An array in which the elements from `start` stand from `to`, and which has `size` elements along the axis."""
    b, n = ctx.b, x.aval.shape[axis]
    before = difference(ctx, to, start)
    left = right = size
    if before is not None:
        left, right = max(before, 0), max(size - n - before, 0)

    def zeros(count: int) -> list[Atom]:
        shape = (*x.aval.shape[:axis], count, *x.aval.shape[axis + 1 :])
        return [make.full(b, shape, np.zeros((), x.aval.dtype)[()], x.aval.dtype)] if count else []

    padded = make.concatenate(b, [*zeros(left), x, *zeros(right)], axis)
    dims: list[Dim] = [Run(0, m) for m in padded.aval.shape]
    if before is not None:
        dims[axis] = Run(max(-before, 0), size)
        return make.index(b, padded, dims)
    dims[axis] = Run(Dyn(0), size)
    first = make.add(b, make.subtract(b, ctx.atom(start), ctx.atom(to)), size)
    return make.index(b, padded, dims, [first])


def forwards(ctx: Context, key: slice, n: int) -> slice:
    """x[k:-1] as x[k : n - 1], x[:-k] as x[: n - k]: an end that certainly counts from the back, where the run knows
    one of them.
    """
    if ctx.is_printed or not (key.step is None or (type(key.step) is int and key.step > 0)):
        return key
    return slice(_from_front(ctx, key.start, n), _from_front(ctx, key.stop, n), key.step)


def _from_front(ctx: Context, end: Value, n: int) -> Value:
    low, high = (None, None) if end is None else interval(ctx, end)
    if low is None or high is None or low < -n or high >= 0:
        return end
    return ctx.wrap(make.add(ctx.b, ctx.atom(end), n))


def backwards(ctx: Context, key: Value, n: int) -> slice | None:
    """The slice whose reverse x[a:b:-1] is, where only the run knows the ends."""
    if type(key) is not slice or type(key.step) is not int or key.step != -1:
        return None
    ends: Sequence[Value] = (key.start, key.stop)
    if not any(type(e) is Var for e in ends):
        return None
    for e in ends:
        low, high = (0, n - 1) if e is None else interval(ctx, e)
        if low is None or high is None or low < 0 or high >= n:
            return None
    start, stop = (None if e is None else ctx.wrap(make.add(ctx.b, ctx.atom(e), 1)) for e in (key.stop, key.start))
    return slice(start, stop, None)
