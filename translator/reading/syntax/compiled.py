"""Compiled functions without a rule: evaluated where they are pure and given known values, else refused or cut."""

from __future__ import annotations

import ast
import functools
import sys
import types
import warnings
from typing import Any

import numpy as np

from ...ir import Var
from ..core.context import Context
from ..core.demand import demand, static
from ..core.values import Ref, Value, is_leaf, leaves_in
from ..facts import streams
from ..functions.constructing import PURE_MODULES
from ..parts.known import run_known
from ..provided import draws
from ..provided.pythonic import refuse_names
from ..provided.standard import GETTERS, call_getter
from ..uses.stores import cut_changed_bytes

_EFFECTS = frozenset(
    {
        "open", "help", "exit", "quit", "__import__", "id", "iter", "next",
        "memoryview",
    }
)  # fmt: skip
_NAMES = frozenset({"eval", "exec", "compile", "globals", "locals", "vars", "dir", "_getframe"})
# of these every call does something anew: CPython makes it, and what is around it is compiled
_HOST_MODULES = ("time", "_warnings", "warnings", "logging", "_random", "random", "numpy.random", "sys", "datetime")


def _is_of_scipy(f: Any) -> bool:
    """Whether it is a ufunc of scipy.special, of which none knows its module."""
    special = sys.modules.get("scipy.special")
    return isinstance(f, np.ufunc) and special is not None and getattr(special, f.__name__, None) is f


def origin_of(f: Any) -> str:
    """The module of a compiled function, that of its object's class for a method, bound or not."""
    owner = getattr(f, "__self__", None)
    owner = getattr(f, "__objclass__", None) if owner is None else owner
    if owner is None or isinstance(owner, types.ModuleType):
        return getattr(f, "__module__", None) or type(f).__module__
    return (owner if isinstance(owner, type) else type(owner)).__module__


def spelled(ctx: Context, f: Any, node: ast.AST) -> str:
    """The function as the user calls it, else its name: in generated source a name stands for what is called."""
    called = node.func if isinstance(node, ast.Call) and not ctx.frame.fixed else None
    source = ctx.frame.source
    if isinstance(called, ast.Attribute) or (isinstance(called, ast.Name) and not source.file.startswith("<untraced")):
        return source.span(called).text
    return getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or repr(f)


def _warning(ctx: Context, args: list[Value], kwargs: dict[str, Value]) -> None:
    """A derivative or a batch gives its warnings when it is made."""
    message = args[0] if args else kwargs["message"]
    kind = args[1] if len(args) > 1 else kwargs.get("category")
    made = type(message) if isinstance(message, Warning) else kind or UserWarning
    ctx.warnings.setdefault((str(message), made), ctx.span)


def _may_change_bytes(f: Any, module: str, args: list[Value]) -> bool:
    """Whether the call may change a bytearray: by a method that `bytes` lacks, or by an operator's function."""
    owner = getattr(f, "__self__", None)
    of_bytearray = isinstance(owner, bytearray) or getattr(f, "__objclass__", None) is bytearray
    if of_bytearray and f.__name__ != "copy" and not hasattr(bytes, f.__name__):
        return True
    return module in ("operator", "_operator") and bool(args) and isinstance(args[0], bytearray)


def call_compiled(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A compiled function of known values, when it is known to be pure."""
    if isinstance(f, GETTERS):
        return call_getter(ctx, f, args, node)
    module, label = origin_of(f), spelled(ctx, f, node)
    if f is print:
        ctx.cut(node, "`print` handed to another function cannot be compiled", instead="write a loop that prints")
    if getattr(f, "__name__", "") in _NAMES:
        of_object = f is dir and bool(args)
        refuse_names(ctx.cut if of_object else ctx.refuse, label, node)
    if _may_change_bytes(f, module, args):
        cut_changed_bytes(ctx, node)
    of_host = any(module == m or module.startswith(m + ".") for m in _HOST_MODULES)
    if of_host or f is input or f is breakpoint or f is delattr:
        return _call_host(ctx, f, args, kwargs, node)
    _check_pure(ctx, f, module, label, node)
    values = leaves_in([*args, *kwargs.values()])
    if any(map(is_leaf, values)):
        needed = [v for v in values if type(v) is Var]
        if not needed or any(type(v) is Ref for v in values):
            ctx.cut(node, f"{label} of run-time values is not in the language", instead="use the NumPy function")
        demand(ctx, needed, node, f"an argument of {label}")
    owner = getattr(f, "__self__", None)
    if isinstance(owner, functools._lru_cache_wrapper):
        ctx.refuse(
            node,
            f"`{label}` is not in the language",
            why="what the function is called for by compiled code is not counted",
            instead="count the calls in a variable",
        )
    if isinstance(owner, slice):
        static(ctx, owner, node, "a slice")
    return run_known(ctx, node, functools.partial(f, **kwargs), *args)


def _call_host(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """What does something anew at every call: draws are statements, where they can be; the others are CPython's."""
    for module in (streams, draws):
        given = module.drawn(ctx, f, args, kwargs, node)
        if given is not NotImplemented:
            return given
    if f is warnings.warn and ctx.transforms and not any(map(is_leaf, leaves_in([*args, *kwargs.values()]))):
        return _warning(ctx, args, kwargs)
    return ctx.cut(
        node,
        f"{spelled(ctx, f, node)} cannot be compiled",
        why="what it does, it would do once, when the function is translated, and never again",
        instead="call it outside and pass what it gives",
    )


def _check_pure(ctx: Context, f: Any, module: str, label: str, node: ast.AST) -> None:
    """Refuse what is not known to depend on its arguments alone, and to change nothing."""
    of_number = isinstance(getattr(f, "__self__", None), np.generic | np.dtype)
    if (module.partition(".")[0] in ("numpy", "scipy") and not of_number) or _is_of_scipy(f):
        ctx.cut(
            node,
            f"{label} is not in the language",
            why="no rule says how to compile or differentiate it",
            instead="write it with the NumPy functions that the documentation lists",
        )
    if module.partition(".")[0] not in PURE_MODULES and not of_number:
        ctx.cut(
            node,
            f"{label} cannot be read",
            why="it is compiled code without Python source",
            instead="use a NumPy function, or call it outside",
        )
    if getattr(f, "__name__", "") in _EFFECTS:
        ctx.refuse(
            node,
            f"`{label}` is not in the language",
            why="it would run once, when the function is translated, and never again",
            instead="call it outside and pass what it gives",
        )
