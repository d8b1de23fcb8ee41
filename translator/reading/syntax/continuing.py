"""Unrolled iterations that control leaves early by `continue` alone.

    for w in layers:             if skip(0): y = x             and not       if skip(0): the other layers
        if skip(w): continue     else: y = x @ layers[0]                     else: x @ layers[0]; the other layers
        x = x @ w                if skip(1): ...

What the two sides of a branch leave is joined where the iteration ends: n iterations are n branches, not 2**n paths.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from ...errors import UntracedError
from ..core.context import Context
from ..core.reach import containers_of
from ..core.values import Ref, Undefined, Value, leaves_in
from ..paths.flow import END, Flow, Kont, sequence
from ..provided.draws import forget
from .assignment import assign


class _Apart(Exception):
    """Raised where the sides leave different things: the paths are then read on separately."""


def only_continues(node: ast.For | ast.While) -> bool:
    """Whether `continue`, and nothing else, leaves iterations of the loop early."""
    return {type(n) for n in _leaving(node.body)} == {ast.Continue}


def _leaving(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for s in body:
        match s:
            case ast.Return() | ast.Break() | ast.Continue():
                yield s
            case ast.If():
                yield from _leaving([*s.body, *s.orelse])
            case ast.With():
                yield from _leaving(s.body)
            case ast.Match():
                yield from _leaving(x for case in s.cases for x in case.body)
            case ast.For() | ast.While():
                yield from (x for x in _leaving(s.body) if isinstance(x, ast.Return))
                yield from _leaving(s.orelse)
            case _:
                pass


def joined_iteration(
    ctx: Context, node: ast.For | ast.While, kont: Kont, names: frozenset[str], item: tuple[Value] | None = None
) -> bool:
    """Read one iteration and join its paths at its end; `item` is what the target gets, `names` are read later.

    False, and nothing has been read, where the paths leave things that one program cannot hold: lists of two lengths,
    arrays of which one is written later and the other is still in reach.
    """
    mark, unions = len(ctx.captures.params), len(ctx.unions)
    undecided = _undecided(ctx, node, names, 0)
    inside = Kont(rest=_end, on_continue=_end, on_return=kont.on_return, loop_names=names)
    try:
        with ctx.attempt():
            if item is not None and isinstance(node, ast.For):
                assign(ctx, node.target, item[0])
            sequence(ctx, node.body, inside)
            if _undecided(ctx, node, names, unions) - undecided:
                raise _Apart
    except (_Apart, UntracedError):  # an error of the user's code is found again where the paths are read apart
        forget(ctx, mark)
        del ctx.unions[unions:]
        return False
    return True


def _end() -> Flow:
    return END


def _undecided(ctx: Context, node: ast.For | ast.While, names: frozenset[str], unions: int) -> frozenset[str]:
    """The names that hold what only the run knows, or, written in the loop, may be one of two things in reach.

    Of the lists of which a name is one, those from the place `unions` on are new.
    """
    env, live = ctx.frame.env, ctx.frame.live
    changed = live.written.get(node, frozenset()) | live.augmented.get(node, frozenset())
    either = {id(u.joined) for u in ctx.unions[unions:]}

    def is_open(name: str, v: Value) -> bool:
        leaves: list[Any] = list(leaves_in(v))
        if any(isinstance(x, Undefined) for x in leaves):
            return True
        if name not in changed:
            return False
        return any(type(x) is Ref and x.cell.doubt for x in leaves) or (
            bool(either) and any(id(c) in either for c in containers_of(ctx.frame, {name: v}))
        )

    return frozenset(n for n in names if n in env and is_open(n, env[n]))
