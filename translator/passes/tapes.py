"""Tapes of unknown length as windows of fixed length, for targets that have no lists.

    y_tape = []                                y = x
    y = x                                      trips = 0
    while abs(y * y - x) > eps:                while abs(y * y - x) > eps:
        y_tape.append(y)                           y = 0.5 * (y + x / y)
        y = 0.5 * (y + x / y)                      trips = trips + 1
    for y in reversed(y_tape):                 ...
        ...                                    for first in reversed(range(0, trips, 1024)):
                                                   y = y_starts[first // span]
                                                   for k in range(first % span):
                                                       y = 0.5 * (y + x / y)
                                                   for k in range(min(1024, trips - first)):
                                                       y_tape[k] = y
                                                       y = 0.5 * (y + x / y)
                                                   for k in reversed(range(min(1024, trips - first))):
                                                       y = y_tape[k]
                                                       ...

A loop over a list goes over windows of as many entries as are handy. The loop that makes the list runs again for every
window, from states that one more pass keeps; that pass is over at once where there is but one window:

    span = 1024 * (trips // 1048576 + 1)
    for k in range((trips - 1) // span * span + 1):
        y_starts[-(-k // span)] = y            # what stays in an entry is the state at the start of its span
        y = 0.5 * (y + x / y)

So nothing is ever cut off, no run needs another translation, and memory stays what the tape takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar, cast

from .. import make, ops
from ..builder import Builder
from ..derive.cotangents import named
from ..derive.tape import slot
from ..derive.trips import INDEX, as_while, counted, from_zero, integer, trips_of, window_of
from ..ir import (
    Apply,
    Atom,
    Aval,
    Block,
    For,
    Function,
    If,
    Range,
    Statement,
    Var,
    While,
    const,
    free_variables,
    walk,
)
from ..ops.core import NO_ATTRS, TAPE_AVAL, ItemAttrs
from ..records import dataclass
from ..rewrite import Substitution, copy_block, spelled_out, substituted, without_raises

T = TypeVar("T")
Windows = dict[Var, Atom]  # of lists: the entries of one window, by the list's variable


def tapes(function: Function) -> Function:
    """The program without lists."""
    if not any(isinstance(s, Apply) and s.op is ops.TAPE for s in walk(function.body)):
        return function
    return replace(function, body=_without_lists(function.body))


def _without_lists(block: Block) -> Block:
    statements = [_inside(s) for s in block.statements]
    if any(t.aval == TAPE_AVAL for s in statements for t in s.targets):
        return _Lowering(statements).block(block)
    return replace(block, statements=tuple(statements))


def _inside(s: Statement) -> Statement:
    match s:
        case If():
            return replace(s, then=_without_lists(s.then), orelse=_without_lists(s.orelse))
        case For():
            return replace(s, body=_without_lists(s.body))
        case While():
            return replace(s, condition=_without_lists(s.condition), body=_without_lists(s.body))
        case _:
            return s


@dataclass(slots=True, eq=False)
class _Loop:
    """A loop that makes lists or goes over them, without those that it makes: `entries` are what a trip puts on each.

    `turns` has an index that counts the trips, from the last one if the loop runs `backwards`. `starts` are tables of
    what it carries into every span of trips.
    """

    turns: Block
    inits: tuple[Atom, ...]
    entries: dict[Var, Atom]
    backwards: bool
    reads: bool  # whether there are lists that it goes over
    starts: tuple[Atom, ...] = ()


@dataclass(frozen=True, slots=True)
class _Extent:
    """How many trips there are, how many of them a window holds, and how many lie between states that are kept."""

    trips: Atom
    size: int
    span: Atom

    def length(self, b: Builder, first: Atom) -> Atom:
        """The number of trips in the window that begins at `first`."""
        rest = make.minimum(b, const(self.size), make.subtract(b, self.trips, first))
        return named(b, integer(b, rest), "length")

    def passed(self, b: Builder, first: Atom, backwards: bool) -> Atom:
        """How many trips, in whole windows, lie between the window at `first` and the one that comes first."""
        if not backwards:
            return first
        windows = make.floor_divide(b, make.subtract(b, self.trips, const(1)), const(self.size))
        return make.subtract(b, make.multiply(b, windows, const(self.size)), first)


class _Lowering:
    """The lists that one block makes, and the loops over them."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.statements = statements
        self.b = Builder()
        self.loops: list[_Loop] = []
        self.makers: dict[Var, _Loop] = {}
        self.extents: dict[Var, _Extent] = {}
        self.zeros: set[Var] = set()
        self.found: Substitution = {}

    def block(self, block: Block) -> Block:
        for s in self.statements:
            with self.b.at(s.span):
                self._statement(s)
        return substituted(self.b.block(block.params, block.results), self.found)

    def _statement(self, s: Statement) -> None:
        match s:
            case Apply(op=ops.TAPE | ops.BLANK_TAPE):
                return
            case Apply(op=ops.ZERO_TAPE):
                self.zeros.add(s.targets[0])
            case Apply(op=ops.LENGTH, args=(Var() as t,)) if t in self.extents:
                self.found[s.targets[0]] = self.extents[t].trips
            case For() if any(v in self.extents for v in free_variables(s.body)):
                self._over(s)
            case For() | While() if any(t.aval == TAPE_AVAL for t in s.targets):
                self._making(s)
            case _:
                self.b.append(s)

    # ---- loops that make lists -------------------------------------------------------------------

    def _making(self, s: For | While) -> None:
        """The loop without its lists, which counts its trips; and the pass that keeps its states."""
        params = s.body.params[isinstance(s, For) :]
        slots = [k for k, p in enumerate(params) if p.aval == TAPE_AVAL]
        appended = {a.args[0]: a for a in s.body.statements if isinstance(a, Apply) and a.op is ops.APPEND}
        entries = {s.targets[k]: appended[params[k]].args[1] for k in slots}
        body = replace(s.body, statements=tuple(a for a in s.body.statements if a not in appended.values()))
        plain = _without(replace(s, body=body), slots)
        if isinstance(plain, While):
            turns, trips = counted(plain)
            self.b.append(as_while(plain, turns, trips))
            body = turns.body
        else:
            self.b.append(plain)
            trips = make.maximum(self.b, trips_of(self.b, plain.range), const(0))
            trips = named(self.b, integer(self.b, trips), "trips")
            body = from_zero(self.b, plain, trips)
        body = replace(body, statements=without_raises(body.statements))
        size = self._size()
        windows = make.add(self.b, make.floor_divide(self.b, trips, const(size**2)), const(1))
        extent = _Extent(trips, size, named(self.b, make.multiply(self.b, const(size), windows), "span"))
        loop = _Loop(body, plain.inits, entries, False, False)
        self._keep(loop, extent)
        self._know(loop, extent)

    def _size(self) -> int:
        """How many entries a window has: one size for all loops over the lists of this block."""
        loops = [s for s in self.statements if isinstance(s, For | While)]
        used = [s for s in loops if any(v.aval == TAPE_AVAL for v in (*s.targets, *free_variables(s.body)))]
        return min(window_of(s.body) for s in used)

    def _know(self, loop: _Loop, extent: _Extent) -> None:
        self.loops.append(loop)
        self.makers.update(dict.fromkeys(loop.entries, loop))
        self.extents.update(dict.fromkeys(loop.entries, extent))

    def _keep(self, loop: _Loop, extent: _Extent) -> None:
        """Append the pass that keeps the states of a loop that reads no lists."""
        b, (k, *carried) = self.b, loop.turns.params
        tables, empty = _tables(b, "starts", carried, extent.size)
        inner, turns = Builder(b.span), loop.turns
        after = _kept(inner, tables, carried, k, extent.span)
        body = Block((k, *carried, *tables), (*inner.statements, *turns.statements), (*turns.results, *after))
        spans = make.floor_divide(b, make.subtract(b, extent.trips, const(1)), extent.span)
        whole = make.multiply(b, spans, extent.span)
        ends = tuple(Var(v.hint, v.aval) for v in (*carried, *tables))
        bounds = Range(const(0), make.add(b, whole, const(1)), const(1))
        b.append(For(ends, bounds, (*loop.inits, *empty), copy_block(body, {}), span=b.span))
        loop.starts = ends[len(carried) :]

    # ---- loops over lists ------------------------------------------------------------------------

    def _over(self, s: For) -> None:
        """The loop in windows: for each, what the lists hold of it is computed again."""
        extent = next(self.extents[v] for v in free_variables(s.body) if v in self.extents)
        loop, targets = self._loop_over(s)
        read = [self.makers[v] for v in free_variables(loop.turns) if v in self.makers]
        wanted = self.loops[: 1 + max(map(self.loops.index, read), default=-1)]
        b, first = Builder(s.span), Var("first", INDEX)
        params = [Var(v.hint, v.aval) for v in loop.turns.params[1:]]
        tables, empty = _tables(self.b, "starts", params if loop.entries else (), extent.size + 1)
        kept = _kept(b, tables, params, extent.passed(b, first, loop.backwards), extent.span)
        windows = self._windows(b, wanted, extent, first)
        ends, _ = _append_turns(b, loop, params, first, extent.length(b, first), windows)
        bounds = Range(const(0), extent.trips, const(extent.size), loop.backwards)
        starts = tuple(Var(t.hint, t.aval) for t in tables)
        body = b.block((first, *params, *tables), (*ends, *kept))
        self.b.append(For((*targets, *starts), bounds, (*loop.inits, *empty), body, span=s.span))
        loop.starts = starts
        if loop.entries:
            self._know(loop, extent)

    def _loop_over(self, s: For) -> tuple[_Loop, tuple[Var, ...]]:
        """The loop without the lists that it makes, and what it leaves beside them."""
        params, index = s.body.params[1:], s.body.params[0]
        slots = [k for k, p in enumerate(params) if p.aval == TAPE_AVAL]
        made = {params[k]: k for k in slots}
        entries: dict[Var, Atom] = {}
        statements: list[Statement] = []
        for a in s.body.statements:
            if not isinstance(a, Apply) or a.op not in (ops.SET_ITEM, ops.ADD_ITEM):
                statements.append(a)
                continue
            slot_of, value = made[cast(Var, a.args[0])], a.args[1]
            before = s.inits[slot_of]
            assert a.args[2] is index and a.targets[0] is s.body.results[slot_of], "one entry is stored in each trip"
            if a.op is ops.ADD_ITEM and before not in self.zeros:
                b = Builder(a.span)
                value = make.add(b, b.apply(ops.ITEM, before, index, attrs=ItemAttrs(self._entry_of(before))), value)
                statements += b.statements
            entries[s.targets[slot_of]] = value
        plain = _without(replace(s, body=replace(s.body, statements=tuple(statements))), slots)
        assert isinstance(plain, For)
        return _Loop(plain.body, plain.inits, entries, s.range.reverse, True), plain.targets

    def _entry_of(self, a: Atom) -> Aval:
        assert isinstance(a, Var)
        return self.makers[a].entries[a].aval

    def _windows(self, b: Builder, wanted: Sequence[_Loop], extent: _Extent, first: Atom) -> Windows:
        """Append what computes the entries from `first` on of all lists that these loops make."""
        windows: Windows = {}
        for n, loop in enumerate(wanted):
            states = self._states(b, loop, wanted[:n], extent, first)
            length = extent.length(b, first)
            windows |= _append_turns(b, loop, states, first, length, windows, extent.size)[1]
        return windows

    def _states(
        self, b: Builder, loop: _Loop, before: Sequence[_Loop], extent: _Extent, first: Atom
    ) -> tuple[Atom, ...]:
        """What the loop carries into the window at `first`; `before` are those that make what it reads."""
        passed = extent.passed(b, first, loop.backwards)
        where = make.floor_divide(b, passed, extent.span)
        short = make.remainder(b, passed, extent.span)
        states: list[Atom] = []
        for table, v in zip(loop.starts, loop.turns.params[1:], strict=True):
            entry = make.index(b, table, slot(v.aval), (where,))
            states.append(make.number(b, entry, v.aval.dtype) if v.aval.weak else entry)
        if not loop.reads:
            start = make.subtract(b, first, short)
            return _append_turns(b, loop, states, start, short, {})[0]
        inner, at = Builder(b.span), Var("first", INDEX)
        params = [Var(v.hint, v.aval) for v in loop.turns.params[1:]]
        windows = self._windows(inner, before, extent, at)
        ends, _ = _append_turns(inner, loop, params, at, extent.length(inner, at), windows)
        low, high = make.subtract(b, first, short), first
        if loop.backwards:
            low, high = make.add(b, first, const(extent.size)), make.add(b, make.add(b, first, short), const(1))
        bounds = Range(low, high, const(extent.size), loop.backwards)
        made = tuple(Var(v.hint, v.aval) for v in params)
        b.append(For(made, bounds, tuple(states), inner.block((at, *params), ends), span=b.span))
        return made


