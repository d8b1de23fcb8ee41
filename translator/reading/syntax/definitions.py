"""Functions that the function defines inside itself, and what they yield."""

from __future__ import annotations

import ast

from ..core.context import Context
from ..core.growing import Pile
from ..core.values import YIELDS, Closure, Value
from ..parts.piled import append
from ..paths.flow import Kont
from ..uses.iteration import known_items
from .assignment import bind_name


def lambda_(ctx: Context, node: ast.Lambda) -> Value:
    return Closure(node, ctx.frame, function_defaults(ctx, node.args))


def function_defaults(ctx: Context, args: ast.arguments) -> dict[str, Value]:
    """Defaults of an inner function, evaluated where it is defined."""
    positional = [*args.posonlyargs, *args.args]
    with_default = positional[len(positional) - len(args.defaults) :]
    found = {a.arg: ctx.eval(d) for a, d in zip(with_default, args.defaults, strict=True)}
    found.update((a.arg, ctx.eval(d)) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None)
    return found


def function_def(ctx: Context, node: ast.FunctionDef, kont: Kont) -> None:
    decorators = [ctx.eval(d) for d in node.decorator_list]
    value: Value = Closure(node, ctx.frame, function_defaults(ctx, node.args))
    for decorate, written in zip(reversed(decorators), reversed(node.decorator_list), strict=True):
        value = ctx.call(decorate, [value], {}, written)
    bind_name(ctx, node.name, value)


def yield_(ctx: Context, node: ast.Yield) -> Value:
    _collect(ctx, [None if node.value is None else ctx.eval(node.value)], node)
    return None


def yield_from(ctx: Context, node: ast.YieldFrom) -> Value:
    _collect(ctx, known_items(ctx, ctx.eval(node.value), node), node)
    return None


def _collect(ctx: Context, values: list[Value], node: ast.AST) -> None:
    held = ctx.frame.env[YIELDS]
    if type(held) is Pile:
        for v in values:
            append(ctx, held, v, node)
        return
    ctx.touch(held)
    held.extend(values)
