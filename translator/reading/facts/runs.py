"""Where selections x[lo:hi] begin and end along their axes, and how many elements they have."""

from __future__ import annotations

from collections.abc import Sequence

from ... import make
from ...ir import Atom
from ...surface.python import as_python
from ..core.context import Context
from ..core.demand import interval
from ..core.values import Bounds, Masked, Part, Places, Value


def width_of(p: Part) -> int:
    return p.mask.aval.ndim if isinstance(p, Places) else 1


def end_of(ctx: Context, v: Value, n: int) -> Value:
    """A slice's end without NumPy's counting from the back."""
    low, _ = interval(ctx, v)
    if low is not None and low >= 0:
        return v
    x = ctx.atom(v)
    return ctx.wrap(make.where(ctx.b, make.less(ctx.b, x, 0), make.add(ctx.b, x, n), x))


def first(ctx: Context, p: Bounds) -> Value:
    """The position of the first element, if there is one."""
    low, _ = interval(ctx, p.start)
    if low is not None and low >= 0:
        return p.start
    return _number(ctx, make.maximum(ctx.b, ctx.atom(end_of(ctx, p.start, p.n)), 0))


def past(ctx: Context, p: Bounds) -> Value:
    """The end of the run, inside the axis."""
    low, high = interval(ctx, p.stop)
    if low is not None and low >= 0 and high is not None and high <= p.n:
        return p.stop
    return _number(ctx, make.minimum(ctx.b, ctx.atom(end_of(ctx, p.stop, p.n)), p.n))


def count(ctx: Context, s: Masked, i: int) -> Value:
    """How many elements the result has along its axis `i`: a Python int."""
    p = s.parts[i]
    if p is None:
        return s.whole.aval.shape[axes_of(s, [i])[0]]
    b = ctx.b
    if isinstance(p, Places):
        return _number(ctx, make.sum(b, p.mask))
    size = make.subtract(b, ctx.atom(past(ctx, p)), ctx.atom(first(ctx, p)))
    if (interval(ctx, ctx.wrap(size))[0] or 0) > 0 and type(p.step) is int and p.step == 1:
        return _number(ctx, size)
    if not (type(p.step) is int and p.step == 1):
        step = ctx.atom(p.step)
        size = make.floor_divide(b, make.subtract(b, make.add(b, size, step), 1), step)
    return _number(ctx, make.maximum(b, size, 0))


def _number(ctx: Context, x: Atom) -> Value:
    return ctx.wrap(as_python(ctx.b, x))


def axes_of(s: Masked, parts: Sequence[int]) -> tuple[int, ...]:
    """The axes of the whole that these parts cover."""
    found: list[int] = []
    axis = 0
    for i, p in enumerate(s.parts):
        if i in parts:
            found += range(axis, axis + width_of(p))
        axis += width_of(p)
    return tuple(found)
