"""Reductions across wide rows as elementwise combinations of parts: XLA's CPU kernels would go by columns.

    before                       after
    t = x * x + 1                y = (x[:1] * x[:1] + 1) + (x[1:2] * x[1:2] + 1) + (x[2:] * x[2:] + 1)
    y = np.sum(t, axis=0)        y = np.squeeze(y, 0)

Of many rows each part has several, and what they give is reduced in the same way. What nobody else needs is computed
where it is combined. Sums of products likewise. Column by column they take up to 10 times as long as NumPy's.

Extremes along rows, and of all elements, are those of what a few parts give: XLA compares one element after another.
Sums likewise where XLA would write all that is summed to memory, as np.mean(x > 0): 7 to 24 ms in place of 3 to 5.
Across wide rows places of extremes are carried beside them.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Block, DType, Function, Statement, Var, blocks_of, const, inputs_of, walk
from ..ops.core import (
    ArgReduce,
    ArgReduceAttrs,
    AxesAttrs,
    Cast,
    Contract,
    ContractAttrs,
    Elementwise,
    Reduce,
    ReduceAttrs,
    Run,
    ShapeAttrs,
)
from ..progressions import Made
from ..records import dataclass
from ..remake import remake
from ..rewrite import prune, spelled_out, substituted
from .sliding import COMBINE

WIDE = 1 << 8  # elements of a row
LEAST = 1 << 14  # elements of all rows
TERMS = 16  # of a sum, each of which reads a stream of its own
WRITTEN = 512  # operations that are written out
FEW = 8  # parts of what extremes are looked for in
LONG = 1 << 12  # elements of which one is the extreme, wherever they come from
FUSED = frozenset(
    (
        *("add", "subtract", "multiply", "divide", "negative", "absolute", "square", "sqrt", "power", "reciprocal"),
        *("exp", "tanh", "sin", "cos", "cbrt", "floor", "ceil", "rint", "astype"),
    )
)
"""Operations on floats that YNNPACK computes on the way to a sum."""


def across(function: Function) -> Function:
    """Apply to every such reduction; the same function object where there is none."""
    makers = {t: s for s in walk(function.body) if isinstance(s, Apply) for t in s.targets}
    found = {s.targets[0]: rows for s in makers.values() if (rows := _rows(makers.get, s)) is not None}
    if not found:
        return function
    blocks = [function.body, *(block for s in walk(function.body) for block in blocks_of(s))]
    home = {t: block for block in blocks for s in block.statements for t in s.targets}
    uses = _uses(blocks)
    known: dict[Var, Atom] = {}

    def written(s: Apply) -> Sequence[Statement]:
        target = s.targets[0]
        if target not in found:
            return (s,)
        b, here = Builder(s.span), home[target]

        def alone(v: Var) -> Apply | None:
            return makers.get(v) if uses[v] == 1 and home.get(v) is here else None

        rows = found[target]
        if rows.once and not (_compares_many(s) or _stored_first(alone, s)):
            return (s,)
        known[target] = _written(b, alone, rows)
        assert known[target].aval == target.aval
        return b.statements

    body = spelled_out(function.body, written)
    return replace(function, body=prune(substituted(body, known)))


def _compares_many(s: Apply) -> bool:
    """Whether many elements are compared, which XLA does one after another."""
    extreme = isinstance(s.attrs, ReduceAttrs) and s.op.name in ("max", "min")
    return extreme and s.args[0].aval.size // max(s.targets[0].aval.size, 1) >= LONG


def _stored_first(alone: Made, s: Apply) -> bool:
    """Whether XLA would write what is summed to memory: YNNPACK, which sums it, computes only some of it by itself."""
    waiting = list(s.args)
    several = any(a.aval.ndim > 1 for a in s.args) and isinstance(s.op, Contract)
    for a in waiting:
        maker = alone(a) if isinstance(a, Var) else None
        if maker is None or not isinstance(maker.op, Elementwise | Cast):
            continue
        if maker.op.name not in FUSED or any(x.aval.dtype.kind not in "fc" for x in maker.args if x.aval.shape):
            return True
        waiting += maker.args
    return several


def _uses(blocks: Sequence[Block]) -> Counter[Atom]:
    """How many statements and results need each value."""
    uses: Counter[Atom] = Counter()
    for block in blocks:
        uses.update(block.results)
        for s in block.statements:
            uses.update(set(inputs_of(s)))
    return uses


# ---- what is reduced -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rows:
    """So many rows are combined by `op`. `part` makes some of them, which stay beside each other along the `axis`; then
    what there is along `others` is.
    """

    op: Reduce | ArgReduce
    count: int
    axis: int
    part: Callable[[_Parts, int, int], Atom]
    others: tuple[int, ...] = ()
    keepdims: bool = False
    once: bool = False  # a few parts, what they give is reduced by XLA


def _rows(made: Made, s: Apply) -> _Rows | None:
    dtype = s.targets[0].aval.dtype
    if dtype.itemsize == 2 and dtype.kind not in "iu":  # they are added up in float32
        return None
    match s.op, s.attrs:
        case Reduce() as op, ReduceAttrs() as attrs if op.name in COMBINE:
            return _of_reduction(made, s, op, attrs)
        case ArgReduce() as op, ArgReduceAttrs() as attrs:
            return _of_places(made, s.args[0], op, attrs)
        case Contract(), ContractAttrs() as attrs if dtype.kind in "iufc":
            return _of_product(made, s, attrs)
    return None


def _of_reduction(made: Made, s: Apply, op: Reduce, attrs: ReduceAttrs) -> _Rows | None:
    (x,), dtype = s.args, s.targets[0].aval.dtype
    shape = x.aval.shape
    axis = next((i for i in sorted(attrs.axes) if shape[i] > 1), None)
    last = max(attrs.axes, default=0)
    if axis is None or any(i not in attrs.axes and shape[i] > 1 for i in range(axis, last)):
        return None
    maker = made(x) if isinstance(x, Var) else None
    fused = maker is not None and isinstance(maker.op, Elementwise | Cast)  # NumPy compares what lies in memory
    along = fused and last == len(shape) - 1 and math.prod(shape) >= LEAST
    once = along and _is_long(op.name, dtype, math.prod(shape[axis:]))
    if not (once or _is_wide(shape, last)) or not _lies_across(made, x, axis):
        return None

    def part(parts: _Parts, start: int, stop: int) -> Atom:
        some = parts.of(x, axis, start, stop)
        return some if op.name in ("max", "min") else make.astype(parts.b, some, dtype)

    return _Rows(op, shape[axis], axis, part, tuple(i for i in attrs.axes if i != axis), attrs.keepdims, once)


def _is_long(name: str, dtype: DType, length: int) -> bool:
    kinds = {"sum": "fc", "max": "f", "min": "f"}.get(name, "")
    return dtype.kind in kinds and length >= WIDE


def _of_places(made: Made, x: Atom, op: ArgReduce, attrs: ArgReduceAttrs) -> _Rows | None:
    axis, shape = attrs.axis, x.aval.shape
    known = x.aval.dtype.kind in "fiu" and shape[axis] > 1
    if not known or not _is_wide(shape, axis) or not _lies_across(made, x, axis):
        return None
    return _Rows(op, shape[axis], axis, lambda parts, *places: parts.of(x, axis, *places), (), attrs.keepdims)


def _of_product(made: Made, s: Apply, attrs: ContractAttrs) -> _Rows | None:
    """The product of arrays element by element, summed along their first axis."""
    (x, y), (lhs, rhs, out), dtype = s.args, (attrs.lhs, attrs.rhs, attrs.out), s.targets[0].aval.dtype
    if not out and lhs == rhs:
        return _of_whole_product(made, x, y, dtype)
    if len(rhs) > len(lhs):
        x, y, lhs, rhs = y, x, rhs, lhs
    if lhs[1:] != out or not (rhs and out) or (rhs[0], rhs[-1]) != (lhs[0], lhs[-1]):
        return None
    if rhs != tuple(label for label in lhs if label in rhs):
        return None
    if not all(_is_wide(a.aval.shape, 0) and _lies_across(made, a, 0) for a in (x, y)):
        return None
    new = [i for i, label in enumerate(lhs) if label not in rhs]

    def part(parts: _Parts, start: int, stop: int) -> Atom:
        one, other = (make.astype(parts.b, parts.of(a, 0, start, stop), dtype) for a in (x, y))
        return make.multiply(parts.b, one, make.expand_dims(parts.b, other, new))

    return _Rows(ops.SUM, x.aval.shape[0], 0, part)


def _of_whole_product(made: Made, x: Atom, y: Atom, dtype: DType) -> _Rows | None:
    """The sum of all products of elements, of which some are computed or lie in several axes: BLAS knows only lines."""
    shape = x.aval.shape
    makers = [made(a) for a in (x, y) if isinstance(a, Var)]
    computed = any(s is not None and isinstance(s.op, Elementwise | Cast) for s in makers)
    axis = next((i for i, n in enumerate(shape) if n > 1), None)
    if axis is None or dtype.kind not in "fc" or x.aval.size < LEAST or not (computed or len(shape) > 1):
        return None
    if not all(_lies_across(made, a, axis) for a in (x, y)) and len(shape) > 1:
        return None

    def part(parts: _Parts, start: int, stop: int) -> Atom:
        return make.multiply(parts.b, *(make.astype(parts.b, parts.of(a, axis, start, stop), dtype) for a in (x, y)))

    return _Rows(ops.SUM, shape[axis], axis, part, tuple(range(axis + 1, len(shape))), once=True)


def _is_wide(shape: Sequence[int], axis: int) -> bool:
    """Whether the rows behind an axis are wide."""
    return math.prod(shape[axis + 1 :]) >= WIDE and math.prod(shape) >= LEAST


def _lies_across(made: Made, a: Atom, axis: int) -> bool:
    """Whether the elements along an axis lie apart in memory: not in what is a transpose of their rows."""
    s = made(a) if isinstance(a, Var) else None
    if s is None or axis < 0 or a.aval.shape[axis] == 1:
        return True
    match s.op, s.attrs:
        case ops.TRANSPOSE, AxesAttrs(axes=order):
            return order[axis] != len(order) - 1 and _lies_across(made, s.args[0], order[axis])
        case (Elementwise() | Cast()), _:
            return all(_lies_across(made, x, axis - a.aval.ndim + x.aval.ndim) for x in s.args)
    return True


# ---- what is made of them ------------------------------------------------------------------------


State = tuple[Atom, ...]  # what some rows give; an extreme has its place beside it
Combine = Callable[[State, State], State]


def _written(b: Builder, made: Made, rows: _Rows) -> Atom:
    trial = Builder(b.span)
    rows.part(_Parts(trial, made), 0, 1)
    parts = _Parts(b, made if TERMS * len(trial.statements) <= WRITTEN else lambda v: None)
    if rows.once:
        return _once(b, rows, parts)
    axis = rows.axis
    if isinstance(rows.op, ArgReduce):
        whole = _place(b, rows.op, axis, rows.count, lambda *places: rows.part(parts, *places))
    else:
        op = COMBINE[rows.op.name]

        def combine(x: State, y: State) -> State:
            return (make.elementwise(b, op, *x, *y),)

        state = _combined(b, axis, rows.count, lambda *places: (rows.part(parts, *places),), combine, combine)
        for other in rows.others:
            count = state[0].aval.shape[other]
            state = _combined(b, other, count, functools.partial(_some, b, state, other), combine, combine)
        (whole,) = state
    return whole if rows.keepdims else make.squeeze(b, whole, (axis, *rows.others))


def _combined(
    b: Builder, axis: int, count: int, part: Callable[[int, int], State], combine: Combine, later: Combine
) -> State:
    """Combine so many rows into one. `combine` is given rows that stand before others, `later` any."""
    terms = min(count, max(range(TERMS, TERMS // 2, -1), key=lambda n: -(count % n)))
    many = count // terms
    whole = part(0, many)
    for start in range(many, terms * many, many):
        whole = combine(whole, part(start, start + many))
    if many > 1:
        whole = _combined(b, axis, many, functools.partial(_some, b, whole, axis), later, later)
    for left in range(terms * many, count):
        whole = combine(whole, part(left, left + 1))
    return whole


def _place(b: Builder, op: ArgReduce, axis: int, count: int, part: Callable[[int, int], Atom]) -> Atom:
    """The position of the first extreme; the first NaN counts as one."""
    beyond = ops.GREATER if op.name == "argmax" else ops.LESS

    def placed(start: int, stop: int) -> State:
        x = part(start, stop)
        if stop - start == 1:
            return x, const(np.int64(start))
        others = [i for i in range(x.aval.ndim) if i != axis]
        return x, make.expand_dims(b, make.add(b, make.iota(b, stop - start), np.int64(start)), others)

    def better(x: State, y: State, among_equals: bool) -> Atom:
        (u, p), (v, q) = x, y
        found = make.elementwise(b, beyond, v, u)
        same = make.elementwise(b, ops.EQUAL, u, v)
        if u.aval.dtype.kind == "f":
            lost, is_nan = (make.elementwise(b, ops.NOT_EQUAL, a, a) for a in (u, v))
            first = make.logical_and(b, is_nan, make.elementwise(b, ops.LOGICAL_NOT, lost))
            found, same = make.logical_or(b, found, first), make.logical_or(b, same, make.logical_and(b, is_nan, lost))
        if among_equals:
            found = make.logical_or(b, found, make.logical_and(b, same, make.less(b, q, p)))
        return found

    def combine(x: State, y: State, among_equals: bool) -> State:
        second = better(x, y, among_equals)
        return tuple(make.where(b, second, new, old) for old, new in zip(x, y, strict=True))

    before, any_order = (functools.partial(combine, among_equals=among) for among in (False, True))
    return _combined(b, axis, count, placed, before, any_order)[1]


def _once(b: Builder, rows: _Rows, parts: _Parts) -> Atom:
    assert isinstance(rows.op, Reduce)
    many = -(-rows.count // FEW)
    combine, axes = COMBINE[rows.op.name], (rows.axis, *rows.others)
    starts = range(0, rows.count - many + 1, many)
    whole = rows.part(parts, 0, many)
    for start in starts[1:]:
        whole = make.elementwise(b, combine, whole, rows.part(parts, start, start + many))
    whole = make.reduce(b, rows.op, whole, axes, rows.keepdims)
    left = len(starts) * many
    if left == rows.count:
        return whole
    rest = make.reduce(b, rows.op, rows.part(parts, left, rows.count), axes, rows.keepdims)
    return make.elementwise(b, combine, whole, rest)


def _some(b: Builder, state: State, axis: int, start: int, stop: int) -> State:
    """The part between two places along an axis."""
    dims = [Run(start, stop - start) if i == axis else Run(0, n) for i, n in enumerate(state[0].aval.shape)]
    return tuple(make.index(b, x, dims) for x in state)


class _Parts:
    """The part between two places along an axis, made in `b`."""

    def __init__(self, b: Builder, made: Made) -> None:
        self.b, self.made = b, made
        self.done: dict[tuple[Atom, int, int], Atom] = {}

    def of(self, a: Atom, axis: int, start: int, stop: int) -> Atom:
        if axis < 0 or a.aval.shape[axis] == 1:  # of numbers, and what is spread along the axis: all
            return a
        key = a, axis, start
        if key not in self.done:
            self.done[key] = self._of(a, axis, start, stop)
        return self.done[key]

    def _of(self, a: Atom, axis: int, start: int, stop: int) -> Atom:
        s = self.made(a) if isinstance(a, Var) else None
        if s is None:
            return _some(self.b, (a,), axis, start, stop)[0]
        b, ndim = self.b, a.aval.ndim
        match s.op, s.attrs:
            case (Elementwise() | Cast()) as op, attrs:
                args = [self.of(x, axis - ndim + x.aval.ndim, start, stop) for x in s.args]
                return remake(b, op, args, attrs)
            case ops.TRANSPOSE, AxesAttrs(axes=order):
                return make.transpose(b, self.of(s.args[0], order[axis], start, stop), order)
            case ops.EXPAND_DIMS, AxesAttrs(axes=new):  # not of the axis, which has several places
                before = axis - sum(i < axis for i in new)
                return make.expand_dims(b, self.of(s.args[0], before, start, stop), new)
            case ops.BROADCAST_TO, ShapeAttrs(shape=shape):
                inner = self.of(s.args[0], axis - ndim + s.args[0].aval.ndim, start, stop)
                return make.broadcast_to(b, inner, [stop - start if i == axis else n for i, n in enumerate(shape)])
        return _some(b, (a,), axis, start, stop)[0]
