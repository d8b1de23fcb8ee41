"""Methods: of arrays, of ufuncs, and of the containers that a function builds."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from .. import make, surface
from ..errors import DTypeError
from ..surface.python import as_python
from .calls import call_handler
from .context import Context
from .demand import static
from .functional import scatter_into
from .iteration import known_items
from .selection import call, store_selected
from .stores import store_view
from .values import Masked, Method, Ref, Value, has_runtime, is_runtime

_MUTATORS = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort", "update", "setdefault", "popitem"}
)


def call_method(ctx: Context, method: Method, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    owner, name = method.owner, method.name
    if is_runtime(owner):
        own = _ARRAY_METHODS.get(name)
        if own is not None:
            return own(ctx, owner, args, kwargs, node)
        handler = surface.method_handler(name)
        assert handler is not None, f"the attribute {name} was looked up"
        return call_handler(ctx, handler, name, [owner, *args], kwargs, node)
    if isinstance(owner, Masked):
        return _call_selection_method(ctx, owner, name, args, kwargs, node)
    return _call_container_method(ctx, owner, name, args, kwargs, node)


def _call_selection_method(
    ctx: Context, owner: Masked, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    def again(given: list[Value], keywords: dict[str, Value]) -> Value:
        return call_method(ctx, Method(given[0], name), list(given[1:]), keywords, node)

    if name == "fill":
        store_selected(ctx, owner, args[0], node)
        return None
    return call(ctx, name, [owner, *args], kwargs, node, again)


def _call_container_method(
    ctx: Context, owner: Any, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    from .expressions import run_known

    if name == "extend":
        args = [known_items(ctx, args[0], node)]
    if isinstance(owner, dict) and name in ("get", "pop", "setdefault") and args:
        args = [static(ctx, args[0], node, "a dict key"), *args[1:]]
    if isinstance(owner, list) and name in ("pop", "insert") and args:
        args = [static(ctx, args[0], node, "a list position"), *args[1:]]
    if name in ("sort", "index", "count", "remove") and (has_runtime(owner) or any(map(has_runtime, args))):
        ctx.refuse(
            node,
            f"`.{name}` of a {type(owner).__name__} that holds run-time values",
            why="the order would depend on the data",
            instead="stack them into an array",
        )
    if isinstance(owner, str):
        args = [static(ctx, a, node, "an argument of a string method") for a in args]
    if name in _MUTATORS and isinstance(owner, list | dict):
        ctx.touch(owner)
    result = run_known(ctx, node, lambda: getattr(owner, name)(*args, **kwargs))
    if isinstance(owner, dict) and name in ("keys", "values", "items"):
        return list(result)
    return result


# ---- arrays --------------------------------------------------------------------------------------


def _copy(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    return ctx.wrap(ctx.atom(owner))


def _fill(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> None:
    (value,) = args
    if type(owner) is not Ref:
        ctx.refuse(node, "a number cannot be filled")
    store_view(ctx, owner, ctx.atom(value))


def _tolist(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if type(owner) is not Ref:
        return ctx.wrap(as_python(ctx.b, owner))
    return [_tolist(ctx, item, [], {}, node) for item in known_items(ctx, owner, node)]


def _view(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if args or kwargs:
        ctx.refuse(node, ".view(...) reinterprets memory", instead="use .astype(...) to convert values")
    return owner


def _flatten(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    return ctx.wrap(make.reshape(ctx.b, ctx.atom(owner), (-1,)))


def _sort(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> None:
    """x.sort() and x.partition(kth): in place."""
    _in_place(ctx, np.sort, owner, args, kwargs, node)


def _partition(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> None:
    _in_place(ctx, np.partition, owner, args, kwargs, node)


def _in_place(
    ctx: Context, function: Any, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> None:
    if type(owner) is not Ref:
        ctx.refuse(node, "a number cannot be sorted")
    handler = surface.handler_for(function)
    assert handler is not None
    store_view(ctx, owner, ctx.atom(call_handler(ctx, handler, function, [owner, *args], kwargs, node)))


_ARRAY_METHODS = {
    "sort": _sort,
    "partition": _partition,
    "copy": _copy,
    "fill": _fill,
    "tolist": _tolist,
    "view": _view,
    "flatten": _flatten,
}


# ---- np.add.at -----------------------------------------------------------------------------------


def scatter(ctx: Context, ufunc: np.ufunc, args: list[Value], node: ast.AST) -> None:
    """np.add.at(x, index, value) and its kin: repeated indices accumulate."""
    if ufunc.nin != 2 or len(args) != 3 or type(args[0]) is not Ref:
        ctx.refuse(node, f"np.{ufunc.__name__}.at is not in the language here", instead="use np.add.at on an array")
    target, key, value = args
    given = ctx.atom(value).aval.dtype
    if not np.can_cast(given, target.aval.dtype, "same_kind"):
        what = f"np.{ufunc.__name__}.at cannot cast what it computes with {given} to {target.aval.dtype}"
        raise ctx.error(DTypeError, node, what, instead="cast the array first, x.astype(...)")
    new = ctx.atom(scatter_into(ctx, ufunc, target, key, value, node))
    ctx.at(node)
    ctx.write(target, new)
