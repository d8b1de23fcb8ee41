"""Expressions: names, arithmetic, comparisons, boolean logic and containers."""

from __future__ import annotations

import ast
from typing import Any

from ..core.context import Context
from ..core.demand import as_key, static
from ..core.growing import empty_list
from ..core.values import (
    Value,
    describe,
    is_object,
)
from ..facts.names import lookup
from ..parts.known import run_known
from ..parts.piled import list_of
from ..paths.iterables import held
from ..provided.pythonic import format_of, text_of
from ..uses.attributes import get_attribute
from ..uses.conditions import branch_values, truth
from ..uses.iteration import known_items
from ..uses.operators import binary, compare_pair, logic, unary
from ..uses.protocols import check_text
from ..uses.subscripts import index_value
from .assignment import assign

# ---- names and constants -------------------------------------------------------------------------


def constant(ctx: Context, node: ast.Constant) -> Value:
    return node.value


def name(ctx: Context, node: ast.Name) -> Value:
    return lookup(ctx, node.id, node)


def bin_op(ctx: Context, node: ast.BinOp) -> Value:
    left = ctx.eval(node.left)
    return binary(ctx, type(node.op), left, ctx.eval(node.right), node)


def unary_op(ctx: Context, node: ast.UnaryOp) -> Value:
    return unary(ctx, node.op, ctx.eval(node.operand), node)


# ---- operators -----------------------------------------------------------------------------------


def compare(ctx: Context, node: ast.Compare) -> Value:
    if isinstance(node.ops[0], ast.Is | ast.IsNot) and isinstance(node.comparators[0], ast.Constant):
        ctx.drawing.passing.add(node.left)
    left = ctx.eval(node.left)
    if len(node.ops) == 1:
        return compare_pair(ctx, node.ops[0], left, ctx.eval(node.comparators[0]), node)

    def chain(i: int, left: Value) -> Value:
        right = ctx.eval(node.comparators[i])
        first = compare_pair(ctx, node.ops[i], left, right, node)
        if i + 1 == len(node.ops):
            return first
        return logic(ctx, first, lambda: chain(i + 1, right), True, node)

    return chain(0, left)


def bool_op(ctx: Context, node: ast.BoolOp) -> Value:
    conjunction = isinstance(node.op, ast.And)

    def chain(i: int) -> Value:
        value = ctx.eval(node.values[i])
        if i + 1 == len(node.values):
            return value
        return logic(ctx, value, lambda: chain(i + 1), conjunction, node)

    return chain(0)


def if_exp(ctx: Context, node: ast.IfExp) -> Value:
    known = truth(ctx, ctx.eval(node.test), node.test)
    if isinstance(known, bool):
        return ctx.eval(node.body if known else node.orelse)
    ctx.at(node)
    return branch_values(ctx, known, lambda: ctx.eval(node.body), lambda: ctx.eval(node.orelse), node)


def named(ctx: Context, node: ast.NamedExpr) -> Value:
    value = ctx.eval(node.value)
    assign(ctx, node.target, value)
    return value


# ---- containers ----------------------------------------------------------------------------------


def elements(ctx: Context, nodes: list[ast.expr]) -> list[Value]:
    items: list[Value] = []
    for n in nodes:
        if isinstance(n, ast.Starred):
            items += known_items(ctx, ctx.eval(n.value), n)
        else:
            items.append(held(ctx, ctx.eval(n)))
    return items


def tuple_(ctx: Context, node: ast.Tuple) -> Value:
    return tuple(elements(ctx, node.elts))


def list_(ctx: Context, node: ast.List) -> Value:
    if not node.elts and not ctx.boxes and not ctx.frame.fixed:
        return empty_list(ctx, node)
    return list_of(ctx, node, elements(ctx, node.elts))


def set_(ctx: Context, node: ast.Set) -> Value:
    return set(as_key(ctx, elements(ctx, node.elts), node, "an element of a set"))


def dict_(ctx: Context, node: ast.Dict) -> Value:
    built: dict[Any, Value] = {}
    for k, v in zip(node.keys, node.values, strict=True):
        if k is None:
            inner = ctx.eval(v)
            if not isinstance(inner, dict):
                ctx.cut(v, f"`**` in a dict needs a dict, not {describe(inner)}", instead="pass a dict")
            built.update(inner)
        else:
            key = as_key(ctx, ctx.eval(k), k, "a dict key")
            built[key] = ctx.eval(v)
    return built


def joined(ctx: Context, node: ast.JoinedStr) -> Value:
    return "".join(str(ctx.eval(v)) for v in node.values)


def formatted(ctx: Context, node: ast.FormattedValue) -> Value:
    value = ctx.eval(node.value)
    spec = "" if node.format_spec is None else str(ctx.eval(node.format_spec))
    if is_object(value) and node.conversion == -1:
        return format_of(ctx, value, spec, node)
    if node.conversion == ord("r"):
        value = text_of(ctx, value, node, repr, ("__repr__",))
    elif node.conversion != -1:
        value = text_of(ctx, value, node, ascii if node.conversion == ord("a") else str)
    check_text(ctx, value, node)
    return run_known(ctx, node, format, static(ctx, value, node.value, "a formatted value"), spec)


def slice_(ctx: Context, node: ast.Slice) -> Value:
    return slice(*(None if n is None else ctx.eval(n) for n in (node.lower, node.upper, node.step)))


def attribute(ctx: Context, node: ast.Attribute) -> Value:
    ctx.drawing.passing.add(node.value)
    return get_attribute(ctx, ctx.eval(node.value), node.attr, node)


def subscript(ctx: Context, node: ast.Subscript) -> Value:
    return index_value(ctx, ctx.eval(node.value), ctx.eval(node.slice), node)
