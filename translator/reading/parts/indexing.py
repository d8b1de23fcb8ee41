"""x[...]: basic indices are views, integer arrays gather, bool arrays select."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

import numpy as np

from ... import make, ops
from ...errors import DTypeError, OutOfBoundsError, ShapeError
from ...ir import Atom, Aval, Const, Shape, Var
from ...ops.core import At, AxesAttrs, Dim, Dyn, Gather, Run, ShapeAttrs, read_by
from ...records import dataclass
from ...surface.python import as_python
from ..core.context import Context
from ..core.demand import LENGTH, demand, difference, from_arguments, interval, static
from ..core.layout import note_gathered, note_result
from ..core.steps import indexed_aval
from ..core.values import (
    FULL,
    Bounds,
    Flat,
    IndexStep,
    Masked,
    OpStep,
    Part,
    Places,
    Ref,
    RunRange,
    Value,
    describe,
    is_runtime,
)
from ..facts.runs import width_of
from .shifting import forwards, window_of
from .sliding import slid


@dataclass(frozen=True, slots=True)
class Key:
    """A parsed index: one entry an axis, the atoms that Dyn and Gather count in, and where np.newaxis puts axes."""

    dims: tuple[Dim, ...]
    atoms: tuple[Atom, ...]
    new_axes: tuple[int, ...] = ()
    special: tuple[tuple[int, Part], ...] = ()  # axes of the result of which a selection takes a part

    @property
    def gathers(self) -> bool:
        return any(isinstance(d, Gather) for d in self.dims)

    def aval(self, base: Aval) -> Aval:
        return indexed_aval(base, self.dims, self.atoms)


def flat_of(ctx: Context, x: Value) -> Flat:
    """`x.flat`. The elements in C order are x's own memory, wherever they lie: no reshape that might copy."""
    if type(x) is not Ref:
        return Flat(Ref(ctx.cell(make.reshape(ctx.b, ctx.atom(x), (1,)))))
    if len(x.aval.shape) == 1:
        return Flat(x)
    shape = (x.aval.size,)
    return Flat(ctx.extend(x, OpStep(ops.RESHAPE, ShapeAttrs(shape), (), Aval(shape, x.aval.dtype))))


def copy_of_line(ctx: Context, flat: Flat) -> Ref:
    return Ref(ctx.cell(ctx.read(flat.line)))


def indexed(ctx: Context, base: Ref, key: Value, node: ast.AST) -> Value:
    """`base[key]` for a key without selections: a view, what index arrays gather, or what a mask selects."""
    if type(key) is tuple and any(e is None for e in key) and any(map(_gathers, key)):
        # a new axis counts as a slice of what has that axis
        axes = tuple(e if e is None or e is Ellipsis else slice(None) for e in key for _ in range(_axes_taken(e)))
        base = indexed(ctx, base, axes, node)
        key = tuple(slice(None) if e is None else e for e in key)
    mask = mask_of(ctx, base.aval.shape, key, node)
    if mask is not None:
        return masked(ctx, Ref(ctx.cell(ctx.read(base))), mask)
    ctx.at(node)
    parsed = parse_key(ctx, base.aval.shape, key, node, selects=True)
    if parsed.special:
        return selected_view(ctx, base, parsed, key, node)
    if parsed.gathers:
        found = ctx.wrap(make.index(ctx.b, ctx.read(base), parsed.dims, parsed.atoms))
        if not ctx.frame.fixed:
            note_gathered(found, base, parsed.dims)
        return found
    view = extend_index(ctx, base, parsed)
    if ctx.boxes and any(map(_gathers, key if type(key) is tuple else (key,))):
        copied = Ref(ctx.cell(ctx.read(view)))  # an array without axes counts as an index array
        note_result("copy", copied, [view], {"order": "K"})
        view = copied
    has_ellipsis = key is Ellipsis or (type(key) is tuple and any(e is Ellipsis for e in key))
    return view if view.aval.shape or (has_ellipsis and ctx.boxes) else ctx.number(view)


def selected_view(ctx: Context, base: Ref, parsed: Key, key: Value, node: ast.AST) -> Masked:
    """`base[key]` where an entry is a mask or a slice of unknown length; a view if all of them are slices."""
    view = extend_index(ctx, base, parsed)
    special, axis = dict(parsed.special), 0
    parts: tuple[Part, ...] = ()
    while axis < view.aval.ndim:
        parts += (special.get(axis),)
        axis += width_of(parts[-1])
    if any(isinstance(p, Places) for p in parts):
        return Masked(Ref(ctx.cell(ctx.read(view))), parts)
    return Masked(view, parts, *strictly(ctx, view, parts, node))


