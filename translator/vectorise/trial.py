"""Trying to vectorise one loop: its carried values, the body of one trip, of all trips, and the results.

    for i in range(n):            y: a cell for each trip; s: a sum; x: read only
        y[i] = x[i] * 2           one trip    (x_i) -> x_i * 2, x_i
        s += x[i]                 all trips   (x[:n]) -> x[:n] * 2, x[:n]
                                  results     y[:n] = x[:n] * 2;  s += np.sum(x[:n])

Where a carried value is none of these, `Dependence` says which, and the loop stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace

import numpy as np

from .. import make, ops
from ..batch.lanes import LoopNote, form_of
from ..batch.rules import Value, pad, spread
from ..batch.spread import batched_variables
from ..bounds import Interval, Status, analyse, index_status, interval_of
from ..builder import Builder
from ..errors import UntracedError
from ..ir import (
    Apply,
    Atom,
    Block,
    For,
    Function,
    If,
    Raise,
    Statement,
    Var,
    While,
    blocks_of,
    const,
    free_variables,
    inputs_of,
    walk,
)
from ..ops.core import At, Collective, Draw, Dyn, Gather, IndexAttrs, Linalg, Put, Run, Tape
from ..passes.dead import dead_code
from ..remake import remake
from ..rewrite import Substitution, copy_statement, substitute, without_raises
from .affine import Affine, Forms
from .body import Effect, Trip
from .cost import Policy, check_memory
from .hazards import Guard
from .outcome import cells_after, cells_before, first_trips, numbers, of_trip, scattered, total
from .stores import Cells, Dependence, Scatter, cells_of, chain_of, name_of, scatter_of, with_additions
from .sums import Choice, Sum, choices_of, combined, first_or_last, is_half, sum_of
from .trips import Trips, as_function


class Trial:
    """One loop, tried. `around` are the intervals of the integers of the program."""

    def __init__(self, loop: For, policy: Policy, around: Callable[[], dict[Var, Interval]]) -> None:
        trips = loop.range.static()
        assert trips is not None
        loop = replace(loop, body=with_additions(loop.body))
        self.loop, self.policy, self.known, self.trips, self.size = loop, policy, around, trips, len(trips)
        self.forms = Forms(loop, trips)
        self.carried, self.results = loop.body.params[1:], loop.body.results
        self.b = Builder(loop.span)
        self.cells: list[Cells] = []
        self.scatters: list[Scatter] = []
        self.sums: list[Sum] = []
        self.choices: list[Choice] = []
        self.notes: list[LoopNote] = []

    def made(self) -> tuple[list[Statement], dict[Var, Atom]]:
        """The statements that replace the loop, and what its targets are. Raises Dependence where there are none."""
        self.classify()
        trip = Trip(self.loop, self.cells, self.scatters, self.sums, self.forms, self.size, self.known)
        for p, r, init in zip(self.carried, self.results, self.loop.inits, strict=True):
            if r is p:
                trip.atoms[p] = init
        trip.statements(self.loop.body.statements)
        results = self.finals(trip)
        targets = tuple(results.values())
        kept = dead_code(as_function((), Block((), tuple(self.b.statements), targets)))
        check_memory(self.loop, kept.body)
        return list(kept.body.statements), results

    # what the carried values are

    def classify(self) -> None:
        rest: list[int] = []
        for slot, p in enumerate(self.carried):
            if slot in self.forms.inductions or self.results[slot] is p:
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
        self.choices = choices_of(self.loop, rest)
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
            if any(c.is_diagonal for c in cells.cells) and not self.policy.diagonals:
                where = chain.accesses[0].statement.span
                raise Dependence(f"a diagonal of {name_of(chain.param)} is stored into", where)
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
        params += [self.carried[k] for k in self.forms.inductions]
        inputs = self.inputs(params)
        self.follow(trip, params, inputs)
        ends = [trip.parts[self.result(c.chain.slot)] for c in self.cells]
        totals = [trip.contribution(self.result(t.slot), t) for t in self.sums]
        keys = [trip.atom(c.key) for c in self.choices if c.key is not None]
        flags = [self.flag(trip, c) for c in self.choices if c.is_flag]
        effects = [a for e in trip.effects for a in (e.value, *e.dyn)]
        results = [*(a for parts in ends for a in parts), *totals, *keys, *flags, *effects]
        whole = as_function(params, Block((), tuple(trip.b.statements), tuple(results)))
        made = self.batched(whole, inputs)
        values, reach = iter(made), {id(v): span for v, span in zip(made, self.spans, strict=True)}
        found = {self.target(k): self.loop.inits[k] for k, p in enumerate(self.carried) if self.results[k] is p}
        for c, parts in zip(self.cells, ends, strict=True):
            left = [next(values) for _ in parts]
            found[self.target(c.chain.slot)] = cells_after(self.b, self.loop.inits[c.chain.slot], c, left, self.size)
        for t in self.sums:
            v, init = next(values), self.loop.inits[t.slot]
            found[self.target(t.slot)] = total(self.b, t, init, v, reach[id(v)], self.size, self.loop.span)
        deciding = [next(values) if c.key is not None else None for c in self.choices]
        for choice in self.choices:
            if choice.is_flag:
                found[self.target(choice.slots[0])] = self.flagged(choice, next(values))
        for slot, atom in self.added(trip.effects, values).items():
            found[self.target(slot)] = atom
        for choice, key in zip(self.choices, deciding, strict=True):
            if not choice.is_flag:
                found.update(self.chosen(trip, choice, key, params, inputs))
        for slot, form in self.forms.inductions.items():
            end = Affine(0, form.at(self.size), form.terms).first(self.b)
            found[self.target(slot)] = make.fitted(self.b, end, self.target(slot).aval)
        return found

    def follow(self, trip: Trip, params: list[Var], inputs: list[Atom]) -> None:
        """Carried values that trips read, where they can be told for all trips: what the one before has computed
        without them (`before = x[i]`), or a running sum or product. They become parameters of the trip."""
        body = self.loop.body
        used = {v for s in walk(body) for v in inputs_of(s)}
        used |= {r for s in walk(body) for b in blocks_of(s) for r in b.results}
        waiting = [k for k in self.rest if self.carried[k] in used and not self.is_choice(k)]
        while waiting:
            done = [k for k in waiting if self.followed(trip, k, params, inputs)]
            if not done:
                break
            waiting = [k for k in waiting if k not in done]
        for k in self.rest:
            if not any(k in c.slots for c in self.choices):
                raise self.unresolved(self.carried[k])

    def is_choice(self, slot: int) -> bool:
        return any(slot in c.slots and c.rule != "last" for c in self.choices)

    def followed(self, trip: Trip, slot: int, params: list[Var], inputs: list[Atom]) -> bool:
        p, result = self.carried[slot], self.results[slot]
        step = next((s for s in self.loop.body.statements if result in s.targets), None)
        series = None
        term = trip.atom(result)
        if isinstance(step, Apply) and step.op in _SERIES and p in step.args and step.targets[0].aval == p.aval:
            if not self.policy.series or (p.aval.weak and p.aval.dtype.kind == "i") or is_half(p.aval):
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
        later = first_trips(b, v.atom, self.size - 1) if v.batched else spread(b, v, self.size - 1)
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

    def result(self, slot: int) -> Var:
        r = self.results[slot]
        assert isinstance(r, Var)
        return r

    def inputs(self, params: Sequence[Var]) -> list[Atom]:
        """For each parameter of the trip its values in all trips."""
        made = [numbers(self.b, Affine(self.trips.step, self.trips.start), self.size)]
        for c in self.cells:
            for k in range(len(c.cells)):
                made.append(cells_before(self.b, self.loop.inits[c.chain.slot], c, k, self.size))
        made += [numbers(self.b, f, self.size) for f in self.forms.inductions.values()]
        assert len(made) == len(params)
        return made

    def batched(self, whole: Function, inputs: Sequence[Atom]) -> list[Value]:
        """The results of the trip in all trips, an axis of trips in front. What all trips have in common stands there
        under its own names, once: `follow` asks for parts of the trip first.
        """
        there = {t for s in self.b.statements for t in s.targets}
        wanted = [s for s in whole.body.statements if not s.targets or not there.issuperset(s.targets)]
        new = tuple(_beside(s, there) for s in wanted)
        trip = dead_code(replace(whole, body=replace(whole.body, statements=new)))
        self.check_resolved(trip.body, whole.body.params)
        varying = batched_variables(trip, trip.body.params)
        turns = For((), self.loop.range, (), Block(trip.body.params[:1], trip.body.statements, ()))
        around = as_function((), Block((), (turns,), ()))
        known = {**self.known(), **analyse(around, refine=False, known=self.known())}
        guarded = replace(trip, body=Guard(varying, known, lambda s: self.is_apart(s, varying)).block(trip.body, False))
        batcher = Trips(guarded, inputs, self.size, self.policy.lanes, self.b, self.forms, lambda: known)
        batcher.statements(guarded.body.statements)
        self.notes += [n for n in batcher.notes if n.form == "loop"]
        self.spans = [interval_of(r, known) for r in guarded.body.results]
        return [batcher.value(r) for r in guarded.body.results]

    def is_apart(self, s: If | For | While, varying: set[Var]) -> bool:
        return self.policy.checked and form_of(self.policy.lanes, self.size, s, varying)[0]

    def check_resolved(self, block: Block, params: Sequence[Var]) -> None:
        """Raises Dependence where a trip needs what the one before has left."""
        carried = set(self.loop.body.params) - set(params)
        used = [v for v in free_variables(block) if v in carried]
        if used:
            raise self.unresolved(used[0])
        for s in walk(block):
            if isinstance(s, Apply) and isinstance(s.op, Collective):
                raise Dependence("what it tells other lanes is told in every iteration", s.span)
            if isinstance(s, Apply) and isinstance(s.op, Draw):
                raise Dependence("every draw changes the state of the generator", s.span)
            if isinstance(s, Apply) and isinstance(s.op, Tape):
                raise Dependence("an inner loop of unknown length keeps a list", s.span)

    # what the loop leaves

    def flag(self, trip: Trip, c: Choice) -> Atom:
        inner = trip.continued(trip.b)
        if any(not isinstance(s, Apply) for s in c.statements):
            raise Dependence("later iterations are tested only where earlier ones let them", self.loop.span)
        count = len(trip.b.statements)
        inner.statements(c.statements)
        if not all(self.is_safe(s) for s in trip.b.statements[count:]):
            raise Dependence("later iterations are tested only where earlier ones let them", self.loop.span)
        return trip.atom(c.values[0])

    def is_safe(self, s: Statement) -> bool:
        """Whether a statement may be run in trips that do not come to it: it raises nothing."""
        if not isinstance(s, Apply) or isinstance(s.op, Linalg) or Guard(set(), self.known()).may_fail(s):
            return False
        if not isinstance(s.attrs, IndexAttrs):
            return True
        for d, n in zip(s.attrs.dims, s.args[0].aval.shape, strict=True):
            match d:
                case At(index=Dyn(arg=a)) | Gather(arg=a):
                    if index_status(interval_of(s.args[a], self.known()), n) is Status.UNKNOWN:
                        return False
                case Run(start=Dyn()):
                    return False
        return True

    def flagged(self, c: Choice, v: Value) -> Atom:
        every = make.all_ if c.rule == "while true" else make.any
        part = every(self.b, v.atom) if v.batched else v.atom
        return combined(self.b, ops.ALL_ if c.rule == "while true" else ops.ANY, self.loop.inits[c.slots[0]], part)

    def added(self, effects: Sequence[Effect], values: Iterator[Value]) -> dict[int, Atom]:
        arrays = {x.chain.slot: self.loop.inits[x.chain.slot] for x in self.scatters}
        for e in effects:
            value, *dyn = (next(values) for _ in range(1 + len(e.dyn)))
            arrays[e.slot] = scattered(self.b, arrays[e.slot], e, value, dyn, self.size)
        return arrays

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
        best = of_trip(b, key, which)
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
        own = trip.continued(Builder())
        own.statements(c.statements)
        values = tuple(trip.atom(v) for v in c.values)
        block = Block((), (*trip.b.statements, *own.b.statements), values)
        one = dead_code(as_function(params, block))
        self.check_resolved(one.body, params)

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
            given.append(make.fitted(b, of_trip(b, all_, which), p.aval))
        quiet = Block(one.body.params, without_raises(one.body.statements), one.body.results)
        found = _made_anew(b, quiet, given)
        return [make.fitted(b, a, self.target(k).aval) for a, k in zip(found, c.slots, strict=True)]


def _beside(s: Statement, there: Set[Var]) -> Statement:
    """A statement of which a part is there already, since only this was asked for: that part is made again, unread."""
    if there.isdisjoint(s.targets):
        return s
    anew = copy_statement(s, {})
    assert not isinstance(anew, Apply | Raise)  # these have one target, or none
    return replace(anew, targets=tuple(n if t in there else t for t, n in zip(s.targets, anew.targets, strict=True)))


def _made_anew(b: Builder, block: Block, given: Sequence[Atom]) -> list[Atom]:
    """The results of a block for these parameters, in canonical form: its indices may be known now."""
    atoms: Substitution = dict(zip(block.params, given, strict=True))
    for s in block.statements:
        if isinstance(s, Apply) and len(s.targets) == 1:
            try:
                atoms[s.targets[0]] = remake(b, s.op, [substitute(a, atoms) for a in s.args], s.attrs)
                continue
            except UntracedError:  # what is known now to fail fails when it runs
                pass
        b.append(copy_statement(s, atoms))
    return [substitute(r, atoms) for r in block.results]


_SERIES = {ops.ADD: make.cumsum, ops.SUBTRACT: make.cumsum, ops.MULTIPLY: make.cumprod}
