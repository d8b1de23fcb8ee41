"""Evaluating in Python what is known before the run."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ...ir import Var
from ..core.context import Context
from ..core.demand import refuse_undefined, static
from ..core.values import Foreign, Masked, Undefined, Value, describe
from ..text.signature import is_plain
from . import selection


def run_known(ctx: Context, node: ast.AST, python: Callable[..., Any], *args: Any) -> Value:
    """Python itself runs an operation on known values; what it raises is the user's error, at this line."""
    for a in args:
        if type(a) is Foreign:
            ctx.cut(node, f"a {type(a.value).__name__} does not support this operation here")
        if type(a) is Undefined:
            refuse_undefined(ctx, a, node)
        if type(a) is Masked:
            selection.refuse(ctx, node, f"this use of {describe(a)}")
    result = python(*args)
    if not isinstance(result, np.ndarray):
        return result
    if not is_plain(type(result)):
        refuse_class(ctx, type(result), node)
    return ctx.wrap(np.asarray(result))


def refuse_class(ctx: Context, cls: type, node: ast.AST) -> NoReturn:
    """An array of a class derived from NumPy's is CPython's: its operations may be others, and so are its results."""
    ctx.cut(
        node,
        f"an array of the class {cls.__name__} cannot be made here",
        why="results of NumPy's operations on it are of its class too, which may define any of them anew",
        instead="use a plain array, np.asarray(x)",
    )


_PURE = ("scipy.fft", "scipy.linalg", "scipy.signal", "scipy.special")
_MOST_ELEMENTS = 10_000  # of a constant that stands in the program


def constants_of_library(
    ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """SciPy's result for known numbers and strings only (windows, filters, nodes), in what is to be transformed: its
    source would have to be read. NotImplemented for other functions, arguments and results."""
    module = getattr(f, "__module__", None) or ""
    pure = ctx.transforms and any(module == m or module.startswith(m + ".") for m in _PURE)
    if not pure or not all(map(_is_plain, [*args, *kwargs.values()])):
        return NotImplemented
    what = f"an argument of {f.__name__}"
    args = [static(ctx, a, node, what) for a in args]
    made = f(*args, **{k: static(ctx, v, node, what) for k, v in kwargs.items()})
    parts = made if type(made) is tuple else (made,)
    if not all(type(p) is np.ndarray or isinstance(p, int | float | complex | np.number) for p in parts):
        return NotImplemented
    if sum(np.size(p) for p in parts) > _MOST_ELEMENTS or any(np.asarray(p).dtype.kind not in "biufc" for p in parts):
        return NotImplemented
    found = [run_known(ctx, node, lambda p=p: p) for p in parts]
    return tuple(found) if type(made) is tuple else found[0]


def _is_plain(v: Value) -> bool:
    if type(v) in (tuple, list):
        return all(map(_is_plain, v))
    whole = isinstance(v, Var) and v.aval.weak and v.aval.dtype.kind == "i"
    return whole or v is None or type(v) in (bool, int, float, complex, str)