def strictly(ctx: Context, whole: Ref, parts: tuple[Part, ...], node: ast.AST) -> tuple[Ref | None, Atom | None]:
    """What `Masked.strict` and `Masked.leaves` are of slices of `whole`; None where not all lengths are known."""
    bounds = [p for p in parts if isinstance(p, Bounds)]
    sizes = [None if type(p.step) is Var else difference(ctx, p.stop, p.start) for p in bounds]
    if any(size is None or size > p.n for size, p in zip(sizes, bounds, strict=True)):
        return None, None
    key = tuple(slice(p.start, p.stop, p.step) if isinstance(p, Bounds) else slice(None) for p in parts)
    inside = parse_key(ctx, whole.aval.shape, key, node)
    return extend_index(ctx, whole, inside), leaves_axis(ctx, inside, whole.aval.shape)


def leaves_axis(ctx: Context, key: Key, shape: Shape) -> Atom | None:
    """Whether a run from a place that only the run knows begins before its axis, or ends behind it."""
    found: Atom | None = None
    for d, n in zip(key.dims, shape, strict=True):
        if isinstance(d, Run) and isinstance(d.start, Dyn) and d.size:
            start, b, (low, high) = key.atoms[d.start.arg], ctx.b, d.starts(n)
            least, most = interval(ctx, start)
            if least is not None and low <= least and most is not None and most <= high:
                continue
            outside = make.logical_or(b, make.less(b, start, low), make.greater(b, start, high))
            found = outside if found is None else make.logical_or(b, found, outside)
    return found


def extend_index(ctx: Context, base: Ref, key: Key) -> Ref:
    """The view `base[key]` for a basic index. Static indices of indices become one."""
    shape = base.aval.shape
    if key.dims != tuple(Run(0, n) for n in shape):
        last = base.path[-1] if base.path else None
        inner = Ref(base.cell, base.path[:-1])
        merged = merge(ctx, inner.aval.shape, last, key) if isinstance(last, IndexStep) else None
        if merged is not None:
            base = _step(inner, merged)
        else:
            base = slid(ctx, base, key.dims, key.atoms) or _step(base, key)
    if key.new_axes:
        aval = base.aval
        rest = iter(aval.shape)
        ndim = len(aval.shape) + len(key.new_axes)
        shape = tuple(1 if i in key.new_axes else next(rest) for i in range(ndim))
        return ctx.extend(base, OpStep(ops.EXPAND_DIMS, AxesAttrs(key.new_axes), (), Aval(shape, aval.dtype)))
    return Ref(base.cell, base.path)  # `x[:]` is another object than x


def _step(base: Ref, key: Key) -> Ref:
    return Ref(base.cell, (*base.path, IndexStep(key.dims, key.atoms, key.aval(base.aval))))


def merge(ctx: Context, shape: Shape, first: IndexStep, second: Key) -> Key | None:
    """x[first][second] as one index, of `x` of this shape; None where that would take arithmetic at run time."""

    def inside(d: At | Run, n: int) -> bool:
        place = read_by(d)
        assert place is not None
        low, high = interval(ctx, second.atoms[place])
        least, most = d.starts(n) if isinstance(d, Run) else (0, n - 1)
        return low is not None and least <= low and high is not None and high <= most

    known = () if ctx.is_printed else (inside,)  # printed programs are as they were simplified
    dims = make.joined(shape, first.dims, second.dims, len(first.dynamic), *known)
    return None if dims is None else Key(dims, (*first.dynamic, *second.atoms))


# ---- parsing -------------------------------------------------------------------------------------


