"""What is known before the run is computed by Python itself."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

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
    return ctx.wrap(result) if isinstance(result, np.ndarray) else result
