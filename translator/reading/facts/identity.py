"""`x is y`: whether two names are certainly one object. Two views of one place are two objects.

    b = a                 a is b                  True: names of one reference
    c = a[:]              a is c                  CPython knows: both lead to the same elements
    def f(a, b): ...      a is b                  CPython knows: one may be passed twice, a list or object too
    z = np.zeros(3)       a is z                  False: what was made here is no argument
"""

from __future__ import annotations

import ast

from ... import make
from ...ir import Var
from ..core.aliases import memory_of
from ..core.context import Context
from ..core.values import Cell, Foreign, Maybe, Ref, Value
from .booleans import is_bool, is_python_bool, python_bool
from .maybes import check_some, is_none


def compared(ctx: Context, left: Value, right: Value, same: bool, node: ast.AST) -> Value:
    """`left is right`, or where not `same` `left is not right`."""
    for x, y in ((left, right), (right, left)):
        if type(y) is bool and is_bool(x) and is_python_bool(ctx, x):  # Python has one True and one False
            return x if y is same else python_bool(ctx, make.logical_not(ctx.b, x))
    for x, y in ((left, right), (right, left)):
        if type(x) is Maybe and y is None:
            return is_none(ctx, x, same)
    check_some(ctx, [left, right], node)
    found = identical(ctx, left, right)
    if found is None and not ctx.frame.fixed:
        ctx.cut(node, "whether these are one object is known to CPython only", instead="compare what they hold")
    return bool(found) is same


def identical(ctx: Context, left: Value, right: Value) -> bool | None:
    """Whether they are one object. None where only the run knows."""
    left, right = (v.value if isinstance(v, Foreign) else v for v in (left, right))
    if left is right:
        return True
    if Var in (type(left), type(right)):
        return None if _is_number(left) and _is_number(right) else False
    if type(left) is not Ref or type(right) is not Ref:
        return None if _is_one_of_two(ctx, left, right) or _are_passed(ctx, left, right) else False
    if left.cell is not right.cell:
        return None if _may_be_one(ctx, left.cell, right.cell) else False
    return None if left.path == right.path else False


def _is_one_of_two(ctx: Context, left: Value, right: Value) -> bool:
    """Whether one of these lists, dicts or objects stands for another and something else, by a condition of the run."""
    for union in ctx.unions:
        for one, other in ((left, right), (right, left)):
            if one is union.joined and (other is union.then or other is union.orelse):
                return True
    return False


def _are_passed(ctx: Context, left: Value, right: Value) -> bool:
    """Whether the caller may have passed one list, dict, object or tuple twice: each argument is read as its own."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple):  # which of them are the caller's is not kept
        return len(left) == len(right)
    return id(left) in ctx.callers.containers and id(right) in ctx.callers.containers


def _is_number(v: Value) -> bool:
    """A number of the run, or a known one: Python keeps one object for each small int."""
    return type(v) is Var or type(v) in (int, float, complex)


def _may_be_one(ctx: Context, a: Cell, b: Cell) -> bool:
    """Whether they may be the same memory: an array is passed twice, or found outside, too."""
    mine, others = memory_of(a), memory_of(b)
    outside = {c for _, c in ctx.callers.arrays} | {c for _, _, c in ctx.captures.params if c is not None}
    return not mine.isdisjoint(others) or not (mine.isdisjoint(outside) or others.isdisjoint(outside))
