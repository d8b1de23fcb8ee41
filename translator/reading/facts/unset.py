"""Names that have a value or not, as the run decides, in what is differentiated or batched.

    for v in x:                        last, no_last = 0.0, True
        if v > 0:                      for v in x:
            last = v                       if v > 0:
    return last                                last, no_last = v, False
                                       if no_last:
                                           raise UnboundLocalError(...)
                                       return last

The reading first takes such a name for unbound, which is an error only where it is used, and begins again where it is.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...ir import Block, Raise
from ...thrown import Known, Thrown
from ..core.demand import ask
from ..core.detours import Raised, Restart
from ..core.values import Frame, Unset, Value

if TYPE_CHECKING:
    from ..core.context import Context


def may_be_unset(ctx: Context, name: str) -> bool:
    """Whether a name of the function that is read has turned out to have a value or not."""
    return (ctx.frame.source.node, name) in ctx.loops.unroll


def read_as_unset(ctx: Context, frame: Frame, name: str, needs: tuple[Value, ...] = ()) -> None:
    """Start again with a name that may have a value or not, unless it is one already, or what decides can be known."""
    site = (frame.source.node, name)
    if not ctx.transforms or frame.fixed or site in ctx.loops.unroll:
        return
    ask(ctx, needs)
    raise Restart(loops=frozenset({site}), afresh=True)


def bound(ctx: Context, v: Unset, name: str, node: ast.AST) -> Value:
    """The value of such a name: an UnboundLocalError of the run where it has none."""
    ctx.at(node)
    ctx.append(Raise(ctx.atom(v.absent), Block((), (), ()), _unbound(name), ctx.b.span))
    return v.value


def raise_unset(ctx: Context, name: str, node: ast.AST) -> None:
    """In a branch, where such a name surely has no value: in the first trip of a loop, whose body has yet to say what
    it is in others.
    """
    if ctx.b in ctx.branches and may_be_unset(ctx, name):
        ctx.at(node)
        raise Raised(_unbound(name), (), ctx.b.span)


def _unbound(name: str) -> Thrown:
    message = f"cannot access local variable {name!r} where it is not associated with a value"
    return Thrown(UnboundLocalError, (Known(message),))
