"""Functions that are called while a function is read, instead of being read themselves; an attribute marks them.

__untraced_static__       grad(loss), vmap(f): makes a function of functions; what it reads besides, (owner, name) in
                          __untraced_reads__, is guarded
__untraced_converts__     closure_convert(f, x): makes arguments of what an inner function finds outside itself
__untraced_shapes__       eval_shape(f, x): the call is read, what it says of shapes is kept, and the rest undone
__untraced_draws__        streams.normal(words): a draw from a generator that is an array of words
__untraced_shows__        debug.print(fmt, x): has no result, and is left out (`calls`) of what is derived or batched
__untraced_structural__   tree.map(g, x, y): takes trees apart; leaves stay abstract, and `g` is read for each of them
"""

from __future__ import annotations

import ast
import inspect
import itertools
import types
from typing import Any

import numpy as np

from ...tree import tree_map
from ..core.context import Context
from ..core.values import Bound, Closure, Foreign, Partial, Value, is_leaf, is_runtime, is_transformed
from ..facts.streams import read_back
from ..functions.conversion import closure_converted
from ..functions.inner import Inner
from ..parts.known import run_known
from ..text.libraries import accelerated_function, is_library
from ..uses.iteration import known_items


def is_hook(f: Any) -> bool:
    return any(hasattr(f, f"__untraced_{kind}__") for kind in ("static", "structural", "converts", "shapes", "draws"))


def call_hook(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """Call it now. What it raises is the user's error, at this line."""
    if hasattr(f, "__untraced_draws__"):
        return read_back(ctx, f.__untraced_draws__, args, node)
    if hasattr(f, "__untraced_converts__"):
        return closure_converted(ctx, args, kwargs, node)
    if hasattr(f, "__untraced_static__"):
        for owner, name in getattr(f, "__untraced_reads__", ()):
            ctx.captures.of_module(owner, name, getattr(owner, name))
        given, named = [_known(ctx, v, node) for v in args], {k: _known(ctx, v, node) for k, v in kwargs.items()}
        return run_known(ctx, node, lambda: f(*given, **named))
    if hasattr(f, "__untraced_shapes__"):
        return _shapes(ctx, f.__untraced_shapes__, args, kwargs, node)
    signature = inspect.signature(f).parameters.values()
    parameters = [p.name for p in signature]
    places = [p.name for p in signature if p.kind is p.POSITIONAL_OR_KEYWORD]  # of others, *rest, none is called
    given = [_readable(ctx, v, k, node) for v, k in itertools.zip_longest(args, places[: len(args)], fillvalue="")]
    named = {k: _readable(ctx, v, k, node) for k, v in kwargs.items()}
    if "leaves" in parameters:  # which may be the rows of an array
        place = parameters.index("leaves")
        given[place:] = [known_items(ctx, v, node) for v in given[place:]]
        named = {k: known_items(ctx, v, node) if k == "leaves" else v for k, v in named.items()}
    if "is_leaf" in parameters:
        chosen = named.get("is_leaf")
        named["is_leaf"] = lambda x: is_leaf(x) or (chosen is not None and bool(chosen(x)))
    return run_known(ctx, node, lambda: f(*given, **named))


def _shapes(ctx: Context, struct: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """The result of a call, with a `struct` of a shape and a dtype in place of each array and number."""

    def blank(v: Value) -> Value:
        return ctx.wrap(np.broadcast_to(np.zeros((), v.dtype), v.shape)) if isinstance(v, struct) else v

    def shape_of(v: Value) -> Value:
        if isinstance(v, bool | int | float | complex | np.generic | np.ndarray):
            return struct(np.shape(v), np.result_type(v))
        return struct(v.aval.shape, v.aval.dtype) if is_runtime(v) else v

    fun, *rest = args
    given, named = tree_map(blank, (rest, kwargs), is_leaf=is_leaf)
    return tree_map(shape_of, ctx.read_block(lambda: ctx.call(fun, given, named, node)).flow, is_leaf=is_leaf)


def _known(ctx: Context, v: Value, node: ast.AST) -> Any:
    """An inner function as an object, and what else is known."""
    if isinstance(v, Closure | Bound | Partial):
        return Inner(ctx, v, node)
    if isinstance(v, Foreign):
        return v.value
    kind = type(v)
    if not callable(v) or is_library(kind) or is_transformed(v) or not _is_function(kind.__call__):
        return v
    return Inner(ctx, Bound(ctx.captures.part(kind, "__call__"), v), node)  # an object of the program: a layer


def _is_function(f: Any) -> bool:
    return isinstance(f, types.FunctionType) or accelerated_function(f) is not None


_CALLED = frozenset({"f", "function", "operation", "is_leaf"})  # parameters that are no trees, which may be functions


def _readable(ctx: Context, v: Value, parameter: str, node: ast.AST) -> Any:
    """A function that is to be called as one that Python can call with abstract values."""
    return (lambda *xs: ctx.call(v, list(xs), {}, node)) if parameter in _CALLED and v is not None else v
