"""None or a value, as the run decides, in what is differentiated or batched.

    prev = None                                prev, absent = 0.0, True
    for v in x:                                for v in x:
        if prev is not None:                       if not absent:
            s += (v - prev) ** 2                       s += (v - prev) ** 2
        if v > 0:                                  if v > 0:
            prev = v                                   prev, absent = v, False

Behind a condition that tells which, the name is the one or the other. Elsewhere what needs the value raises TypeError
where there is none.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ... import make
from ...ir import Atom, Block, Raise, Var
from ...thrown import Known, Thrown
from ..core.context import Context
from ..core.values import Maybe, Ref, Undefined, Value, is_number, is_runtime
from .booleans import python_bool

Fact = tuple[Atom, bool]  # of a bool, what it is


def is_none(ctx: Context, v: Maybe, same: bool) -> Value:
    """`v is None`, or where not `same` `v is not None`."""
    flag = v.absent if same else make.logical_not(ctx.b, v.absent)
    asked = python_bool(ctx, ctx.wrap(flag))
    follows(ctx, asked, True, {(v.absent, same)})
    follows(ctx, asked, False, {(v.absent, not same)})
    return asked


def facts(ctx: Context, condition: Value, side: bool) -> frozenset[Fact]:
    """What is certain where a condition is true, or false."""
    return ctx.implied.get((condition, side), frozenset()) | {(condition, side)} if type(condition) is Var else _NOTHING


def follows(ctx: Context, condition: Value, side: bool, found: Iterable[Fact]) -> None:
    """Note what is certain where a condition is true, or false: absences alone are asked for."""
    if type(condition) is Var and (certain := frozenset(found)):
        ctx.implied[condition, side] = certain


def negated(ctx: Context, condition: Value, opposite: Value) -> Value:
    """`opposite`, of which is noted what the condition tells."""
    follows(ctx, opposite, True, facts(ctx, condition, False) if ctx.implied else ())
    follows(ctx, opposite, False, facts(ctx, condition, True) if ctx.implied else ())
    return opposite


class Remembered:
    """A reading of a value, which is remembered."""

    def __init__(self, read: Callable[[], Value]) -> None:
        self.read = read
        self.value: Value = None

    def __call__(self) -> Value:
        self.value = self.read()
        return self.value


def connected(ctx: Context, left: Value, right: Remembered, whole: Value, conjunction: bool) -> Value:
    """`whole`, of which is noted what both its operands tell where `and` is true, or `or` is false."""
    if ctx.implied:
        both = facts(ctx, left, conjunction) | facts(ctx, right.value, conjunction)
        follows(ctx, whole, conjunction, both)
    return whole


_NOTHING: frozenset[Fact] = frozenset()


def narrowed(ctx: Context, condition: Atom, side: bool, read: Callable[[], Any]) -> Callable[[], Any]:
    """`read`, with what may be None bound to what it is where the condition is `side`."""
    certain = facts(ctx, condition, side)
    names = {n: v for n, v in ctx.frame.env.items() if type(v) is Maybe}
    found = {n: None for n, v in names.items() if (v.absent, True) in certain}
    found |= {n: v.value for n, v in names.items() if (v.absent, False) in certain}

    def narrow() -> Any:
        ctx.frame.env.update(found)
        return read()

    return narrow if found else read


def is_as_before(ctx: Context, condition: Atom, before: Value, x: Value, y: Value) -> bool:
    """Whether a name that may be None is `x` and `y` behind the sides of a condition because that told it apart."""
    if type(before) is not Maybe:
        return False
    for side, v in ((True, x), (False, y)):
        absent = next((what for atom, what in facts(ctx, condition, side) if atom is before.absent), None)
        if v is not (before if absent is None else None if absent else before.value):
            return False
    return True


def perhaps(ctx: Context, v: Value, like: Maybe) -> Value:
    """None, or a value, as what may be either; `like` one that is. Or so a name without a value."""
    kind = type(like)
    if not (v is None if kind is Maybe else type(v) is Undefined and v.unbound):
        return v if type(v) is kind or not (is_runtime(v) or is_number(v)) else kind(v, np.False_)
    aval = ctx.atom(like.value).aval
    if aval.weak:
        return kind(aval.dtype.type(0).item(), np.True_)
    nothing = np.zeros(aval.shape, aval.dtype)
    return kind(Ref(ctx.cell(make.lift(nothing))) if type(like.value) is Ref else nothing[()], np.True_)


def some(ctx: Context, v: Value) -> Value:
    """The value of what may be None: a TypeError of the run where it is."""
    if type(v) is not Maybe:
        return v
    error = Thrown(TypeError, (Known("None stands where a number or an array is needed"),))
    ctx.append(Raise(v.absent, Block((), (), ()), error, ctx.span))
    return v.value


def check_some(ctx: Context, args: list[Value], node: ast.AST) -> None:
    """Refuse a question about the class or the identity of what may be None."""
    if any(type(a) is Maybe for a in args):
        ctx.cut(node, "what is None or a value by the data is asked what it is", instead="compare it by `is None`")
