"""Lists that turn out to grow by the data. Those of users are piles then (`piled`), where CPython can run nothing.

Those of printed programs are the tapes of their backward passes:

    y_tape = []
    while abs(y * y - x) > 1e-12:
        y_tape.append(y)
        y = 0.5 * (y + x / y)

An empty list that such a loop appends to is read again as an object whose one attribute, called as the list is, holds
the program's tape: loops and branches carry it like the attributes of any object.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import ops
from ...errors import CutError
from ...ir import Apply, Atom, Var
from ...ops.core import ItemAttrs, Tape
from ..text.nodes import nodes_of
from .demand import ask
from .detours import Restart
from .values import Frame, OpenList, Value, describe

if TYPE_CHECKING:
    from ..parts.carry import Outcome
    from .context import Context


class Facts(NamedTuple):
    """What is known of a list that grows: where it is made, the kind of its elements, how many there are at least."""

    site: ast.AST
    kind: Any = None
    least: int = 0


class Pile(OpenList):
    """A list whose length only the run knows (`piled`): `rows` has the elements, `count` says how many there are."""

    rows: Any
    count: Value
    facts: Callable[[], Facts]  # a function, since what loops and branches carry has numbers and tuples in it opened

    def __init__(self, facts: Facts, rows: Any = None, count: Value = 0) -> None:
        self.__dict__.update(rows=rows, count=count, facts=lambda: facts)

    site = property(lambda self: self.facts().site)
    kind = property(lambda self: self.facts().kind)
    least = property(lambda self: self.facts().least)

    def __eq__(self, other: object) -> bool:
        raise TypeError("a list whose length depends on the data is compared")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "a list that grows"


def has_grown(ctx: Context, node: ast.AST, items: list[Value]) -> bool:
    """Whether what makes a list in a user's source makes one that turned out to grow; else it is noted that it may."""
    if not ctx.transforms or not ctx.boxes or ctx.frame.fixed:
        return False
    if node not in ctx.loops.unroll:
        ctx.lists.empty[id(items)] = (items, node)
        return False
    return True


def grow(ctx: Context, containers: Iterable[Any], deciding: Sequence[Value] = ()) -> None:
    """Start again where a list is one that turns out to grow: unless what decides are integers that can be known."""
    if not ctx.transforms or not (ctx.boxes or ctx.frame.fixed):
        return
    read_as_grown(ctx, {site for c in containers if type(c) is list for site in _sites_of(ctx, c)}, deciding)


def read_as_grown(ctx: Context, sites: Set[ast.AST], deciding: Sequence[Value]) -> None:
    """Start again with the lists made at the sites as such that grow, but for those that are read as such by now."""
    sites = sites - ctx.loops.unroll
    if not sites:
        return
    try:
        if all(_is_of_integers(ctx, v) for v in deciding):
            ask(ctx, deciding)
    except Restart as need:
        counts = all(isinstance(loop, ast.For) for loop in need.loops)
        if counts and all(isinstance(ctx.numbers.leaf_values[i], int | np.integer) for i in need.leaves):
            raise
    raise Restart(loops=frozenset(sites), afresh=True)


def _sites_of(ctx: Context, made: list[Value]) -> list[ast.AST]:
    """Where a list was made; of one that branches have joined anew, what makes lists that its names are bound to."""
    known = ctx.lists.empty.get(id(made))
    if known is not None and known[0] is made:
        return [known[1]]
    names = {name for name, v in ctx.frame.env.items() if v is made}
    found: list[ast.AST] = []
    for s in nodes_of(ctx.frame.source.node):
        if not isinstance(s, ast.Assign):
            continue
        for target in s.targets:
            pairs = [(target, s.value)]
            if isinstance(target, ast.Tuple) and isinstance(s.value, ast.Tuple):
                pairs = list(zip(target.elts, s.value.elts, strict=False))
            found += [v for t, v in pairs if isinstance(t, ast.Name) and t.id in names and _makes_list(v)]
    return found


def _makes_list(node: ast.expr) -> bool:
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("list", "sorted")
    return called or isinstance(node, ast.List | ast.ListComp)


