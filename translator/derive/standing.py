"""Elements of an array that a loop stores into elsewhere only: read once, before the loop, and kept once, not per trip.

    for k in range(n):                              for k in range(n):
        for i in range(k + 1, n):                       pivot = a[k, k]
            a[i] -= a[i, k] / a[k, k] * a[k]            for i in range(k + 1, n):
                                                            a[i] -= a[i, k] / pivot * a[k]

This is done before a derivative is taken: its backward loop needs what the forward one has read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..ir import Apply, Atom, Block, For, Function, Statement, Var, walk, with_blocks, with_statements
from ..ops.core import At, Index, IndexAttrs, Put
from ..rewrite import Substitution, substituted
from .differences import Makers
from .meetings import Access, Meetings, accesses_in, known_inside, versions_of

MOST = 16  # stores into one array that are looked at: each is compared with each read


def reads_ahead(function: Function) -> Function:
    """The program with such reads before their loops; itself where there are none."""
    if not any(isinstance(s, For) for s in walk(function.body)):
        return function
    makers = {t: s for s in walk(function.body) if isinstance(s, Apply) for t in s.targets}
    found: Substitution = {}
    body = _block(function.body, (), makers, found)
    return replace(function, body=substituted(body, found)) if found else function


def _block(block: Block, around: tuple[For, ...], makers: Makers, found: Substitution) -> Block:
    statements: list[Statement] = []
    for s in block.statements:
        if isinstance(s, For):
            statements += _ahead(s, around, makers, found)
            loops = (*around, s)
        else:
            loops = around
        statements.append(with_blocks(s, lambda inner, loops=loops: _block(inner, loops, makers, found)))  # type: ignore[misc]
    return with_statements(block, statements)


def _ahead(s: For, around: Sequence[For], makers: Makers, found: Substitution) -> Iterator[Apply]:
    """The reads that can stand before the loop; `found` says what takes the place of their values in it."""
    accesses = list(accesses_in(s))
    if not any(isinstance(a.statement.op, Put) for a in accesses):
        return
    meetings = Meetings(s, *known_inside(s, makers), around=tuple(around))
    inside: Mapping[Var, Statement] = {t: x for x in walk(s.body) for t in x.targets}
    for p, r, init in zip(s.body.params[1:], s.body.results, s.inits, strict=True):
        versions = versions_of(p, r, inside) if p.aval.shape and r is not p else None
        mine = [a for a in accesses if versions is not None and a.statement.args[0] in versions]
        stores = [a for a in mine if isinstance(a.statement.op, Put)]
        if len(stores) > MOST or not all(map(meetings.counts_up, stores)):
            continue
        for a in mine:
            read = a.statement
            if read.targets[0] in found or not isinstance(read.op, Index) or not _stands(read, meetings):
                continue
            if not meetings.counts_up(a) or not meetings.stays_inside(a):
                continue
            if not any(meetings.touches(a, store) for store in (*stores, *_stores_before(init, makers))):
                (t,) = read.targets
                found[t] = first = Var(t.hint, t.aval)
                yield replace(read, targets=(first,), args=(init, *read.args[1:]))


def _stores_before(array: Atom, makers: Makers) -> Iterator[Access]:
    """The stores that lead to what a loop starts from. What they have stored can be read as well when all is done."""
    while isinstance(array, Var) and (made := makers.get(array)) is not None and isinstance(made.op, Put):
        yield Access(made, 0, (), ())
        array = made.args[0]


def _stands(read: Apply, meetings: Meetings) -> bool:
    """Whether a loop reads one element, the same in every trip. Rows stay: a tape of them would be one of arrays that
    the backward loop has anyway, where it undoes the stores.
    """
    assert isinstance(read.attrs, IndexAttrs)
    return all(isinstance(d, At) for d in read.attrs.dims) and not any(a in meetings.changing for a in read.args[1:])
