"""What a condition decides: the truth of a value, and values of which the condition chooses one."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import make
from ...ir import Atom, Var
from ...shortcut import runs_always
from ...surface.python import truth_of_many
from ..core.context import Context, Snapshot
from ..core.demand import check_defined, refuse_undefined
from ..core.growing import Pile
from ..core.values import DictView, Masked, Maybe, Ref, Undefined, Value
from ..facts.booleans import is_python_bool, python_bool
from ..facts.maybes import is_none
from ..parts.selection import concrete
from ..paths.joins import Joiner
from ..paths.raising import read_sides
from .protocols import is_instance, truth_of_object


def truth(ctx: Context, v: Value, node: ast.AST) -> bool | Atom:
    """bool(v) where it is known, else a bool scalar. Raises ShapeError for arrays, as NumPy does."""
    if type(v) is bool:
        return v
    if type(v) is Var or type(v) is Ref:
        aval = v.aval
        if aval.size != 1:
            error = truth_of_many(aval.shape, "use np.any(...), np.all(...), or np.where(condition, a, b)")
            raise ctx.located(error, node)
        ctx.at(node)
        x = make.reshape(ctx.b, ctx.atom(v), ())
        return x if aval.dtype.kind == "b" else make.not_equal(ctx.b, x, 0)
    if type(v) is Undefined:
        refuse_undefined(ctx, v, node)
    if type(v) is Maybe:
        true = truth(ctx, v.value, node)
        present = ctx.atom(is_none(ctx, v, False))
        return make.logical_and(ctx.b, present, make.lift(np.bool_(true)) if isinstance(true, bool) else true)
    if isinstance(v, Masked):
        return truth(ctx, concrete(ctx, v, node, "the truth of x[mask]"), node)
    if type(v) is DictView:
        return bool(v.owner)
    if type(v) is Pile:
        return truth(ctx, v.count, node)
    if is_instance(v):
        decided = truth_of_object(ctx, v, node)
        return decided if isinstance(decided, bool) else truth(ctx, decided, node)
    return bool(v)


def branch_values(
    ctx: Context, condition: Atom, then: Callable[[], Value], orelse: Callable[[], Value], node: ast.AST
) -> Value:
    """The value of a conditional expression: only one side runs."""
    shots = read_sides(ctx, condition, then, orelse)
    if not isinstance(shots, tuple):
        return shots()
    joiner = Joiner(ctx, condition, *shots)
    simple = _logical(ctx, condition, shots)
    if simple is not None:
        return simple
    joiner.join_state(None)
    value = joiner.join(shots[0].flow, shots[1].flow, "t")
    check_defined(ctx, value, node)
    ctx.at(node)
    joiner.finish(value)
    return value


def _logical(ctx: Context, condition: Atom, shots: tuple[Snapshot, Snapshot]) -> Value | None:
    """`c and x`, `c or x` of cheap bool scalars as one operation: a branch would cost more than both sides."""
    values = [s.flow for s in shots]
    is_bool = [type(v) is bool or (isinstance(v, Var | np.bool_) and _is_bool(v)) for v in values]
    if not all(is_bool) or not all(_is_cheap(s) for s in shots) or _binds(*shots):
        return None
    then, orelse = values
    pythons = [is_python_bool(ctx, v) for v in values]
    if any(pythons) and not all(pythons) and condition is not then and condition is not orelse:
        return None  # of Python's class or NumPy's, as the run decides
    if orelse is condition or orelse is False:
        _inline(ctx, shots)
        found = ctx.wrap(make.logical_and(ctx.b, condition, ctx.atom(then)))
    elif then is condition or then is True:
        _inline(ctx, shots)
        found = ctx.wrap(make.logical_or(ctx.b, condition, ctx.atom(orelse)))
    else:
        return None
    return python_bool(ctx, found) if all(pythons) and not is_python_bool(ctx, found) else found


def _is_bool(v: Any) -> bool:
    return not isinstance(v, Var) or v.aval.dtype.kind == "b"


def _is_cheap(shot: Snapshot) -> bool:
    return not (shot.cells or shot.containers or shot.attributes) and runs_always(shot.builder.statements)


def _binds(then: Snapshot, orelse: Snapshot) -> bool:
    """Whether one of the sides binds a name (`:=`)."""
    return any(then.env.get(name) is not orelse.env.get(name) for name in {**then.env, **orelse.env})


def _inline(ctx: Context, shots: tuple[Snapshot, Snapshot]) -> None:
    for shot in shots:
        for s in shot.builder.statements:
            ctx.b.append(s)
