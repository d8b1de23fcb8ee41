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

from collections.abc import Mapping, Sequence
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
    Range,
    Statement,
    Var,
    While,
    const,
    free_variables,
    walk,
    with_blocks,
    with_statements,
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
    statements = [with_blocks(s, _without_lists) for s in block.statements]
    makers = [s for s in block.statements if isinstance(s, For | While) and _makes_lists(s)]
    if makers:
        size = min(window_of(s.body) for s in makers)  # one for all loops over the lists that one block makes
        return _Lowering(statements, size).block(block)
    return with_statements(block, statements)


def _makes_lists(s: For | While) -> bool:
    return any(t.aval == TAPE_AVAL for t in s.targets)


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

    def again(self, b: Builder, first: Atom) -> Atom:
        """How many trips of that window are to be run again, where the entries of the last one have been kept."""
        more = make.less(b, make.add(b, first, const(self.size)), self.trips)
        return integer(b, make.where(b, more, const(self.size), const(0)))

    def passed(self, b: Builder, first: Atom, backwards: bool) -> Atom:
        """How many trips, in whole windows, lie between the window at `first` and the one that comes first."""
        if not backwards:
            return first
        windows = make.floor_divide(b, make.subtract(b, self.trips, const(1)), const(self.size))
        return make.subtract(b, make.multiply(b, windows, const(self.size)), first)


@dataclass(slots=True, eq=False)
class _Loop:
    """A loop that makes lists or goes over them, without those that it makes: `entries` are what a trip puts on each.

    `turns` has an index that counts the trips, from the last one if the loop runs `backwards`. `starts` are tables of
    what it carries into every span of trips. A loop that goes over no lists has kept the entries of the `last` window.
    """

    turns: Block
    inits: tuple[Atom, ...]
    entries: dict[Var, Atom]
    extent: _Extent
    backwards: bool = False
    starts: tuple[Atom, ...] = ()
    last: tuple[Atom, ...] = ()

    @property
    def values(self) -> tuple[Atom, ...]:
        """What it puts on lists; what stands on two lists is kept once."""
        return tuple(dict.fromkeys(self.entries.values()))


