"""Which forward values of an inner block a backward pass keeps on a tape, and which it recomputes.

for i in range(n):                   y_tape = np.empty((n, 3))
    y = np.sin(y) * x                for i in range(n):
                                         y_tape[i] = y
                                         y = np.sin(y) * x
                                     for i in reversed(range(n)):
                                         y = y_tape[i]
                                         d_y = d_y * x * np.cos(y)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set

from .. import make, ops
from ..builder import Builder
from ..errors import Diagnostic, Span, UnsupportedError
from ..ir import (
    Apply,
    Atom,
    Aval,
    Block,
    Const,
    For,
    Function,
    If,
    Range,
    Statement,
    Var,
    While,
    blocks_of,
    const,
    free_variables,
    inputs_of,
    is_number,
    walk,
)
from ..ops.core import (
    ArgReduce,
    At,
    Cast,
    Concatenate,
    Contract,
    ContractAttrs,
    Create,
    Dim,
    Dyn,
    Elementwise,
    Index,
    Reduce,
    Reshape,
    Run,
    Tape,
)
from ..records import dataclass
from ..rewrite import Substitution, copy_statement, fresh_variables, substitute

SMALL = 256  # elements: a reduction of so few, a product of so many terms, is cheaper to do again than to keep


class NeedTrip(UnsupportedError):
    """A tape needs to know the number of trips of a loop: `atoms` are the run-time values in its range.

    A caller that can specialise the arguments behind them does so and starts again; otherwise it is a refusal.
    """

    def __init__(self, atoms: tuple[Var, ...], span: Span) -> None:
        self.atoms = atoms
        super().__init__(
            Diagnostic(
                "the reverse derivative of this loop needs its number of trips before the run",
                span,
                why="the backward loop reads values that the forward loop must keep, and their number is not known",
                instead="give the range as constants or plain Python integer arguments, or use jvp",
            )
        )


def behind_of(function: Function, atoms: Sequence[Var]) -> set[Var]:
    """All values from which `atoms` are computed, and `atoms` themselves."""
    sources = {v: found for s in walk(function.body) for v, found in sources_of(s)}
    seen: set[Var] = set()
    pending: list[Atom] = list(atoms)
    while pending:
        v = pending.pop()
        if isinstance(v, Var) and v not in seen:
            seen.add(v)
            pending += sources.get(v, ())
    return seen


def sources_of(s: Statement) -> Iterator[tuple[Var, Sequence[Atom]]]:
    """What a statement defines, in its blocks as well, each with what it is directly made of."""
    match s:
        case If():
            for t, x, y in zip(s.targets, s.then.results, s.orelse.results, strict=True):
                yield t, (s.condition, x, y)
        case For():
            turns = (s.range.start, s.range.stop, s.range.step)
            yield s.body.params[0], turns
            for t, p, *both in zip(s.targets, s.body.params[1:], s.inits, s.body.results, strict=True):
                yield t, (*both, *turns)
                yield p, (*both, *turns)
        case While():
            parts = (s.targets, s.body.params, s.condition.params, s.inits, s.body.results)
            for t, p, q, *both in zip(*parts, strict=True):
                for v in (t, p, q):
                    yield v, (*both, *s.condition.results)
        case _:
            inner = [x for block in blocks_of(s) for x in free_variables(block)]
            for v in (*s.targets, *(p for block in blocks_of(s) for p in block.params)):
                yield v, (*inputs_of(s), *inner)


@dataclass(frozen=True, slots=True)
class Plan:
    """Values of the forward block to keep, and statements of it to run again in the backward block, in order.

    `ahead`: pairs of a carried value after and before a trip, where one tape serves for both: what a trip leaves is
    what the next one finds.
    """

    saved: tuple[Var, ...]
    recomputed: tuple[Apply, ...]
    ahead: tuple[tuple[Var, Var], ...] = ()


def plan(
    needed: Iterable[Var],
    params: Sequence[Var],
    statements: Sequence[Statement],
    free: Sequence[Var],
    pairs: Sequence[tuple[Var, Var]] = (),
    whole: Set[Var] = frozenset(),
) -> Plan:
    """Choose for each needed value what costs less memory: keeping it, or keeping what it is cheaply computed from.

    `params` and the targets of `statements` are the values of the block; those in `free` (a loop index) cost nothing.
    `pairs` are the candidates for `Plan.ahead`. `whole`: values from outside the block that count with their full size,
    since an enclosing loop would have to keep them.
    """
    wanted = set(needed)
    chosen = _Planner(params, statements, free, whole).choose(wanted)
    ahead = tuple((after, before) for after, before in pairs if after in wanted)
    if not ahead:
        return chosen
    others = (wanted - {after for after, _ in ahead}) | {before for _, before in ahead}
    other = _Planner(params, statements, [*free, *(after for after, _ in ahead)]).choose(others)
    if total(other.saved) > total(chosen.saved) or any(before not in other.saved for _, before in ahead):
        return chosen
    return Plan(other.saved, other.recomputed, ahead)


def carried_pairs(s: For) -> list[tuple[Var, Var]]:
    """(after, before) of each carried value that a trip changes; empty unless the trips are known and ascending."""
    exact = s.range.static()
    if not exact or exact.step < 0:
        return []
    inside = {t for statement in s.body.statements for t in statement.targets}
    both = zip(s.body.results, s.body.params[1:], strict=True)
    return [(r, p) for r, p in both if isinstance(r, Var) and r in inside and r.aval == p.aval]


def counters(b: Builder, s: For, turn: Atom) -> Substitution:
    """What is carried and goes up by a constant in each trip, from a constant, by the number `turn` of the trip."""
    found: Substitution = {}
    if not (is_number(s.range.start, 0) and is_number(s.range.step, 1)):
        return found
    made = {t: a for a in s.body.statements if isinstance(a, Apply) and a.op is ops.ADD for t in a.targets}
    for p, init, result in zip(s.body.params[1:], s.inits, s.body.results, strict=True):
        up = made.get(result) if isinstance(result, Var) else None
        if up is None or up.args[0] is not p or p.aval != s.body.params[0].aval:
            continue
        start, step = init, up.args[1]
        if isinstance(start, Const) and isinstance(step, Const) and start.aval == step.aval == p.aval:
            steps = turn if is_number(step, 1) else make.multiply(b, turn, step)
            found[p] = steps if is_number(start, 0) else make.add(b, steps, start)
    return found


class _Planner:
    def __init__(
        self,
        params: Sequence[Var],
        statements: Sequence[Statement],
        free: Sequence[Var],
        whole: Set[Var] = frozenset(),
    ) -> None:
        self.statements = statements
        self.free = set(free)
        self.whole = whole
        self.made_by: dict[Var, Statement | None] = dict.fromkeys(params)
        for s in statements:
            self.made_by.update(dict.fromkeys(s.targets, s))
        self.saved: dict[Var, None] = {}

    def choose(self, needed: Iterable[Var]) -> Plan:
        order = {v: n for n, v in enumerate(self.made_by)}
        wanted = sorted({v for v in needed if v in order}, key=order.__getitem__)
        roots = {u: None for v in wanted for u in self.leaves(v)}
        self.saved = self.one_by_one(wanted)
        if total(roots) <= total(self.saved):
            self.saved = roots
        again = self.recomputed(wanted)
        return Plan(tuple(self.saved), tuple(s for s in self.statements if isinstance(s, Apply) and s in again))

    def one_by_one(self, wanted: Sequence[Var]) -> dict[Var, None]:
        """What is kept when each value is decided on in turn, those before it given."""
        for v in wanted:
            if v in self.leaves(v):
                self.saved.setdefault(v)
        for v in wanted:
            more = {u: None for u in self.leaves(v) if u not in self.saved}
            again = total(more) <= total((v,)) or (v.aval.weak and not any(u.aval.shape for u in more))
            self.saved.update(more if again else {v: None})
        return self.saved

    def leaves(self, v: Var) -> tuple[Var, ...]:
        """The values that must be kept so that `v` can be had."""
        found: dict[Var, None] = {}
        self._walk(v, found, {}, set())
        return tuple(found)

    def recomputed(self, wanted: Iterable[Var]) -> dict[Apply, None]:
        again: dict[Apply, None] = {}
        seen: set[Var] = set()
        for v in wanted:
            self._walk(v, {}, again, seen)
        return again

    def is_piece(self, s: Apply) -> bool:
        """Whether a small part of a value is read that would have to be kept as a whole."""
        return isinstance(s.op, Index) and s.args[0] in self.whole and 2 * s.targets[0].aval.size < s.args[0].aval.size

    def _walk(self, v: Var, leaves: dict[Var, None], again: dict[Apply, None], seen: set[Var]) -> None:
        if v in seen or v in self.free or v not in self.made_by:
            return
        seen.add(v)
        if v in self.saved:
            leaves.setdefault(v)
            return
        maker = self.made_by[v]
        if not isinstance(maker, Apply) or not cheap(maker) or self.is_piece(maker):
            leaves.setdefault(v)
            return
        for a in maker.args:
            if isinstance(a, Var):
                self._walk(a, leaves, again, seen)
        again.setdefault(maker)


def total(values: Iterable[Var]) -> int:
    """The size of the values in bytes."""
    return sum(v.aval.nbytes for v in values)


def cheap(s: Apply) -> bool:
    """Whether running the statement again costs about as much as reading its result from a tape."""
    op = s.op
    if isinstance(op, Reduce | ArgReduce):
        return s.args[0].aval.size <= SMALL
    if isinstance(op, Contract):
        assert isinstance(s.attrs, ContractAttrs)
        x, y = s.args
        sizes = dict(zip((*s.attrs.lhs, *s.attrs.rhs), (*x.aval.shape, *y.aval.shape), strict=True))
        return math.prod(sizes.values()) <= SMALL
    again = isinstance(op, Elementwise | Cast | Reshape | Index | Concatenate | Tape)
    return again or (isinstance(op, Create) and op.name != "empty")


# ---- what a block needs --------------------------------------------------------------------------


def needed_of(block: Block, defined: Iterable[Var]) -> list[Var]:
    """The values among `defined` that the block uses."""
    inside = set(defined)
    return [v for v in free_variables(block) if v in inside]


# ---- tapes of loops ------------------------------------------------------------------------------


def position(b: Builder, r: Range, index: Var) -> Atom:
    """The place on a tape of the iteration with this index; the least index comes first."""
    start, step = r.start, r.step
    exact = r.static()
    if exact:
        start, step = const(min(exact[0], exact[-1])), const(abs(exact.step))
    if is_number(start, 0) and is_number(step, 1):
        return index
    offset = index if is_number(start, 0) else make.subtract(b, index, start)
    return offset if is_number(step, 1) else make.floor_divide(b, offset, step)


def slot(aval: Aval) -> tuple[Dim, ...]:
    """One entry of a tape of such values."""
    return (At(Dyn(0)), *(Run(0, n) for n in aval.shape))


def record(
    s: For, statements: Sequence[Statement], saved: Sequence[Var], trips: int, whole: Set[Var]
) -> tuple[list[Statement], dict[Var, Atom]]:
    """A forward loop over `statements` that writes each value in `saved` to a tape: its statements, and the tapes.

    The tapes of the carried values in `whole` have one more entry: what the last trip leaves.
    """
    outer, inner = Builder(s.span), Builder(s.span)
    index = s.body.params[0]
    where = position(inner, s.range, index)
    entries = {v: trips + (v in whole) for v in saved}
    written = {v: Var(f"{v.hint}_tape", Aval((n, *v.aval.shape), v.aval.dtype)) for v, n in entries.items()}
    starts = [make.empty(outer, t.aval.shape, t.aval.dtype) for t in written.values()]
    last: dict[Var, Atom] = {}

    def write(v: Var) -> None:
        last[v] = make.put(inner, written[v], v, slot(v.aval), (where,))

    for v in s.body.params:
        if v in written:
            write(v)
    for statement in statements:
        inner.append(statement)
        for v in statement.targets:
            if v in written:
                write(v)
    finals = {v: Var(t.hint, t.aval) for v, t in written.items()}
    results = (*s.body.results, *(last[v] for v in written))
    body = inner.block((*s.body.params, *written.values()), results)
    outer.append(For((*s.targets, *finals.values()), s.range, (*s.inits, *starts), body, s.parallel, s.span))
    tapes: dict[Var, Atom] = dict(finals)
    for v, end in zip(s.body.params[1:], s.targets, strict=True):
        if v in whole:
            tapes[v] = make.put(outer, finals[v], end, slot(v.aval), (const(trips),))
    return outer.statements, tapes


# ---- Python numbers that have been on a tape -----------------------------------------------------


def copy_retyped(block: Block, mapping: Substitution) -> Block:
    """`copy_block` where `mapping` may put a NumPy scalar, read from a tape, in place of a Python number.

    A Python number adapts to the array that it meets, a NumPy scalar does not: it is cast to the dtype that the
    operation computed in, so that every result keeps its dtype.
    """
    params = tuple(Var(v.hint, v.aval) for v in block.params)
    mapping.update(zip(block.params, params, strict=True))
    b = Builder()
    for s in block.statements:
        if isinstance(s, Apply):
            _copy_apply(b, s, mapping)
        else:
            b.append(_copy_structured(s, mapping))
    results = []
    for r in block.results:
        new = substitute(r, mapping)
        assert new.aval == r.aval, "the results of a backward block are strong"
        results.append(new)
    return b.block(params, results)


def _copy_apply(b: Builder, s: Apply, mapping: Substitution) -> None:
    args = [substitute(a, mapping) for a in s.args]
    with b.at(s.span):
        if isinstance(s.op, Elementwise) and any(n.aval != a.aval for n, a in zip(args, s.args, strict=True)):
            dtypes, result = s.op.loop_dtypes([a.aval for a in s.args])
            if s.op.loop_dtypes([a.aval for a in args]) != (dtypes, result):
                changed = [n.aval != a.aval for n, a in zip(args, s.args, strict=True)]
                args = [make.astype(b, n, d) if c else n for n, d, c in zip(args, dtypes, changed, strict=True)]
        made = b.apply(s.op, *args, attrs=s.attrs, hint=s.targets[0].hint)
    mapping[s.targets[0]] = made


def _copy_structured(s: Statement, mapping: Substitution) -> Statement:
    """A backward branch or loop: its inputs and outputs are strong, so only its inside is typed anew."""
    match s:
        case If():
            condition = substitute(s.condition, mapping)
            then, orelse = copy_retyped(s.then, mapping), copy_retyped(s.orelse, mapping)
            copied: Statement = If(fresh_variables(s.targets, mapping), condition, then, orelse, s.span)
        case For():
            r = s.range
            start, stop, step = (substitute(a, mapping) for a in (r.start, r.stop, r.step))
            inits = tuple(substitute(a, mapping) for a in s.inits)
            body = copy_retyped(s.body, mapping)
            trip = Range(start, stop, step, r.reverse)
            copied = For(fresh_variables(s.targets, mapping), trip, inits, body, s.parallel, s.span)
        case _:
            copied = copy_statement(s, mapping)
    return copied