def parse_key(ctx: Context, shape: Shape, key: Value, node: ast.AST, selects: bool = False) -> Key:
    """Raises OutOfBoundsError for a static index outside its axis, and for too many indices, as NumPy does.

    `selects`: masks and slices of unknown length become `special` axes, taken whole; else they are refused.
    """
    entries = [_number_in(ctx, e) for e in (key if type(key) is tuple else (key,))]
    entries = [static(ctx, e, node, "a range that is an index") if isinstance(e, RunRange) else e for e in entries]
    entries = _expand_known_masks(ctx, shape, [list(e) if isinstance(e, range | tuple) else e for e in entries], node)
    consuming = sum(_axes_taken(e) for e in entries if e is not None and e is not Ellipsis)
    if consuming > len(shape):
        raise ctx.error(
            OutOfBoundsError,
            node,
            f"too many indices for an array: it is {len(shape)}-dimensional, but {consuming} were indexed",
        )
    if sum(1 for e in entries if e is Ellipsis) > 1:
        raise ctx.error(OutOfBoundsError, node, "an index can only have a single ellipsis ('...')")
    if not any(e is Ellipsis for e in entries):
        entries.append(Ellipsis)
    parser = _Parser(ctx, node, selects and not any(map(_gathers, entries)))
    axis = 0
    for e in entries:
        if e is None:
            parser.new_axes.append(parser.kept)
            parser.kept += 1
        elif e is Ellipsis:
            for _ in range(len(shape) - consuming):
                parser.dims.append(Run(0, shape[axis]))
                parser.kept += 1
                axis += 1
        else:
            parser.entry(e, shape, axis)
            axis += _axes_taken(e)
    parsed = Key(tuple(parser.dims), tuple(parser.atoms), tuple(parser.new_axes), tuple(parser.special))
    if selects and not ctx.is_printed:
        leaves = leaves_axis(ctx, parsed, shape)
        if leaves is not None:
            ctx.at(node)
            make.raise_if(ctx.b, leaves, IndexError, LEAVES)
    if parsed.new_axes and parsed.gathers:
        ctx.cut(node, "np.newaxis beside an index array", instead="index first, then add the axis: x[i][:, None]")
    return parsed


def _number_in(ctx: Context, e: Value) -> Value:
    """An entry of an index with numbers for arrays of integers without axes."""
    if type(e) is slice:
        return slice(*(_end_in(ctx, part) for part in (e.start, e.stop, e.step)))
    return ctx.number(e) if type(e) is Ref and e.aval.dtype.kind in "iu" else e


def _end_in(ctx: Context, part: Value) -> Value:
    """An end or the step of a slice: a Python int where the difference of two might leave the dtype."""
    number = ctx.number(part)
    is_narrow = type(number) is Var and number.aval.dtype.kind in "iu" and number.aval.dtype != np.int64
    return ctx.wrap(as_python(ctx.b, number)) if is_narrow else number


def _check_mask(ctx: Context, mask: Shape, shape: Shape, first: int, node: ast.AST) -> None:
    """Raises OutOfBoundsError for a mask that has not the size of the axes from `first` on."""
    for axis, (n, size) in enumerate(zip(shape[first:], mask, strict=False), first):
        if n != size:
            what = f"boolean index did not match indexed array along axis {axis}; size of axis is {n}"
            raise ctx.error(OutOfBoundsError, node, f"{what} but size of corresponding boolean axis is {size}")


def _axes_taken(e: Value) -> int:
    """How many axes of the array an entry of an index stands for; one for what is no axis of it."""
    return e.aval.ndim if type(e) is Ref and e.aval.dtype.kind == "b" else 1


def _gathers(e: Value) -> bool:
    return type(e) is list or isinstance(e, np.ndarray | Masked) or (type(e) is Ref and e.aval.dtype.kind != "b")


def _expand_known_masks(ctx: Context, shape: Shape, entries: list[Value], node: ast.AST) -> list[Value]:
    """A bool array known now is the integer arrays of its True positions."""
    expanded: list[Value] = []
    for e in entries:
        atom = e.cell.atom if type(e) is Ref and not e.path else None
        mask = None
        if isinstance(atom, Const) and atom.aval.dtype.kind == "b":
            mask = np.asarray(atom.value)
        elif type(e) is list and e and all(type(x) is bool for x in e):
            mask = np.array(e)
        if mask is None:
            expanded.append(e)
            continue
        if not any(x is Ellipsis for x in expanded):
            _check_mask(ctx, mask.shape, shape, sum(x is not None for x in expanded), node)
        expanded += list(np.nonzero(mask))
    return expanded


