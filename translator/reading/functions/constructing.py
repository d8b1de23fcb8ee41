"""Objects of classes that are made while a function is read."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import types
from typing import NoReturn

import numpy as np

from ... import make
from ...tree import is_namedtuple
from ..core.context import Context
from ..core.demand import static
from ..core.values import (
    Partial,
    Value,
    describe,
    has_runtime,
)
from ..parts.known import run_known
from .inlining import inline

PURE_MODULES = frozenset({"math", "operator", "_operator", "builtins", "itertools", "cmath", "string", "functools"})
_BUILT_IN = PURE_MODULES | {"numpy", "collections"}


def construct(ctx: Context, cls: type, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """An instance of a user's class: dataclasses and namedtuples hold their values, __init__ of others is read."""
    if issubclass(cls, np.generic | BaseException | np.dtype) or cls.__module__ in _BUILT_IN:
        return _construct_builtin(ctx, cls, args, kwargs, node)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        made = run_known(ctx, node, lambda: cls(*args, **kwargs))
        return made if is_namedtuple(made) else _cut_own_way(ctx, cls, node)
    if hasattr(cls, "__dataclass_fields__") and "__post_init__" not in dir(cls):
        return run_known(ctx, node, lambda: cls(*args, **kwargs))
    if issubclass(cls, enum.Enum) and len(args) == 1:
        value = static(ctx, args[0], node, "the value of a member")
        return run_known(ctx, node, lambda: cls(value))
    if args and issubclass(cls, functools.partial) and _is_plain_partial(cls):
        function, *bound = args
        return cls(function, *bound, **kwargs) if callable(function) else Partial(function, tuple(bound), kwargs)
    if cls.__new__ is not object.__new__:
        _cut_own_way(ctx, cls, node)
    initialise = cls.__init__
    instance: Value = object.__new__(cls)
    if hasattr(cls, "__dataclass_fields__"):
        return _construct_dataclass(ctx, cls, args, kwargs, node)
    if isinstance(initialise, types.FunctionType):
        inline(ctx, initialise, [instance, *args], kwargs, node)
    elif args or kwargs:
        raise TypeError(f"{cls.__name__}() takes no arguments")
    return instance


def _cut_own_way(ctx: Context, cls: type, node: ast.AST) -> NoReturn:
    ctx.cut(
        node,
        f"an object of the class {cls.__name__} cannot be made here",
        why="its class makes objects in a way of its own (__new__)",
        instead="make it outside the function and pass it",
    )


def _is_plain_partial(cls: type) -> bool:
    """Whether a subclass of functools.partial makes its objects as that does."""
    makers = [getattr(cls, name) for name in ("__new__", "__init__")]
    return makers == [functools.partial.__new__, object.__init__]


def _construct_dataclass(ctx: Context, cls: type, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """Fields first, then the user's __post_init__ is read."""
    given = inspect.signature(cls).bind(*args, **kwargs).arguments
    instance: Value = object.__new__(cls)
    for f in dataclasses.fields(cls):
        if f.name in given:
            object.__setattr__(instance, f.name, given[f.name])
        elif f.default_factory is not dataclasses.MISSING:
            object.__setattr__(instance, f.name, ctx.call(f.default_factory, [], {}, node))
        elif f.default is not dataclasses.MISSING:
            object.__setattr__(instance, f.name, ctx.captures.member(cls, f.name))
    inline(ctx, cls.__post_init__, [instance], {}, node)  # type: ignore[attr-defined]
    return instance


def _construct_builtin(ctx: Context, cls: type, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if issubclass(cls, np.generic) and len(args) == 1 and (has_runtime(args[0]) or isinstance(args[0], list | tuple)):
        return ctx.wrap(make.astype(ctx.b, ctx.atom(args[0]), np.dtype(cls)))
    if cls is functools.partial:
        return Partial(args[0], tuple(args[1:]), kwargs)
    if issubclass(cls, BaseException):
        return cls(*(a if not has_runtime(a) else describe(a) for a in args))
    if cls is np.dtype or cls is np.finfo or cls is np.iinfo or not any(map(has_runtime, [*args, *kwargs.values()])):
        return run_known(ctx, node, lambda: cls(*args, **kwargs))
    return ctx.cut(node, f"{cls.__name__}(...) of run-time values cannot be compiled")
