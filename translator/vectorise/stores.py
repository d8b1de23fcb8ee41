"""Which elements of an array the trips of a loop read and write, and whether each trip has its own.

    for i in range(1, n - 1):
        y[i, 0] = x[i]              # trip i has row i of y for itself: its cell
        y[i, 1] = y[i, 0] * 2
        h[idx[i]] += x[i]           # sums into places that trips may share
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import assert_never

from .. import make, ops
from ..bounds import Interval
from ..errors import NOWHERE, Span
from ..ir import (
    Apply,
    Atom,
    Block,
    For,
    Fused,
    If,
    Invoke,
    Raise,
    Statement,
    Var,
    While,
    blocks_of,
    free_variables,
    inputs_of,
    walk,
)
from ..ops.core import NO_ATTRS, At, Dim, Dyn, Gather, IndexAttrs, Put, Run
from ..records import dataclass
from ..rewrite import rebuilt
from .affine import Affine, Forms, meets_earlier, never_meet


class Dependence(Exception):
    """Why the trips of a loop are not independent, and where that is."""

    def __init__(self, why: str, span: Span = NOWHERE) -> None:
        super().__init__(why)
        self.why, self.span = why, span


@dataclass(frozen=True, slots=True)
class Entry:
    """What an index selects of one axis, as far as it is known before the run: one place, or a run of places."""

    form: Affine
    size: int = 1
    step: int = 1
    is_run: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """A read or a write of the array; `entries` has None where the places are not known."""

    statement: Apply
    entries: tuple[Entry | None, ...]

    @property
    def writes(self) -> bool:
        return isinstance(self.statement.op, Put)


@dataclass(slots=True)
class Chain:
    """An array that a loop carries, and all that it is called between the stores of one trip."""

    slot: int
    param: Var
    versions: set[Var]
    accesses: list[Access] = field(default_factory=list)


@dataclass(slots=True)
class Cell:
    """What one trip has of an array for itself: place `key` of the axis `Cells.axis`, and of the other axes what
    `fixed` says, or all."""

    key: Affine
    fixed: tuple[Entry | None, ...]

    @property
    def is_diagonal(self) -> bool:
        """Whether other axes move with the trips too."""
        return any(e is not None and e.form.scale for e in self.fixed)


@dataclass(slots=True)
class Cells:
    """An array of whose elements each trip has its own. `of` finds the cell of an access; those that it does not have
    read what no trip has written by then."""

    chain: Chain
    axis: int
    cells: list[Cell]
    of: dict[int, int]


@dataclass(slots=True)
class Scatter:
    """An array that is only added to, in places that trips may share."""

    chain: Chain


# ---- finding the accesses ------------------------------------------------------------------------


def chain_of(loop: For, slot: int, forms: Forms) -> Chain:
    """The accesses of a carried array. Raises Dependence where it is used in another way than by its elements."""
    param = loop.body.params[slot + 1]
    chain = Chain(slot, param, {param})
    _Tracer(chain, forms).block(loop.body)
    results = [r for k, r in enumerate(loop.body.results) if k != slot]
    if loop.body.results[slot] not in chain.versions or any(r in chain.versions for r in results):
        raise Dependence(f"{name_of(param)} becomes another array in every iteration", loop.span)
    return chain


def name_of(v: Var) -> str:
    return v.hint or "a value"


@dataclass(slots=True)
class _Tracer:
    chain: Chain
    forms: Forms

    def has(self, atoms: Sequence[Atom]) -> bool:
        return any(a in self.chain.versions for a in atoms)

    def escapes(self, s: Statement) -> Dependence:
        return Dependence(f"{name_of(self.chain.param)}, which the loop changes, is used as a whole", s.span)

    def block(self, block: Block) -> None:
        for s in block.statements:
            self.statement(s)

    def statement(self, s: Statement) -> None:
        versions = self.chain.versions
        match s:
            case Apply(op=op, args=args):
                if not self.has(args):
                    return
                if not isinstance(s.attrs, IndexAttrs) or args[0] not in versions or self.has(args[1:]):
                    raise self.escapes(s)
                self.chain.accesses.append(Access(s, _entries(s, s.attrs, self.forms)))
                if isinstance(op, Put):
                    versions.update(s.targets)
            case If():
                self.block(s.then)
                self.block(s.orelse)
                for t, a, b in zip(s.targets, s.then.results, s.orelse.results, strict=True):
                    self.join(s, t, (a, b))
            case For(inits=inits, body=body):
                if self.has((s.range.start, s.range.stop, s.range.step)):
                    raise self.escapes(s)
                self.enter(zip(inits, body.params[1:], strict=True))
                self.block(body)
                for t, a, b in zip(s.targets, inits, body.results, strict=True):
                    self.join(s, t, (a, b))
            case While(inits=inits, condition=condition, body=body):
                self.enter(zip(inits, condition.params, strict=True))
                self.enter(zip(inits, body.params, strict=True))
                self.block(condition)
                self.block(body)
                for t, a, b in zip(s.targets, inits, body.results, strict=True):
                    self.join(s, t, (a, b))
            case Raise(body=body):
                self.block(body)
                if self.has(body.results):
                    raise self.escapes(s)
            case Fused() | Invoke():
                raise self.escapes(s)
            case _:
                assert_never(s)

    def enter(self, pairs: Iterator[tuple[Atom, Var]]) -> None:
        self.chain.versions.update(p for a, p in pairs if a in self.chain.versions)

    def join(self, s: Statement, target: Var, sides: Sequence[Atom]) -> None:
        found = [a in self.chain.versions for a in sides]
        if any(found):
            if not all(found):
                raise self.escapes(s)
            self.chain.versions.add(target)


def _entries(s: Apply, attrs: IndexAttrs, forms: Forms) -> tuple[Entry | None, ...]:
    def form(i: int | Dyn) -> Affine | None:
        return forms.of(s.args[i.arg]) if isinstance(i, Dyn) else Affine(0, i)

    def entry(d: Dim) -> Entry | None:
        match d:
            case At(index=i):
                f = form(i)
                return None if f is None else Entry(f)
            case Run(start=start, size=size, step=step):
                f = form(start)
                return None if f is None else Entry(f, size, step, True)
            case Gather():
                return None
            case _:
                assert_never(d)

    return tuple(map(entry, attrs.dims))


# ---- `y[i] -= v` as `y[i] += -v` -----------------------------------------------------------------


def with_additions(block: Block) -> Block:
    """The block with what is taken from elements added to them negated, which is the same to the bit."""
    made = {t: s for s in walk(block) if isinstance(s, Apply) for t in s.targets}
    uses = Counter(a for s in walk(block) for a in inputs_of(s))
    uses.update(r for s in walk(block) for b in blocks_of(s) for r in b.results)
    new: dict[int, Apply | None] = {}
    for s in walk(block):
        if not isinstance(s, Apply) or s.op is not ops.PUT or s.targets[0].aval.dtype.kind not in "fci":
            continue
        less = made.get(s.args[1]) if isinstance(s.args[1], Var) else None
        if less is None or less.op is not ops.SUBTRACT or less.targets[0].aval.dtype != s.targets[0].aval.dtype:
            continue
        part, v = made.get(less.args[0]) if isinstance(less.args[0], Var) else None, less.args[1]
        alone = uses[less.targets[0]] == 1 and uses[less.args[0]] == 1
        if part is None or part.op is not ops.INDEX or not alone or v.aval.dtype.kind not in "fci":
            continue
        if part.args[0] is s.args[0] and _place_of(part, 1) == _place_of(s, 2):
            taken = Var("t", v.aval)
            new[id(part)] = None
            new[id(less)] = Apply((taken,), ops.NEGATIVE, (v,), NO_ATTRS, less.span)
            new[id(s)] = Apply(s.targets, ops.PUT_ADD, (s.args[0], taken, *s.args[2:]), s.attrs, s.span)
    return rebuilt(block, lambda s: new.get(id(s), s)) if new else block


def _place_of(s: Apply, offset: int) -> list[object]:
    """What is selected, comparable with what other statements select; nothing is equal where index arrays are."""
    assert isinstance(s.attrs, IndexAttrs)

    def known(i: int | Dyn) -> Atom | int:
        return s.args[i.arg] if isinstance(i, Dyn) else i

    places: list[object] = []
    for d in s.attrs.dims:
        match d:
            case At(index=i):
                places.append((known(i),))
            case Run(start=i, size=size, step=step):
                places.append((known(i), size, step))
            case Gather():
                places.append(s)  # may add to one place twice, where a store is made once
    return places


# ---- who has what --------------------------------------------------------------------------------


def cells_of(chain: Chain, trips: int, intervals: Callable[[], dict[Var, Interval]]) -> Cells:
    """The cells of the trips. Raises Dependence where trips share elements that one of them writes."""
    writes = [a for a in chain.accesses if a.writes]
    shape = chain.param.aval.shape
    best: tuple[int, list[Affine]] | None = None
    for axis, n in enumerate(shape):
        found = [_key(a, axis, n, trips, intervals) for a in writes]
        keys = list(dict.fromkeys(k for k in found if k is not None))
        if None not in found and (best is None or len(keys) < len(best[1])):
            best = axis, keys
    if best is None or not writes:
        where = writes[0].statement.span if writes else NOWHERE
        raise Dependence(f"iterations may store into the same elements of {name_of(chain.param)}", where)
    axis, keys = best
    for k, x in enumerate(keys):
        if not all(never_meet(x, y, trips) for y in keys[k + 1 :]):
            where = writes[0].statement.span
            raise Dependence(f"iterations may store into the same elements of {name_of(chain.param)}", where)
    of: dict[int, int] = {}
    for a in chain.accesses:
        key = _key(a, axis, shape[axis], trips, intervals)
        if key in keys:
            of[id(a.statement)] = keys.index(key)
        else:
            _check_foreign(chain, a, writes, axis, trips, intervals)
    cells = []
    for k, key in enumerate(keys):
        own = [a for a in chain.accesses if of.get(id(a.statement)) == k]
        cells.append(Cell(key, _fixed(chain, axis, own)))
    return Cells(chain, axis, cells, of)


def _key(
    a: Access, axis: int, n: int, trips: int, intervals: Callable[[], dict[Var, Interval]], moving: bool = True
) -> Affine | None:
    """The place on the axis, which another trip has elsewhere, counted from the front; None where that is not so, or
    where it may be out of range."""
    e, d = a.entries[axis], _dim(a, axis)
    if e is None or e.is_run or (moving and not e.form.scale):
        return None
    index = a.statement.args[d.index.arg] if isinstance(d, At) and isinstance(d.index, Dyn) else make.lift(e.form.const)
    if e.form.within(0, n - 1, trips, intervals, index):
        return e.form
    return e.form.moved(n) if e.form.within(-n, -1, trips, intervals, index) else None


def _dim(a: Access, axis: int) -> Dim:
    assert isinstance(a.statement.attrs, IndexAttrs)
    return a.statement.attrs.dims[axis]


def _check_foreign(
    chain: Chain,
    read: Access,
    writes: Sequence[Access],
    axis: int,
    trips: int,
    intervals: Callable[[], dict[Var, Interval]],
) -> None:
    """Raises Dependence unless the elements read are such as no trip has written by then."""
    for w in writes:
        if _apart(w, read, axis):
            continue
        n = chain.param.aval.shape[axis]
        place = _key(read, axis, n, trips, intervals, moving=False)
        key = _key(w, axis, n, trips, intervals)
        assert key is not None
        if place is None or meets_earlier(key, place, trips):
            why = f"an iteration may read what an earlier one has stored into {name_of(chain.param)}"
            raise Dependence(why, read.statement.span)


def _apart(x: Access, y: Access, axis: int) -> bool:
    """Whether the two are known to be apart on an axis other than that of the trips."""
    for k, (a, b) in enumerate(zip(x.entries, y.entries, strict=True)):
        if k == axis or a is None or b is None:
            continue
        if a.form.scale or b.form.scale or a.form.terms != b.form.terms:
            continue
        if (a.form.terms or b.form.terms) and (a.is_run or b.is_run):
            continue  # one may have been counted from the end
        if a.form.terms:
            continue
        if set(_places(a)).isdisjoint(_places(b)):
            return True
    return False


def _places(e: Entry) -> range:
    return range(e.form.const, e.form.const + e.size * e.step, e.step)


def _fixed(chain: Chain, axis: int, accesses: Sequence[Access]) -> tuple[Entry | None, ...]:
    """What all accesses of a cell select alike, axis by axis; None where the cell has the whole axis."""
    fixed: list[Entry | None] = []
    for k in range(chain.param.aval.ndim):
        found = {a.entries[k] for a in accesses}
        e = next(iter(found)) if len(found) == 1 else None
        moves = e is not None and e.is_run and e.form.scale
        fixed.append(None if k == axis or moves else e)
    return tuple(fixed)


def scatter_of(chain: Chain) -> Scatter | None:
    """The array as one that is only added to; None where it is not."""
    adds = all(a.statement.op is ops.PUT_ADD for a in chain.accesses)
    return Scatter(chain) if adds and chain.accesses else None


def uses(s: Statement) -> set[Atom]:
    """What the statement and the blocks in it use of what is defined outside of it."""
    return set(free_variables(Block((), (s,), ()))) if blocks_of(s) else set(inputs_of(s))
