"""Loops whose iterations are independent become whole-array statements: the body of the loop, batched over its trips.

    for i in range(1, n):                               y[1:n] = np.sin(x[1:n]) - x[: n - 1]
        y[i] = np.sin(x[i]) - x[i - 1]                  s += np.sum(x[1:n])
        s += x[i]

Every carried value must be one of
    cells      an array of which each trip reads and writes elements of its own, or reads what no earlier one writes;
    shared     an array that the trips only add to, wherever they like;
    a sum      and product, extreme, and, or: what a trip adds does not depend on it. The order of a sum of floats is
               that of np.sum, so its last bits may differ from the loop's; all else is the same to the bit;
    a choice   (`if x[i] > best: best, where = x[i], i`), or what only the last trip leaves;
    counted    `k += 2`.
Else the loop stays, and its note says which value, and in which line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import assert_never

import numpy as np

from .. import make, ops
from ..batch.indexing import _aligned, _place
from ..batch.lanes import LoopNote
from ..batch.rules import Value, pad, spread
from ..batch.spread import batched_variables
from ..bounds import Interval, analyse, interval_of
from ..builder import Builder
from ..ir import (
    Apply,
    Atom,
    Block,
    Const,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Range,
    Statement,
    Var,
    While,
    blocks_of,
    const,
    free_variables,
    inputs_of,
    walk,
)
from ..ops.core import (
    At,
    Collective,
    Contract,
    ContractAttrs,
    Dim,
    Dyn,
    Gather,
    Index,
    Put,
    Reshape,
    Run,
)
from ..passes.dead import dead_code
from ..rewrite import splice_block, substituted
from .affine import Affine, Forms, bound_in
from .body import Effect, Trip
from .cost import EVERYWHERE, Policy, check_memory, check_work
from .hazards import Guard
from .stores import Cells, Dependence, Entry, Scatter, cells_of, chain_of, name_of, scatter_of
from .sums import Choice, Sum, choices_of, combined, first_or_last, sum_of
from .trips import Trips, as_function

SMALLEST = 1 << 31  # what a Python int may grow by in a trip: no loop gets out of 64 bits so
LONGEST = 1 << 13  # trips of an inner loop whose bounds move


def vectorise(function: Function, policy: Policy = EVERYWHERE, notes: list[LoopNote] | None = None) -> Function:
    """Every loop that can be and, as `policy` says, should be; the same function object where there is none. `notes`
    gains what became of every loop."""
    if not any(isinstance(s, For) for s in walk(function.body)):
        return function
    walker = Walker(function, policy)
    body = walker.block(function.body, policy.least)
    if notes is not None:
        notes += walker.notes
    return function if body is function.body else dead_code(replace(function, body=body))


class Walker:
    """Rebuilds a program, its innermost loops first."""

    def __init__(self, function: Function, policy: Policy) -> None:
        self.function, self.policy = function, policy
        self.notes: list[LoopNote] = []
        self.around: list[For] = []

    @cached_property
    def known(self) -> dict[Var, Interval]:
        """Intervals that hold whether or not branches are taken."""
        return analyse(self.function, refine=False)

    def block(self, block: Block, least: int) -> Block:
        """The block with its loops replaced, if they have so much to do."""
        made: list[Statement] = []
        found: dict[Var, Atom] = {}
        for s in block.statements:
            if isinstance(s, For) and not s.parallel:
                statements, results = self.loop(_renewed(s, found), least)
                made += statements
                found.update(results)
            else:
                made.append(self.statement(s, least))
        if not found and all(x is y for x, y in zip(made, block.statements, strict=True)):
            return block
        new = replace(block, statements=tuple(made))
        return substituted(new, found) if found else new

    def loop(self, s: For, least: int) -> tuple[Sequence[Statement], dict[Var, Atom]]:
        """What stands for a loop, and for its targets. Its inner loops are replaced first, whatever they have to do; if
        it stays, those with little to do stay too."""
        count = len(self.notes)
        whole = self.within(s, 0)
        try:
            check_work(self.bounded(s), self.policy, least)
            return Attempt(self.bounded(replace(s, body=whole)), self).made()
        except Dependence as why:
            del self.notes[count:]
            body = self.within(s, self.policy.inner)
            self.note(s, "in order", why)
            return (s if body is s.body else replace(s, body=body),), {}

    def within(self, s: For, least: int) -> Block:
        self.around.append(s)
        body = self.block(s.body, least)
        self.around.pop()
        return body

    def note(self, loop: For, form: str, why: Dependence | str) -> None:
        text = why if isinstance(why, str) else why.why
        if isinstance(why, Dependence) and why.span.line and why.span.line != loop.span.line:
            text += f" (line {why.span.line})"
        self.notes.append(LoopNote(loop.span, form, text))

    def statement(self, s: Statement, least: int) -> Statement:
        match s:
            case If(then=then, orelse=orelse):
                first, second = self.block(then, least), self.block(orelse, least)
                return s if first is then and second is orelse else replace(s, then=first, orelse=second)
            case While(body=body):
                new = self.block(body, self.policy.inner)
                return s if new is body else replace(s, body=new)
            case Apply() | For() | Fused() | Raise() | Invoke():
                return s
            case _:
                assert_never(s)

    def bounded(self, s: For) -> For:
        """A loop whose bounds a loop around it moves (`range(i)`) over all that they reach, its body under a test."""
        start, stop, step = s.range.start, s.range.stop, s.range.step
        if s.range.static() is not None or not isinstance(step, Const) or self.moving(s) is None:
            return s
        ends = [interval_of(a, self.known) for a in (start, stop)]
        low, high = (ends[0].low, ends[1].high) if step.value > 0 else (ends[0].high, ends[1].low)
        if low is None or high is None or abs(high - low) > LONGEST or (abs(step.value) != 1 and not isinstance(start, Const)):
            return s
        index, *carried = s.body.params
        b = Builder(s.span)
        test = _inside(b, index, start, stop, int(step.value))
        targets = tuple(Var(p.hint, p.aval) for p in carried)
        b.append(If(targets, test, Block((), s.body.statements, s.body.results), Block((), (), tuple(carried)), s.span))
        whole = Range(const(low), const(high), step, s.range.reverse)
        return replace(s, range=whole, body=b.block(s.body.params, targets))

    def moving(self, s: For) -> For | None:
        """The loop around, of a known number of trips, by whose index alone the bounds move."""
        moved = {a for a in (s.range.start, s.range.stop) if not isinstance(a, Const)}
        for outer in reversed(self.around):
            trips = outer.range.static()
            if trips is not None:
                inside = bound_in(outer.body)
                forms = Forms(outer, trips, inside)
                found = [forms.of(a) for a in moved]
                if found and all(f is not None and f.scale and not f.terms for f in found):
                    return outer
        return None


def _renewed(s: For, found: dict[Var, Atom]) -> For:
    """The loop over what stands for the targets of loops before it."""
    if not found:
        return s
    (new,) = substituted(Block((), (s,), ()), found).statements
    assert isinstance(new, For)
    return new


def _inside(b: Builder, index: Atom, start: Atom, stop: Atom, step: int) -> Atom:
    """Whether an index is in range(start, stop, step), as far as the ends go."""
    first = make.greater_equal(b, index, start) if step > 0 else make.less_equal(b, index, start)
    last = make.less(b, index, stop) if step > 0 else make.greater(b, index, stop)
    if isinstance(start, Const):
        return last
    return first if isinstance(stop, Const) else make.logical_and(b, first, last)


class Attempt:
    """One loop, tried."""

    def __init__(self, loop: For, walker: Walker) -> None:
        trips = loop.range.static()
        assert trips is not None
        self.loop, self.walker, self.trips, self.size = loop, walker, trips, len(trips)
        self.inside = bound_in(loop.body)
        self.forms = Forms(loop, trips, self.inside)
        self.b = Builder(loop.span)
        self.cells: list[Cells] = []
        self.scatters: list[Scatter] = []
        self.sums: list[Sum] = []
        self.choices: list[Choice] = []
        self.spent: set[int] = set()
        self.notes: list[LoopNote] = []

    def known(self) -> dict[Var, Interval]:
        return self.walker.known

    def made(self) -> tuple[list[Statement], dict[Var, Atom]]:
        """The statements that replace the loop, and what its targets are now. Raises Dependence where there are none."""
        self.classify()
        trip = Trip(self.loop, self.cells, self.scatters, self.sums, self.forms, self.size, self.known)
        trip.statements([s for s in self.loop.body.statements if id(s) not in self.spent])
        results = self.finals(trip)
        targets = tuple(results.values())
        kept = dead_code(as_function((), Block((), tuple(self.b.statements), targets)))
        check_memory(self.loop, kept.body)
        self.walker.notes += self.notes
        self.walker.note(self.loop, "vectorised", f"its {self.size} iterations are independent")
        return list(kept.body.statements), results

    # what the carried values are

    def classify(self) -> None:
        rest: list[int] = []
        for slot, p in enumerate(self.loop.body.params[1:]):
            if slot in self.forms.inductions or self.loop.body.results[slot] is p:
                continue
            stored = any(isinstance(s, Apply) and isinstance(s.op, Put) for s in self.versions_made(p))
            if stored:
                self.array(slot)
                continue
            total = sum_of(self.loop, slot)
            if total is not None:
                self.sums.append(total)
            else:
                rest.append(slot)
        self.choices, self.spent = choices_of(self.loop, rest)
        self.rest = rest

    def versions_made(self, p: Var) -> Iterator[Statement]:
        """The stores into an array, under any of its names."""
        names = {p}
        for s in walk(self.loop.body):
            if isinstance(s, For | While):
                names.update(q for q, a in zip(s.body.params[isinstance(s, For) :], s.inits, strict=True) if a in names)
            if isinstance(s, Apply) and isinstance(s.op, Put) and s.args[0] in names:
                names.update(s.targets)
                yield s

    def array(self, slot: int) -> None:
        chain = chain_of(self.loop, slot, self.forms)
        try:
            cells = cells_of(chain, self.size, self.known)
            if any(c.is_diagonal for c in cells.cells) and not self.walker.policy.diagonals:
                raise Dependence(f"a diagonal of {name_of(chain.param)} is stored into", chain.accesses[0].statement.span)
            self.cells.append(cells)
        except Dependence:
            scatter = scatter_of(chain)
            if scatter is None:
                raise
            self.scatters.append(scatter)

    def unresolved(self, v: Var) -> Dependence:
        user = next((s for s in walk(self.loop.body) if v in inputs_of(s)), self.loop)
        return Dependence(f"an iteration needs {name_of(v)} as the one before has left it", user.span)

    # the batch

    def finals(self, trip: Trip) -> dict[Var, Atom]:
        """What the loop leaves in its targets."""
        params = [self.loop.body.params[0], *trip.params]
        params += [self.loop.body.params[k + 1] for k in self.forms.inductions]
        inputs = self.inputs(params)
        self.follow(trip, params, inputs)
        ends = [trip.parts[r] for r in self.results_of(self.cells)]
        totals = [trip.contribution(self.loop.body.results[t.slot], t) for t in self.sums]
        keys = [trip.atom(c.key) for c in self.choices if c.key is not None]
        flags = [self.flag(trip, c) for c in self.choices if c.rule in ("while true", "until true")]
        effects = [a for e in trip.effects for a in (e.value, *e.dyn)]
        results = [*(a for parts in ends for a in parts), *totals, *keys, *flags, *effects]
        whole = as_function(params, Block((), tuple(trip.b.statements), tuple(results)))
        made = self.batched(whole, inputs)
        values, spans = iter(made), dict(zip(map(id, made), self.spans, strict=True))
        found: dict[Var, Atom] = {}
        for c, parts in zip(self.cells, ends, strict=True):
            found[self.target(c.chain.slot)] = self.stored(c, [next(values) for _ in parts])
        for t in self.sums:
            v = next(values)
            found[self.target(t.slot)] = self.total(t, v, spans[id(v)])
        deciding = [next(values) if c.key is not None else None for c in self.choices]
        for c in self.choices:
            if c.rule in ("while true", "until true"):
                found[self.target(c.slots[0])] = self.flagged(c, next(values))
        for x, atom in self.added(trip.effects, values).items():
            found[self.target(x)] = atom
        for c, key in zip(self.choices, deciding, strict=True):
            if c.rule not in ("while true", "until true"):
                found.update(self.chosen(trip, c, key, params, inputs))
        for slot, form in self.forms.inductions.items():
            end = Affine(0, form.at(self.size), form.terms).first(self.b)
            t = self.target(slot)
            found[t] = end if t.aval.weak else make.astype(self.b, end, t.aval.dtype)
        for slot, (p, r) in enumerate(zip(self.loop.body.params[1:], self.loop.body.results, strict=True)):
            if r is p:
                found[self.target(slot)] = self.loop.inits[slot]
        return found

    def follow(self, trip: Trip, params: list[Var], inputs: list[Atom]) -> None:
        """Carried values that trips read, where they can be told for all trips: what the one before has computed
        without them (`before = x[i]`), or a running sum or product. They become parameters of the trip."""
        body = self.loop.body
        used = {v for s in walk(body) for v in inputs_of(s)} | {r for s in walk(body) for b in blocks_of(s) for r in b.results}
        waiting = [k for k in self.rest if body.params[k + 1] in used and not self.is_choice(k)]
        while waiting:
            done = [k for k in waiting if self.followed(trip, k, params, inputs)]
            if not done:
                break
            waiting = [k for k in waiting if k not in done]
        for k in self.rest:
            if not any(k in c.slots for c in self.choices):
                raise self.unresolved(body.params[k + 1])

    def is_choice(self, slot: int) -> bool:
        return any(slot in c.slots and c.rule != "last" for c in self.choices)

    def followed(self, trip: Trip, slot: int, params: list[Var], inputs: list[Atom]) -> bool:
        p, result = self.loop.body.params[slot + 1], self.loop.body.results[slot]
        step = next((s for s in self.loop.body.statements if result in s.targets), None)
        series = None
        term = trip.atom(result)
        if isinstance(step, Apply) and step.op in _SERIES and p in step.args and step.targets[0].aval == p.aval:
            if not self.walker.policy.series or (p.aval.weak and p.aval.dtype.kind == "i"):
                return False
            series, (x, y) = _SERIES[step.op], step.args
            if y is p and step.op is not ops.SUBTRACT:
                x, y = y, x
            if x is not p or y is p:
                return False
            term = trip.atom(y)
        kept, definitions = len(self.b.statements), dict(self.b.definitions)
        try:
            (v,) = self.batched(as_function(params, Block((), tuple(trip.b.statements), (term,))), inputs)
        except Dependence:
            del self.b.statements[kept:]
            self.b.definitions = definitions
            return False
        b, subtracts = self.b, isinstance(step, Apply) and step.op is ops.SUBTRACT
        first = make.expand_dims(b, make.astype(b, self.loop.inits[slot], p.aval.dtype), 0)
        later = _part(b, v.atom, self.size - 1) if v.batched else spread(b, v, self.size - 1)
        later = make.astype(b, later, p.aval.dtype)
        if later.aval.shape[1:] != p.aval.shape:
            later = pad(b, later, p.aval.ndim - (later.aval.ndim - 1))
            later = make.broadcast_to(b, later, (self.size - 1, *p.aval.shape))
        if series is not None and subtracts:
            later = make.negative(b, later)
        values = make.concatenate(b, [first, later], 0)
        if series is not None:
            values = make.astype(b, series(b, values, 0), p.aval.dtype)
        params.append(p)
        inputs.append(values)
        return True

    def target(self, slot: int) -> Var:
        return self.loop.targets[slot]

    def results_of(self, cells: Sequence[Cells]) -> Iterator[Var]:
        for c in cells:
            r = self.loop.body.results[c.chain.slot]
            assert isinstance(r, Var)
            yield r

    def inputs(self, params: Sequence[Var]) -> list[Atom]:
        """For each parameter of the trip its values in all trips."""
        b, made = self.b, []
        made.append(self.numbers(Affine(self.trips.step, self.trips.start)))
        for c in self.cells:
            for k in range(len(c.cells)):
                made.append(self.read(c, k))
        made += [self.numbers(f) for f in self.forms.inductions.values()]
        assert len(made) == len(params) and b is self.b
        return made

    def numbers(self, form: Affine) -> Atom:
        x = make.iota(self.b, self.size)
        if form.scale != 1:
            x = make.multiply(self.b, x, form.scale)
        first = form.first(self.b)
        return x if isinstance(first, Const) and not first.value else make.add(self.b, x, first)

    def batched(self, whole: Function, inputs: Sequence[Atom]) -> list[Value]:
        """The results of the trip in all trips, an axis of trips in front."""
        trip = dead_code(whole)
        self.check_resolved(trip.body, whole.body.params)
        varying = batched_variables(trip, trip.body.params)
        turns = For((), self.loop.range, (), Block(trip.body.params[:1], trip.body.statements, ()))
        around = as_function((), Block((), (turns,), ()))
        known = {**self.known(), **analyse(around, refine=False, known=self.known())}
        guarded = replace(trip, body=Guard(varying, known).block(trip.body, False))
        batcher = Trips(guarded, inputs, self.size, self.walker.policy.lanes, self.b, self.forms, lambda: known)
        batcher.statements(guarded.body.statements)
        self.notes += [n for n in batcher.notes if n.form == "loop"]
        self.spans = [interval_of(r, known) for r in guarded.body.results]
        return [batcher.value(r) for r in guarded.body.results]

    def check_resolved(self, block: Block, params: Sequence[Var]) -> None:
        """Raises Dependence where a trip needs what the one before has left."""
        carried = set(self.loop.body.params) - set(params)
        used = [v for v in free_variables(block) if v in carried]
        if used:
            raise self.unresolved(used[0])
        for s in walk(block):
            if isinstance(s, Apply) and isinstance(s.op, Collective):
                raise Dependence("what it tells other lanes is told in every iteration", s.span)
        lost = [v for v in free_variables(block) if v in self.inside and v not in params]
        assert not lost, lost

    # what the loop leaves

    def place(self, c: Cells, k: int) -> tuple[list[Dim], list[Atom], bool]:
        """The index of the cells of all trips in the array, its run-time indices, and whether it gathers."""
        dyn: list[Atom] = []
        dims: list[Dim] = []
        cell, shape = c.cells[k], c.chain.param.aval.shape

        def known(form: Affine) -> int | Dyn:
            if not form.terms:
                return form.const
            dyn.append(form.first(self.b))
            return Dyn(len(dyn) - 1)

        for axis, n in enumerate(shape):
            e = Entry(cell.key) if axis == c.axis else cell.fixed[axis]
            if e is None:
                dims.append(Run(0, n))
            elif e.is_run:
                dims.append(Run(known(e.form), e.size, e.step))
            elif not e.form.scale:
                dims.append(At(known(e.form)))
            elif cell.is_diagonal:
                dyn.append(self.numbers(e.form))
                dims.append(Gather(len(dyn) - 1))
            else:
                dims.append(Run(known(e.form), self.size, e.form.scale))
        return dims, dyn, cell.is_diagonal

    def front(self, c: Cells, k: int, gathers: bool) -> int:
        """The axis of the trips in what is read from or stored to that place."""
        from ..ops.core import gather_position

        dims, _, _ = self.place(c, k)
        return gather_position(tuple(dims)) if gathers else sum(isinstance(d, Run) for d in dims[: c.axis])

    def read(self, c: Cells, k: int) -> Atom:
        dims, dyn, gathers = self.place(c, k)
        part = make.index(self.b, self.loop.inits[c.chain.slot], dims, dyn)
        axis = self.front(c, k, gathers)
        return make.transpose(self.b, part, (axis, *(a for a in range(part.aval.ndim) if a != axis)))

    def stored(self, c: Cells, parts: Sequence[Value]) -> Atom:
        array = self.loop.inits[c.chain.slot]
        for k, v in enumerate(parts):
            dims, dyn, gathers = self.place(c, k)
            axis, part = self.front(c, k, gathers), v.atom
            if v.batched:
                part = make.transpose(self.b, part, (*range(1, axis + 1), 0, *range(axis + 1, part.aval.ndim)))
            elif axis < part.aval.ndim:
                part = make.expand_dims(self.b, part, axis)
            array = make.put(self.b, array, part, dims, dyn)
        return array

    def total(self, t: Sum, v: Value, span: Interval) -> Atom:
        assert t.reduction is not None
        b, aval = self.b, t.param.aval
        if aval.weak and aval.dtype.kind == "i" and not (t.reduction is ops.SUM and span.within(-SMALLEST, SMALLEST)):
            raise Dependence(f"{name_of(t.param)} may outgrow 64 bits", self.loop.span)
        value = spread(b, v, self.size)
        part = summed(b, value) if t.reduction is ops.SUM else make.reduce(b, t.reduction, value, 0)
        made = combined(b, t.reduction, self.loop.inits[t.slot], self.typed(b, part, t.slot))
        return self.typed(b, made, t.slot)

    def flag(self, trip: Trip, c: Choice) -> Atom:
        inner = Trip(self.loop, self.cells, self.scatters, self.sums, self.forms, self.size, self.known, trip.b, trip.atoms, trip.parts, trip.added)
        if any(not isinstance(s, Apply) for s in c.statements):
            raise Dependence("later iterations are tested only where earlier ones let them", self.loop.span)
        inner.statements(c.statements)
        return trip.atom(c.values[0])

    def flagged(self, c: Choice, v: Value) -> Atom:
        every = make.all_ if c.rule == "while true" else make.any
        part = every(self.b, v.atom) if v.batched else v.atom
        return combined(self.b, ops.ALL_ if c.rule == "while true" else ops.ANY, self.loop.inits[c.slots[0]], part)

    def added(self, effects: Sequence[Effect], values: Iterator[Value]) -> dict[int, Atom]:
        arrays = {x.chain.slot: self.loop.inits[x.chain.slot] for x in self.scatters}
        for e in effects:
            value, *dyn = (next(values) for _ in range(1 + len(e.dyn)))
            arrays[e.slot] = self.scattered(arrays[e.slot], e, value, dyn)
        return arrays

    def scattered(self, array: Atom, e: Effect, value: Value, dyn: Sequence[Value]) -> Atom:
        """The array with what all trips add: slice by slice where the places are linear."""
        moving = [k for k, v in enumerate(dyn) if v.batched]
        if not moving:
            total = summed(self.b, spread(self.b, value, self.size))
            return make.put_add(self.b, array, total, list(map(_shifted, e.attrs.dims)), [v.atom for v in dyn])
        form = e.forms[moving[0]]
        if len(moving) == 1 and form is not None and form.scale:
            axis = next(k for k, d in enumerate(e.attrs.dims) if _argument(d) == moving[0] + 2)
            d = e.attrs.dims[axis]
            if isinstance(d, At) and not any(isinstance(x, Gather) for x in e.attrs.dims):
                return self.slice_added(array, e, value, dyn, axis, form)
        if any(isinstance(d, Run) and _argument(d) is not None for d in e.attrs.dims):
            raise Dependence(f"windows of {name_of(e.store.targets[0])} overlap", e.store.span)
        home = Value(array, False, array.aval)
        place = _place(self.b, e.attrs, [home, value, *dyn], self.size, False)
        return make.put_add(self.b, array, _aligned(self.b, value, place), place.dims, place.dyn)

    def slice_added(
        self, array: Atom, e: Effect, value: Value, dyn: Sequence[Value], axis: int, form: Affine
    ) -> Atom:
        dims = list(map(_shifted, e.attrs.dims))
        atoms = [v.atom for v in dyn]
        start: int | Dyn = form.const
        if form.terms:
            start = Dyn(len(atoms))
            atoms.append(form.first(self.b))
        dims[axis] = Run(start, self.size, form.scale)
        position = sum(isinstance(d, Run) for d in dims[:axis])
        inner = sum(isinstance(d, Run) for d in dims) - 1
        part = value.atom
        if value.batched:
            part = pad(self.b, part, inner - (part.aval.ndim - 1))
            part = make.transpose(self.b, part, (*range(1, position + 1), 0, *range(position + 1, part.aval.ndim)))
        elif part.aval.ndim > inner - position:
            part = make.expand_dims(self.b, part, part.aval.ndim - (inner - position))
        return make.put_add(self.b, array, part, dims, atoms)

    def chosen(
        self, trip: Trip, c: Choice, deciding: Value | None, params: Sequence[Var], inputs: Sequence[Atom]
    ) -> dict[Var, Atom]:
        """What the trip that decides leaves, computed again for that trip alone."""
        b = self.b
        inits = [self.loop.inits[k] for k in c.slots]
        if deciding is None:
            last = self.again(b, trip, c, const(self.size - 1), params, inputs)
            return dict(zip(map(self.target, c.slots), last, strict=True))
        key = spread(b, deciding, self.size)
        which = first_or_last(b, c.rule, key)
        best = make.index(b, key, (At(Dyn(0)),), (which,))
        taken = best
        if c.rule != "last true":
            compare = make.greater if c.rule == "first largest" else make.less
            taken = compare(b, best, self.loop.inits[c.leader])
        then = Builder(b.span)
        values = self.again(then, trip, c, which, params, inputs)
        targets = tuple(Var(self.target(k).hint, self.target(k).aval) for k in c.slots)
        b.append(If(targets, taken, then.block((), values), Block((), (), tuple(inits))))
        return dict(zip(map(self.target, c.slots), targets, strict=True))

    def again(
        self, b: Builder, trip: Trip, c: Choice, which: Atom, params: Sequence[Var], inputs: Sequence[Atom]
    ) -> list[Atom]:
        """The values of a choice in trip `which`."""
        own = Trip(self.loop, self.cells, self.scatters, self.sums, self.forms, self.size, self.known, Builder(), trip.atoms, trip.parts, trip.added)
        own.statements(c.statements)
        values = tuple(trip.atom(v) for v in c.values)
        block = Block((), (*trip.b.statements, *own.b.statements), values)
        one = dead_code(as_function(params, block))
        self.check_resolved(one.body, params)
        from ..rewrite import without_raises

        used = set(free_variables(Block((), one.body.statements, one.body.results)))
        given: list[Atom] = []
        for p, all_ in zip(params, inputs, strict=True):
            form = self.forms.found.get(p)
            if p not in used:
                given.append(all_)
                continue
            if form is not None:
                given.append(make.add(b, form.first(b), make.multiply(b, make.number(b, which, np.int64), form.scale)))
                continue
            x = make.index(b, all_, (At(Dyn(0)), *(Run(0, n) for n in p.aval.shape)), (which,))
            given.append(make.number(b, x, p.aval.dtype) if p.aval.weak else x)
        quiet = Block(one.body.params, without_raises(one.body.statements), one.body.results)
        found = splice_block(b, quiet, given)
        return [self.typed(b, a, k) for a, k in zip(found, c.slots, strict=True)]

    def typed(self, b: Builder, a: Atom, slot: int) -> Atom:
        aval = self.target(slot).aval
        if a.aval == aval:
            return a
        return make.number(b, a, aval.dtype) if aval.weak else make.astype(b, a, aval.dtype)


def _argument(d: Dim) -> int | None:
    match d:
        case At(index=Dyn(arg=a)) | Run(start=Dyn(arg=a)) | Gather(arg=a):
            return a
    return None


def _shifted(d: Dim) -> Dim:
    """An entry of a store, whose run-time indices count from 2, as `make` counts them."""
    match d:
        case At(index=Dyn(arg=a)):
            return At(Dyn(a - 2))
        case Run(start=Dyn(arg=a), size=size, step=step):
            return Run(Dyn(a - 2), size, step)
        case Gather(arg=a):
            return Gather(a - 2)
    return d


def _part(b: Builder, x: Atom, n: int) -> Atom:
    """The first n along the axis of the trips."""
    return make.index(b, x, (Run(0, n), *(Run(0, m) for m in x.aval.shape[1:])))


_SERIES = {ops.ADD: make.cumsum, ops.SUBTRACT: make.cumsum, ops.MULTIPLY: make.cumprod}


def summed(b: Builder, value: Atom) -> Atom:
    """The sum over the axis of the trips; of products of arrays as they are a product of matrices or vectors."""
    product = make.definition(b, value, ops.CONTRACT)
    if product is not None and isinstance(product.attrs, ContractAttrs):
        lhs, rhs, out = product.attrs.lhs, product.attrs.rhs, product.attrs.out
        if out[0] in lhs and out[0] in rhs:
            return make.contract(b, *product.args, lhs, rhs, out[1:])
    made = make.definition(b, value, ops.MULTIPLY)
    if made is None or value.aval.dtype.kind not in "fc" or any(a.aval.dtype != value.aval.dtype for a in made.args):
        return make.sum(b, value, 0)
    ndim = value.aval.ndim
    parts: list[tuple[Atom, list[int]]] = []
    for a in made.args:
        if isinstance(a, Const) or (a.aval.ndim < ndim and a.aval.ndim == 0) or not a.aval.shape:
            return make.sum(b, value, 0)
        labels = list(range(ndim - a.aval.ndim, ndim))
        ones = [k for k, n in enumerate(a.aval.shape) if n == 1 and value.aval.shape[labels[k]] != 1]
        x = make.squeeze(b, a, tuple(ones)) if ones else a
        parts.append((x, [label for k, label in enumerate(labels) if k not in ones]))
    (x, lhs), (y, rhs) = parts
    at_rest = all(_at_rest(b, a) for a in made.args)
    if 0 not in lhs or 0 not in rhs or not (at_rest or len(lhs) < ndim or len(rhs) < ndim):
        return make.sum(b, value, 0)
    out = list(range(1, ndim))
    return make.contract(b, x, y, lhs, rhs, out)


def _at_rest(b: Builder, a: Atom) -> bool:
    """Whether it is memory that is there already, not arithmetic that a sum could take in."""
    s = b.definitions.get(a) if isinstance(a, Var) else None
    if s is None:
        return True
    return isinstance(s.op, Index | Reshape | Contract) and all(_at_rest(b, x) for x in s.args[:1])
