"""Lists that loops of unknown length fill, in printed programs: the tapes of their backward passes.

    y_tape = []
    while abs(y * y - x) > 1e-12:
        y_tape.append(y)
        y = 0.5 * (y + x / y)

An empty list that such a loop appends to is read again as an object whose one attribute, called as the list is, holds
the program's tape: loops and branches carry it like the attributes of any object. Code of the user's may do with a list
what a tape cannot, and is left to CPython.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .. import ops
from ..errors import CutError
from ..ir import Atom
from ..ops.core import ItemAttrs
from .nodes import nodes_of
from .values import Restart, Value, describe

if TYPE_CHECKING:
    from .carry import Outcome
    from .context import Context


class Growing:
    """`site` is where it is made; the other attribute is the tape."""

    def __init__(self, name: str, tape: Value, site: ast.List) -> None:
        self.__dict__.update({name: tape, "site": site})

    def __repr__(self) -> str:
        return "a list that grows"


def empty_list(ctx: Context, node: ast.List) -> Value:
    if ctx.boxes or ctx.frame.fixed:
        return []
    name = _name_of(ctx, node)
    if node not in ctx.loops.unroll:
        made: list[Value] = []
        ctx.lists.empty[id(made)] = (made, node)
        return made
    return Growing(name, ctx.b.apply(ops.TAPE, hint=name), node)


def _name_of(ctx: Context, node: ast.List) -> str:
    statements = (n for n in nodes_of(ctx.frame.source.node) if isinstance(n, ast.Assign) and n.value is node)
    targets = [t for s in statements for t in s.targets]
    return targets[0].id if targets and isinstance(targets[0], ast.Name) else "tape"


def read_again(ctx: Context, outcome: Outcome) -> None:
    """Start again where a list turns out to grow in a loop."""
    if outcome.grows:
        assert outcome.mismatch is not None
        made, node = ctx.lists.empty.get(id(outcome.mismatch[0].target), (None, None))
        if made is outcome.mismatch[0].target and node is not None:
            raise Restart(loops=frozenset({node}))


def length(ctx: Context, owner: Growing) -> Value:
    return ctx.wrap(ctx.b.apply(ops.LENGTH, _tape(ctx, owner)))


def item(ctx: Context, owner: Growing, key: Value, node: ast.AST) -> Value:
    aval = ctx.lists.entries.get(_site(owner))
    place = ctx.atom(key)
    if aval is None or place.aval.shape or place.aval.dtype.kind != "i":
        ctx.cut(node, f"a list that grows, indexed by {describe(key)}")
    return ctx.wrap(ctx.b.apply(ops.ITEM, _tape(ctx, owner), place, attrs=ItemAttrs(aval)))


def call_method(ctx: Context, owner: Growing, name: str, args: list[Value], node: ast.AST) -> Value:
    if name != "append" or len(args) != 1:
        ctx.cut(node, f"`.{name}` of a list that grows in a loop whose number of steps is known only at run time")
    value = ctx.atom(args[0])
    if ctx.lists.entries.setdefault(_site(owner), value.aval) != value.aval:
        raise ctx.error(CutError, node, "what is appended differs in type from what is on the list")
    attribute = _attribute(owner)
    tape = ctx.b.apply(ops.APPEND, _tape(ctx, owner), value, hint=attribute)
    ctx.set_attribute(owner, attribute, tape)
    return None


def _attribute(owner: Growing) -> str:
    return next(k for k in owner.__dict__ if k != "site")


def _tape(ctx: Context, owner: Growing) -> Atom:
    return ctx.atom(owner.__dict__[_attribute(owner)])


def _site(owner: Growing) -> Any:
    return owner.__dict__["site"]

