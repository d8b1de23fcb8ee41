"""Lowering a closed body to scalar values: what a kernel computes for an element of its domain, or for a row.

Views disappear here: each value is asked for at a `Map`, the position of one element in terms of the axes of the
domain, and asks its arguments at theirs. A view only changes the map, so that slices, transposes and broadcasts end as
addresses of loads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...translator.bounds import analyse, index_status, interval_of
from ...translator.errors import Span
from ...translator.fits import decided, exact_dtypes
from ...translator.ir import Apply, Atom, Const, DType, Function, Fused, Shape, Var
from ...translator.ops import ADD, WHERE
from ...translator.ops.core import (
    At,
    Cast,
    Concatenate,
    ConcatenateAttrs,
    Create,
    Cumulative,
    CumulativeAttrs,
    Dim,
    Dyn,
    Elementwise,
    Gather,
    Index,
    IndexAttrs,
    Put,
    Reduce,
    ReduceAttrs,
    Reshape,
    Run,
    gather_position,
    indexed_shape,
)
from ...translator.ops.shapes import c_strides
from ...translator.passes.alignment import without_ones
from ...translator.tree import LEAF
from .maps import (
    FIXED,
    Bounds,
    Map,
    Term,
    broadcast_map,
    in_piece,
    indexed,
    operand_map,
    piece_bounds,
    refused,
    stored_map,
    within,
)
from .names import Names
from .places import with_short_places
from .values import (
    Call,
    Chosen,
    Convert,
    Count,
    Fold,
    Inside,
    Load,
    Look,
    Lowered,
    Number,
    Output,
    Place,
    Position,
    Scalar,
    Scan,
    Source,
    Value,
)

MOST_VALUES = 64  # for each statement


def lower(fused: Fused, scalars: frozenset[int], names: Names | None = None, most: int = 0) -> Lowered:
    """Lower a pointwise, row or reduce group. `scalars` are the parameters that are passed by value.

    `names`: those of the kernel that the lines become part of. `most`: how many values there may be; each of several
    joins of shifted arrays doubles them.

    Of a scatter the one output is what is stored. Raises UnsupportedError for what the kernel's axes cannot
    express, and for more values.
    """
    most = most or MOST_VALUES * (len(fused.body.statements) + 16)
    return with_short_places(_Lowering(fused, scalars, names or Names(), most).run())


def gathers(s: Apply) -> bool:
    """Whether arrays of integers choose what an index selects."""
    return isinstance(s.attrs, IndexAttrs) and s.attrs.gathers


def store_of(fused: Fused) -> Apply:
    """The store at the end of a scatter."""
    store = fused.body.statements[-1]
    assert isinstance(store, Apply) and isinstance(store.op, Put)
    return store


def domain_of(fused: Fused) -> tuple[Shape, tuple[int, ...]]:
    """The shape that the kernel runs over, and the axes that it reduces."""
    if fused.kind == "scatter":
        put = store_of(fused)
        assert isinstance(put.attrs, IndexAttrs)
        return indexed_shape(put.attrs, [a.aval for a in put.args]), ()
    for s in fused.body.statements:
        if isinstance(s, Apply) and isinstance(s.op, Reduce):
            assert isinstance(s.attrs, ReduceAttrs)
            return s.args[0].aval.shape, s.attrs.axes
        if isinstance(s, Apply) and isinstance(s.op, Cumulative):
            assert isinstance(s.attrs, CumulativeAttrs)
            return s.args[0].aval.shape, (s.attrs.axis,)
    return fused.targets[0].aval.shape, ()


class _Lowering:
    def __init__(self, fused: Fused, scalars: frozenset[int], names: Names, most: int) -> None:
        self.fused = fused
        self.most = most
        self.scalars = scalars
        self.domain, self.axes = domain_of(fused)
        self.params = {p: i for i, p in enumerate(fused.body.params)}
        self.makers: dict[Var, Apply] = {}
        for s in fused.body.statements:
            assert isinstance(s, Apply)
            self.makers[s.targets[0]] = s
        shapes = [self.domain, *(p.aval.shape for p in fused.body.params)]
        # Small extents are left out: 2.0 and 0.5 are mostly numbers that the user wrote.
        self.counts = {m for shape in shapes for m in _products(shape) if m > 4}
        self.memo: dict[tuple[Any, ...], Value] = {}
        self.values: list[Value] = []
        self.guard: Value | None = None  # the condition under which the value being lowered is needed
        self.names = names
        looks = any(gathers(s) for s in self.makers.values())
        self.intervals = analyse(Function("group", (), fused.body, LEAF)) if looks else {}

    def run(self) -> Lowered:
        if self.fused.kind == "scatter":
            return self.scatter(store_of(self.fused))
        outputs = []
        for target, atom in zip(self.fused.targets, self.fused.body.results, strict=True):
            where = self.output_map(target.aval.shape)
            value = self.value(atom, where, target.aval.dtype)
            shape, along = target.aval.shape, value.along or any(t.axis in self.axes for t in where)
            outputs.append(Output(value, shape, target.aval.dtype, where, along, c_strides(shape)))
        return Lowered(self.domain, self.axes, self.values, outputs, self.names, self.scalars)

    def output_map(self, shape: Shape) -> Map:
        if shape == self.domain:
            return tuple(FIXED if n == 1 else Term(i) for i, n in enumerate(shape))
        rows = [(i, n) for i, n in enumerate(self.domain) if i not in self.axes and n != 1]
        if without_ones(shape) != tuple(n for _, n in rows):
            raise refused(f"a result of shape {shape} from a kernel over {self.domain}", self.fused.span)
        order = iter(rows)
        return tuple(FIXED if n == 1 else Term(next(order)[0]) for n in shape)

    def add(
        self,
        key: tuple[Any, ...],
        hint: str,
        dtype: DType,
        source: Source,
        args: Sequence[Value],
        along: bool,
        span: Span,
    ) -> Value:
        stage = max((a.stage for a in args), default=0) + isinstance(source, Fold)
        name = "" if isinstance(source, Number) else self.names.fresh(hint)
        value = Value(name, dtype, source, tuple(args), along, stage, span)
        self.memo[key] = value
        self.values.append(value)
        if len(self.values) > self.most:
            raise refused("so many values for each element", span)
        return value

    def value(self, a: Atom, where: Map, dtype: DType | None = None) -> Value:
        """The value of an atom at a position. A constant takes the dtype that it is wanted in."""
        if isinstance(a, Const):
            return self.number(self.constant(a), a.aval.dtype if dtype is None else dtype)
        if a in self.params:
            return self.parameter(a, where)
        key = (a, where, self.guard)
        if key in self.memo:
            return self.memo[key]
        maker = self.makers[a]
        match maker.op:
            case Elementwise():
                return self.elementwise(key, maker, where)
            case Cast():
                return self.converted(key, self.value(maker.args[0], where), a, maker.span)
            case Reduce():
                return self.reduction(key, maker, where)
            case Cumulative():
                return self.scan(key, maker, where)
            case Create(name="full"):
                value = self.value(maker.args[0], (), a.aval.dtype)
                return value if value.dtype == a.aval.dtype else self.converted(key, value, a, maker.span)
            case Create(name="iota"):
                (term,) = where
                if (same := ("position", a.aval.dtype, term)) not in self.memo:
                    along = term.axis in self.axes
                    self.memo[same] = self.add(key, a.hint, a.aval.dtype, Position(term), (), along, maker.span)
                return self.memo[same]
            case Index() if gathers(maker):
                return self.look(key, maker, where)
            case Put() if not self.axes:
                return self.put(key, maker, where)
            case Concatenate() if not self.axes:
                return self.joined(key, maker, where)
            case Reshape() | Index():
                return self.value(maker.args[0], operand_map(maker, where))
            case _:
                raise refused(f"{maker.op.name} inside a kernel", maker.span)

    def constant(self, a: Const) -> Any:
        """The number that all elements of a constant are: decompositions make such arrays of constants."""
        if not a.aval.shape:
            return a.value
        every = np.ravel(a.value)
        if not every.size or every.tobytes() != every.size * every[:1].tobytes():
            raise refused("tables inside a kernel", self.fused.span)
        return every[0]

    def number(self, value: Any, dtype: DType) -> Value:
        with np.errstate(all="ignore"):
            number = np.asarray(value).astype(dtype)[()]
        key: tuple[Any, ...] = ("number", dtype, np.asarray(number).tobytes())
        if key in self.memo:
            return self.memo[key]
        if dtype.kind == "f" and self.is_count(float(number)):
            return self.add(key, "count", dtype, Count(number), (), False, self.fused.span)
        return self.add(key, "", dtype, Number(number), (), False, self.fused.span)

    def converted(self, key: tuple[Any, ...], x: Value, a: Var, span: Span) -> Value:
        if isinstance(x.source, Number):
            return self.number(x.source.value, a.aval.dtype)
        return self.add(key, a.hint, a.aval.dtype, Convert(), (x,), x.along, span)

    def is_count(self, number: float) -> bool:
        """Whether a constant looks like a number of elements n, or like the 1 / n or 2 / n of a mean's derivative."""
        return any(abs(number) in (n, 1 / n, 2 / n) for n in self.counts)

    def parameter(self, a: Var, where: Map) -> Value:
        param = self.params[a]
        guards = [] if self.guard is None or self.is_there(a, where) else [self.guard]
        key = (a, where, *guards)
        if key in self.memo:
            return self.memo[key]
        if param in self.scalars:
            return self.add(key, a.hint, a.aval.dtype, Scalar(param), (), False, self.fused.span)
        along = any(t.axis in self.axes for t in where)
        return self.add(key, a.hint, a.aval.dtype, Load(param, where), guards, along, self.fused.span)

    def is_there(self, a: Var, where: Map) -> bool:
        """Whether the array has an element at every position of the domain; false for ghost cells at an edge."""
        edge = any(t.axis < 0 and n != 1 for t, n in zip(where, a.aval.shape, strict=True))
        if edge and any(t.axis >= 0 for t in where):
            return False
        lasts = [self.domain[t.axis] - 1 if t.axis >= 0 else 0 for t in where]
        ends = [(t.start, t.start + t.step * last) for t, last in zip(where, lasts, strict=True)]
        return all(min(e) >= 0 and max(e) < n for e, n in zip(ends, a.aval.shape, strict=True))

    def elementwise(self, key: tuple[Any, ...], s: Apply, where: Map) -> Value:
        assert isinstance(s.op, Elementwise)
        avals = [a.aval for a in s.args]
        dtypes, result = exact_dtypes(s.op, avals, s.args), s.op.loop_dtypes(avals)[1]
        known = decided(s.op, s.args, dtypes)
        if known is not None:
            return self.number(known, result)
        args = [self.value(a, broadcast_map(where, a.aval.shape), d) for a, d in zip(s.args, dtypes, strict=True)]
        numbers = [a.source.value for a in args if isinstance(a.source, Number)]
        if args and len(numbers) == len(args):  # decompositions leave operations on constants behind
            with np.errstate(all="ignore"):
                return self.number(s.op.evaluate(*numbers), result)
        # What another statement has made of the same values is not made again, as a mask of two uses.
        same = (s.op, dtypes, result, s.attrs, *map(id, args))
        if same in self.memo:
            return self.memo[same]
        hint = s.targets[0].hint
        self.memo[same] = self.add(key, hint, result, Call(s.op, dtypes), args, any(a.along for a in args), s.span)
        return self.memo[same]

    def reduction(self, key: tuple[Any, ...], s: Apply, where: Map) -> Value:
        assert isinstance(s.op, Reduce) and isinstance(s.attrs, ReduceAttrs)
        shape, axes = s.args[0].aval.shape, s.attrs.axes
        if shape != self.domain or axes != self.axes:
            raise refused("reductions of different axes in one kernel", s.span)
        kept = iter(where if not s.attrs.keepdims else [t for i, t in enumerate(where) if i not in axes])
        inner: list[Term] = []
        for i, n in enumerate(shape):
            term = Term(i) if i in axes else next(kept)
            if i not in axes and n != 1 and term != Term(i):
                raise refused("a reduction used along another axis than its own", s.span)
            inner.append(FIXED if n == 1 else term)
        arg = self.value(s.args[0], tuple(inner))
        return self.add(key, s.targets[0].hint, s.targets[0].aval.dtype, Fold(s.op), (arg,), False, s.span)

    def put(self, key: tuple[Any, ...], s: Apply, where: Map) -> Value:
        """The stored value inside the slices, the old value elsewhere; no array is read outside its extents."""
        assert isinstance(s.op, Put)
        x, given = s.args[:2]
        dtype = x.aval.dtype
        found = within(s, where, self.domain)
        if found is None:
            return self.value(x, where, dtype)
        bounds, local = found
        around, hint = self.guard, s.targets[0].hint
        if bounds:
            self.guard = self.inside(bounds, s.span)
        stored = self.value(given, stored_map(local, given.aval.shape), dtype)
        if stored.dtype != dtype:
            stored = self.add((*key, "cast"), "stored", dtype, Convert(), (stored,), False, s.span)
        inside, self.guard = self.guard, around
        kept = self.value(x, where, dtype) if bounds or s.op.name == "put_add" else stored
        if s.op.name == "put_add":
            stored = self.add((*key, "sum"), hint, dtype, Call(ADD, (dtype, dtype)), (kept, stored), False, s.span)
        if not bounds or inside is None:
            return stored
        types = (np.dtype(bool), dtype, dtype)
        return self.add(key, hint, dtype, Call(WHERE, types), (inside, stored, kept), False, s.span)

    def joined(self, key: tuple[Any, ...], s: Apply, where: Map) -> Value:
        """The element of a concatenation at a position: each part is read only within its own bounds."""
        assert isinstance(s.attrs, ConcatenateAttrs)
        axis, dtype, around, start = s.attrs.axis, s.targets[0].aval.dtype, self.guard, 0
        pieces: list[tuple[Atom, Map, tuple[int, int]]] = []
        for a in s.args:
            size = a.aval.shape[axis]
            first, behind = piece_bounds(where[axis], start, size, self.domain)
            if first < behind:
                at = (*where[:axis], in_piece(where[axis], start, size), *where[axis + 1 :])
                pieces.append((a, at, (first, behind)))
            start += size
        found: Value | None = None
        for a, at, bounds in reversed(pieces):
            inside = self.inside(((where[axis].axis, *bounds),), s.span) if len(pieces) > 1 else None
            self.guard = inside or around
            value = self.value(a, at, dtype)
            self.guard = around
            if value.dtype != dtype:
                value = self.add((*key, a, "cast"), "joined", dtype, Convert(), (value,), False, s.span)
            if found is not None and inside is not None:
                source, args = Call(WHERE, (np.dtype(bool), dtype, dtype)), (inside, value, found)
                value = self.add((*key, a, bounds), s.targets[0].hint, dtype, source, args, False, s.span)
            found = value
        return self.number(0, dtype) if found is None else found

    def inside(self, bounds: Bounds, span: Span) -> Value:
        guards = () if self.guard is None else (self.guard,)
        key = ("inside", bounds, *guards)
        return self.memo.get(key) or self.add(key, "inside", np.dtype(bool), Inside(bounds), guards, False, span)

    def look(self, key: tuple[Any, ...], s: Apply, where: Map) -> Value:
        assert isinstance(s.attrs, IndexAttrs)
        x, *_ = s.args
        if not isinstance(x, Var) or x not in self.params or self.params[x] in self.scalars:
            raise refused("elements chosen from an array that the kernel computes", s.span)
        terms, chosen, args = self.choices(s, where)
        along = any(a.along for a in args) or any(t.axis in self.axes for t in terms)
        source = Look(self.params[x], terms, chosen)
        return self.add(key, s.targets[0].hint, x.aval.dtype, source, args, along, s.span)

    def scatter(self, s: Apply) -> Lowered:
        assert isinstance(s.attrs, IndexAttrs)
        x, given = s.args[:2]
        rank = max(s.args[d.arg].aval.ndim for d in s.attrs.dims if isinstance(d, Gather))
        first = gather_position(s.attrs.dims)
        where = tuple(FIXED if n == 1 else Term(i) for i, n in enumerate(self.domain))
        terms, chosen, args = self.choices(s, where)
        place = Place(terms, chosen, tuple(args), tuple(range(first, first + rank)))
        held, dtype = given.aval.shape, x.aval.dtype
        value = self.value(given, stored_map(where, held), dtype)
        if value.dtype != dtype:
            value = self.add(("stored",), "stored", dtype, Convert(), (value,), False, s.span)
        stored = Output(value, x.aval.shape, dtype, terms, False, c_strides(x.aval.shape))
        return Lowered(self.domain, (), self.values, [stored], self.names, self.scalars, place)

    def choices(self, s: Apply, where: Map) -> tuple[Map, tuple[Chosen | None, ...], list[Value]]:
        """For each axis of an indexed array: the term of the address, or the value that gives the place at run time."""
        assert isinstance(s.attrs, IndexAttrs)
        dims, shape = s.attrs.dims, s.args[0].aval.shape
        rank = max(s.args[d.arg].aval.ndim for d in dims if isinstance(d, Gather))
        position = gather_position(dims)
        chosen_at, runs = where[position : position + rank], iter((*where[:position], *where[position + rank :]))
        terms: list[Term] = []
        chosen: list[Chosen | None] = []
        args: list[Value] = []
        for d, n in zip(dims, shape, strict=True):
            if (place := _place_of(d)) is not None:
                index = s.args[place]
                chosen.append(Chosen(len(args), n, index_status(interval_of(index, self.intervals), n)))
                args.append(self.value(index, broadcast_map(chosen_at, index.aval.shape)))
                terms.append(FIXED)
            else:
                chosen.append(None)
                terms.append(FIXED if n == 1 and isinstance(d, Run) else indexed(d, runs, s.span))
                if terms[-1] is FIXED:
                    next(runs)
        return tuple(terms), tuple(chosen), args

    def scan(self, key: tuple[Any, ...], s: Apply, where: Map) -> Value:
        assert isinstance(s.op, Cumulative) and isinstance(s.attrs, CumulativeAttrs)
        shape = s.args[0].aval.shape
        in_place = tuple(FIXED if n == 1 else Term(i) for i, n in enumerate(shape))
        if shape != self.domain or (s.attrs.axis,) != self.axes or where != in_place:
            raise refused("running sums over another shape than the work around them", s.span)
        arg = self.value(s.args[0], where)
        return self.add(key, s.targets[0].hint, s.targets[0].aval.dtype, Scan(s.op), (arg,), True, s.span)


def _products(shape: Shape) -> set[int]:
    """Extents, and products of adjacent extents."""
    return {math.prod(shape[i:j]) for i in range(len(shape)) for j in range(i + 1, len(shape) + 1)}


def _place_of(d: Dim) -> int | None:
    """The argument that gives the places along an axis: one for each element, or one for all."""
    match d:
        case Gather(arg=arg) | At(index=Dyn(arg=arg)):
            return arg
    return None
