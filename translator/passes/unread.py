"""Stores in loops of what nothing reads any more are dropped: no later trip, and nothing behind the loop.

    def f(x, n):                        def f(x, n):
        a = x.copy()                        s = 0.0
        s = 0.0                             for i in range(5):
        for i in range(5):                      s += x[i]
            s += a[i]                       return s
            a[i] = 0.0
        return s

Backward loops have such stores: the cotangent of what a trip has stored is zero for the trips before it. Whether a read
may meet a store is asked of `derive/meetings.py`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from .. import ops
from ..derive.differences import Makers
from ..derive.meetings import Access, Meetings, accesses_in, known_inside, versions_of
from ..ir import Apply, Atom, Block, For, Function, If, Statement, Var, blocks_of, uses_of, walk
from ..ops.core import At, Index, IndexAttrs, Put, Run
from ..rewrite import Substitution, substituted
from .dead import dead_code

MOST = 16  # stores into one array that are looked at: each is compared with each read


def unread_stores(function: Function) -> Function:
    """`function` without such stores; the same object where there are none."""
    if not any(isinstance(s, For) for s in walk(function.body)):
        return function
    makers = {t: s for s in walk(function.body) if isinstance(s, Apply) for t in s.targets}
    before: Substitution = {}
    for store in _unread(function.body, makers, uses_of(function.body)):
        x = store.args[0]
        before[store.targets[0]] = before.get(x, x) if isinstance(x, Var) else x
    if not before:
        return function
    for t in before:  # a store may stand in front of what it stores into, as the end of a trip does
        while isinstance(x := before[t], Var) and x in before:
            before[t] = before[x]
    return dead_code(replace(function, body=substituted(function.body, before)))


def _unread(block: Block, makers: Makers, uses: Mapping[Var, int]) -> Iterator[Apply]:
    """The stores in loops of a block, at any depth, that nothing reads."""
    for i, s in enumerate(block.statements):
        if isinstance(s, For):
            for array in _arrays(s, block.statements[i + 1 :], makers, uses):
                yield from array.unread()
        for inner in blocks_of(s):
            yield from _unread(inner, makers, uses)


class _Array:
    """An array that a loop carries: the stores into it, and all that reads it from then on."""

    def __init__(self, meetings: Meetings, stores: Sequence[Access], reads: Sequence[Access]) -> None:
        self.meetings, self.stores, self.reads = meetings, stores, reads

    def unread(self) -> Iterator[Apply]:
        reads = [(r, self.meetings.counts_up(r)) for r in self.reads]
        for s in self.stores:
            inside = _is_plain(s.statement) and self.meetings.counts_up(s) and self.meetings.stays_inside(s)
            if inside and all(up and not self.meetings.meets(s, r, later=True) for r, up in reads):
                yield s.statement


def _arrays(s: For, behind: Sequence[Statement], makers: Makers, uses: Mapping[Var, int]) -> Iterator[_Array]:
    """The arrays that a loop stores into, of which it is known what reads them."""
    accesses = list(accesses_in(s))
    if not any(isinstance(a.statement.op, Put) for a in accesses):
        return
    inside: dict[Var, Statement] = {t: x for x in walk(s.body) for t in x.targets}
    meetings = Meetings(s, *known_inside(s, makers))
    for t, p, r in zip(s.targets, s.body.params[1:], s.body.results, strict=True):
        versions = versions_of(p, r, inside) if p.aval.shape and r is not p else None
        if versions is None:
            continue
        after = _reads_behind(t, behind, uses)
        mine = [a for a in accesses if a.statement.args[0] in versions]
        stores = [a for a in mine if isinstance(a.statement.op, Put)]
        if after is None or len(stores) > MOST or not _is_all(s, r, versions, mine, uses):
            continue
        yield _Array(meetings, stores, [*(a for a in mine if a.statement.op is not ops.PUT), *after])


def _is_all(s: For, result: Atom, versions: set[Var], accesses: Sequence[Access], uses: Mapping[Var, int]) -> bool:
    """Whether the array goes nowhere but into these accesses, and from trip to trip."""
    found = Counter([result, *(a.statement.args[0] for a in accesses)])
    for x in walk(s.body):
        if isinstance(x, For | If):
            ways = [x.inits] if isinstance(x, For) else []
            for atoms in (*ways, *(b.results for b in blocks_of(x))):
                found.update(a for a, t in zip(atoms, x.targets, strict=True) if t in versions)
    return all(uses[v] == found[v] for v in versions)


def _reads_behind(t: Var, behind: Sequence[Statement], uses: Mapping[Var, int]) -> list[Access] | None:
    """What reads elements of the array that a loop leaves; None where it is used in another way."""
    found: list[Access] = []
    waiting = [t]
    while waiting:
        v = waiting.pop()
        known = [x for x in behind if isinstance(x, Apply) and isinstance(x.op, Index | Put) and x.args[0] is v]
        if uses[v] != len(known):
            return None
        waiting += (x.targets[0] for x in known if isinstance(x.op, Put))
        found += (Access(x, sys.maxsize, (), ()) for x in known if x.op is not ops.PUT)
    return found


def _is_plain(store: Apply) -> bool:
    """Whether each index is a place, or a slice that is known."""
    assert isinstance(store.attrs, IndexAttrs)
    return all(isinstance(d, At) or (isinstance(d, Run) and isinstance(d.start, int)) for d in store.attrs.dims)
