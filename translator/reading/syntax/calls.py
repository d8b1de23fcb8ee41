"""Calls: user functions are read and inlined, NumPy's go to the surface, transformed ones are spliced in."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ... import surface
from ...library import heaps, mapping
from ...purpose import purpose
from ..core.context import Context
from ..core.demand import refuse_undefined
from ..core.values import (
    Bound,
    Closure,
    Foreign,
    Method,
    Partial,
    Undefined,
    Update,
    Value,
    class_name,
    describe,
    has_array_method,
    is_object,
    is_runtime,
    is_transformed,
)
from ..facts import streams
from ..facts.contents import call_of_known
from ..facts.maybes import check_some
from ..functions import recursion, remembered
from ..functions.constructing import construct
from ..functions.inlining import inline, inline_closure
from ..parts import piled
from ..parts.known import constants_of_library
from ..paths.generators import Pieces, of_call
from ..paths.iterables import consumed
from ..provided import draws
from ..provided.functional import call_update
from ..provided.hooks import call_hook, is_hook
from ..provided.methods import call_method, scatter
from ..provided.pythonic import builtin_for, refuse_names, vectorized
from ..provided.transformed import call_transformed
from ..text.libraries import accelerated_function, is_library
from ..text.nodes import nodes_of
from ..uses.handlers import call_handler, leave_to_cpython
from ..uses.iteration import known_items
from ..uses.protocols import special
from . import comprehensions
from .compiled import call_compiled, origin_of, spelled


@functools.lru_cache(maxsize=1024)
def _on_each_side(node: ast.Call) -> ast.IfExp | None:
    """`(a if c else b).method(x)` as `a.method(x) if c else b.method(x)`: which of two lists changes is then known."""
    match node.func:
        case ast.Attribute(value=ast.IfExp(test=test, body=body, orelse=orelse) as chosen, attr=attr):
            sides = (ast.copy_location(ast.Attribute(side, attr, ast.Load()), side) for side in (body, orelse))
            calls = (ast.copy_location(ast.Call(side, node.args, node.keywords), node) for side in sides)
            return ast.copy_location(ast.IfExp(test, *calls), chosen)
    return None


def call_node(ctx: Context, node: ast.Call) -> Value:
    if ctx.transforms and (either := _on_each_side(node)) is not None:
        return ctx.eval(either)
    ctx.drawing.passing.add(node.func)
    function = ctx.eval(node.func)
    if function is print and not ctx.transforms:
        ctx.cut(
            node,
            "`print` cannot be compiled",
            why="it would print once, when the function is translated, and never again",
            instead="return the value and print it outside",
        )
    if purpose().draws and _takes_generators(function):
        ctx.drawing.passing.update((*node.args, *(k.value for k in node.keywords)))
    if function in (sum, any, all) and len(node.args) == 1 and not node.keywords:
        found = comprehensions.folded(ctx, function, node.args[0])
        if found is not NotImplemented:
            return found
    if function in (filter, map) and ctx.transforms:
        expression = comprehensions.as_expression(node, function is filter)
        if expression is not None:
            return ctx.eval(expression)
    args: list[Value] = []
    for a in node.args:
        if function is print and not any(isinstance(n, ast.Call | ast.NamedExpr) for n in nodes_of(a)):
            continue  # it does nothing, and may be an exception that is not known
        if type(a) is ast.Starred:
            args += known_items(ctx, ctx.eval(a.value), a)
        else:
            args.append(ctx.eval(a))
    kwargs: dict[str, Value] = {}
    for k in node.keywords:
        value = ctx.eval(k.value)
        if k.arg is not None:
            kwargs[k.arg] = value
        elif isinstance(value, dict):
            kwargs.update(value)
        else:
            ctx.cut(k.value, f"`**` in a call needs a dict, not {describe(value)}", instead="pass a dict")
    ctx.at(node)
    if streams.is_passed_on(function, args):
        return args[0]
    if function is print:  # what its arguments do besides is done
        return _leave_out(ctx, "print")
    made = call_value(ctx, function, args, kwargs, node)
    if type(made) is list and (function in (list, sorted) or (type(function) is Method and function.name == "tolist")):
        return piled.list_of(ctx, node, made)
    return made


def _leave_out(ctx: Context, what: str) -> None:
    ctx.warnings.setdefault((f"a derivative or a batch leaves `{what}` out", UserWarning), ctx.span)


def _takes_generators(f: Value) -> bool:
    """Whether it is a function whose source will be read, and which may draw from a generator that it is given."""
    f = f.function if type(f) is Bound else f
    if f is isinstance or getattr(f, "__name__", "") == "default_rng" or accelerated_function(f) is not None:
        return True
    if type(f) is Closure:
        return not f.frame.fixed
    return type(f) is types.FunctionType and not is_library(f)


def call_value(ctx: Context, f: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """The value of f(*args, **kwargs)."""
    by_kind = _KINDS.get(type(f))
    if by_kind is not None:
        return by_kind(ctx, f, args, kwargs, node)
    if not callable(f):
        return _call_object(ctx, f, args, kwargs, node)
    if type(f) is types.FunctionType and "__untraced_axes__" in f.__dict__:
        args = [*args[:1], *(tuple(a) if type(a) is list else a for a in args[1:])]
        kwargs = {k: tuple(v) if k == "axis" and type(v) is list else v for k, v in kwargs.items()}
        f = f.__dict__["__untraced_numpy__"]
    if is_transformed(f) or is_hook(f):
        return _call_own(ctx, f, args, kwargs, node)
    if hasattr(f, "__untraced_shows__"):
        if ctx.transforms:
            return _leave_out(ctx, f.__untraced_shows__)
        ctx.cut(node, f"`{f.__untraced_shows__}` cannot be compiled", instead="call it outside")
    if f is remembered.given:
        return remembered.given(ctx, node, *args, **kwargs)
    cached = remembered.of_closure(ctx, f, args, node)
    if cached is not NotImplemented:
        return cached
    of_lists = heaps.SOURCES.get(f) if ctx.transforms and type(f) in _FUNCTIONS else None
    if of_lists is not None:
        return inline(ctx, of_lists, args, kwargs, node, fixed=True)
    value = piled.call(ctx, f, args, kwargs, node)
    if value is not NotImplemented:
        return value
    if ctx.transforms and _is_of_numpy(f) and not surface.takes_polynomials(f):
        args = [_as_array(ctx, a, node) for a in args]
    builtin = builtin_for(f) if isinstance(f, Hashable) else None
    if builtin is not None:
        check_some(ctx, args, node)
        return _call_builtin(ctx, f, builtin, args, kwargs, node)
    args = _handed(ctx, f, args, node)
    known = call_of_known(ctx, f, args, kwargs)
    if known is not NotImplemented:
        return known
    handler = _handler_for(ctx, f)
    if handler is not None:
        return call_handler(ctx, handler, f, args, kwargs, node)
    if type(f) is types.BuiltinMethodType and isinstance(f.__self__, np.ufunc) and f.__name__ == "at":
        return scatter(ctx, f.__self__, args, kwargs, node)
    constants = constants_of_library(ctx, f, args, kwargs, node)
    if constants is not NotImplemented:
        return constants
    return _call_python(ctx, f, args, kwargs, node)


def _call_bound(ctx: Context, f: Bound, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    owner = f.owner.value if type(f.owner) is Foreign else f.owner
    if type(f.function) is types.FunctionType and not is_runtime(owner):
        method = types.MethodType(f.function, owner)
        handler = _handler_for(ctx, method)
        if handler is not None:
            leave_to_cpython(ctx, method, args, kwargs, node)
            return call_handler(ctx, handler, f.function, args, kwargs, node)
    return call_value(ctx, f.function, [f.owner, *args], kwargs, node)


def _call_partial(ctx: Context, f: Partial, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    value = call_value(ctx, f.function, [*f.args, *args], {**f.kwargs, **kwargs}, node)
    return ctx.boxed(value) if f.function is mapping.vectorized and ctx.boxes else value


def _call_builtin(
    ctx: Context, f: Any, builtin: Callable[..., Value], args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    pieces = Pieces(ctx, ctx.frame)
    value = builtin(ctx, node, *_handed(ctx, f, args, node), **kwargs)
    if type(value) is list and _gives_iterators(f):
        of_call(pieces, f, args, value)
    return value


def _call_python(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A callable that no handler knows: its source is read, if it has one."""
    kind = type(f)
    if kind is types.FunctionType:
        return _call_read(ctx, f, args, kwargs, node)
    if kind is types.MethodType:
        return call_value(ctx, f.__func__, [f.__self__, *args], kwargs, node)
    if isinstance(f, type):
        made = draws.drawn(ctx, f, args, kwargs, node) if draws.makes_generator(f) else NotImplemented
        return construct(ctx, f, args, kwargs, node) if made is NotImplemented else made
    if kind is functools._lru_cache_wrapper:
        return remembered.call(ctx, f, f.__wrapped__, args, kwargs, node)
    if issubclass(kind, functools.partial):
        return call_value(ctx, f.func, [*f.args, *args], {**f.keywords, **kwargs}, node)
    if isinstance(kind.__call__, types.FunctionType) or accelerated_function(kind.__call__) is not None:
        return call_value(ctx, ctx.captures.part(kind, "__call__"), [f, *args], kwargs, node)
    return call_compiled(ctx, f, args, kwargs, node)


