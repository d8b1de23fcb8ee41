"""Functions that are called while a function is read, instead of being read themselves; an attribute marks them.

__untraced_static__       grad(loss), vmap(f): makes a function of functions; what it reads besides, (owner, name) in
                          __untraced_reads__, is guarded
__untraced_converts__     closure_convert(f, x): makes arguments of what an inner function finds outside itself
__untraced_structural__   tree.map(g, x, y): takes trees apart; leaves stay abstract, and `g` is read for each of them
"""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any

from ..tree import open_node
from .context import Context
from .conversion import closure_converted
from .inner import Inner
from .known import run_known
from .values import Bound, Closure, Foreign, Method, Partial, Value, is_leaf


def accelerated_function(f: Any) -> types.FunctionType | None:
    """The Python function behind an accelerated one, which is read like any other; None for all else."""
    function = getattr(f, "__untraced_function__", None)
    return function if type(function) is types.FunctionType and not hasattr(function, "__untraced_read__") else None


def is_hook(f: Any) -> bool:
    return any(hasattr(f, f"__untraced_{kind}__") for kind in ("static", "structural", "converts"))


def call_hook(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """Call it now. What it raises is the user's error, at this line."""
    if hasattr(f, "__untraced_converts__"):
        return closure_converted(ctx, args, kwargs, node)
    if hasattr(f, "__untraced_static__"):
        for owner, name in getattr(f, "__untraced_reads__", ()):
            ctx.captures.of_module(owner, name, getattr(owner, name))
        given, named = [_known(ctx, v, node) for v in args], {k: _known(ctx, v, node) for k, v in kwargs.items()}
        return run_known(ctx, node, lambda: f(*given, **named))
    given, named = [_readable(ctx, v, node) for v in args], {k: _readable(ctx, v, node) for k, v in kwargs.items()}
    parameters = list(inspect.signature(f).parameters)
    if "leaves" in parameters:  # which may be the rows of an array
        from .iteration import known_items

        place = parameters.index("leaves")
        given[place:] = [known_items(ctx, v, node) for v in given[place:]]
        named = {k: known_items(ctx, v, node) if k == "leaves" else v for k, v in named.items()}
    if "is_leaf" in parameters:
        chosen = named.get("is_leaf")
        named["is_leaf"] = lambda x: is_leaf(x) or (chosen is not None and bool(chosen(x)))
    return run_known(ctx, node, lambda: f(*given, **named))


def _known(ctx: Context, v: Value, node: ast.AST) -> Any:
    """An inner function as an object, and what else is known."""
    if isinstance(v, Closure | Bound | Partial):
        return Inner(ctx, v, node)
    return v.value if isinstance(v, Foreign) else v


def _readable(ctx: Context, v: Value, node: ast.AST) -> Any:
    """A function among the arguments as one that Python can call with abstract values."""
    own = isinstance(v, Closure | Bound | Partial | Method)
    if own or (callable(v) and not isinstance(v, Foreign) and open_node(v) is None):  # no tree that can be called
        return lambda *xs: ctx.call(v, list(xs), {}, node)
    return v