class _Parser:
    def __init__(self, ctx: Context, node: ast.AST, selects: bool) -> None:
        self.ctx = ctx
        self.node = node
        self.selects = selects
        self.special: list[tuple[int, Part]] = []
        self.dims: list[Dim] = []
        self.atoms: list[Atom] = []
        self.new_axes: list[int] = []
        self.kept = 0

    def atom(self, a: Atom) -> int:
        self.atoms.append(a)
        return len(self.atoms) - 1

    def entry(self, e: Value, shape: Shape, axis: int) -> None:
        n = shape[axis] if axis < len(shape) else 0
        if isinstance(e, bool | np.bool_):
            self.bad(e)
        if isinstance(e, int | np.integer):
            self.dims.append(At(self._inside(int(e), n, axis)))
        elif type(e) is slice:
            self.dims.append(self._slice(e, n))
            self.kept += 1
        elif type(e) is Var:
            if e.aval.dtype.kind not in "iu":
                self.bad(e)
            self.dims.append(At(Dyn(self.atom(e))))
        elif self.selects and type(e) is Ref and e.aval.dtype.kind == "b" and e.aval.ndim:
            _check_mask(self.ctx, e.aval.shape, shape, axis, self.node)
            self._part(Places(self.ctx.read(e)))
            self.dims += [Run(0, size) for size in e.aval.shape]
            self.kept += e.aval.ndim
        elif type(e) is Ref or type(e) is list or isinstance(e, np.ndarray):
            a = self.ctx.atom(e) if not isinstance(e, np.ndarray) else make.lift(e)
            if type(e) is list and not e:
                a = make.lift(np.zeros(0, np.int64))
            if a.aval.dtype.kind not in "iu":
                self.bad(e)
            if isinstance(a, Const):
                self._check_array(a, n, axis)
            self.dims.append(Gather(self.atom(a)))
            self.kept += 1
        else:
            self.bad(e)

    def _part(self, p: Part) -> None:
        if isinstance(p, Places) and any(isinstance(q, Places) for _, q in self.special):
            why = "they pair up their True places"
            self.ctx.cut(self.node, "two masks in one index", why=why, instead="use np.where")
        self.special.append((self.kept, p))

    def _bounds(self, s: slice, n: int) -> Run | None:
        """A slice as a part of the whole axis, where its ends come from loops or data, and it may end outside."""
        ctx, ends = self.ctx, [p for p in (s.start, s.stop) if type(p) is Var]
        if not self.selects or any(p.aval.dtype.kind not in "iu" for p in ends):
            return None
        step = 1 if s.step is None else s.step
        if type(step) is Var:
            ends.append(step)
            if (interval(ctx, step)[0] or 0) <= 0:
                return None
        elif not isinstance(step, int | np.integer) or step <= 0:
            return None
        start, stop = 0 if s.start is None else s.start, n if s.stop is None else s.stop
        size = None if s.start is None or s.stop is None else difference(ctx, stop, start)
        if size is not None and type(step) is not Var:
            low, high = interval(ctx, start)
            # the slices of a printed program lie inside the axis: that is what they mean
            if ctx.is_printed or all(from_arguments(ctx, p) for p in ends):
                return None
            if low is not None and low + min(size, 0) >= 0 and high is not None and high + size <= n:
                return None
        elif all(from_arguments(ctx, p) for p in ends):
            return None
        window = window_of(ctx, start, stop, n) if type(step) is not Var and step == 1 else None
        if window is None:
            self._part(Bounds(start, stop, step, n))
            return Run(0, n)
        self._part(window.bounds)
        return Run(Dyn(self.atom(window.first)), window.bounds.n)

    def bad(self, e: Value) -> NoReturn:
        if isinstance(e, bool) or (is_runtime(e) and e.aval.dtype.kind == "b"):
            self.ctx.cut(
                self.node,
                "a bool array beside other indices" if type(e) is Ref else "a bool as an index",
                why="the size of the selection is not known before the run",
                instead="use np.where(mask, x, other)",
            )
        raise self.ctx.error(
            OutOfBoundsError,
            self.node,
            "only integers, slices, ellipsis, np.newaxis and integer or bool arrays are valid indices",
            why=f"this index is {describe(e)}",
        )

    def _inside(self, i: int, n: int, axis: int) -> int:
        if not -n <= i < n:
            what = f"index {i} is out of bounds for axis {axis} with size {n}"
            raise self.ctx.error(OutOfBoundsError, self.node, what)
        return i % n

    def _check_array(self, a: Const, n: int, axis: int) -> None:
        values = np.asarray(a.value)
        if values.size and not (-n <= values.min() and values.max() < n):
            worst = int(values.max() if values.max() >= n else values.min())
            raise self.ctx.error(
                OutOfBoundsError, self.node, f"index {worst} is out of bounds for axis {axis} with size {n}"
            )

    def _slice(self, s: slice, n: int) -> Run:
        ctx, node = self.ctx, self.node
        if any(type(p) is Var for p in (s.start, s.stop, s.step)):
            s = forwards(ctx, s, n)
            part = self._bounds(s, n)
            if part is not None:
                return part
        if type(s.step) is Var:
            demand(ctx, [s.step], node, "the step of a slice")
        if not any(type(p) is Var for p in (s.start, s.stop)):
            bounds = slice(*(_plain(ctx, p, node) for p in (s.start, s.stop, s.step)))
            inside = range(*bounds.indices(n))
            return Run(inside.start, len(inside), inside.step) if len(inside) else Run(0, 0)
        size = None if s.start is None or s.stop is None else difference(ctx, s.stop, s.start)
        if size is None:
            demand(ctx, [p for p in (s.start, s.stop) if type(p) is Var], node, LENGTH)
        step = 1 if s.step is None else int(s.step)
        if (step < 0 or size < 0) and not self._is_plain(s, n, step):
            demand(ctx, [p for p in (s.start, s.stop) if type(p) is Var], node, "whether an end of a slice is negative")
        count = max(0, -(-size // step))
        if count > n:
            raise ctx.error(
                ShapeError,
                node,
                f"a slice of {count} elements of an axis with {n}",
                why="where both ends are known only at run time, the slice must lie inside the axis",
            )
        if not count:
            return Run(0, 0)
        if type(s.start) is not Var:
            return Run(self._inside(int(s.start), n, len(self.dims)), count, step)
        return Run(Dyn(self.atom(s.start)), count, step)

    def _is_plain(self, s: slice, n: int, step: int) -> bool:
        """Whether no end of a slice with a known length counts from the back, and one going back begins inside."""
        if self.ctx.is_printed:
            return True
        (low, high), (least, _) = interval(self.ctx, s.start), interval(self.ctx, s.stop)
        inside = step > 0 or (high is not None and high < n)
        return low is not None and low >= 0 and least is not None and least >= 0 and inside


def _plain(ctx: Context, p: Value, node: ast.AST) -> Any:
    if p is None or isinstance(p, int | np.integer):
        return p
    raise ctx.error(DTypeError, node, "slice indices must be integers or None", why=f"this one is {describe(p)}")


# ---- masks ---------------------------------------------------------------------------------------


def mask_for(ctx: Context, key: Value, shape: Shape) -> Value:
    """The key with a mask in place of the places that np.nonzero gives of it: for the leading axes, or one beside
    integers and slices.
    """
    entries = key if type(key) is tuple else (key,)
    if entries and all(isinstance(e, Masked) and e.axis == i and e.is_as_made for i, e in enumerate(entries)):
        (part, *others) = {id(p): p for e in entries for p in e.parts}.values()
        fits = not others and len(entries) == width_of(part) and part.mask.aval.shape == shape[: len(entries)]
        return Ref(ctx.cell(part.mask)) if fits else key
    found = [i for i, e in enumerate(entries) if isinstance(e, Masked)]
    if len(found) != 1 or not all(type(e) in (int, slice) for i, e in enumerate(entries) if i not in found):
        return key
    (i,) = found
    chosen = entries[i]
    fits = chosen.axis == 0 and chosen.is_as_made and chosen.parts[0].mask.aval.shape == shape[i : i + 1]
    return (*entries[:i], Ref(ctx.cell(entries[i].parts[0].mask)), *entries[i + 1 :]) if fits else key


def mask_of(ctx: Context, shape: Shape, key: Value, node: ast.AST) -> Atom | None:
    """The atom of `key` when it is one bool array of which the contents are known only at run time."""
    if type(key) is tuple and len(key) == 1:
        key = key[0]
    if type(key) not in (Ref, Var) or key.aval.dtype.kind != "b":
        return None
    atom = ctx.atom(key)
    if isinstance(atom, Const):
        return None
    if atom.aval.shape != shape[: atom.aval.ndim]:
        raise ctx.error(
            OutOfBoundsError,
            node,
            f"a bool index of shape {atom.aval.shape} does not match the indexed array of shape {shape}",
        )
    return atom


def same_mask(ctx: Context, a: Atom, b: Atom) -> bool:
    """Whether two masks are the same value: one variable, or the same operation on the same operands."""
    if a is b:
        return True
    if not (isinstance(a, Var) and isinstance(b, Var)):
        return False
    x, y = ctx.definition(a), ctx.definition(b)
    if x is None or y is None or x.op is not y.op or x.attrs != y.attrs:
        return False
    return all(p is q or _same_const(p, q) or same_mask(ctx, p, q) for p, q in zip(x.args, y.args, strict=True))


def _same_const(p: Atom, q: Atom) -> bool:
    return isinstance(p, Const) and isinstance(q, Const) and p.key == q.key


LEAVES = "a slice leaves its axis, and is shorter there: keep its ends inside, x[max(lo, 0):min(hi, n)]"


def masked(ctx: Context, whole: Ref, mask: Atom) -> Masked:
    """`whole[mask]`: the mask stands for the leading axes."""
    return Masked(whole, (Places(mask), *[FULL] * (whole.aval.ndim - mask.aval.ndim)))
