"""Stores of a loop that no later turn reads are dropped: each turn reads what the array was before the loop.

    def f(x, n):                        def f(x, n):
        a = x.copy()                        s = 0.0
        s = 0.0                             for i in range(5):
        for i in range(5):                      s += x[i]
            s += a[i]                       return s
            a[i] = 0.0
        return s

Backward loops have such stores: the cotangent of what a turn has stored is zero for the turns before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..derive.differences import Bound, Makers, Term, bounds_of, contradict, offset_of
from ..derive.linear import index_parts
from ..ir import Apply, Atom, Block, For, Function, If, Statement, Var, While, uses_of, walk, with_blocks
from ..ops.core import At, Dim, Dyn, Index, Put, Run
from ..rewrite import substituted
from .dead import dead_code, live_variables


def unread_stores(function: Function) -> Function:
    """`function` without such stores; the same object where there are none."""
    if not any(isinstance(s, For) for s in walk(function.body)):
        return function
    seeker = _Seeker(live_variables(function.body))
    body = seeker.block(function.body)
    return dead_code(replace(function, body=body)) if seeker.found else function


class _Seeker:
    def __init__(self, live: set[Var]) -> None:
        self.live = live
        self.found = False

    def block(self, block: Block) -> Block:
        return replace(block, statements=tuple(map(self.statement, block.statements)))

    def statement(self, s: Statement) -> Statement:
        match s:
            case If() | While():
                return with_blocks(s, self.block)
            case For():
                return self.loop(replace(s, body=self.block(s.body)))
        return s

    def loop(self, s: For) -> For:
        """The loop whose turns read, in place of an array that it stores into, the one that it starts from."""
        slots = [k for k, t in enumerate(s.targets) if t not in self.live and s.body.params[k + 1] in self.live]
        if not slots:
            return s
        uses = uses_of(s.body)
        made = {t: x for x in s.body.statements if isinstance(x, Apply) for t in x.targets}
        for k in slots:
            p, init = s.body.params[k + 1], s.inits[k]
            if isinstance(init, Var) and _reads_are_apart(s, k, uses, made):
                self.found = True
                s = replace(s, body=substituted(s.body, {p: init}))
                results = (*s.body.results[:k], init, *s.body.results[k + 1 :])
                s = replace(s, body=replace(s.body, results=results))
        return s


def _reads_are_apart(s: For, slot: int, uses: Mapping[Var, int], made: Mapping[Var, Apply]) -> bool:
    """Whether a turn only ever reads elements of the carried array that no turn before it has stored."""
    p = s.body.params[slot + 1]
    stores: list[Apply] = []
    version = s.body.results[slot]
    while version is not p:
        put = made.get(version) if isinstance(version, Var) else None
        if put is None or not isinstance(put.op, Put) or uses[put.targets[0]] != 1:
            return False
        stores.append(put)
        version = put.args[0]
    indices = _Indices(s, made)
    if not all(map(indices.are_inside, stores)):
        return False  # such a store raises an IndexError
    reads = [t for t in walk(s.body) if isinstance(t, Apply) and isinstance(t.op, Index) and t.args[0] is p]
    if uses[p] != len(reads) + 1:
        return False
    index = s.body.params[0]
    return all(_axis_apart(r, t, index, indices) for r in reads for t in stores)


class _Indices:
    """Indices of axes as sums of the loop's index and a number, where they cannot be negative."""

    def __init__(self, s: For, makers: Makers) -> None:
        self.makers = makers
        self.bounds: list[Bound] = bounds_of(s, makers, {})

    def of(self, dim: Dim, dyn: Sequence[Atom]) -> Term | None:
        if not isinstance(dim, At) or not isinstance(dim.index, Dyn):
            return None
        unknown, number = offset_of(dyn[dim.index.arg], self.makers)
        negative: Bound = (unknown, None, -1 - number)
        return (unknown, number) if contradict([*self.bounds, negative]) else None

    def are_inside(self, store: Apply) -> bool:
        """Whether each index of a store is surely inside its axis."""
        dims, dyn = index_parts(store, 2)
        return all(self._is_inside(d, dyn, n) for d, n in zip(dims, store.args[0].aval.shape, strict=True))

    def _is_inside(self, dim: Dim, dyn: Sequence[Atom], n: int) -> bool:
        if isinstance(dim, At | Run) and not isinstance(dim.index if isinstance(dim, At) else dim.start, Dyn):
            return True
        place = self.of(dim, dyn)
        if place is None:
            return False
        beyond: Bound = (None, place[0], place[1] - n)
        return contradict([*self.bounds, beyond])


def _axis_apart(read: Apply, store: Apply, index: Var, indices: _Indices) -> bool:
    """Whether there is an axis along which both take the element that belongs to the turn: other turns take others."""
    (read_dims, read_dyn), (store_dims, store_dyn) = index_parts(read, 1), index_parts(store, 2)
    for r, t in zip(read_dims, store_dims, strict=True):
        place = indices.of(r, read_dyn)
        if place is not None and place[0] is index and place == indices.of(t, store_dyn):
            return True
    return False