def _without(s: For | While, slots: Sequence[int]) -> For | While:
    """The loop without what it carries in these slots."""

    def pick(items: tuple[T, ...], ahead: int = 0) -> tuple[T, ...]:
        return tuple(x for n, x in enumerate(items) if n - ahead not in slots)

    ahead = int(isinstance(s, For))
    body = Block(pick(s.body.params, ahead), s.body.statements, pick(s.body.results))
    if isinstance(s, For):
        return replace(s, targets=pick(s.targets), inits=pick(s.inits), body=body)
    condition = replace(s.condition, params=pick(s.condition.params))
    return replace(s, targets=pick(s.targets), inits=pick(s.inits), condition=condition, body=body)


def _tables(b: Builder, what: str, values: Sequence[Atom], size: int) -> tuple[list[Var], list[Atom]]:
    """A variable for a table of so many entries of each value, and an empty table of its type."""
    hints = [v.hint if isinstance(v, Var) else "t" for v in values]
    tables = [Var(f"{h}_{what}", Aval((size, *v.aval.shape), v.aval.dtype)) for h, v in zip(hints, values, strict=True)]
    return tables, [make.empty(b, t.aval.shape, t.aval.dtype) for t in tables]


def _kept(b: Builder, tables: Sequence[Var], values: Sequence[Var], passed: Atom, span: Atom) -> list[Atom]:
    """The tables with the values after so many trips: what stays in an entry is the state at the start of its span."""
    if not tables:
        return []
    where = make.negative(b, make.floor_divide(b, make.negative(b, passed), span))
    return [make.put(b, t, v, slot(v.aval), (where,)) for t, v in zip(tables, values, strict=True)]


