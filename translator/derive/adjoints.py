"""The backward walk over a block: each statement sends the cotangents of its targets on to its arguments.

Every value has at most one cotangent, held lazily (`cotangents.py`); an absent one is zero. The statements made here
name forward values freely; where those live in a loop or a branch, `tape.py` decides how they get there.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import assert_never, cast

from .. import make, ops
from ..builder import Builder
from ..errors import Span
from ..ir import (
    Apply,
    Atom,
    Aval,
    Block,
    For,
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
    walk,
)
from ..named import cross, crossed, roll, rolled
from ..ops.core import (
    ArgReduce,
    Cast,
    Collective,
    Concatenate,
    Contract,
    Create,
    Cumulative,
    Dim,
    Elementwise,
    Fourier,
    Index,
    ItemAttrs,
    Linalg,
    Put,
    Reduce,
    Reshape,
    Ruled,
    Sort,
    Tape,
)
from ..records import dataclass
from ..rewrite import Substitution, copy_block, prune, without_raises
from .across import collective_vjp
from .activity import linked_args
from .choices import Choice, chosen_vjp
from .corners import at_corner
from .cotangents import adjoint_hint, cast_like, materialise, named, strong, total, zeros
from .differences import Makers
from .factors import linalg_vjp
from .linear import (
    assembled,
    concatenate_vjp,
    contract_vjp,
    create_vjp,
    index_parts,
    is_square,
    put_vjp_base,
    put_vjp_value,
    reshape_vjp,
)
from .passage import passes_through
from .places import Hole, Place, untouched
from .reductions import cumulative_vjp, reduce_vjp
from .routines import routine_vjp
from .ruled import ruled_vjp
from .segments import Cut, bytes_of, cut
from .settled import Nest
from .spectra import extreme_vjp, fourier_vjp, sort_vjp
from .tape import Plan, carried_pairs, copy_retyped, needed_of, plan, position, record, slot
from .tape import total as total_of
from .terms import FEW_TERMS, collected
from .trips import Trips, Windows, as_while, counted, in_windows, limit, on_list, places_of, starting_anew
from .undo import stored_into, undone


class Adjoints:
    """The cotangents of the values of one block while its backward statements are appended to `b`.

    `active` are the values that carry any; `trips` knows the length of tapes.
    """

    def __init__(self, b: Builder, active: set[Var], trips: Trips) -> None:
        self.b = b
        self.active = active
        self.trips = trips
        self.table: dict[Var, Atom] = {}
        self.choices: dict[Var, Choice] = {}  # of cotangents in the table, still to be made
        self.origin: dict[Var, Span] = {}  # the statement that last added to a cotangent
        self.light: set[Var] = set()
        self.outermost = True
        self.changing: frozenset[Var] = frozenset()  # values that the trips of a loop around have each their own of
        self.restored: dict[Var, Var] = {}  # arrays that loops start from, as their backward loops leave them (undo.py)
        self.holes: dict[Var, Hole] = {}  # in cotangents in the table, still to be set to zero
        self.made: dict[Var, Apply] = {}  # what made the forward values
        self.loops: tuple[For, ...] = ()  # around
        self.nest: Nest | None = None  # the loops around, where the backward pass may read what they leave

    def hint(self, v: Var) -> str:
        """The name of the adjoint: none of its own for a temporary that stands inside an expression."""
        return v.hint if v in self.light else adjoint_hint(v)

    def inner(self, span_of: Builder) -> Adjoints:
        inner = Adjoints(Builder(span_of.span), self.active, self.trips)
        inner.outermost = False
        inner.changing = self.changing
        inner.made, inner.nest, inner.loops = self.made, self.nest, self.loops
        return inner

    @property
    def makers(self) -> Makers:
        """What made the values that backward statements name."""
        return ChainMap(cast(dict[Var, Apply], self.b.definitions), self.made)

    def add(self, a: Atom, c: Atom | None, choice: Choice | None = None) -> None:
        """Add `c`, which may be subject to a choice, to the cotangent of `a`, if that has one."""
        if c is None or not isinstance(a, Var) or a not in self.active:
            return
        old = self.table.get(a)
        self.origin[a] = self.b.span
        if choice is not None and (other := self.choices.get(a)) is not None and choice.opposes(other):
            assert old is not None
            del self.choices[a]
            self.table[a] = named(self.b, choice.both(self.b, c, old, a.aval), self.hint(a))
            return
        if choice is not None and old is None:
            self.choices[a] = choice
        elif choice is not None and not choice.same(self.choices.get(a)):
            c = choice.made(self.b, c, a.aval)
        if old is not None and not (choice is not None and choice.same(self.choices.get(a))):
            old = self.settle(a)
        whole = c if old is None else total(self.b, old, c)
        self.table[a] = whole if a in self.choices else named(self.b, whole, self.hint(a))

    def settle(self, v: Var) -> Atom | None:
        """The cotangent of `v` so far, its choice made, its hole empty."""
        hole, choice = self.holes.pop(v, None), self.choices.pop(v, None)
        if hole is not None:
            with self.b.at(hole.span):
                emptied = make.put(self.b, self.table[v], const(0.0), hole.place.dims, hole.place.dyn)
                self.table[v] = named(self.b, emptied, self.hint(v))
        if choice is not None:
            with self.b.at(self.origin[v]):
                self.table[v] = named(self.b, choice.made(self.b, self.table[v], v.aval), self.hint(v))
        return self.table.get(v)

    def settle_all(self) -> None:
        for v in (*self.choices, *self.holes):
            self.settle(v)

    def scatter(self, x: Atom, c: Atom, dims: tuple[Dim, ...], dyn: tuple[Atom, ...]) -> None:
        """Add `c` to the cotangent of `x` at an index, in place of what has been accumulated there so far."""
        if not isinstance(x, Var) or x not in self.active:
            return
        place, makers, hole = Place(x.aval.shape, dims, dyn), self.makers, self.holes.get(x)
        fills = hole is not None and hole.place.same(place, makers) and place.distinct(makers)
        if hole is not None and fills:
            del self.holes[x]
            if hole.holds(c, makers):
                return
        elif hole is None or not hole.place.apart(place, makers, self.loops):
            self.settle(x)
        so_far = named(self.b, materialise(self.b, self.table.get(x), strong(x.aval)), self.hint(x))
        anew = fills or (untouched(so_far, place, makers, self.loops) and place.distinct(makers))
        store = make.put if anew else make.put_add
        self.table[x] = named(self.b, store(self.b, so_far, c, dims, dyn), self.hint(x))

    def stored_over(self, s: Apply, ct: Atom) -> None:
        """Send on the cotangent `ct` of what the store `s` leaves: what it overwrote has none.

        That is written down when something has to know it: where the new value was computed from the old one, as in
        `x[i] = f(x[i])`, the old one's cotangent is stored there next.
        """
        x = s.args[0]
        if not isinstance(x, Var) or x not in self.active or x in self.table or s.op is not ops.PUT:
            self.add(x, put_vjp_base(self.b, s, ct))
            return
        whole = materialise(self.b, ct, strong(x.aval))
        self.add(x, whole)
        self.holes[x] = Hole(Place(x.aval.shape, *index_parts(s, 2)), whole, self.b.span)

    def take(self, v: Var) -> Atom | None:
        """The cotangent of `v`, which is complete: the walk has come to its definition."""
        self.settle(v)
        found = self.table.pop(v, None)
        return None if found is None else assembled(self.b, found)

    def take_unsettled(self, v: Var) -> tuple[Atom | None, Choice | None]:
        """As `take`, and the choice that is still to be made."""
        if v in self.holes:
            self.settle(v)
        found = self.table.pop(v, None)
        return None if found is None else assembled(self.b, found), self.choices.pop(v, None)


def backward_block(statements: Sequence[Statement], adj: Adjoints) -> list[Statement]:
    """Append the backward pass of the statements to `adj.b`; the forward statements, with what must be kept for it."""
    adj.light.update(t for s in statements if isinstance(s, Apply) for t in s.targets if _is_light(t, s))
    adj.made.update((t, s) for s in statements if isinstance(s, Apply) for t in s.targets)
    forward: list[list[Statement]] = []
    for s in reversed(statements):
        if not isinstance(s, Apply | Raise):
            adj.settle_all()
        with adj.b.at(s.span):
            forward.append(_backward(s, adj))
    adj.settle_all()
    return [s for group in reversed(forward) for s in group]


def _is_light(t: Var, s: Apply) -> bool:
    return t.hint == "t" and not isinstance(s.op, Contract)


def _backward(s: Statement, adj: Adjoints) -> list[Statement]:
    match s:
        case Apply(op=Ruled()):
            return _ruled(s, adj)
        case Apply(op=Elementwise()):
            ct, choice = adj.take_unsettled(s.targets[0])
            if ct is not None:
                active = [i for i in linked_args(s) if s.args[i] in adj.active]
                chosen_vjp(adj.b, s, ct, choice, active, adj.add, at_corner(adj.b, s, adj.made))
            return [s]
        case Apply():
            ct = adj.take(s.targets[0])
            if ct is not None:
                _apply(s, ct, adj)
            return [s]
        case If():
            return [_if(s, adj)]
        case For():
            return _for(s, adj)
        case While():
            return _while(s, adj)
        case Raise():
            return [s]
        case Invoke():
            routine_vjp(s, adj)
            return [s]
        case Fused():
            raise AssertionError("derivatives are taken before fusion")
        case _:
            assert_never(s)


def _apply(s: Apply, ct: Atom, adj: Adjoints) -> None:
    b, op, x = adj.b, s.op, s.args[0] if s.args else None
    active = [i for i in linked_args(s) if s.args[i] in adj.active]
    if x is None or not active:
        return
    match op:
        case Elementwise():
            raise AssertionError("choices.py does these")
        case Cast():
            adj.add(x, cast_like(b, ct, x.aval))
        case Reduce():
            adj.add(x, reduce_vjp(b, s, ct))
        case Cumulative(name="cummax" | "cummin"):
            adj.scatter(x, *extreme_vjp(b, s, ct))
        case Cumulative():
            adj.add(x, cumulative_vjp(b, s, ct))
        case Sort():
            adj.scatter(x, *sort_vjp(b, s, ct))
        case Fourier():
            adj.add(x, fourier_vjp(b, s, ct))
        case Collective():
            adj.add(x, collective_vjp(b, s, ct))
        case Linalg():
            for i in active:
                adj.add(s.args[i], linalg_vjp(b, s, ct, i))
        case Contract():
            if is_square(s):
                active, ct = [0], total(b, ct, ct)
            for i in active:
                adj.add(s.args[i], contract_vjp(b, s, ct, i))
        case Reshape():
            adj.add(x, reshape_vjp(b, s, ct))
        case Concatenate():
            _pieces(s, ct, active, adj)
        case Create():
            adj.add(x, create_vjp(b, s, ct))
        case Index():
            adj.scatter(x, ct, *index_parts(s, 1))
        case Put():
            if 1 in active:
                place = Place(s.targets[0].aval.shape, *index_parts(s, 2))
                adj.add(s.args[1], put_vjp_value(b, s, ct, place.distinct(adj.makers)))
            if 0 in active:
                adj.stored_over(s, ct)
        case Tape():
            raise AssertionError("what is derived again keeps windows")
        case ArgReduce() | Ruled():
            raise AssertionError("an integer has no cotangent, and a rule has several")
        case _:
            assert_never(op)


def _pieces(s: Apply, ct: Atom, active: Sequence[int], adj: Adjoints) -> None:
    """Of what joined pieces have a name for, the derivative is of that kind; else each piece gets its part."""
    b, out = adj.b, strong(s.targets[0].aval)
    if (r := rolled(s, adj.made.get)) is not None:
        adj.add(r.x, roll(b, ct, -r.shift, r.axis) if ct.aval.shape == out.shape else ct)
    elif (both := crossed(s, adj.made.get)) is not None:
        x, y = both
        whole = cast_like(b, materialise(b, ct, out), out)
        adj.add(x, cross(b, y, whole) if x in adj.active else None)
        adj.add(y, cross(b, whole, x) if y in adj.active else None)
    else:
        for i in active:
            adj.add(s.args[i], concatenate_vjp(b, s, ct, i))


def _ruled(s: Apply, adj: Adjoints) -> list[Statement]:
    cts = [adj.take(t) for t in s.targets]
    if all(c is None for c in cts):
        return [s]
    active = [i for i in linked_args(s) if s.args[i] in adj.active]
    if not active:
        return [s]
    forward, found = ruled_vjp(adj.b, s, cts, active, adj.outermost)
    for i, c in found:
        adj.add(s.args[i], c)
    return forward


# ---- branches ------------------------------------------------------------------------------------


def _if(s: If, adj: Adjoints) -> If:
    """A backward `if` on the same condition. What it needs and cannot cheaply recompute, the forward one returns."""
    cts = [adj.take(t) for t in s.targets]
    if all(c is None for c in cts):
        return s
    blocks = (s.then, s.orelse)
    inner = [adj.inner(adj.b) for _ in blocks]
    outside = [v for v in dict.fromkeys((*free_variables(s.then), *free_variables(s.orelse))) if v in adj.active]
    so_far = {v: adj.table[v] for v in outside if v in adj.table}
    forwards = [_branch(block, cts, so_far, part) for block, part in zip(blocks, inner, strict=True)]
    touched = [v for v in outside if any(part.table.get(v) is not adj.table.get(v) for part in inner)]
    targets = tuple(Var(adjoint_hint(v), strong(v.aval)) for v in touched)
    plans, backs = [], []
    for forward, part in zip(forwards, inner, strict=True):
        results = tuple(materialise(part.b, part.table.get(v), strong(v.aval)) for v in touched)
        back = prune(Block((), tuple(part.b.statements), results))
        defined = [t for statement in forward for t in statement.targets]
        needed = needed_of(back, defined)
        plans.append(_least(adj.nest, forward, lambda f, n=needed: plan(n, (), f, (), whole=adj.changing)))  # type: ignore[misc]
        backs.append(back)
    statement, kept = _keep(s, forwards, plans)
    then, orelse = (
        copy_block(Block((), (*p.recomputed, *back.statements), back.results), dict(kept))
        for p, back in zip(plans, backs, strict=True)
    )
    adj.b.append(If(targets, s.condition, then, orelse, s.span))
    adj.table.update(zip(touched, targets, strict=True))
    return statement


def _branch(
    block: Block, cts: Sequence[Atom | None], so_far: dict[Var, Atom], part: Adjoints
) -> list[Statement]:
    """The backward pass of one branch. It goes on from the cotangents outside, and so accumulates into them."""
    part.table = dict(so_far)
    for r, c in zip(block.results, cts, strict=True):
        part.add(r, c)
    return backward_block(block.statements, part)


def _keep(s: If, forwards: Sequence[Sequence[Statement]], plans: Sequence[Plan]) -> tuple[If, dict[Var, Var]]:
    """The forward `if` with the saved values of its branches as more results; the other branch gives zeros for them."""
    kept = {v: Var(v.hint, v.aval) for p in plans for v in p.saved}
    branches = []
    for block, forward, p in zip((s.then, s.orelse), forwards, plans, strict=True):
        b = Builder(s.span)
        b.statements = list(forward)
        extra = tuple(v if v in p.saved else _placeholder(b, v.aval) for v in kept)
        branches.append(Block(block.params, tuple(b.statements), (*block.results, *extra)))
    then, orelse = branches
    return If((*s.targets, *kept.values()), s.condition, then, orelse, s.span), kept


def _placeholder(b: Builder, aval: Aval) -> Atom:
    if aval.weak:
        return const(aval.dtype.type(0).item())
    return make.zeros(b, aval.shape, aval.dtype) if aval.shape else const(aval.dtype.type(0))


# ---- loops ---------------------------------------------------------------------------------------


def _while(s: While, adj: Adjoints) -> list[Statement]:
    """The loop backwards as a `for` loop over as many trips as the forward one, which counts them, has made."""
    if all(adj.table.get(t) is None for t in s.targets):
        return [s]
    turns, trips = counted(s)
    most = limit(s)
    if most is not None:
        adj.trips.limits[turns.body.params[0]] = most
    adj.trips.uncut.add(turns.body.params[0])
    *tapes, forward = _for(turns, adj)
    assert isinstance(forward, For)
    return [*tapes, as_while(s, forward, trips)]


def _for(
    s: For, adj: Adjoints, again: Sequence[Statement] = (), anew: bool = False, put_back: Set[int] = frozenset()
) -> list[Statement]:
    """The loop backwards: it carries the cotangents of what the loop carries, and adds up those of what it captures.

    With `again` the forward loop keeps nothing: the backward one runs these statements, then the body, in front of each
    trip. With `anew` it keeps what it carries, and the backward one runs the body from there. Of carried values
    `put_back` nothing is read as the loop leaves them.
    """
    carried = s.body.params[1:]
    cts = [adj.take(t) for t in s.targets]
    if all(c is None for c in cts):
        return [s]
    live = [k for k, v in enumerate(carried) if v in adj.active or cts[k] is not None]
    part = adj.inner(adj.b)
    part.loops = (*adj.loops, s)
    inside = {*s.body.params, *(t for statement in s.body.statements for t in statement.targets)}
    part.changing |= inside - stored_into(s)
    if again or anew:
        part.nest = None
    elif adj.outermost:
        part.nest = Nest.of(s, adj.made, put_back)
    through = {k: cts[k] for k in live if passes_through(s.body, k)}
    live = [k for k in live if k not in through]
    states = {k: Var(adjoint_hint(carried[k]), strong(carried[k].aval)) for k in live}
    sums = {v: Var(adjoint_hint(v), strong(v.aval)) for v in free_variables(s.body) if v in adj.active}
    part.table = dict(sums)
    for k in (*through, *live):
        part.add(s.body.results[k], through[k] if k in through else states[k])
    forward = backward_block(s.body.statements, part)
    ends = {k: part.take(carried[k]) for k in (*live, *through)}
    touched = [v for v in sums if part.table[v] is not sums[v]]
    live = [k for k in live if ends[k] is not states[k]]
    with part.b.at(s.span):
        results = (
            *(materialise(part.b, ends[k], states[k].aval) for k in live),
            *(materialise(part.b, part.table[v], sums[v].aval) for v in touched),
        )
    body = Block((*(states[k] for k in live), *(sums[v] for v in touched)), tuple(part.b.statements), results)
    sizes = (v.aval.size for v in (*carried, *body.params))
    body, terms = collected(body, range(len(live), len(body.params)), max(FEW_TERMS, *sizes))
    tapes = _tapes(s, forward, body, part, again, anew, adj)
    if not isinstance(tapes, _Tapes):
        adj.table.update((t, c) for t, c in zip(s.targets, cts, strict=True) if c is not None)
        return _in_windows(s, adj) if tapes is None else _in_segments(s, adj, tapes)
    if adj.outermost and part.nest is not None and (both := part.nest.used & part.nest.whole):
        # An array that is put back trip by trip is not what the loop leaves: one of the two would be a copy.
        adj.table.update((t, c) for t, c in zip(s.targets, cts, strict=True) if c is not None)
        return _for(s, adj, put_back=both | put_back)
    # What passes through every trip as it is, the body reads from outside the loop.
    unchanged = {k: cts[k] for k in states if k not in live}
    constant = {states[k]: _start(adj, s.targets[k], c, carried[k]) for k, c in unchanged.items()}
    unchanged |= through
    starts = [_start(adj, s.targets[k], cts[k], carried[k]) for k in live]
    for j, v in enumerate(touched, len(live)):
        starts.append(zeros(adj.b, terms[j].aval) if j in terms else _start(adj, v, adj.table.get(v), v))
    finals = _backward_loop(s, tapes, (*starts, *(s.targets[k] for k in tapes.undone)), constant, adj)
    for k, v in zip(tapes.undone, finals[len(starts) :], strict=True):
        if isinstance(init := s.inits[k], Var):
            adj.restored[init] = v
    for j, v in enumerate(touched, len(live)):
        whole = terms[j].total(adj.b, finals[j], adj.table.get(v)) if j in terms else finals[j]
        adj.table[v] = named(adj.b, whole, adj.hint(v))
    for k, c in (*zip(live, finals, strict=False), *unchanged.items()):
        adj.add(s.inits[k], c)
    return tapes.forward


def _start(adj: Adjoints, of: Var, c: Atom | None, v: Var) -> Atom:
    """The cotangent of `of` in full, where the backward loop starts; it comes from what used `of`, not the loop."""
    with adj.b.at(adj.origin.get(of, adj.b.span)):
        return named(adj.b, materialise(adj.b, c, strong(v.aval)), adjoint_hint(v))


def _in_windows(s: For, adj: Adjoints) -> list[Statement]:
    """A loop whose number of trips only the run can tell: `trips.py`. The forward loop stays as it is."""
    again = replace(s, body=replace(s.body, statements=without_raises(s.body.statements)))
    w = in_windows(adj.b, again)
    _know(w, s, adj)
    _for(w.outer, adj, starting_anew(adj.b, w, positive=s.body.params[0] in adj.trips.uncut))
    return [s]


def _in_segments(s: For, adj: Adjoints, how: Cut) -> list[Statement]:
    """A loop whose tape would be too long: `segments.py`."""
    b = Builder(s.span)
    w = in_windows(b, s, how.size)
    _know(w, s, adj)
    adj.trips.limits[w.outer.body.params[0]] = how.count
    adj.trips.budgets[w.inner.body.params[0]] = how.left
    return [*b.statements, *_for(w.outer, adj, anew=True)]


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
    again: Sequence[Statement],
    anew: bool,
    adj: Adjoints,
) -> _Tapes | Cut | None:
    """What the backward loop with this body needs to know of the forward one; None where no tape is long enough, and
    how the loop is cut where the tape would take too much memory. `part` has made the body.
    """
    index = s.body.params[0]
    turn = Var(index.hint, index.aval)
    back = prune(body)
    if not back.params:
        return _Tapes([s], back, turn, (), {}, False)
    if again:
        whole = prune(Block(back.params, (*again, *without_raises(forward), *back.statements), back.results))
        return _Tapes([s], whole, turn, (), {}, False)
    if anew:
        back = prune(Block(back.params, (*without_raises(forward), *back.statements), back.results))
        forward = s.body.statements
    defined = (*s.body.params, *(t for statement in forward for t in statement.targets))
    pairs = [] if anew else carried_pairs(s)
    p = _least(part.nest, forward, lambda f: plan(needed_of(back, defined), s.body.params, f, (index,), pairs))
    if not p.saved:
        back = Block(back.params, (*p.recomputed, *back.statements), back.results)
        return _Tapes([s], back, turn, (), {}, False)
    trips = part.trips.most(s)
    if trips is None:
        return _on_lists(s, forward, back, p, adj) if adj.trips.lists and not anew else None
    first = part.nest.first if part.nest is not None else {}
    kept = undone(s, forward, back, p, part.restored, first) if not anew else None
    if kept is not None:
        if part.nest is not None:
            part.nest.note((), [s.body.params[1 + k] for k in kept.slots])
        p, forward, back = Plan(kept.saved, ()), kept.forward, kept.body
    back = Block(back.params, (*p.recomputed, *back.statements), back.results)
    budget = None if anew else part.trips.budget_of(s)
    if budget is not None:
        how = cut(trips, bytes_of(p.saved), bytes_of(s.body.params[1:]), budget)
        if how is not None:
            return how
    inner = Builder(s.span)
    statements, tapes = record(s, forward, p.saved, trips, {before for _, before in p.ahead})
    where = position(inner, s.range, turn)
    after = make.add(inner, where, const(1))
    places = [(v, v, where) for v in tapes] + [(v, before, after) for v, before in p.ahead]
    entries: Substitution = {
        v: named(inner, make.index(inner, tapes[of], slot(v.aval), (at,)), v.hint) for v, of, at in places
    }
    retyped = any(v.aval.weak for v in p.saved)
    if retyped and (anew or _hands_on_numbers(back)):  # forward statements are to run: their Python numbers are such
        entries = {v: make.number(inner, e, v.aval.dtype) if v.aval.weak else e for v, e in entries.items()}
        retyped = False
    slots = kept.slots if kept is not None else ()
    return _Tapes(statements, back, turn, tuple(inner.statements), entries, retyped, slots)


def _on_lists(s: For, forward: Sequence[Statement], back: Block, p: Plan, adj: Adjoints) -> _Tapes:
    """The tapes of a loop whose number of trips only the run can tell, where lists serve. In an inner block the loop
    runs again for them, so that what is kept of it are its first values."""
    index = s.body.params[0]
    place = Var("k", index.aval)
    b = Builder(s.span)
    if adj.outermost:
        loop, lists = on_list(b, s, forward, p.saved)
        statements = [*b.statements, loop]
    else:
        loop, lists = on_list(b, s, without_raises(forward), p.saved)
        copied = copy_block(Block((), (*b.statements, loop), tuple(lists.values())), {})
        adj.b.statements += copied.statements
        lists = dict(zip(lists, cast(tuple[Var, ...], copied.results), strict=True))
        statements = [s]
    length = adj.b.apply(ops.LENGTH, next(iter(lists.values())))
    inner = Builder(s.span)
    back = Block(back.params, (*p.recomputed, *back.statements), back.results)
    entries: Substitution = {}
    if index in free_variables(back):
        entries[index] = turn = Var(index.hint, index.aval)
        inner.statements += places_of(adj.b, s.range, length, turn, place)
    for v, t in lists.items():
        entry: Atom = inner.apply(ops.ITEM, t, place, attrs=ItemAttrs(v.aval))
        if v.aval.weak and v.aval.dtype.kind in "fc" and not _hands_on_numbers(back):
            entry = make.astype(inner, entry, v.aval.dtype)
        entries[v] = named(inner, entry, v.hint)
    retyped = any(e.aval != v.aval for v, e in entries.items())
    return _Tapes(statements, back, place, tuple(inner.statements), entries, retyped, length=length)


def _least(nest: Nest | None, forward: Sequence[Statement], planned: Callable[[Sequence[Statement]], Plan]) -> Plan:
    """The plan that keeps less: with values as they were, or as the loops around leave them."""
    p = planned(forward)
    if nest is None:
        return p
    left = planned(nest.reading_late(forward))
    p = left if total_of(left.saved) <= total_of(p.saved) else p
    nest.note(p.recomputed, p.saved)
    return p


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