def _call_read(
    ctx: Context, f: types.FunctionType, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """A function whose source is read; Python's generators draw as their compiled methods do."""
    if any(f is g for g in _FRAMES):
        refuse_names(ctx.refuse, spelled(ctx, f, node), node)
    if args and streams.of_python(f, args[0]):
        given = streams.drawn(ctx, f, args, kwargs, node)
        if given is not NotImplemented:
            return given
    derived = f.__dict__.get("__untraced_derived__") if ctx.transforms else None  # what CPython runs elsewhere
    return inline(ctx, derived or f.__dict__.get("__untraced_numpy__", f), args, kwargs, node)


def _is_of_numpy(f: Any) -> bool:
    return isinstance(f, np.ufunc) or str(getattr(f, "__module__", "")).partition(".")[0] == "numpy"


def _as_array(ctx: Context, v: Value, node: ast.AST) -> Value:
    """What NumPy makes of an object whose class says how by `__array__`, and leaves the rest to NumPy."""
    own = is_object(v) and has_array_method(v)
    if not own or hasattr(type(v), "__array_ufunc__") or hasattr(type(v), "__array_function__"):
        return v
    made = special(ctx, v, "__array__", [], node)
    return v if made is NotImplemented else made


def _handler_for(ctx: Context, f: Any) -> surface.Handler | None:
    return (surface.transformed_handler_for(f) if ctx.transforms else None) or surface.handler_for(f)


def _gives_iterators(f: Any) -> bool:
    return any(f is g for g in (iter, map, filter, reversed, zip)) or origin_of(f) == "itertools"


def _handed(ctx: Context, f: Any, args: list[Value], node: ast.AST) -> list[Value]:
    """Arguments of a function that is not read; it consumes iterators among them."""
    if any(f is g for g in (iter, next, type, isinstance)) or isinstance(f, types.FunctionType):
        return args
    return [consumed(ctx, a, node) for a in args]


def _call_own(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A function that this package made, or made itself known to it."""
    function = accelerated_function(f)
    if function is not None:
        return inline(ctx, function, args, kwargs, node)
    if is_transformed(f):
        original = getattr(f, "__untraced_original__", None)
        if type(original) is types.FunctionType and recursion.is_within(ctx.frame, original):
            return inline(ctx, original, args, kwargs, node)
        return call_transformed(ctx, f, args, kwargs, node)
    return call_hook(ctx, f, args, kwargs, node)


def _call_object(ctx: Context, f: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """An instance whose class defines __call__."""
    if isinstance(f, Undefined):
        given = streams.drawn_from(ctx, f, args, kwargs, node) if f.method else NotImplemented
        if given is not NotImplemented:
            return given
        refuse_undefined(ctx, f, node)
    obj = f.value if isinstance(f, Foreign) else f
    if isinstance(obj, np.vectorize):
        made = vectorized(obj.pyfunc, obj.otypes, obj.excluded, obj.signature)
        return call_value(ctx, made, args, kwargs, node)
    if is_runtime(obj) or not callable(obj):
        raise TypeError(f"'{class_name(f)}' object is not callable")
    if is_transformed(obj) or is_hook(obj):
        return _call_own(ctx, obj, args, kwargs, node)
    method = ctx.captures.part(type(obj), "__call__")
    if isinstance(method, types.FunctionType) or accelerated_function(method) is not None:
        return call_value(ctx, method, [f, *args], kwargs, node)
    return call_compiled(ctx, obj, args, kwargs, node)


_FRAMES = (inspect.currentframe, inspect.stack)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


_KINDS: dict[type, Callable[[Context, Any, list[Value], dict[str, Value], ast.AST], Value]] = {
    Method: call_method,
    Closure: inline_closure,
    Update: call_update,
    Bound: _call_bound,
    Partial: _call_partial,
    Foreign: _call_object,
    np.vectorize: _call_object,
}
