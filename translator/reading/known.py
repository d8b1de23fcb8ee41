"""What is known before the run is computed by Python itself."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from . import selection
from .context import Context
from .demand import refuse_undefined
from .values import Foreign, Masked, Undefined, Value, describe


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
    if type(result) is not np.ndarray:
        refuse_class(ctx, type(result), node)
    return ctx.wrap(result)


def refuse_class(ctx: Context, cls: type, node: ast.AST) -> NoReturn:
    """An array of a class derived from NumPy's is CPython's: its operations may be others, and so are its results."""
    ctx.cut(
        node,
        f"an array of the class {cls.__name__} cannot be made here",
        why="results of NumPy's operations on it are of its class too, which may define any of them anew",
        instead="use a plain array, np.asarray(x)",
    )
