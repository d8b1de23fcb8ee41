"""Python's builtins that ask about, build or run over containers; those that compute are in the surface."""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..ir import Var
from .context import Context
from .control import truth
from .demand import static
from .expressions import run_known
from .iteration import known_items
from .values import (
    Bound,
    Closure,
    Enumerate,
    Foreign,
    Masked,
    Partial,
    Ref,
    Reversed,
    RunRange,
    Value,
    Zip,
    describe,
    has_runtime,
)

Implementation = Callable[..., Value]


def _len(ctx: Context, node: ast.AST, x: Value) -> Value:
    if type(x) is Ref:
        if not x.aval.shape:
            raise ctx.error(DTypeError, node, "len() of unsized object")
        return x.aval.shape[0]
    if isinstance(x, Masked):
        from .selection import count

        ctx.at(node)
        return count(ctx, x, 0)
    if isinstance(x, RunRange | Zip | Enumerate | Reversed):
        return len(known_items(ctx, x, node))
    method = ctx.captures.part(type(x.value if isinstance(x, Foreign) else x), "__len__")
    if isinstance(method, types.FunctionType):
        from .calls import call_value

        return call_value(ctx, method, [x], {}, node)
    return run_known(ctx, node, len, x)


def _range(ctx: Context, node: ast.AST, *args: Value) -> Value:
    parts = [a.item() if isinstance(a, np.integer) else a for a in args]
    if not any(type(a) is Var for a in parts):
        return run_known(ctx, node, range, *parts)
    for a in parts:
        if type(a) is Var and a.aval.dtype.kind not in "iu":
            raise ctx.error(DTypeError, node, "range() needs integers", why=f"this is {describe(a)}")
    start, stop, step = (0, parts[0], 1) if len(parts) == 1 else (*parts, 1) if len(parts) == 2 else parts
    return RunRange(start, stop, static(ctx, step, node, "the step of a range"))


def _zip(ctx: Context, node: ast.AST, *parts: Value, strict: bool = False) -> Value:
    if all(isinstance(p, list | tuple) for p in parts):
        return list(run_known(ctx, node, lambda: list(zip(*parts, strict=strict))))
    return Zip(parts)


def _enumerate(ctx: Context, node: ast.AST, inner: Value, start: Value = 0) -> Value:
    return Enumerate(inner, start)


def _reversed(ctx: Context, node: ast.AST, inner: Value) -> Value:
    if isinstance(inner, range | RunRange) or type(inner) is Ref:
        return Reversed(inner)
    return known_items(ctx, inner, node)[::-1]


def _isinstance(ctx: Context, node: ast.AST, x: Value, kinds: Value) -> Value:
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if type(x) is Ref or type(x) is Masked:
        return any(k in (np.ndarray, object) for k in kinds)
    if type(x) is Var:
        return any(isinstance(k, type) and issubclass(_number_type(x), k) for k in kinds)
    if isinstance(x, Closure | Bound | Partial):
        return any(k in (types.FunctionType, Callable, object) for k in kinds)
    return run_known(ctx, node, isinstance, x.value if isinstance(x, Foreign) else x, kinds)


def _number_type(x: Var) -> type:
    aval = x.aval
    return {"i": int, "f": float, "c": complex}[aval.dtype.kind] if aval.weak else aval.dtype.type


def _type(ctx: Context, node: ast.AST, x: Value) -> Value:
    if type(x) is Ref or type(x) is Masked:
        return np.ndarray
    if type(x) is Var:
        return _number_type(x)
    return type(x.value if isinstance(x, Foreign) else x)










def _bool(ctx: Context, node: ast.AST, x: Value = False) -> Value:
    known = truth(ctx, x, node)
    return known if isinstance(known, bool) else ctx.wrap(known)





def _sequence(python: type) -> Implementation:
    def implementation(ctx: Context, node: ast.AST, *args: Value) -> Value:
        return python(known_items(ctx, args[0], node)) if args else python()

    return implementation


def _dict(ctx: Context, node: ast.AST, *args: Value, **kwargs: Value) -> Value:
    if args and not isinstance(args[0], dict):
        args = (known_items(ctx, args[0], node),)
    return run_known(ctx, node, lambda: dict(*args, **kwargs))


def _map(ctx: Context, node: ast.AST, function: Value, *parts: Value) -> Value:
    from .calls import call_value

    columns = [known_items(ctx, p, node) for p in parts]
    return [call_value(ctx, function, list(row), {}, node) for row in zip(*columns, strict=False)]


def _reduce(ctx: Context, node: ast.AST, function: Value, items: Value, *initial: Value) -> Value:
    from .calls import call_value

    rest = [*initial, *known_items(ctx, items, node)]
    if not rest:
        raise TypeError("reduce() of empty iterable with no initial value")
    total = rest[0]
    for item in rest[1:]:
        total = call_value(ctx, function, [total, item], {}, node)
    return total





def _getattr(ctx: Context, node: ast.AST, x: Value, name: str, *default: Value) -> Value:
    from .attributes import get_attribute

    try:
        return get_attribute(ctx, x, name, node)
    except AttributeError:
        if default:
            ctx.captures.absent(x, name)
            return default[0]
        raise


def _hasattr(ctx: Context, node: ast.AST, x: Value, name: str) -> Value:
    if type(x) is Ref:
        return hasattr(np.ndarray, name)
    if type(x) is Var:
        return hasattr(_type(ctx, node, x), name)
    found = hasattr(x.value if isinstance(x, Foreign) else x, name)
    if not found:
        ctx.captures.absent(x, name)
    elif isinstance(x, Foreign):
        ctx.captures.attribute(x, name, getattr(x.value, name))
    return found


def _callable(ctx: Context, node: ast.AST, x: Value) -> Value:
    return isinstance(x, Closure | Bound | Partial) or callable(x.value if isinstance(x, Foreign) else x)


def _print(ctx: Context, node: ast.AST, *args: Value, **kwargs: Value) -> Value:
    ctx.refuse(
        node,
        "`print` is not in the language",
        why="it would print once, when the function is translated, and never again",
        instead="return the value and print it outside, or run the plain function under NumPy",
    )


def _slice(ctx: Context, node: ast.AST, *args: Value) -> Value:
    return slice(*args)


def _sorted(ctx: Context, node: ast.AST, items: Value, key: Value = None, reverse: Value = False) -> Value:
    known = known_items(ctx, items, node)
    if any(map(has_runtime, known)) or key is not None:
        ctx.refuse(node, "sorted() of run-time values", instead="use np.sort on an array")
    return run_known(ctx, node, lambda: sorted(known, reverse=reverse))


def _id(ctx: Context, node: ast.AST, x: Value) -> Value:
    ctx.refuse(node, "`id` is not in the language", instead="compare with `is`")


BUILTINS: dict[Any, Implementation] = {
    len: _len,
    range: _range,
    zip: _zip,
    enumerate: _enumerate,
    reversed: _reversed,
    isinstance: _isinstance,
    type: _type,
    bool: _bool,
    tuple: _sequence(tuple),
    list: _sequence(list),
    set: _sequence(set),
    frozenset: _sequence(frozenset),
    dict: _dict,
    map: _map,
    getattr: _getattr,
    hasattr: _hasattr,
    callable: _callable,
    print: _print,
    slice: _slice,
    sorted: _sorted,
    id: _id,
    functools.reduce: _reduce,
}