def _append_turns(
    b: Builder,
    loop: _Loop,
    states: Sequence[Atom],
    first: Atom,
    length: Atom,
    windows: Windows,
    size: int = 0,
) -> tuple[tuple[Var, ...], Windows]:
    """Append the trips of a loop from `first` on; what it carries out, and of its lists a window of `size`."""
    index, *carried = loop.turns.params
    offset = Var("k", INDEX)
    kept = loop.entries if size else {}
    values = list(dict.fromkeys(kept.values()))
    tables, empty = _tables(b, "tape", values, size)
    inside = {*carried, *(t for s in loop.turns.statements for t in s.targets)}
    inner = Builder(b.span)
    body = loop.turns
    if windows:
        body = spelled_out(body, lambda s: _entry(s, index, offset, windows))
    if index in free_variables(replace(body, params=tuple(carried))):
        inner.append(Apply((index,), ops.ADD, (first, offset), NO_ATTRS, b.span))
    last = dict(zip(values, tables, strict=True))
    made: dict[Atom, Atom] = {}

    def write(values: Sequence[Atom]) -> None:
        for v in values:
            if v in last:
                made[v] = make.put(inner, last[v], v, slot(v.aval), (offset,))

    write([*(v for v in values if v not in inside), *carried])
    for s in body.statements:
        inner.append(s)
        write(s.targets)
    block = inner.block((offset, *carried, *tables), (*body.results, *(made[v] for v in values)))
    ends = tuple(Var(v.hint, v.aval) for v in (*carried, *tables))
    turns = Range(const(0), length, const(1), loop.backwards)
    b.append(For(ends, turns, (*states, *empty), copy_block(block, {}), span=b.span))
    full = dict(zip(values, ends[len(carried) :], strict=True))
    return ends[: len(carried)], {t: full[v] for t, v in kept.items()}


def _entry(s: Apply, index: Var, offset: Var, windows: Windows) -> Sequence[Statement]:
    """What reads an entry of a window in place of one that reads it from a list."""
    if s.op is not ops.ITEM or s.args[0] not in windows:
        return (s,)
    assert isinstance(s.attrs, ItemAttrs)
    assert s.args[1] is index, "a loop over a list reads the entries in turn"
    b = Builder(s.span)
    aval, table = s.attrs.aval, windows[s.args[0]]
    entry = make.index(b, table, slot(aval), (offset,))
    if aval.weak:
        entry = make.number(b, entry, aval.dtype)
    assert entry is b.statements[-1].targets[0]
    return (*b.statements[:-1], replace(b.statements[-1], targets=s.targets))
