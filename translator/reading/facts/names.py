"""Names, by Python's rules."""

from __future__ import annotations

import ast
import builtins

import numpy as np

from ...errors import UnboundError
from ...precision import Precision
from ..core.context import Context
from ..core.demand import refuse_undefined
from ..core.values import SHARED, Frame, Undefined, Unset, Value
from .unset import bound, raise_unset, read_as_unset


def lookup(ctx: Context, identifier: str, node: ast.AST) -> Value:
    """A name by Python's rules: the function's own, those of functions around it, then captured ones."""
    frame: Frame | None = ctx.frame
    if identifier in ctx.frame.live.globals:
        return ctx.variable(ctx.frame.scope, identifier)
    while frame is not None:
        held = frame.env[SHARED].__dict__ if identifier in frame.live.shared else frame.env
        if identifier in held:
            value = held[identifier]
            if type(value) is Undefined and not (value.stream is not None and node in ctx.drawing.passing):
                if value.unbound:
                    read_as_unset(ctx, frame, identifier, value.needs)
                refuse_undefined(ctx, value, node, identifier)
            return bound(ctx, value, identifier, node) if type(value) is Unset else value
        if identifier in frame.live.local:
            read_as_unset(ctx, frame, identifier)
            if frame is ctx.frame:
                raise_unset(ctx, identifier, node)
            raise ctx.error(
                UnboundError,
                node,
                f"{identifier} may be unbound here",
                why="nothing has been assigned to it on the way to this line",
                instead=f"assign {identifier} before the loop or the branch",
            )
        if frame.outer is None:
            break
        frame = frame.outer
    assert frame is not None
    if frame.fixed:
        value = library_name(frame, identifier)
        if isinstance(value, Precision):  # the one object of the package that changes; its attributes are guarded
            return ctx.captures.known(value)
        return ctx.wrap(value) if isinstance(value, np.ndarray) else value
    return ctx.variable(frame.scope, identifier)


def library_name(frame: Frame, identifier: str) -> Value:
    """A global of library source or of a rule. These are constants of the package, so they are not guarded."""
    scope = frame.scope
    if identifier in scope.cells:
        return scope.cells[identifier].cell_contents
    if identifier in scope.globals:
        return scope.globals[identifier]
    if not hasattr(builtins, identifier):
        raise NameError(f"name {identifier!r} is not defined")
    return getattr(builtins, identifier)
