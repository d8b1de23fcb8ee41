"""Arrays that serve as their own tape: elements that a nest of loops reads only after their last store.

The backward pass reads them from the array that the nest leaves behind.

    for i in range(1, n):                       for i in reversed(range(1, n)):
        y[i] = np.sin(y[i - 1]) * x                 d_t = d_y[i]
                                                    ...
                                                    d_y[i - 1] += d_t * x * np.cos(y[i - 1])

What trip i finds in y[i - 1] an earlier trip has stored, and no later one will. Whether a later store may meet a read
is a question about differences (`differences.py`): "the places are equal, and the store comes later". In the same way
it is known which stores are the first at their place: what they overwrite is what the array was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from itertools import product

import numpy as np

from .. import ops
from ..ir import Apply, Atom, Block, Const, For, If, Statement, Var, blocks_of, const
from ..ops.core import At, Dyn, Index, IndexAttrs, Put
from ..records import dataclass
from .differences import Bound, Makers, Term, bounds_of, contradict, offset_of
from .tape import Plan, total
from .undo import overwritten

MOST = 16  # stores into one array that are looked at: each read is compared with each


@dataclass(frozen=True, slots=True)
class _Access:
    """A read or a store in the nest: its place in the text, the loops around it, and what is known of indices there
    because of branches: pairs that are equal, or are not."""

    statement: Apply
    number: int
    loops: tuple[For, ...]
    facts: tuple[tuple[Var, Atom, bool], ...]


@dataclass(slots=True)
class Nest:
    """What is known of the arrays that the loop `root`, and the loops in it, store into.

    `late`: reads of the array that `root` leaves, by the values that they give. `first`: what the stores, by their
    targets, overwrite. `slots`: which carried value of `root` these values, and the arrays on their way, belong to.
    `used`, `whole`: of which of them something is read late, and which are put back or kept as a whole.
    """

    root: For
    makers: Makers
    changing: frozenset[Var]
    late: dict[Var, Apply] = field(default_factory=dict)
    first: dict[Var, Const] = field(default_factory=dict)
    slots: dict[Var, int] = field(default_factory=dict)
    homes: dict[Var, int] = field(default_factory=dict)  # which block a value is made in, by its id
    used: set[int] = field(default_factory=set)
    whole: set[int] = field(default_factory=set)

    @staticmethod
    def of(root: For, makers: Makers, without: Set[int]) -> Nest:
        """`without`: carried values of which nothing is to be read late."""
        statements = list(_walk(root.body))
        inside = {t: s for s in statements for t in s.targets}
        params = (*root.body.params, *(p for s in statements for block in blocks_of(s) for p in block.params))
        made = {t: s for t, s in inside.items() if isinstance(s, Apply)}
        nest = Nest(root, {**makers, **made}, frozenset((*inside, *params)))
        nest.homes.update(_homes(root.body))
        accesses = list(_accesses(root.body, (root,), (), [0]))
        for slot, (p, r) in enumerate(zip(root.body.params[1:], root.body.results, strict=True)):
            versions = _versions(p, r, inside) if p.aval.shape and r is not p else None
            if versions is not None:
                nest.slots.update(dict.fromkeys(versions, slot))
                nest._look_at(slot, versions, accesses)
        nest.late = {v: s for v, s in nest.late.items() if nest.slots[v] not in without}
        return nest

    def reading_late(self, forward: Sequence[Statement]) -> list[Statement]:
        """The statements of a block in the nest, with reads of what it leaves in place of those of what there was."""
        # What is stored is read at a place that may be computed behind it: sums of indices and numbers come first.
        places = {s.targets[0] for s in forward if isinstance(s, Apply) and self._is_place(s)}
        first = [s for s in forward if isinstance(s, Apply) and s.targets[0] in places]
        rest = [s for s in forward if not isinstance(s, Apply) or s.targets[0] not in places]
        return [*first, *(self.late.get(s.targets[0], s) if isinstance(s, Apply) else s for s in rest)]

    def _is_place(self, s: Apply) -> bool:
        t = s.targets[0]
        return t.aval.weak and t.aval.dtype.kind == "i" and offset_of(t, self.makers)[0] not in self.makers

    def _look_at(self, slot: int, versions: set[Var], accesses: Sequence[_Access]) -> None:
        def of_array(a: _Access, family: type[Index] | type[Put]) -> bool:
            base = a.statement.targets[0] if family is Put else a.statement.args[0]
            return isinstance(a.statement.op, family) and base in versions

        stores = [a for a in accesses if of_array(a, Put)]
        if len(stores) > MOST or not all(self._counts_up(a) for a in stores):
            return
        final, init = self.root.targets[slot], self.root.inits[slot]
        for a in accesses:
            if of_array(a, Index) and self._counts_up(a) and not self._met(a, stores, later=True):
                s = a.statement
                self._may_read(slot, replace(s, args=(final, *s.args[1:])))
        made = self.makers.get(init) if isinstance(init, Var) else None
        for a in stores:
            s, stored = a.statement, a.statement.args[1]
            old = overwritten(s)
            if old is None:
                continue
            whole = isinstance(stored, Var) and stored.aval == old.targets[0].aval and s.op is ops.PUT
            # What is made in front of a branch or a loop, one that is not gone into does not store.
            whole = whole and isinstance(stored, Var) and self.homes.get(stored) == self.homes[s.targets[0]]
            if isinstance(stored, Var) and whole and stored not in self.late and not self._met(a, stores, later=True):
                self._may_read(slot, replace(old, targets=(stored,), args=(final, *old.args[1:])))
            fill = made.args[0] if made is not None and made.op is ops.FULL else None
            if isinstance(fill, Const) and not self._met(a, stores, later=False):
                self.first[s.targets[0]] = const(np.asarray(fill.value).item())

    def _may_read(self, slot: int, s: Apply) -> None:
        self.late[s.targets[0]] = s
        self.slots[s.targets[0]] = slot

    def note(self, reads: Sequence[Apply], arrays: Sequence[Var]) -> None:
        """What a plan reads late, and which arrays it has whole."""
        self.used |= {self.slots[s.targets[0]] for s in reads if self.late.get(s.targets[0]) is s}
        self.whole |= {self.slots[v] for v in arrays if v in self.slots and v not in self.late}

    # ---- places ----

    def _places(self, a: _Access) -> list[tuple[Term, int] | None]:
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

    def _counts_up(self, a: _Access) -> bool:
        """Whether no place counts from the end, as those below zero do."""
        bounds = [b for loop in a.loops for b in self._range(loop, {})]
        bounds += [b for way in self._facts(a, {})[:1] for b in way]
        places = [place[0] for place in self._places(a) if place is not None]
        return bool(places) and all(contradict([*bounds, (x, None, -1 - c)]) for x, c in places)

    def _facts(self, a: _Access, primed: Mapping[Var, object]) -> list[list[Bound]]:
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

    def _met(self, a: _Access, stores: Sequence[_Access], later: bool) -> bool:
        """Whether a store that runs later (or earlier) than `a` may touch an element that `a` touches."""
        return any(self._meets(a, store, later) for store in stores)

    def _meets(self, a: _Access, store: _Access, later: bool) -> bool:
        common = 0
        while common < min(len(a.loops), len(store.loops)) and a.loops[common] is store.loops[common]:
            common += 1
        for level in range(common + 1):
            if level == common and (store.number <= a.number if later else store.number >= a.number):
                continue
            # In the other trip the indices of these loops, and what is computed in the nest, are others.
            kept = {loop.body.params[0] for loop in store.loops[:level]}
            primed = {v: (v,) for v in self.changing - kept}
            bounds = self._order(a.loops[level], primed, later) if level < common else []
            bounds += [b for loop in a.loops for b in self._range(loop, {})]
            bounds += [b for loop in store.loops for b in self._range(loop, primed)]
            bounds += self._equal(self._places(a), self._places(store), primed)
            ways = product(self._facts(a, {}), self._facts(store, primed))
            if not all(contradict([*bounds, *mine, *theirs]) for mine, theirs in ways):
                return True
        return False

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


def _walk(block: Block) -> Iterator[Statement]:
    for s in block.statements:
        yield s
        for inner in blocks_of(s):
            yield from _walk(inner)


def _homes(block: Block) -> Iterator[tuple[Var, int]]:
    for s in block.statements:
        yield from ((t, id(block)) for t in s.targets)
        for inner in blocks_of(s):
            yield from _homes(inner)


def _accesses(
    block: Block, loops: tuple[For, ...], facts: tuple[tuple[Var, Atom, bool], ...], count: list[int]
) -> Iterator[_Access]:
    made = {t: s for s in block.statements if isinstance(s, Apply) for t in s.targets}
    for s in block.statements:
        count[0] += 1
        match s:
            case Apply(op=Index() | Put()):
                yield _Access(s, count[0], loops, facts)
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


def _versions(start: Atom, end: Atom, makers: Mapping[Var, Statement]) -> set[Var] | None:
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
                inner = _versions(body.params[slot + 1], body.results[slot], makers)
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


def least(nest: Nest | None, forward: Sequence[Statement], planned: Callable[[Sequence[Statement]], Plan]) -> Plan:
    """The plan that keeps less: with values as they were, or as the loops around leave them."""
    p = planned(forward)
    if nest is None:
        return p
    left = planned(nest.reading_late(forward))
    p = left if total(left.saved) <= total(p.saved) else p
    nest.note(p.recomputed, p.saved)
    return p