def lists_changed_in(ctx: Context, loop: ast.AST) -> list[Value]:
    """The lists under names seen in this function that the loop appends to, takes from, or asks for elements."""
    names = []
    for n in nodes_of(loop):
        match n:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _CHANGES:
                names.append(name)
            case ast.Subscript(value=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
                names.append(name)
    return [_found(ctx, name) for name in names]


def _found(ctx: Context, name: str) -> Value:
    """What a name is bound to in the function or in those around it; None where it is not."""
    frame: Frame | None = ctx.frame
    while frame is not None and name not in frame.env:
        frame = frame.outer
    return None if frame is None else frame.env[name]


_CHANGES = ("append", "pop", "clear", "extend", "insert", "reverse", "sort")


def _is_of_integers(ctx: Context, v: Value) -> bool:
    """Whether what decides is computed from numbers alone that are integers or bools: those an argument may hold."""
    waiting, seen = [v], set()
    while waiting:
        a = waiting.pop()
        if type(a) is not Var or a in seen:
            continue
        seen.add(a)
        if a.aval.dtype.kind not in "iub" or a.aval.shape:
            return False
        made = ctx.definition(a)
        waiting += made.args if isinstance(made, Apply) else []
    return True


class Growing(OpenList):
    """`site` is where it is made; the other attribute is the tape."""

    def __init__(self, name: str, tape: Value, site: ast.AST) -> None:
        self.__dict__.update({name: tape, "site": site})

    def __repr__(self) -> str:
        return "a list that grows"


def empty_list(ctx: Context, node: ast.List) -> Value:
    """`[]` in a printed program."""
    name = _name_of(ctx, node)
    if node not in ctx.loops.unroll:
        made: list[Value] = []
        ctx.lists.empty[id(made)] = (made, node)
        return made
    return Growing(name, ctx.b.apply(ops.TAPE, hint=name), node)


def repeated(ctx: Context, node: ast.AST, items: Sequence[Value], count: Atom) -> Growing | None:
    """`[None] * n` and `[0.0] * n` in a printed program, where n is the length of a tape."""
    op = {None: ops.BLANK_TAPE, 0.0: ops.ZERO_TAPE}.get(items[0]) if len(items) == 1 and _is_start(items[0]) else None
    if op is None or ctx.boxes or not _is_length(ctx, count):
        return None
    name = _name_of(ctx, node)
    return Growing(name, ctx.b.apply(op, count, hint=name), node)


def _is_start(item: Value) -> bool:
    return item is None or (type(item) is float and item == 0.0)


def _is_length(ctx: Context, count: Atom) -> bool:
    made = ctx.definition(count) if isinstance(count, Var) else None
    return isinstance(made, Apply) and made.op is ops.LENGTH


def _name_of(ctx: Context, node: ast.AST) -> str:
    statements = (n for n in nodes_of(ctx.frame.source.node) if isinstance(n, ast.Assign) and n.value is node)
    targets = [t for s in statements for t in s.targets]
    return targets[0].id if targets and isinstance(targets[0], ast.Name) else "tape"


def read_again(ctx: Context, outcome: Outcome) -> None:
    """Start again where a list of a printed program turns out to grow in a loop."""
    if outcome.grows and not ctx.boxes:
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
    _keep(ctx, owner, ops.APPEND, ctx.atom(args[0]), (), node)
    return None


def set_item(ctx: Context, owner: Growing, key: Value, value: Value, node: ast.AST) -> None:
    """`tape[k] = value`."""
    _keep(ctx, owner, ops.SET_ITEM, ctx.atom(value), (ctx.atom(key),), node)


def add_item(ctx: Context, owner: Growing, key: Value, value: Value, node: ast.AST) -> None:
    """`tape[k] += value`."""
    _keep(ctx, owner, ops.ADD_ITEM, ctx.atom(value), (ctx.atom(key),), node)


def _keep(ctx: Context, owner: Growing, op: Tape, value: Atom, place: tuple[Atom, ...], node: ast.AST) -> None:
    if ctx.lists.entries.setdefault(_site(owner), value.aval) != value.aval:
        raise ctx.error(CutError, node, "what is put on a list differs in type from what is there")
    attribute = _attribute(owner)
    tape = ctx.b.apply(op, _tape(ctx, owner), value, *place, hint=attribute)
    ctx.set_attribute(owner, attribute, tape)


def _attribute(owner: Growing) -> str:
    return next(k for k in owner.__dict__ if k != "site")


def _tape(ctx: Context, owner: Growing) -> Atom:
    return ctx.atom(owner.__dict__[_attribute(owner)])


def _site(owner: Growing) -> Any:
    return owner.__dict__["site"]

