"""`inspect.signature` of what is called in a function that is read: which parameters it takes, and their defaults."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from ..core.context import Context
from ..core.values import Bound, Closure, Foreign, Partial, Value, describe, is_runtime, leaves_in

_Parameter = inspect.Parameter


def signature_of(ctx: Context, node: ast.AST, function: Value) -> inspect.Signature:
    """The signature of a function of the user; parameters that a partial or a bound method gives are left out."""
    if isinstance(function, Closure):
        return signature_of_closure(function)
    if isinstance(function, Bound):
        found = signature_of(ctx, node, function.function)
        return found.replace(parameters=list(found.parameters.values())[1:])
    if isinstance(function, Partial):
        return _left(signature_of(ctx, node, function.function), function)
    known = function.value if isinstance(function, Foreign) else function
    if is_runtime(known) or not callable(known):
        raise TypeError(f"{describe(function)} is not a callable object")
    found = inspect.signature(known)
    if all(map(_is_plain, (p.default for p in found.parameters.values()))):
        return found
    if not isinstance(known, types.FunctionType) or hasattr(known, "__wrapped__"):
        ctx.cut(node, "the signature of a function with a default that may change", instead="give None as the default")
    return found.replace(parameters=[_with_default(ctx, known, p) for p in found.parameters.values()])


def _with_default(ctx: Context, f: types.FunctionType, parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter with its default as the reader has it: an array is read anew at every call."""
    name = parameter.name
    if _is_plain(parameter.default):
        return parameter
    if name in (f.__kwdefaults__ or ()):
        return parameter.replace(default=ctx.captures.default(f, "__kwdefaults__", name))
    last = f.__code__.co_argcount - len(f.__defaults__ or ())
    place = f.__code__.co_varnames.index(name) - last
    return parameter.replace(default=ctx.captures.default(f, "__defaults__", place))


def _natively(f: Callable[..., Any]) -> Callable[..., Value]:
    """What of `inspect` only moves values about is called as it is."""

    def call(ctx: Context, node: ast.AST, *args: Value, **kwargs: Value) -> Value:
        return f(*args, **kwargs)

    return call


def signature_of_closure(function: Closure) -> inspect.Signature:
    """The parameters of the definition."""
    a = function.node.args
    kinds: list[tuple[ast.arg, Any]] = [(p, _Parameter.POSITIONAL_ONLY) for p in a.posonlyargs]
    kinds += [(p, _Parameter.POSITIONAL_OR_KEYWORD) for p in a.args]
    kinds += [(p, _Parameter.VAR_POSITIONAL) for p in (a.vararg,) if p is not None]
    kinds += [(p, _Parameter.KEYWORD_ONLY) for p in a.kwonlyargs]
    kinds += [(p, _Parameter.VAR_KEYWORD) for p in (a.kwarg,) if p is not None]
    made = [_Parameter(p.arg, kind, default=function.defaults.get(p.arg, _Parameter.empty)) for p, kind in kinds]
    return inspect.Signature(made)


def _left(signature: inspect.Signature, given: Partial) -> inspect.Signature:
    """What a call of functools.partial leaves, as `inspect` has it."""

    def stand_in(*args: Any, **kwargs: Any) -> None: ...

    stand_in.__dict__["__signature__"] = signature
    return inspect.signature(functools.partial(stand_in, *given.args, **given.kwargs))


def _is_plain(default: Any) -> bool:
    whole = (type(None), bool, int, float, complex, str, bytes, type, types.FunctionType)
    return all(isinstance(v, whole) for v in leaves_in(default))


MOVING: dict[Callable[..., Any], Callable[..., Value]] = {
    inspect.signature: signature_of,
    **{
        f: _natively(f)
        for f in (
            inspect.Parameter,
            inspect.Parameter.replace,
            inspect.Signature,
            inspect.Signature.replace,
            inspect.Signature.bind,
            inspect.Signature.bind_partial,
            inspect.BoundArguments.apply_defaults,
        )
    },
}
"""What a call of each means."""
