"""Assignments: the targets that a statement binds or stores into, names and unpacking among them."""

from __future__ import annotations

import ast

import numpy as np

from ... import make
from ...errors import Diagnostic, ShapeError, UnsupportedError
from ...ir import Var
from ..core.context import Context, name_result
from ..core.growing import Growing, add_item
from ..core.reach import objects_of
from ..core.values import SHARED, Flat, Frame, Masked, Ref, Value
from ..facts.names import lookup
from ..facts.overlaps import check_parts
from ..parts.indexing import flat_of
from ..paths.flow import Kont
from ..paths.iterables import held
from ..text.source import Scope
from ..uses.attributes import get_attribute, set_attribute
from ..uses.iteration import known_items
from ..uses.stores import BY_FLAT, augmented_value, store
from ..uses.subscripts import index_value


def assign_(ctx: Context, node: ast.Assign, kont: Kont) -> None:
    value = ctx.eval(node.value)
    for target in node.targets:
        assign(ctx, target, value, node)


def ann_assign(ctx: Context, node: ast.AnnAssign, kont: Kont) -> None:
    if node.value is not None:
        assign(ctx, node.target, ctx.eval(node.value))


def assign(ctx: Context, target: ast.expr, value: Value, origin: ast.AST | None = None) -> None:
    """Bind a target; stores that this takes come from the statement `origin`."""
    match target:
        case ast.Name(id=identifier):
            value = held(ctx, value)
            bind_name(ctx, identifier, value)
            if not ctx.frame.fixed:  # the names of library source are none of the user's
                name_result(value, identifier)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            _unpack(ctx, elts, known_items(ctx, value, target), origin or target)
        case ast.Subscript():
            store(ctx, ctx.eval(target.value), ctx.eval(target.slice), value, origin or target)
        case ast.Attribute(attr=attr):
            _store_attribute(ctx, ctx.eval(target.value), attr, value, target)
        case ast.Starred():
            assign(ctx, target.value, value, origin)
        case _:
            ctx.refuse(target, "this target of an assignment is not in the language")


def bind_name(ctx: Context, identifier: str, value: Value) -> None:
    """Bind a name of the function, or the one of a function around it that it declares nonlocal."""
    owner: Frame | None = ctx.frame
    live, scope = ctx.frame.live, ctx.frame.scope
    if identifier in live.globals:
        _bind_outside(ctx, Scope(scope.function, {}, scope.globals), identifier, value)
        return
    if identifier not in live.shared and identifier not in live.nonlocals:
        ctx.frame.env[identifier] = value
        return
    while owner is not None and identifier not in owner.live.shared:
        scope = owner.scope
        owner = owner.outer
    if owner is None:
        _bind_outside(ctx, scope, identifier, value)
        return
    ctx.set_attribute(owner.env[SHARED], identifier, value)


def _unpack(ctx: Context, targets: list[ast.expr], items: list[Value], node: ast.AST) -> None:
    starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
    if not starred:
        if len(items) != len(targets):
            what = "too many" if len(items) > len(targets) else "not enough"
            what += f" values to unpack (expected {len(targets)}, got {len(items)})"
            raise ctx.error(ShapeError, node, what, instead="name each value, or take the rest as *rest")
        for t, item in zip(targets, items, strict=True):
            assign(ctx, t, item, node)
        return
    (i,) = starred
    after = len(targets) - i - 1
    if len(items) < i + after:
        raise ctx.error(ShapeError, node, f"not enough values to unpack: {len(items)}, at least {i + after} are needed")
    parts = [*items[:i], items[i : len(items) - after], *items[len(items) - after :]]
    for t, item in zip(targets, parts, strict=True):
        assign(ctx, t, item, node)


