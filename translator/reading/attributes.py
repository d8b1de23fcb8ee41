"""x.name: what is known about arrays, the methods of values, and the attributes of objects and modules."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from typing import Any

import numpy as np

from .. import surface
from ..errors import UnsupportedError
from ..ir import Var
from .context import Context
from .guards import is_library
from .values import (
    Bound,
    Closure,
    Foreign,
    Masked,
    Method,
    Partial,
    Ref,
    Undefined,
    UpdatePlace,
    Updater,
    Value,
    describe,
    is_object,
)

_OWN_METHODS = frozenset({"copy", "fill", "tolist", "view", "flatten", "sort", "partition"})


def get_attribute(ctx: Context, owner: Value, name: str, node: ast.AST) -> Value:
    if type(owner) is Ref or type(owner) is Var:
        return array_attribute(ctx, owner, name, node)
    if isinstance(owner, Foreign):
        return _foreign_attribute(ctx, owner, name, node)
    if isinstance(owner, Undefined):
        ctx.refuse(node, owner.why, instead=owner.instead)
    if isinstance(owner, Masked):
        from .selection import attribute, concrete

        ctx.at(node)
        known = attribute(ctx, owner, name, node)
        if known is not NotImplemented:
            return known
        if surface.method_handler(name) is not None or name in _OWN_METHODS:
            return Method(owner, name)
        return array_attribute(ctx, concrete(ctx, owner, node, f"x[mask].{name}"), name, node)
    if isinstance(owner, UpdatePlace):
        from .functional import update_of

        return update_of(ctx, owner, name, node)
    if isinstance(owner, Closure | Bound | Partial):
        if name == "__name__" and isinstance(owner, Closure):
            return owner.name
        ctx.refuse(node, f"the attribute {name} of {describe(owner)} is not known here")
    if isinstance(owner, list | dict | str | tuple | set | frozenset) and not hasattr(owner, "_fields"):
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")
        return Method(owner, name)
    return _object_attribute(ctx, owner, name, node)


def array_attribute(ctx: Context, owner: Value, name: str, node: ast.AST) -> Value:
    aval = owner.aval
    match name:
        case "shape":
            return aval.shape
        case "ndim":
            return len(aval.shape)
        case "size":
            return aval.size
        case "dtype" if not aval.weak:
            return aval.dtype
        case "itemsize":
            return aval.dtype.itemsize
        case "nbytes":
            return aval.size * aval.dtype.itemsize
        case "aval":
            return aval
    handler = surface.attribute_handler(name)
    if handler is not None:
        from .calls import call_handler

        return call_handler(ctx, handler, name, [owner], {}, node)
    if name == "at" and type(owner) is Ref:
        return Updater(Ref(ctx.cell(ctx.read(owner))))
    if name in _OWN_METHODS or surface.method_handler(name) is not None:
        return Method(owner, name)
    if not hasattr(np.ndarray, name):
        raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r} ({_place(ctx, node)})")
    raise ctx.error(
        UnsupportedError,
        node,
        f"the array attribute .{name} is not in the language",
        instead="use a NumPy function that gives the same array",
    )


def _place(ctx: Context, node: ast.AST) -> str:
    return str(ctx.b.span if ctx.frame.fixed else ctx.frame.source.span(node))


def _object_attribute(ctx: Context, owner: Any, name: str, node: ast.AST) -> Value:
    """An attribute of an object that the function made, or of a module, class, dtype, ..."""
    outside = isinstance(owner, type | types.FunctionType) and not is_library(owner)
    static_part = None if isinstance(owner, np.finfo | np.iinfo) else getattr(type(owner), name, None)
    if isinstance(static_part, property | functools.cached_property):
        ctx.captures.part(type(owner), name)
    if isinstance(static_part, property) and hasattr(static_part.fget, "__code__"):
        from .calls import call_value

        return call_value(ctx, static_part.fget, [owner], {}, node)
    if isinstance(static_part, functools.cached_property):
        from .calls import call_value

        return call_value(ctx, static_part.func, [owner], {}, node)
    try:
        value = ctx.captures.member(owner, name) if outside else getattr(owner, name)
    except AttributeError as error:
        error.add_note(f"  --> {_place(ctx, node)}")
        raise
    if isinstance(value, types.MethodType) and value.__self__ is owner:
        ctx.captures.part(type(owner), name)
        return Bound(value.__func__, owner)
    if static_part is not None and is_object(owner) and name not in owner.__dict__ and not is_library(type(owner)):
        return ctx.captures.member(type(owner), name)
    if isinstance(value, np.ndarray):
        return ctx.wrap(value)
    return value


def _foreign_attribute(ctx: Context, owner: Foreign, name: str, node: ast.AST) -> Value:
    """An attribute of an object or module outside the function: guarded, or captured where it is an array."""
    obj = owner.value
    if not isinstance(obj, types.ModuleType):
        own = getattr(obj, "__dict__", {})
        part = getattr(type(obj), name, None)
        if name not in own and isinstance(part, property | functools.cached_property):
            from .calls import call_value

            ctx.captures.part(type(obj), name)
            return call_value(ctx, part.fget if isinstance(part, property) else part.func, [owner], {}, node)
        if name not in own and isinstance(part, types.FunctionType):
            method = inspect.getattr_static(type(obj), name)
            ctx.captures.method(owner, name)
            return part if isinstance(method, staticmethod) else Bound(part, owner)
    try:
        value = getattr(obj, name)
    except AttributeError as error:
        error.add_note(f"  --> {_place(ctx, node)}")
        raise
    return ctx.captures.attribute(owner, name, value)
