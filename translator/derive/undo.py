"""Undoing a loop's stores trip by trip: what a store overwrites is kept, not the whole array.

    for i in range(1, n):                   for i in range(1, n):
        c[i] = a[i] / (b[i] - c[i - 1])         c_tape[i - 1] = c[i]
                                                c[i] = a[i] / (b[i] - c[i - 1])
                                            for i in reversed(range(1, n)):
                                                c[i] = c_tape[i - 1]
                                                m = b[i] - c[i - 1]
                                                ...

The backward loop carries the array, from what the forward one left; a trip that has undone its own stores hands it to
the trip before. An inner loop that undoes its stores does so for the loop around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Block, Const, For, Statement, Var, blocks_of, free_variables, inputs_of
from ..ops.core import Index, IndexAttrs, Put
from ..records import dataclass
from ..rewrite import Substitution, copy_statement, substitute
from .linear import index_parts
from .tape import Plan, needed_of, plan, total

# How much less memory it must take than a tape of whole arrays, and than one of the parts that are needed of them.
WORTH_A_WHOLE, WORTH_PARTS = 2, 4


@dataclass(frozen=True, slots=True)
class Link:
    """One change of the array in a trip: by the store `put`, which overwrites what `old` reads, or by a loop whose
    backward loop gives the array `before` it as `given`. `known`: what `old` reads, where that need not be kept.
    """

    before: Var
    put: Apply | None = None
    old: Apply | None = None
    given: Var | None = None
    known: Const | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """The versions of carried value `slot` in a trip: `last`, then what stands before each link, last to first."""

    slot: int
    last: Var
    links: tuple[Link, ...]

    @property
    def versions(self) -> tuple[Var, ...]:
        return (self.last, *(link.before for link in self.links))

    @property
    def olds(self) -> tuple[Var, ...]:
        return tuple(link.old.targets[0] for link in self.links if link.old is not None and link.known is None)


@dataclass(frozen=True, slots=True)
class Undone:
    """The forward statements, which read what they overwrite, what of it all is kept, and the body of the backward
    loop, which carries the arrays `slots` behind what it carried before.
    """

    forward: tuple[Statement, ...]
    saved: tuple[Var, ...]
    body: Block
    slots: tuple[int, ...]


def undone(
    s: For,
    forward: Sequence[Statement],
    back: Block,
    otherwise: Plan,
    given: Mapping[Var, Var],
    first: Mapping[Var, Const],
    free: Sequence[Var],
) -> Undone | None:
    """None where it does not take much less memory than keeping what the plan `otherwise` says.

    `given`: for arrays that inner loops start from, what their backward loops leave. `first`: what stores overwrite
    that are the first ones at their places. `free`: what costs nothing.
    """
    chains = chains_of(s, forward, given, first)
    while True:
        planned = _plan(s, forward, back, chains, free)
        used = [c for c in chains if planned.needs(c)]
        if len(used) == len(chains):
            break
        chains = used
    stored = stored_values(chains)
    planned = _plan(s, forward, back, chains, free, stored)
    saved = (*planned.saved, *(v for c in chains for v in c.olds))
    whole = any(v in otherwise.saved for c in chains for v in c.versions)
    if not chains or (WORTH_A_WHOLE if whole else WORTH_PARTS) * total(saved) > total(otherwise.saved):
        return None
    body = _Schedule(planned.recomputed, chains, stored).body(back)
    if body is None:
        return None
    return Undone(_reading_olds(forward, chains), saved, body, tuple(c.slot for c in chains))


def chains_of(
    s: For, forward: Sequence[Statement], given: Mapping[Var, Var], first: Mapping[Var, Const]
) -> list[Chain]:
    """The arrays that the trips of a loop store into, and by nothing but stores and loops of stores."""
    makers = {t: statement for statement in forward for t in statement.targets}
    both = enumerate(zip(s.body.params[1:], s.body.results, strict=True))
    return [c for k, (p, r) in both if p.aval.shape and (c := _chain(k, p, r, makers, given, first)) is not None]


def stored_into(s: For) -> set[Var]:
    """The versions, in a trip, of the arrays whose stores a backward loop can undo by itself."""
    return {v for c in chains_of(s, s.body.statements, {}, {}) for v in c.versions}


def _chain(
    k: int,
    start: Var,
    end: Atom,
    makers: Mapping[Var, Statement],
    given: Mapping[Var, Var],
    first: Mapping[Var, Const],
) -> Chain | None:
    links: list[Link] = []
    v = end
    while v is not start:
        maker = makers.get(v) if isinstance(v, Var) else None
        match maker:
            case Apply(op=Put(), args=(Var() as before, *_)) if before.aval == start.aval:
                old = overwritten(maker)
                if old is None:
                    return None
                links.append(Link(before, maker, old, known=first.get(maker.targets[0])))
            case For(targets=targets, inits=inits):
                init = inits[targets.index(v)] if v in targets[: len(inits)] else None
                if not isinstance(init, Var) or init not in given:
                    return None
                links.append(Link(init, given=given[init]))
            case _:
                return None
        v = links[-1].before
    assert not links or isinstance(end, Var)
    return Chain(k, end, tuple(links)) if links and isinstance(end, Var) else None


def overwritten(put: Apply) -> Apply | None:
    """The read of what the store overwrites; None where that is the whole array."""
    b = Builder(put.span)
    dims, dyn = index_parts(put, 2)
    make.index(b, put.args[0], dims, dyn)
    read = b.statements[0] if len(b.statements) == 1 else None
    return read if isinstance(read, Apply) and isinstance(read.op, Index) else None


# ---- what is kept --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Planned:
    saved: tuple[Var, ...]
    recomputed: tuple[Apply, ...]
    read: frozenset[Var]

    def needs(self, c: Chain) -> bool:
        return any(v in self.read for v in c.versions)


def stored_values(chains: Sequence[Chain]) -> dict[Var, Var]:
    """For values that a trip stores, the version of the array in which each stands."""
    found: dict[Var, Var] = {}
    for c in chains:
        for link, after in zip(c.links, c.versions, strict=False):
            value = link.put.args[1] if link.put is not None and link.put.op is ops.PUT else None
            if not isinstance(value, Var) or link.old is None or value.aval != link.old.targets[0].aval:
                continue
            assert link.put is not None and isinstance(link.put.attrs, IndexAttrs)
            if not link.put.attrs.gathers:
                found.setdefault(value, after)
    return found


def _plan(
    s: For,
    forward: Sequence[Statement],
    back: Block,
    chains: Sequence[Chain],
    free: Sequence[Var],
    stored: Mapping[Var, Var] | None = None,
    kept: tuple[Var, ...] = (),
) -> _Planned:
    """What is kept beside what the stores overwrite, where the versions of the arrays are to be had for nothing, as
    what is `free` or `stored` is: values, too, that stand in the arrays. `kept` is so in any case.
    """
    versions = [v for c in chains for v in c.versions]
    defined = (*s.body.params, *(t for statement in forward for t in statement.targets))
    places = {a for c in chains for link in c.links for a in _places(link)}
    needed = {*needed_of(back, defined), *(places & set(defined))}
    p = plan(needed - {*versions, *kept}, s.body.params, forward, (*free, *(stored or ()), *versions, *kept))
    circular = _circular(chains, p.recomputed, stored or {})
    if circular:
        return _plan(s, forward, back, chains, free, stored, (*kept, *circular))
    read = {a for r in p.recomputed for a in r.args if isinstance(a, Var)}.union(needed_of(back, versions))
    return _Planned((*p.saved, *kept), p.recomputed, frozenset(read))


def _places(link: Link) -> list[Var]:
    return [a for a in link.put.args[2:] if isinstance(a, Var)] if link.put is not None else []


def _circular(chains: Sequence[Chain], recomputed: Sequence[Apply], stored: Mapping[Var, Var]) -> list[Var]:
    """The places of stores that would be computed again from an array as it was before these stores."""
    leads: dict[Var, list[Var]] = {}
    for c in chains:
        for link, after in zip(c.links, c.versions, strict=False):
            leads[link.before] = [after, *_places(link)]
            leads.update((v, leads[link.before]) for v, at in stored.items() if at is after)
    again = {t: [a for a in r.args if isinstance(a, Var)] for r in recomputed for t in r.targets}
    leads.update(again)
    ends = [(p, link.before) for c in chains for link in c.links for p in _places(link) if p in again]
    return list(dict.fromkeys(p for p, before in ends if _leads(leads, p, before)))


def _leads(leads: Mapping[Var, Sequence[Var]], start: Var, end: Var) -> bool:
    seen: set[Var] = set()
    todo = [start]
    while todo:
        v = todo.pop()
        if v is end:
            return True
        if v not in seen:
            seen.add(v)
            todo += leads.get(v, ())
    return False


def _reading_olds(forward: Sequence[Statement], chains: Sequence[Chain]) -> tuple[Statement, ...]:
    """The statements, with a read in front of each store of what it overwrites."""
    olds = {id(link.put): link for c in chains for link in c.links if link.put is not None}
    out: list[Statement] = []
    for s in forward:
        link = olds.get(id(s))
        if link is not None and link.old is not None and link.known is None:
            out.append(link.old)
        out.append(s)
    return tuple(out)


# ---- the backward body ---------------------------------------------------------------------------


class _Schedule:
    """Writes the backward body anew: stores are undone, and values computed again, when something first needs it."""

    def __init__(self, recomputed: Sequence[Apply], chains: Sequence[Chain], stored: Mapping[Var, Var]) -> None:
        self.chains = chains
        self.stored = stored
        self.values = {after: v for v, after in stored.items()}
        self.again = {t: s for s in recomputed for t in s.targets}
        self.undoes = {link.before: (c, i) for c in chains for i, link in enumerate(c.links)}
        self.states = tuple(Var(c.last.hint, c.last.aval) for c in chains)
        self.mapping: Substitution = dict(zip((c.last for c in chains), self.states, strict=True))
        self.out: list[Statement] = []
        self.possible = True

    def body(self, back: Block) -> Block | None:
        """None where something reads an array as it was before an inner loop that has not been gone through yet."""
        for s in back.statements:
            self.emit(s)
        ends = [c.versions[-1] for c in self.chains]
        for v in ends:
            self.require(v)
        results = (*back.results, *ends)
        for a in back.results:
            if isinstance(a, Var):
                self.require(a)
        if not self.possible:
            return None
        mapped = tuple(substitute(a, self.mapping) for a in results)
        return Block((*back.params, *self.states), tuple(self.out), mapped)

    def emit(self, s: Statement) -> None:
        reads = [*inputs_of(s), *(v for inner in blocks_of(s) for v in free_variables(inner))]
        for a in reads:
            if isinstance(a, Var):
                self.require(a)
        self.out.append(copy_statement(s, self.mapping))

    def require(self, v: Var) -> None:
        if v in self.mapping:
            return
        if v in self.undoes:
            self.undo(v)
        elif v in self.stored:
            self.require(self.stored[v])
            self.read(v)
        elif v in self.again:
            self.emit(self.again[v])

    def read(self, v: Var) -> None:
        """A value that a store has left in the array, before that is undone."""
        chain, i = self.undoes[self.before(v)]
        link = chain.links[i]
        assert link.old is not None and link.put is not None
        self.require_places(link)
        target = Var(v.hint, v.aval)
        args = (self.mapping[self.stored[v]], *(substitute(a, self.mapping) for a in link.old.args[1:]))
        self.out.append(Apply((target,), ops.INDEX, args, link.old.attrs, link.put.span))
        self.mapping[v] = target

    def before(self, v: Var) -> Var:
        after = self.stored[v]
        return next(c.links[c.versions.index(after)].before for c in self.chains if after in c.versions)

    def require_places(self, link: Link) -> None:
        for a in _places(link):
            self.require(a)

    def undo(self, v: Var) -> None:
        chain, i = self.undoes[v]
        link, after = chain.links[i], chain.versions[i]
        self.require(after)
        if link.put is None or link.old is None:
            self.possible = self.possible and link.given in self.mapping
            self.mapping[v] = self.mapping.get(link.given, v) if link.given is not None else v
            return
        place = link.put.args[2:]
        self.require_places(link)
        if (value := self.values.get(after)) is not None and value not in self.mapping:
            self.read(value)
        target = Var(v.hint, v.aval)
        where = (substitute(a, self.mapping) for a in place)
        args = (self.mapping[after], link.known or link.old.targets[0], *where)
        self.out.append(Apply((target,), ops.PUT, args, link.put.attrs, link.put.span))
        self.mapping[v] = target
