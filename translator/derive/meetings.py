"""Whether one access to an array in a nest of loops may meet another that runs later: questions about differences.

    for i in range(1, n):
        y[i] = np.sin(y[i - 1])         # is y[i - 1] ever y[j] of a later trip j? i - 1 = j and i < j: no
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product

from .. import ops
from ..ir import Apply, Atom, Block, Const, For, If, Statement, Var, blocks_of, walk
from ..ops.core import At, Dyn, Index, IndexAttrs, Put
from ..records import dataclass
from .differences import Bound, Makers, Term, bounds_of, contradict, offset_of


@dataclass(frozen=True, slots=True)
class Access:
    """A read or a store in the nest: its place in the text, the loops around it, and what is known of indices there
    because of branches: pairs that are equal, or are not."""

    statement: Apply
    number: int
    loops: tuple[For, ...]
    facts: tuple[tuple[Var, Atom, bool], ...]


@dataclass(slots=True)
class Meetings:
    """What is known of the places in the loop `root` and those in it; `changing` are the values made inside. The ranges
    of the loops `around` it bound their indices.
    """

    root: For
    makers: Makers
    changing: frozenset[Var]
    around: tuple[For, ...] = field(default=(), kw_only=True)

    # ---- places ----

    def _places(self, a: Access) -> list[tuple[Term, int] | None]:
        """For each axis the place, and the length of the axis; None for more than one element."""
        attrs = a.statement.attrs
        assert isinstance(attrs, IndexAttrs)
        first = a.statement.args[0].aval.shape
        return [
            (self._term(a.statement.args[d.index.arg] if isinstance(d.index, Dyn) else d.index), n)
            if isinstance(d, At)
            else None
            for d, n in zip(attrs.dims, first, strict=True)
        ]

    def _term(self, a: Atom | int) -> Term:
        return (None, a) if isinstance(a, int) else offset_of(a, self.makers)

    def _range(self, s: For, primed: Mapping[Var, object]) -> list[Bound]:
        return bounds_of(s, self.makers, primed)

    def counts_up(self, a: Access) -> bool:
        """Whether no place counts from the end, as those below zero do."""
        places = [place[0] for place in self._places(a) if place is not None]
        return bool(places) and all(self._cannot(a, (x, None, -1 - c)) for x, c in places)

    def stays_inside(self, a: Access) -> bool:
        """Whether no place is beyond the end of its axis, so that the access raises nothing."""
        places = [place for place in self._places(a) if place is not None]
        return all(self._cannot(a, (None, x, c - n)) for (x, c), n in places)

    def _cannot(self, a: Access, b: Bound) -> bool:
        """Whether `b` does not hold for any of the indices that there are at `a`."""
        bounds = [r for loop in (*self.around, *a.loops) for r in self._range(loop, {})]
        return all(contradict([*bounds, *way, b]) for way in self._facts(a, {}))

    def _facts(self, a: Access, primed: Mapping[Var, object]) -> list[list[Bound]]:
        """What branches say, in all the ways in which it can be so."""
        ways: list[list[list[Bound]]] = []
        for left, right, equal in a.facts:
            (v, c), (w, d) = self._term(left), self._term(right)
            x, y = (_named(u, primed) for u in (v, w))
            if equal:
                ways.append([[(x, y, d - c), (y, x, c - d)]])
            else:
                ways.append([[(x, y, d - c - 1)], [(y, x, c - d - 1)]])
        return [[b for part in way for b in part] for way in product(*ways)]

    # ---- meetings ----

    def met(self, a: Access, stores: Sequence[Access], later: bool) -> bool:
        """Whether a store that runs later (or earlier) than `a` may touch an element that `a` touches."""
        return any(self.meets(a, store, later) for store in stores)

    def touches(self, a: Access, store: Access) -> bool:
        """Whether the two may touch one element, in whatever trips of the loop."""
        return self._overlap(a, store, {v: (v,) for v in self.changing}, [])

    def meets(self, a: Access, store: Access, later: bool) -> bool:
        common = 0
        while common < min(len(a.loops), len(store.loops)) and a.loops[common] is store.loops[common]:
            common += 1
        for level in range(common + 1):
            if level == common and (store.number <= a.number if later else store.number >= a.number):
                continue
            # In the other trip the indices of these loops, and what is computed in the nest, are others.
            kept = {loop.body.params[0] for loop in store.loops[:level]}
            primed = {v: (v,) for v in self.changing - kept}
            order = self._order(a.loops[level], primed, later) if level < common else []
            if self._overlap(a, store, primed, order):
                return True
        return False

    def _overlap(self, a: Access, store: Access, primed: Mapping[Var, object], order: Sequence[Bound]) -> bool:
        """Whether the places may be equal in trips in this order; `primed` has the names of indices of `store`."""
        bounds = [*order, *(b for loop in (*self.around, *a.loops) for b in self._range(loop, {}))]
        bounds += [b for loop in store.loops for b in self._range(loop, primed)]
        bounds += self._equal(self._places(a), self._places(store), primed)
        ways = product(self._facts(a, {}), self._facts(store, primed))
        return not all(contradict([*bounds, *mine, *theirs]) for mine, theirs in ways)

    def _order(self, loop: For, primed: Mapping[Var, object], later: bool) -> list[Bound]:
        index, r = loop.body.params[0], loop.range
        if not isinstance(r.step, Const):
            return []
        down = (int(r.step.value) < 0) != r.reverse
        return [(index, primed[index], -1) if later != down else (primed[index], index, -1)]

    def _equal(
        self,
        mine: Sequence[tuple[Term, int] | None],
        theirs: Sequence[tuple[Term, int] | None],
        primed: Mapping[Var, object],
    ) -> Iterator[Bound]:
        for p, q in zip(mine, theirs, strict=True):
            if p is None or q is None:
                continue
            (x, c), (v, d) = p[0], q[0]
            y = _named(v, primed)
            yield from ((x, y, d - c), (y, x, c - d))


def _named(v: Var | None, primed: Mapping[Var, object]) -> object:
    return v if v is None else primed.get(v, v)


# ---- the nest ------------------------------------------------------------------------------------


def known_inside(root: For, makers: Makers) -> tuple[Makers, frozenset[Var]]:
    """What makes the values that a loop sees, and those that change in it."""
    inside = list(walk(root.body))
    made = {t: s for s in inside if isinstance(s, Apply) for t in s.targets}
    params = (p for s in inside for block in blocks_of(s) for p in block.params)
    return {**makers, **made}, frozenset((*root.body.params, *(t for s in inside for t in s.targets), *params))


def accesses_in(root: For) -> Iterator[Access]:
    """The reads and stores in a loop, those in loops and branches inside among them."""
    return _accesses(root.body, (root,), (), [0])


def _accesses(
    block: Block, loops: tuple[For, ...], facts: tuple[tuple[Var, Atom, bool], ...], count: list[int]
) -> Iterator[Access]:
    made = {t: s for s in block.statements if isinstance(s, Apply) for t in s.targets}
    for s in block.statements:
        count[0] += 1
        match s:
            case Apply(op=Index() | Put()):
                yield Access(s, count[0], loops, facts)
            case For():
                yield from _accesses(s.body, (*loops, s), facts, count)
            case If():
                test = made.get(s.condition) if isinstance(s.condition, Var) else None
                for inner, side in ((s.then, True), (s.orelse, False)):
                    known = [*facts]
                    if test is not None and test.op in (ops.EQUAL, ops.NOT_EQUAL) and isinstance(test.args[0], Var):
                        known.append((test.args[0], test.args[1], (test.op is ops.EQUAL) is side))
                    known = [f for f in known if all(x.aval.weak and x.aval.dtype.kind == "i" for x in f[:2])]
                    yield from _accesses(inner, loops, tuple(known), count)
            case _:
                pass


def versions_of(start: Atom, end: Atom, makers: Mapping[Var, Statement]) -> set[Var] | None:
    """The array `start` as stores, branches and loops that lead to `end` leave it; None where something else does."""
    found: set[Var] = set()
    while end is not start:
        if not isinstance(end, Var) or (maker := makers.get(end)) is None:
            return None
        found.add(end)
        match maker:
            case Apply(op=Put(), args=(Var() as before, *_)):
                end = before
            case For(targets=targets, inits=inits, body=body):
                slot = targets.index(end)
                inner = versions_of(body.params[slot + 1], body.results[slot], makers)
                if inner is None:
                    return None
                found |= inner
                end = inits[slot]
            case If(targets=targets, then=then, orelse=orelse):
                slot = targets.index(end)
                sides = [_in_branch(b, b.results[slot], makers) for b in (then, orelse)]
                if sides[0] is None or sides[1] is None or sides[0][0] is not sides[1][0]:
                    return None
                found |= sides[0][1] | sides[1][1]
                end = sides[0][0]
            case _:
                return None
    if isinstance(start, Var):
        found.add(start)
    return found


def _in_branch(block: Block, end: Atom, makers: Mapping[Var, Statement]) -> tuple[Atom, set[Var]] | None:
    """The array that the branch found, and its versions in there."""
    inside = {t for s in block.statements for t in s.targets}
    found: set[Var] = set()
    while isinstance(end, Var) and end in inside:
        maker = makers[end]
        if not isinstance(maker, Apply) or not isinstance(maker.op, Put):
            return None
        found.add(end)
        end = maker.args[0]
    return end, found
