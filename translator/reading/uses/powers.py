"""Powers of Python ints: an int where the exponent is none below zero, else a float."""

from __future__ import annotations

import ast

from ... import make, ops
from ...ir import Var
from ...thrown import Known, Thrown
from ..core.context import Context
from ..core.demand import follows_loops, interval, static
from ..core.values import Value
from ..paths.raising import raise_where

_BELOW_ZERO = Thrown(
    ValueError, (Known("a Python int to a power below 0, which the data decide, would be a float here alone"),)
)


def is_int_power(ctx: Context, base: Value, exponent: Value, node: ast.AST) -> bool:
    """Whether base ** exponent is an int. What the sign of the exponent leaves open must be known; an exponent that the
    data or the turns of a loop decide is taken for one that is not negative, and the program raises where it is. In a
    derivative or a batch, one that is never above zero makes a float: 2 ** -k.
    """
    low, high = interval(ctx, exponent)
    if _fits(base, low, high):
        return True
    if type(exponent) is not Var or not follows_loops(ctx, exponent):
        return bool(static(ctx, exponent, node, "the exponent of a Python int") >= 0)
    if high is not None and high <= 0 and not ctx.keeps_changes:
        return False
    if low is None or low < 0:
        ctx.at(node)
        raise_where(ctx, make.elementwise(ctx.b, ops.LESS, exponent, make.lift(0)), _BELOW_ZERO)
    return True


def _fits(base: Value, low: int | None, high: int | None) -> bool:
    """Whether the result has 64 bits for each of these exponents."""
    if type(base) is not int or low is None or high is None or not 0 <= low <= high < 64:
        return False
    return bool(abs(base) ** high < 2**63)