class _Lowering:
    """The lists that one block makes, and the loops over them."""

    def __init__(self, statements: Sequence[Statement], size: int) -> None:
        self.statements, self.size = statements, size
        self.b = Builder()
        self.loops: list[_Loop] = []
        self.makers: dict[Var, _Loop] = {}
        self.lengths: dict[Atom, _Extent] = {}
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
            case Apply(op=ops.LENGTH, args=(Var() as t,)) if t in self.makers:
                self.lengths[s.targets[0]] = extent = self.makers[t].extent
                self.found[s.targets[0]] = extent.trips
            case For() if any(v in self.makers for v in free_variables(s.body)):
                self._over(s)
            case For() if _makes_lists(s) and s.range.stop in self.lengths:  # it reads none
                self._over(s)
            case For() | While() if _makes_lists(s):
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
        trips: Atom
        if isinstance(plain, While):
            turns, trips = counted(plain)
        else:
            trips = make.maximum(self.b, trips_of(self.b, plain.range), const(0))
            trips = named(self.b, integer(self.b, trips), "trips")
            whole = Range(const(0), trips, const(1))
            turns = replace(plain, range=whole, body=from_zero(self.b, plain, trips))
        quiet = replace(turns.body, statements=without_raises(turns.body.statements))
        loop = _Loop(quiet, plain.inits, entries, _Extent(trips, self.size, Var("span", INDEX)))
        turns = self._keeping_last(loop, turns)
        loop.last = turns.targets[len(plain.targets) :]
        if isinstance(plain, While):
            assert isinstance(trips, Var)
            self.b.append(as_while(plain, turns, trips))
        else:
            self.b.append(turns)
        windows = make.add(self.b, make.floor_divide(self.b, trips, const(self.size**2)), const(1))
        span = make.multiply(self.b, const(self.size), windows)
        loop.extent = replace(loop.extent, span=named(self.b, span, "span"))
        self._keep(loop)
        self._know(loop)

    def _keeping_last(self, loop: _Loop, turns: For) -> For:
        """The loop, which keeps the latest entries: in the end they are those of the last window."""
        k = turns.body.params[0]
        tables, empty = _tables(self.b, "tape", loop.values, self.size)
        ends = tuple(Var(t.hint, t.aval) for t in tables)
        inner = Builder(self.b.span)
        place = make.remainder(inner, k, const(self.size))
        body = _with_stores(inner, turns.body, dict(zip(loop.values, tables, strict=True)), place)
        return replace(turns, targets=(*turns.targets, *ends), inits=(*turns.inits, *empty), body=body)

    def _know(self, loop: _Loop) -> None:
        self.loops.append(loop)
        self.makers.update(dict.fromkeys(loop.entries, loop))

    def _keep(self, loop: _Loop) -> None:
        """Append the pass that keeps the states of a loop that reads no lists."""
        b, (k, *carried), extent = self.b, loop.turns.params, loop.extent
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
        """The loop in windows: for each, what the lists hold of it is computed again, but for the last."""
        loop, targets = self._loop_over(s)
        extent, b, first = loop.extent, Builder(s.span), Var("first", INDEX)
        wanted = self._wanted(loop)
        params = [Var(v.hint, v.aval) for v in loop.turns.params[1:]]
        tables, empty = _tables(self.b, "starts", params if loop.entries else (), extent.size + 1)
        kept = _kept(b, tables, params, extent.passed(b, first, loop.backwards), extent.span)
        held = {id(w): w.last for w in wanted}
        carried = [w for w in wanted if w.last and loop.backwards]  # the first window is the last one
        held |= {id(w): tuple(Var(a.hint, a.aval) for a in w.last if isinstance(a, Var)) for w in carried}
        params += [*tables, *(cast(Var, a) for w in carried for a in held[id(w)])]
        windows, ends = self._windows(b, wanted, first, held)
        after, _ = _append_turns(b, loop, params[: len(targets)], first, extent.length(b, first), windows)
        results = (*after, *kept, *(a for w in carried for a in ends[id(w)]))
        inits = (*loop.inits, *empty, *(a for w in carried for a in w.last))
        made = tuple(Var(v.hint, v.aval) for v in params[len(targets) :])
        bounds = Range(const(0), extent.trips, const(extent.size), loop.backwards)
        self.b.append(For((*targets, *made), bounds, inits, b.block((first, *params), results), span=s.span))
        loop.starts = made[: len(tables)]
        if loop.entries:
            self._know(loop)

    def _wanted(self, loop: _Loop) -> list[_Loop]:
        """The loops that make the lists which a loop goes over, and what these go over."""
        found: set[int] = set()
        waiting = [loop]
        while waiting:
            for v in free_variables(waiting.pop().turns):
                if v in self.makers and id(self.makers[v]) not in found:
                    found.add(id(self.makers[v]))
                    waiting.append(self.makers[v])
        return [w for w in self.loops if id(w) in found]

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
        read = next((self.makers[v].extent for v in free_variables(plain.body) if v in self.makers), None)
        extent = read or self.lengths[s.range.stop]
        return _Loop(plain.body, plain.inits, entries, extent, s.range.reverse), plain.targets

    def _entry_of(self, a: Atom) -> Aval:
        assert isinstance(a, Var)
        return self.makers[a].entries[a].aval

    def _windows(
        self, b: Builder, wanted: Sequence[_Loop], first: Atom, held: Mapping[int, Sequence[Atom]]
    ) -> tuple[Windows, dict[int, Sequence[Var]]]:
        """Append what computes the entries from `first` on of all lists that these loops make: where they are, and the
        tables of each loop. `held`: those that the last window's entries are in before.
        """
        windows: Windows = {}
        tables: dict[int, Sequence[Var]] = {}
        for n, loop in enumerate(wanted):
            states = self._states(b, loop, wanted[:n], first)
            length, begun = loop.extent.length(b, first), held[id(loop)]
            if begun:
                length = loop.extent.again(b, first)
            else:
                begun = _tables(b, "tape", loop.values, loop.extent.size)[1]
            _, made = _append_turns(b, loop, states, first, length, windows, begun)
            tables[id(loop)] = made
            full = dict(zip(loop.values, made, strict=True))
            windows |= {t: full[v] for t, v in loop.entries.items()}
        return windows, tables

    def _states(self, b: Builder, loop: _Loop, before: Sequence[_Loop], first: Atom) -> tuple[Atom, ...]:
        """What the loop carries into the window at `first`; `before` are those that make what it reads."""
        extent = loop.extent
        passed = extent.passed(b, first, loop.backwards)
        where = make.floor_divide(b, passed, extent.span)
        short = make.remainder(b, passed, extent.span)
        states: list[Atom] = []
        for table, v in zip(loop.starts, loop.turns.params[1:], strict=True):
            entry = make.index(b, table, slot(v.aval), (where,))
            states.append(make.number(b, entry, v.aval.dtype) if v.aval.weak else entry)
        if loop.last:
            start = make.subtract(b, first, short)
            return _append_turns(b, loop, states, start, short, {})[0]
        inner, at = Builder(b.span), Var("first", INDEX)
        params = [Var(v.hint, v.aval) for v in loop.turns.params[1:]]
        windows, _ = self._windows(inner, before, at, {id(w): w.last for w in before})
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
    tables: Sequence[Atom] = (),
) -> tuple[tuple[Var, ...], tuple[Var, ...]]:
    """Append the trips of a loop from `first` on; what it carries out, and the tables after its entries are in them."""
    index, *carried = loop.turns.params
    offset = Var("k", INDEX)
    inner = Builder(b.span)
    body = loop.turns
    if windows:
        body = spelled_out(body, lambda s: _entry(s, index, offset, windows))
    if index in free_variables(replace(body, params=tuple(carried))):
        inner.append(Apply((index,), ops.ADD, (first, offset), NO_ATTRS, b.span))
    written = [Var(t.hint if isinstance(t, Var) else "t", t.aval) for t in tables]
    stores = dict(zip(loop.values if tables else (), written, strict=True))
    block = _with_stores(inner, replace(body, params=(offset, *carried)), stores, offset)
    ends = tuple(Var(v.hint, v.aval) for v in (*carried, *written))
    turns = Range(const(0), length, const(1), loop.backwards)
    b.append(For(ends, turns, (*states, *tables), copy_block(block, {}), span=b.span))
    return ends[: len(carried)], ends[len(carried) :]


def _with_stores(b: Builder, body: Block, tables: Mapping[Atom, Var], place: Atom) -> Block:
    """The body, written into `b`, carrying tables into which it stores values at `place` as soon as they are there."""
    inside = {*body.params, *(t for s in body.statements for t in s.targets)}
    made: dict[Atom, Atom] = {}

    def write(values: Sequence[Atom]) -> None:
        for v in values:
            if v in tables:
                made[v] = make.put(b, tables[v], v, slot(v.aval), (place,))

    write([*(v for v in tables if v not in inside), *body.params])
    for s in body.statements:
        b.append(s)
        write(s.targets)
    return b.block((*body.params, *tables.values()), (*body.results, *(made[v] for v in tables)))


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
    *before, last = b.statements
    assert isinstance(last, Apply) and last.targets == (entry,)
    return (*before, replace(last, targets=s.targets))