def _store_attribute(ctx: Context, owner: Value, attr: str, value: Value, node: ast.AST) -> None:
    if attr == "flat" and type(owner) is Ref:
        check_parts(ctx, owner, value, node, BY_FLAT)
        atom = ctx.atom(value)
        line = ctx.wrap(make.reshape(ctx.b, atom, (-1,))) if atom.aval.shape else value
        store(ctx, flat_of(ctx, owner), slice(None), line, node)
        return
    if attr in ("real", "imag") and type(owner) is Ref:
        store(ctx, get_attribute(ctx, owner, attr, node), Ellipsis, value, node)
        return
    if attr == "shape" and type(owner) is Ref and _shaped_anew(ctx, owner, value, node):
        return
    if isinstance(owner, Ref | Var):
        what = f"an array's `.{attr}` cannot be assigned"
        ctx.cut(node, what, instead="make a new array: x.reshape(...), x.astype(...)")
    set_attribute(ctx, owner, attr, value, node)


def _shaped_anew(ctx: Context, owner: Ref, shape: Value, node: ast.AST) -> bool:
    """`x.shape = s` of an array that only names of this function lead to, outside of loops and branches: from then on
    they are its memory in the other shape.
    """
    frame = ctx.frame
    names = [k for k, v in frame.env.items() if v is owner]
    others = {k: v for k, v in frame.env.items() if v is not owner}
    kept = ctx.keeps_changes and any(cell is owner.cell for _, cell in ctx.callers.arrays)
    inside = all(s is not frame.statement for s in getattr(frame.source.node, "body", ()))
    if not names or kept or inside or any(v is owner for v in objects_of(frame, others)):
        return False
    shaped = ctx.call(np.reshape, [owner, shape], {}, node)
    if type(shaped) is not Ref or shaped.cell is not owner.cell:
        return False
    frame.env.update(dict.fromkeys(names, shaped))
    return True


def aug_assign(ctx: Context, node: ast.AugAssign, kont: Kont) -> None:
    target = node.target
    match target:
        case ast.Name(id=identifier):
            current = lookup(ctx, identifier, target)
            updated = augmented(ctx, current, ctx.eval(node.value), node)
            bind_name(ctx, identifier, updated)
            if updated is not current and not ctx.frame.fixed:
                name_result(updated, identifier)
        case ast.Subscript():
            base, key = ctx.eval(target.value), ctx.eval(target.slice)
            if isinstance(base, Growing):
                add_item(ctx, base, key, ctx.eval(node.value), node)
                return
            current = index_value(ctx, base, key, target)
            line = base.line if isinstance(base, Flat) else base.whole if isinstance(base, Masked) else base
            if isinstance(base, Masked) and type(current) is Ref and current.cell is not base.whole.cell:
                current = Ref(ctx.cell(ctx.read(current)))
            updated = augmented(ctx, current, ctx.eval(node.value), node)
            shown = current.whole if isinstance(current, Masked) else current
            copied = type(line) is Ref and type(shown) is Ref and shown.cell is not line.cell
            if updated is not current or copied or type(base) is Var:  # a number, which takes no store
                store(ctx, base, key, updated, node)
        case ast.Attribute(attr=attr):
            owner = ctx.eval(target.value)
            current = get_attribute(ctx, owner, attr, target)
            updated = augmented(ctx, current, ctx.eval(node.value), node)
            if updated is not current:
                _store_attribute(ctx, owner, attr, updated, node)


def augmented(ctx: Context, current: Value, value: Value, node: ast.AugAssign) -> Value:
    return augmented_value(ctx, type(node.op), current, value, node)


def _bind_outside(ctx: Context, scope: Scope, identifier: str, value: Value) -> None:
    if not (ctx.keeps_changes or ctx.transforms):
        raise UnsupportedError(
            Diagnostic(
                f"{identifier} lives outside the function, and cannot be assigned",
                why="the assignment would have to happen at every call, outside the derivative or the batch",
                instead="return the new value and assign it where the function is called",
            )
        )
    ctx.note_outside(identifier)
    ctx.set_variable(scope, identifier, value)
