"""Stores of a part of an array into another part of it, where NumPy writes elements before it reads them.

    x[::2] = x[:5]             of 0, 1, 2, 3, ...: x[2] = x[1] comes before x[4] = x[2], so x[4] is 1, not 2
    m[1] = m[:, 3]             from the last element to the first: m[1, 3] = m[3, 3] comes before m[1, 1] = m[1, 3]
    x[1:] = x[:-1]             as if x[:-1] were copied before; so is every store into more than one axis

NumPy copies what overlaps, but for lines (of one axis, strides of one sign). Those it goes through in the direction
that is right where the strides are equal. In the program a value is what it was before the store. So a store for which
that makes a difference is CPython's: it is cut where this is known, and where only the run knows the program raises.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from ... import make
from ...ir import Atom
from ...ops.core import At, Dim, Dyn, Gather
from ...records import dataclass
from ..core.context import Context
from ..core.demand import Affine, affine, difference, interval, plus, scaled
from ..core.layout import laid_out, model_of
from ..core.values import Bounds, Flat, IndexStep, Masked, Places, Ref, Value
from .runs import count, first, past
from .views import Lying

_MOST = 1 << 14  # pairs of elements that are looked at for a store whose places depend on a loop
_WHAT = "a store of a part of an array into a part of it that overlaps"
_WHY = "NumPy overwrites elements here before it has read them"
_INSTEAD = "store a copy, x[...] = x[...].copy()"


@dataclass(frozen=True, slots=True)
class _Line:
    """Elements of a cell, one behind the other: where the first lies, and how far apart they are."""

    start: Affine
    stride: int
    size: int
    count: Value  # how many of them there are, if not `size`


def check_parts(ctx: Context, target: Value, value: Value, node: ast.AST, what: str) -> None:
    """Before `what`, which goes from element to element: leave it to CPython if `value` is of the same array."""
    if _is_part(target, value):
        ctx.cut(node, f"{what} of a part of the same array", why=_WHY, instead=_INSTEAD)


def check_overlap(ctx: Context, target: Value, value: Value, node: ast.AST) -> None:
    """Before a store: leave it to CPython where NumPy does not store what was there before."""
    if not _is_part(target, value):
        return
    axes = len(target.parts) if isinstance(target, Masked) else len(target.aval.shape)
    if axes != 1 or not _is_line(value) or _are_apart(ctx, target, value):
        return
    written, given = _line(ctx, target), _line(ctx, value)
    if written is None or given is None:
        ctx.cut(node, _WHAT, why="how they overlap is not known here", instead=_INSTEAD)
    if given.size == 1 or written.stride * given.stride <= 0 or written.stride == given.stride:
        return
    whole = type(written.count) is int and type(given.count) is int
    if written.stride < 0:
        if not whole:
            ctx.cut(node, _WHAT, why="how they overlap is not known here", instead=_INSTEAD)
        written, given = _backwards(written), _backwards(given)
    _check_lines(ctx, _array(target), written, given, node)


def _check_lines(ctx: Context, base: Ref, written: _Line, given: _Line, node: ast.AST) -> None:
    form = plus(written.start, scaled(given.start, -1))
    sizes = written.stride, given.stride, min(written.size, given.size)
    if type(written.count) is int and type(given.count) is int:
        gaps = _values(ctx, form, _MOST // sizes[2])
        if gaps is not None:
            found = [overwritten(gap, *sizes) for gap in gaps]
            if any(matters for matters, _ in found):
                _rely_on_layout(ctx, base)
            if not any(wrong for _, wrong in found):
                return
            if not form[0]:
                ctx.cut(node, _WHAT, why=_WHY, instead=_INSTEAD)
    _rely_on_layout(ctx, base)
    ctx.at(node)
    bad = _overwritten_in_the_run(ctx, _number(ctx, form), *sizes, ctx.atom(written.count))
    error = ValueError if ctx.transforms else OverflowError  # for which CPython makes the call again
    make.raise_if(ctx.b, bad, error, f"{_WHAT}: {_WHY}; {_INSTEAD}")


def _rely_on_layout(ctx: Context, base: Ref) -> None:
    """Arguments that do not lie in C order are refused when they come, and CPython makes the call."""
    ctx.reshapes.relied_on.add(len(ctx.reshapes.taken))
    ctx.reshapes.taken.append((base.cell, Lying((), in_line=True)))


def overwritten(gap: int, written: int, given: int, n: int) -> tuple[bool, bool]:
    """Of lines of n elements by two strides, of which the one that is written starts `gap` behind the other: whether
    the order of the elements matters, and whether in NumPy's order one is written that has yet to be read.
    """
    read = np.arange(n)
    place, rest = np.divmod(read * given - gap, written)
    there = (rest == 0) & (place >= 0) & (place < n)
    late = place > read if 0 < gap < n * given else place < read
    return bool((there & (place != read)).any()), bool((there & late).any())


def _overwritten_in_the_run(ctx: Context, gap: Atom, written: int, given: int, n: int, count: Atom) -> Atom:
    """The second of `overwritten`, for the first `count` elements."""
    b = ctx.b
    read = make.iota(b, n)
    offset = make.subtract(b, make.multiply(b, read, given), gap)
    place = make.floor_divide(b, offset, written)
    exact = make.equal(b, make.multiply(b, place, written), offset)
    inside = make.logical_and(b, make.greater_equal(b, place, 0), make.less(b, place, count))
    there = make.logical_and(b, make.logical_and(b, exact, inside), make.less(b, read, count))
    behind = make.less(b, gap, make.multiply(b, count, given))
    back = make.logical_and(b, make.greater(b, gap, 0), behind)
    late = make.where(b, back, make.greater(b, place, read), make.less(b, place, read))
    return make.any(b, make.logical_and(b, there, late))


# ---- where the elements lie ----------------------------------------------------------------------


def _is_part(target: Value, value: Value) -> bool:
    if isinstance(value, Masked) and any(isinstance(p, Places) for p in value.parts):
        return False  # a copy
    given, into = _array(value), _array(target)
    return type(given) is Ref and type(into) is Ref and given.cell in into.cell.group and bool(given.aval.shape)


def _array(v: Value) -> Value:
    return v.whole if isinstance(v, Masked) else v.line if isinstance(v, Flat) else v


def _is_line(v: Ref | Masked) -> bool:
    """Whether it has one axis, behind others of size 1, which a store takes away."""
    if isinstance(v, Masked):
        return len(v.parts) == 1
    return bool(v.aval.shape) and all(n == 1 for n in v.aval.shape[:-1])


def _line(ctx: Context, v: Ref | Masked) -> _Line | None:
    """None for what is no line, or lies nobody knows how."""
    ref = _array(v)
    start = _start(ctx, ref)
    array = model_of(ref.cell)
    array = None if array is None else laid_out(ref.path, array)
    if start is None or array is None or any(n != 1 for n in array.shape[:-1]):
        return None
    stride, size = array.strides[-1], array.shape[-1]
    if not isinstance(v, Masked):
        return _Line(start, stride, size, size)
    (part,) = v.parts
    if not isinstance(part, Bounds) or type(part.step) is not int:
        return None
    begin = affine(ctx, first(ctx, part))
    if begin is None:
        return None
    return _Line(plus(start, scaled(begin, stride)), stride * part.step, size, count(ctx, v, 0))


def _start(ctx: Context, ref: Ref) -> Affine | None:
    """How far behind the first element of its cell a view starts, in the units of `laid_out`."""
    array = model_of(ref.cell)
    found: Affine = ({}, 0)
    for step in ref.path:
        if array is None:
            return None
        if isinstance(step, IndexStep):
            for d, n, stride in zip(step.dims, array.shape, array.strides, strict=True):
                place = _place(ctx, d, step.dynamic, n)
                if place is None:
                    return None
                found = plus(found, scaled(place, stride))
        elif step.op.name in ("real", "imag"):
            found = plus(scaled(found, 2), ({}, int(step.op.name == "imag")))
        array = laid_out((step,), array)
    return found


def _place(ctx: Context, d: Dim, dynamic: Sequence[Atom], n: int) -> Affine | None:
    """The first place on an axis of size n."""
    if isinstance(d, Gather):
        return None
    start = d.index if isinstance(d, At) else d.start
    if not isinstance(start, Dyn):
        return affine(ctx, start)
    at = dynamic[start.arg]
    low, _ = interval(ctx, at)
    if low is None or low < 0:
        at = make.where(ctx.b, make.less(ctx.b, at, 0), make.add(ctx.b, at, n), at)
    return affine(ctx, at)


def _backwards(line: _Line) -> _Line:
    """The same elements from the last to the first, as NumPy takes lines of negative strides."""
    end = plus(line.start, ({}, (line.size - 1) * line.stride))
    return _Line(end, -line.stride, line.size, line.count)


def _values(ctx: Context, form: Affine, most: int) -> Sequence[int] | None:
    """All that an integer can be, if that depends on one variable of few values."""
    terms, constant = form
    if not terms:
        return (constant,)
    ((v, factor), *others) = terms.items()
    low, high = interval(ctx, v)
    if others or low is None or high is None or high - low >= most:
        return None
    return range(low * factor + constant, high * factor + constant + (1 if factor > 0 else -1), factor)


def _number(ctx: Context, form: Affine) -> Atom:
    total = make.lift(form[1])
    for v, factor in form[0].items():
        total = make.add(ctx.b, total, make.multiply(ctx.b, v, factor))
    return total


# ---- what certainly does not overlap -------------------------------------------------------------


def _are_apart(ctx: Context, x: Ref | Masked, y: Ref | Masked) -> bool:
    """Whether along one axis of the array the one ends before the other begins: m[i, :i] and m[:i, i]."""
    mine, others = _extents(ctx, x), _extents(ctx, y)
    if mine is None or others is None:
        return False
    pairs = [(p, q) for a, b in zip(mine, others, strict=True) for p, q in ((a, b), (b, a))]
    return any((difference(ctx, p[0], q[1]) or 0) > 0 for p, q in pairs)


def _extents(ctx: Context, v: Ref | Masked) -> list[tuple[Value, Value]] | None:
    """The first and the last place along each axis of the cell; None for views that no index makes."""
    ref = _array(v)
    if len(ref.path) > 1 or not all(isinstance(s, IndexStep) for s in ref.path):
        return None
    parts = iter(v.parts if isinstance(v, Masked) else [None] * len(ref.aval.shape))
    shape = ref.cell.atom.aval.shape
    step = ref.path[0] if ref.path else None
    found: list[tuple[Value, Value]] = []
    for i, n in enumerate(shape):
        d = step.dims[i] if isinstance(step, IndexStep) else None
        if isinstance(d, Gather):
            return None
        if isinstance(d, At):
            at = step.dynamic[d.index.arg] if isinstance(d.index, Dyn) else d.index  # type: ignore[union-attr]
            low, _ = interval(ctx, at)
            if low is None or low < 0:
                return None
            found.append((at, at))
            continue
        part = next(parts)
        if d is not None and (d.start, d.step) != (0, 1) and part is not None:
            return None
        if isinstance(part, Bounds):
            found.append((first(ctx, part), _before(ctx, past(ctx, part))))
        elif part is None and isinstance(start := 0 if d is None else d.start, int):
            ends = (0, n - 1) if d is None else (start, start + (d.size - 1) * d.step)
            found.append((min(ends), max(ends)))
        else:
            return None
    return found


def _before(ctx: Context, v: Value) -> Value:
    return ctx.wrap(make.subtract(ctx.b, ctx.atom(v), 1))
