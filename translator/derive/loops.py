"""Reverse mode for loops: what the forward loop keeps, and the loop over its trips from the last to the first.

    def f(x, n):                        def f_grad(x, n):
        y = x                               y_tape = np.empty((7, 3))
        for _ in range(n):                  y = x
            y = np.sin(y) * x               for i in range(7):
        return np.sum(y)                        y_tape[i] = y
                                                y = np.sin(y) * x
                                            d_y = np.ones_like(y)
                                            d_x = np.zeros_like(x)
                                            for i in reversed(range(7)):
                                                y = y_tape[i]
                                                d_x += d_y * np.sin(y)
                                                d_y = d_y * x * np.cos(y)
                                            return d_x + d_y

What the backward loop needs of the forward one comes from a tape, is computed again, or is undone (`tape`, `undo`);
a loop of unknown length is cut into windows (`trips`), one that keeps too much into segments (`segments`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from typing import TYPE_CHECKING, cast

from .. import make, ops
from ..bounds import divides_python_numbers, is_python_function, is_python_power
from ..builder import Builder
from ..ir import (
    Apply,
    Atom,
    Block,
    For,
    Range,
    Statement,
    Var,
    While,
    blocks_of,
    const,
    free_variables,
    walk,
)
from ..ops.core import (
    ItemAttrs,
)
from ..records import dataclass
from ..rewrite import Substitution, copy_block, prune, without_raises
from .cotangents import adjoint_hint, materialise, named, strong, zeros
from .lists import goes_over, is_list, kept_by, made_again, on_lists, places_of, zero_list
from .masks import TripMasks
from .passage import passes_through
from .segments import Cut, cut
from .settled import Nest, least
from .tape import Plan, carried_pairs, copy_retyped, counters, needed_of, plan, position, record, slot, total
from .terms import FEW_TERMS, Terms, collected
from .trips import Windows, as_while, counted, in_windows, limit
from .undo import stored_into, undone

if TYPE_CHECKING:
    from .adjoints import Adjoints


def while_vjp(s: While, adj: Adjoints) -> list[Statement]:
    """The backward pass of a `while`: a `for` loop over the trips, which the forward loop counts."""
    if all(adj.table.get(t) is None for t in s.targets):
        return [s]
    turns, trips = counted(s)
    most = limit(s)
    if most is not None:
        adj.trips.limits[turns.body.params[0]] = most
    adj.trips.uncut.add(turns.body.params[0])
    *tapes, forward = for_vjp(turns, adj)
    assert isinstance(forward, For)
    return [*tapes, as_while(s, forward, trips)]


def for_vjp(s: For, adj: Adjoints, anew: bool = False, put_back: Set[int] = frozenset()) -> list[Statement]:
    """The backward pass of a `for`: it carries the cotangents of carried values, and sums those of captured values.

    With `anew` the forward loop keeps what it carries, and the backward loop runs the body from there. The final values
    of the carried values in `put_back` are not read.
    """
    cts, outer = zip(*map(adj.take_result, s.targets), strict=True) if s.targets else ((), ())
    if all(c is None for c in cts):
        return [s]
    part = _inside(s, adj, anew, put_back)
    way = _Backward.of(s, adj, part, cts, outer)
    forward = way.through_the_body()
    if forward is None:
        _give_back(s, cts, outer, adj)
        return for_vjp(s, adj, anew, put_back)
    body, terms = way.body()
    tapes = _tapes(s, forward, body, part, anew, adj)
    if isinstance(tapes, Cut):
        _give_back(s, cts, outer, adj)
        return _in_segments(s, adj, tapes)
    if adj.outermost and part.nest is not None and (both := part.nest.used & part.nest.whole):
        # An array that is put back trip by trip is not what the loop leaves: one of the two would be a copy.
        _give_back(s, cts, outer, adj)
        return for_vjp(s, adj, put_back=both | put_back)
    way.leave(tapes, terms)
    return tapes.forward


@dataclass(slots=True)
class _Backward:
    """The backward pass of the loop `s`, whose targets have the cotangents `cts` with the masks `outer`; `part` goes
    through its body. Of the carried values, by their places:

    through   those whose cotangent is the same in every trip (`passage`).
    live      those whose cotangent the backward loop carries, as `states`; it adds up the `sums` of captured values,
              some of which the body has `touched`.
    ends, found   the cotangents at the start of a trip, and their masks.
    """

    s: For
    adj: Adjoints
    part: Adjoints
    cts: Sequence[Atom | None]
    outer: Sequence[Atom | None]
    live: list[int]
    through: dict[int, Atom | None]
    states: dict[int, Var]
    sums: dict[Var, Var]
    masks: TripMasks
    ends: dict[int, Atom | None] = field(default_factory=dict)
    touched: list[Var] = field(default_factory=list)

    @classmethod
    def of(
        cls, s: For, adj: Adjoints, part: Adjoints, cts: Sequence[Atom | None], outer: Sequence[Atom | None]
    ) -> _Backward:
        carried = s.body.params[1:]
        used = [k for k, v in enumerate(carried) if v in adj.active or cts[k] is not None]
        through = {k: cts[k] for k in used if passes_through(s.body, k)}
        live = [k for k in used if k not in through]
        states = {k: Var(adjoint_hint(carried[k]), strong(carried[k].aval)) for k in live}
        sums = {v: Var(adjoint_hint(v), strong(v.aval)) for v in free_variables(s.body) if v in adj.active}
        part.table = dict(sums)
        masks = TripMasks(s, adj, part, live, sums, cts, outer)
        return cls(s, adj, part, cts, outer, live, through, states, sums, masks)

    def through_the_body(self) -> list[Statement] | None:
        """Make the cotangents of a trip; the forward statements. None where the masks have to be others."""
        part, carried = self.part, self.s.body.params[1:]
        for k in (*self.through, *self.live):
            passes = k in self.through
            c, mask = (self.through[k], self.outer[k]) if passes else (self.states[k], self.masks.at_end(k))
            part.add(self.s.body.results[k], c, mask=mask)
        forward = part.backward(self.s.body.statements)
        found = {}
        for k in (*self.live, *self.through):
            self.ends[k], found[k] = part.take_result(carried[k])
        self.touched = [v for v in self.sums if part.table[v] is not self.sums[v]]
        self.live = [k for k in self.live if self.ends[k] is not self.states[k]]
        found = {k: found[k] for k in self.live}
        if self.masks.differ(found):
            return None
        with part.b.at(self.s.span):
            self.masks.close(found, self.touched)
        return forward

    def body(self) -> tuple[Block, Mapping[int, Terms]]:
        """The body of the backward loop, and those of its sums that are `collected`, by the places of their results."""
        b, live, touched = self.part.b, self.live, self.touched
        with b.at(self.s.span):
            results = (
                *(materialise(b, self.ends[k], self.states[k].aval) for k in live),
                *(materialise(b, self.part.table[v], self.sums[v].aval) for v in touched),
                *self.masks.ends.values(),
            )
        params = (*(self.states[k] for k in live), *(self.sums[v] for v in touched), *self.masks.ends)
        sizes = (v.aval.size for v in (*self.s.body.params[1:], *params))
        made = Block(params, tuple(b.statements), results)
        return collected(made, range(len(live), len(live) + len(touched)), max(FEW_TERMS, *sizes))

    def leave(self, tapes: _Tapes, terms: Mapping[int, Terms]) -> None:
        """Append the backward loop, and hand on the cotangents that it leaves."""
        s, adj, masks, live, touched = self.s, self.adj, self.masks, self.live, self.touched
        carried = s.body.params[1:]
        # What passes through every trip as it is, the body reads from outside the loop.
        unchanged = {k: self.cts[k] for k in self.states if k not in live}
        constant = {self.states[k]: _start(adj, s.targets[k], c, carried[k]) for k, c in unchanged.items()}
        constant |= masks.constant(tapes.body)
        starts = [_start(adj, s.targets[k], self.cts[k], carried[k]) for k in live]
        for j, v in enumerate(touched, len(live)):
            starts.append(zeros(adj.b, terms[j].aval) if j in terms else _start(adj, v, adj.table.get(v), v))
        starts += map(masks.start, masks.ends)
        finals = _backward_loop(s, tapes, (*starts, *(s.targets[k] for k in tapes.undone)), constant, adj)
        left = dict(zip(masks.ends, finals[len(live) + len(touched) :], strict=False))
        masks.leave(left, touched)
        put_back = zip(tapes.undone, finals[len(starts) :], strict=True)
        adj.restored.update((init, v) for k, v in put_back if isinstance(init := s.inits[k], Var))
        for j, v in enumerate(touched, len(live)):
            whole = terms[j].total(adj.b, finals[j], adj.table.get(v)) if j in terms else finals[j]
            adj.table[v] = named(adj.b, whole, adj.hint(v))
        for k, c in (*zip(live, finals, strict=False), *(unchanged | self.through).items()):
            adj.add(s.inits[k], c, mask=masks.final(k, left, k in live))


def _inside(s: For, adj: Adjoints, anew: bool, put_back: Set[int]) -> Adjoints:
    """The cotangents in the body of `s`, before any is known."""
    part = adj.inner(adj.b)
    part.loops = (*adj.loops, s)
    part.origins.learn((s,))
    inside = {*s.body.params, *(t for statement in s.body.statements for t in statement.targets)}
    part.changing |= inside - stored_into(s)
    part.place = Var("k", s.body.params[0].aval)
    if anew:
        part.nest = None
    elif adj.outermost:
        part.nest = Nest.of(s, adj.made, put_back)
    return part


def _give_back(s: For, cts: Sequence[Atom | None], outer: Sequence[Atom | None], adj: Adjoints) -> None:
    """The cotangents of what `s` leaves, and their masks, are those that they were before it was gone through."""
    adj.table.update((t, c) for t, c in zip(s.targets, cts, strict=True) if c is not None)
    adj.masks.update((t, m) for t, m in zip(s.targets, outer, strict=True) if m is not None)


def _start(adj: Adjoints, of: Var, c: Atom | None, v: Var) -> Atom:
    """The full cotangent of `of` with which the backward loop starts; its span is that of the use of `of`."""
    with adj.b.at(adj.origin.get(of, adj.b.span)):
        if c is None and is_list(v):
            return zero_list(adj.b, v, adj.makers, adjoint_hint(v))
        return named(adj.b, materialise(adj.b, c, strong(v.aval)), adjoint_hint(v))


def _in_segments(s: For, adj: Adjoints, how: Cut) -> list[Statement]:
    """A loop whose tape would be too long: `segments.py`."""
    b = Builder(s.span)
    w = in_windows(b, s, how.size)
    _know(w, s, adj)
    adj.trips.limits[w.outer.body.params[0]] = how.count
    adj.trips.budgets[w.inner.body.params[0]] = how.left
    return [*b.statements, *for_vjp(w.outer, adj, anew=True)]


def _know(w: Windows, s: For, adj: Adjoints) -> None:
    """What is known of the loop `s` holds for the two that it has become."""
    kept = [v in adj.active or t in adj.active for v, t in zip(s.body.params[1:], s.targets, strict=True)]
    for copies in (w.outer.body.params[1:], w.inner.targets):
        adj.active.update(v for v, k in zip(copies, kept, strict=True) if k)
    adj.trips.limits[w.inner.body.params[0]] = w.size


@dataclass(frozen=True, slots=True)
class _Tapes:
    """The forward statements, which write the tapes, and the body of the backward loop, which still names forward
    values; `entries` maps those on a tape to what `reads`, statements at the start of a trip, give.
    """

    forward: list[Statement]
    body: Block
    turn: Var
    reads: tuple[Statement, ...]
    entries: Substitution
    retyped: bool
    undone: tuple[int, ...] = ()  # carried values that the backward loop carries too, and puts back
    length: Atom | None = None  # of lists that serve as tapes: the backward loop goes over them


def _tapes(
    s: For,
    forward: Sequence[Statement],
    body: Block,
    part: Adjoints,
    anew: bool,
    adj: Adjoints,
) -> _Tapes | Cut:
    """What the backward loop with this body needs to know of the forward one, or how the loop is cut where the tape
    would take too much memory. `part` has made the body.
    """
    index = s.body.params[0]
    turn = Var(index.hint, index.aval)
    back = made_again(prune(body), forward)
    if not back.params:
        return _Tapes([s], back, turn, (), {}, False)
    if anew:
        back = prune(Block(back.params, (*without_raises(forward), *back.statements), back.results))
        forward = s.body.statements
    defined = (*s.body.params, *(t for statement in forward for t in statement.targets))
    pairs = [] if anew else carried_pairs(s)
    inner = Builder(s.span)
    entries = counters(inner, s, turn)
    free = (index, *(v for v in entries if isinstance(v, Var)))
    p = least(part.nest, forward, lambda f: plan(needed_of(back, defined), s.body.params, f, free, pairs))
    trips = part.trips.most(s) if p.saved else 0
    if trips is None or part.place in free_variables(back):
        return _on_lists(s, forward, back, p, part, adj)
    if not p.saved:
        back = Block(back.params, (*p.recomputed, *back.statements), back.results)
        return _Tapes([s], back, turn, tuple(inner.statements), entries, False)
    first = part.nest.first if part.nest is not None else {}
    kept = undone(s, forward, back, p, part.restored, first, free) if not anew else None
    if kept is not None:
        if part.nest is not None:
            part.nest.note((), [s.body.params[1 + k] for k in kept.slots])
        p, forward, back = Plan(kept.saved, ()), kept.forward, kept.body
    back = Block(back.params, (*p.recomputed, *back.statements), back.results)
    budget = None if anew else part.trips.budget_of(s)
    if budget is not None:
        how = cut(trips, total(p.saved), total(s.body.params[1:]), budget)
        if how is not None:
            return how
    statements, tapes = record(s, forward, p.saved, trips, {before for _, before in p.ahead})
    where = position(inner, s.range, turn)
    after = make.add(inner, where, const(1))
    places = [(v, v, where) for v in tapes] + [(v, before, after) for v, before in p.ahead]
    retyped = any(v.aval.weak for v in p.saved)
    # forward statements are to run: their Python numbers are such
    as_numbers = retyped and (anew or _hands_on_numbers(back))
    for v, of, at in places:
        e = named(inner, make.index(inner, tapes[of], slot(v.aval), (at,)), v.hint)
        entries[v] = make.number(inner, e, v.aval.dtype) if v.aval.weak and as_numbers else e
    retyped = retyped and not as_numbers
    slots = kept.slots if kept is not None else ()
    return _Tapes(statements, back, turn, tuple(inner.statements), entries, retyped, slots)


def _on_lists(s: For, forward: Sequence[Statement], back: Block, p: Plan, part: Adjoints, adj: Adjoints) -> _Tapes:
    """The tapes of a loop whose number of trips only the run can tell: lists, those among them that it makes anyway.
    The backward loop goes over the places of their entries, so that of lists, too, it needs one entry in each trip.
    """
    index, place = s.body.params[0], cast(Var, part.place)
    known = goes_over(s.range, adj.makers)
    there = kept_by(s, forward)
    b, inner = Builder(s.span), Builder(s.span)
    loop, made = on_lists(b, s, forward, [v for v in p.saved if v not in there], s.range.stop if known else None)
    lists = {v: there.get(v) or made[v] for v in p.saved}
    back = Block(back.params, (*p.recomputed, *back.statements), back.results)
    length: Atom | None = None
    turn = place
    entries: Substitution = {}
    if known:
        turn = Var(index.hint, index.aval)
    else:
        length = adj.b.apply(ops.LENGTH, next(v for v in (*lists.values(), *s.targets) if is_list(v)))
        if index in free_variables(back):
            entries[index] = at = Var(index.hint, index.aval)
            inner.statements += places_of(adj.b, s.range, length, at, place)
    numbers = _hands_on_numbers(back) or not any(map(_may_refuse, walk(back)))
    entries |= counters(inner, s, turn)
    for v, t in lists.items():
        entry: Atom = inner.apply(ops.ITEM, t, turn, attrs=ItemAttrs(v.aval))
        if v.aval.weak and v.aval.dtype.kind in "fc" and not numbers:
            entry = make.astype(inner, entry, v.aval.dtype)
        entries[v] = named(inner, entry, v.hint)
    retyped = any(e.aval != v.aval for v, e in entries.items())
    return _Tapes([*b.statements, loop], back, turn, tuple(inner.statements), entries, retyped, length=length)


def _may_refuse(s: Statement) -> bool:
    """Whether Python may refuse what is computed with Python numbers, as a division by 0."""
    return isinstance(s, Apply) and (divides_python_numbers(s) or is_python_power(s) or is_python_function(s))


def _hands_on_numbers(back: Block) -> bool:
    """Whether a loop or branch in it carries Python numbers: one of the forward pass, run again for a loop inside."""
    return any(r.aval.weak for s in walk(back) for inner in blocks_of(s) for r in inner.results)


def _backward_loop(
    s: For, tapes: _Tapes, inits: tuple[Atom, ...], constant: Substitution, adj: Adjoints
) -> tuple[Var, ...]:
    """Append the backward loop; its targets."""
    back = tapes.body
    if not back.params:
        return ()
    params = tuple(Var(v.hint, v.aval) for v in back.params)
    mapping: Substitution = {**constant, s.body.params[0]: tapes.turn, **tapes.entries}
    mapping.update(zip(back.params, params, strict=True))
    copy = copy_retyped if tapes.retyped else copy_block
    block = copy(Block((), back.statements, back.results), mapping)
    whole = Block((tapes.turn, *params), (*tapes.reads, *block.statements), block.results)
    targets = tuple(Var(v.hint, v.aval) for v in params)
    r = s.range
    turns = Range(r.start, r.stop, r.step, not r.reverse)
    if tapes.length is not None:
        turns = Range(const(0), tapes.length, const(1), True)
    adj.b.append(For(targets, turns, inits, whole, span=s.span))
    return targets
