"""Merging two branches on one condition, where only the second uses what the first computes.

    if c:                               if c:
        t = np.exp(x)                       d_x = ct * np.exp(x)
    else:                               else:
        t = 0.0                             d_x = ct
    ...                         ->
    if c:
        d_x = ct * t
    else:
        d_x = ct

So a derivative computes what it needs of a branch where it needs it, and the other side makes nothing up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..ir import Atom, Block, Function, If, Statement, Var, blocks_of, free_variables, inputs_of, may_raise, walk
from ..rewrite import substituted


def joined_branches(function: Function) -> Function:
    """The function with branches joined; the same object where there is nothing to join."""
    if sum(isinstance(s, If) for s in walk(function.body)) < 2:
        return function
    body = _block(function.body)
    return function if body is function.body else replace(function, body=body)


def _block(block: Block) -> Block:
    inner = [_inside(s) for s in block.statements]
    statements = _joined(inner, block.results)
    if len(statements) == len(block.statements) and all(map(_is, statements, block.statements)):
        return block
    return Block(block.params, tuple(statements), block.results)


def _is(a: Statement, b: Statement) -> bool:
    return a is b


def _inside(s: Statement) -> Statement:
    """The statement with its blocks gone through."""
    blocks = {name: getattr(s, name) for name in ("then", "orelse", "condition", "body") if hasattr(s, name)}
    new = {name: _block(b) for name, b in blocks.items() if isinstance(b, Block)}
    changed = {name: b for name, b in new.items() if b is not blocks[name]}
    return replace(s, **changed) if changed else s  # type: ignore[arg-type]


def _joined(statements: Sequence[Statement], results: Sequence[Atom]) -> list[Statement]:
    reads = [_reads(s) for s in statements]
    readers: dict[Var, set[int]] = {}
    for j, variables in enumerate(reads):
        for v in variables:
            readers.setdefault(v, set()).add(j)
    made = list(statements)
    gone: set[int] = set()
    returned = {a for a in results if isinstance(a, Var)}
    for i in range(len(made) - 1, -1, -1):
        s = made[i]
        if not isinstance(s, If) or may_raise(s) or returned.intersection(s.targets):
            continue
        users = set[int]().union(*(readers.get(t, ()) for t in s.targets))
        if len(users) != 1:
            continue
        (j,) = users
        user = made[j]
        if isinstance(user, If) and user.condition is s.condition and isinstance(s.condition, Var):
            made[j] = _one(s, user)
            gone.add(i)
            for v in reads[i]:
                readers[v] = readers[v] - {i} | {j}
    return [s for i, s in enumerate(made) if i not in gone]


def _reads(s: Statement) -> set[Var]:
    found = {a for a in inputs_of(s) if isinstance(a, Var)}
    return found.union(*(free_variables(b) for b in blocks_of(s)))


def _one(first: If, second: If) -> If:
    def side(a: Block, b: Block) -> Block:
        given: Mapping[Var, Atom] = dict(zip(first.targets, a.results, strict=True))
        rest = substituted(b, given)
        return Block((), (*a.statements, *rest.statements), rest.results)

    return replace(second, then=side(first.then, second.then), orelse=side(first.orelse, second.orelse))
