"""Elementwise operations; those that change nothing are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from ..builder import Builder
from ..fits import check_beside
from ..ir import Atom, Aval, Const, Var
from ..ops.core import NO_ATTRS, CastAttrs, Elementwise, broadcast_shapes, promote
from ..purpose import purpose
from .base import definition, emit, lift
from .casts import astype, held, number
from .shapes import broadcast_to


def elementwise(b: Builder, op: Elementwise, *args: Any) -> Atom:
    """`op(*args)` with NumPy's broadcasting and promotion."""
    atoms = tuple(lift(a) for a in args)
    if len(atoms) != op.arity:
        raise TypeError(f"{op.numpy} takes {op.arity} arguments, {len(atoms)} were given")
    if any(type(a) is Const and type(a.value) is int for a in atoms):
        wanted, _ = op.loop_dtypes([a.aval for a in atoms])
        atoms = tuple(map(held, atoms, wanted))
    if len(atoms) == 2:
        same = _without_neutral(b, op, atoms[0], atoms[1])
        if same is not None:
            return same
    if op is ops.WHERE:
        rules = (_known_choice, _choice_of_bools, _choice_in_choice, _lesser_or_greater)
        chosen = next((found for rule in rules if (found := rule(b, *atoms)) is not None), None)
        if chosen is not None:
            return chosen
    check_beside(op, atoms)
    op = _of_truths(op, atoms)
    if op is ops.POSITIVE and atoms[0].aval.dtype.kind != "b":
        return atoms[0]
    if op is ops.NEGATIVE:
        inner = definition(b, atoms[0], ops.NEGATIVE)
        if inner is not None:
            return inner.args[0]
    if op is ops.LOGICAL_NOT:
        inner = definition(b, atoms[0], ops.LOGICAL_NOT)
        if inner is not None and inner.args[0].aval.dtype.kind == "b":
            return inner.args[0]
    return emit(b, op, *atoms)


def _of_truths(op: Elementwise, atoms: Sequence[Atom]) -> Elementwise:
    """`&`, `|`, `~` of arrays of bool as what they are: the logical operations."""
    logical = _LOGICAL.get(op)
    if logical is None or all(not a.aval.shape for a in atoms):
        return op
    return logical if all(a.aval.dtype.kind == "b" for a in atoms) else op


_LOGICAL = {
    ops.BITWISE_AND: ops.LOGICAL_AND,
    ops.BITWISE_OR: ops.LOGICAL_OR,
    ops.BITWISE_XOR: ops.LOGICAL_XOR,
    ops.INVERT: ops.LOGICAL_NOT,
}


def _without_neutral(b: Builder, op: Elementwise, x: Atom, y: Atom) -> Atom | None:
    """`x * 1`, `1 * x`, `x / 1`, `x ** 1` as `x` and `-1 * x` as `-x`, where that is exact and has the same type."""
    if op not in (ops.MULTIPLY, ops.DIVIDE, ops.POWER):
        return None
    if op is ops.MULTIPLY and _number(x) in (1, -1) and not isinstance(y, Const):
        x, y = y, x
    number = _number(y)
    if number not in (1, -1) or isinstance(x, Const):
        return None
    if op.infer([x.aval, y.aval], NO_ATTRS) != (x.aval,):
        return None
    if number == 1:
        return x
    return elementwise(b, ops.NEGATIVE, x) if op is ops.MULTIPLY and x.aval.dtype.kind in "fi" else None


def _number(x: Atom) -> Any:
    return x.value if isinstance(x, Const) and x.aval.shape == () and x.aval.dtype.kind in "iuf" else None


def _known_choice(b: Builder, condition: Atom, x: Atom, y: Atom) -> Atom | None:
    """`np.where` whose condition is a known scalar: one of the two, broadcast and cast."""
    if not isinstance(condition, Const) or condition.aval.shape != ():
        return None
    (aval,) = ops.WHERE.infer([condition.aval, x.aval, y.aval], NO_ATTRS)
    return broadcast_to(b, astype(b, x if condition.value else y, aval.dtype), aval.shape)


def _choice_of_bools(b: Builder, condition: Atom, x: Atom, y: Atom) -> Atom | None:
    """`np.where(c, True, y)` as `c | y`, `np.where(c, x, False)` as `c & x`, and so on."""
    if not condition.aval.shape or any(a.aval.dtype.kind != "b" for a in (condition, x, y)):
        return None
    if len(broadcast_shapes([x.aval.shape, y.aval.shape], "sides")) > condition.aval.ndim:
        return None
    known = [a.value if isinstance(a, Const) and not a.aval.shape else None for a in (x, y)]
    match [None if k is None else bool(k) for k in known]:
        case [True, False]:
            return condition
        case [False, True]:
            return elementwise(b, ops.LOGICAL_NOT, condition)
        case [True, None]:
            return elementwise(b, ops.LOGICAL_OR, condition, y)
        case [None, False]:
            return elementwise(b, ops.LOGICAL_AND, condition, x)
        case [False, None]:
            return elementwise(b, ops.LOGICAL_AND, elementwise(b, ops.LOGICAL_NOT, condition), y)
        case [None, True]:
            return elementwise(b, ops.LOGICAL_OR, elementwise(b, ops.LOGICAL_NOT, condition), x)
    return None


def _choice_in_choice(b: Builder, condition: Atom, x: Atom, y: Atom) -> Atom | None:
    """`np.where(c, np.where(d, x, y), y)` as `np.where(c & d, x, y)`, and the same of bools that are `d | y`."""
    if not condition.aval.shape or condition.aval.dtype.kind != "b" or not isinstance(y, Var):
        return None
    inner = definition(b, x, ops.WHERE)
    if inner is not None and inner.args[0].aval == condition.aval and x.aval == y.aval:
        asked, first, second = inner.args
        if second is y:
            return elementwise(b, ops.WHERE, elementwise(b, ops.LOGICAL_AND, condition, asked), first, y)
        if first is y:
            differs = elementwise(b, ops.LOGICAL_NOT, asked)
            return elementwise(b, ops.WHERE, elementwise(b, ops.LOGICAL_AND, condition, differs), second, y)
    either = definition(b, x, ops.LOGICAL_OR)
    if either is not None and any(a is y for a in either.args) and x.aval == y.aval == condition.aval:
        (added,) = [a for a in either.args if a is not y] or [y]
        return elementwise(b, ops.LOGICAL_OR, elementwise(b, ops.LOGICAL_AND, condition, added), y)
    return None


def _lesser_or_greater(b: Builder, condition: Atom, x: Atom, y: Atom) -> Atom | None:
    """`np.where(x < y, x, y)` of integers as `np.minimum(x, y)`. Of floats a NaN would go another way."""
    if not condition.aval.shape or promote([x.aval, y.aval]).kind not in "iu":
        return None
    for op, same, turned in _ORDERS:
        asked = definition(b, condition, op)
        if asked is None or promote([a.aval for a in asked.args]) != promote([x.aval, y.aval]):
            continue
        for found, sides in ((same, (x, y)), (turned, (y, x))):
            if all(map(_is_number, asked.args, sides)):
                return elementwise(b, found, *asked.args)
    return None


def _is_number(a: Atom, other: Atom) -> bool:
    if isinstance(a, Const) and isinstance(other, Const):
        return a.aval.shape == other.aval.shape == () and bool(a.value == other.value)
    return a is other


_ORDERS = (
    (ops.LESS, ops.MINIMUM, ops.MAXIMUM),
    (ops.LESS_EQUAL, ops.MINIMUM, ops.MAXIMUM),
    (ops.GREATER, ops.MAXIMUM, ops.MINIMUM),
    (ops.GREATER_EQUAL, ops.MAXIMUM, ops.MINIMUM),
)


def add(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.ADD, x, y)


def subtract(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.SUBTRACT, x, y)


def multiply(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.MULTIPLY, x, y)


def divide(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.DIVIDE, x, y)


def floor_divide(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.FLOOR_DIVIDE, x, y)


def remainder(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.REMAINDER, x, y)


def power(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.POWER, x, y)


def negative(b: Builder, x: object) -> Atom:
    return elementwise(b, ops.NEGATIVE, x)


def where(b: Builder, condition: object, x: object, y: object) -> Atom:
    return elementwise(b, ops.WHERE, condition, x, y)


def maximum(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.MAXIMUM, x, y)


def minimum(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.MINIMUM, x, y)


def equal(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.EQUAL, x, y)


def not_equal(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.NOT_EQUAL, x, y)


def less(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.LESS, x, y)


def less_equal(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.LESS_EQUAL, x, y)


def greater(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.GREATER, x, y)


def greater_equal(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.GREATER_EQUAL, x, y)


def logical_and(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.LOGICAL_AND, x, y)


def logical_or(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.LOGICAL_OR, x, y)


def logical_not(b: Builder, x: object) -> Atom:
    return elementwise(b, ops.LOGICAL_NOT, x)


def widened(b: Builder, x: Atom, aval: Aval) -> Atom:
    """A number of a narrower kind as one of the type `aval`, with a mark where the pass `kinds` asks for marks."""
    if purpose().marks_kinds:
        return b.apply(ops.ASTYPE, x, attrs=CastAttrs(aval.dtype, aval.weak, widens=True))
    if not aval.weak:
        return astype(b, x, aval.dtype)
    if not x.aval.weak:
        return number(b, x, aval.dtype)
    if isinstance(x, Const):
        return lift({"f": float, "c": complex}[aval.dtype.kind](x.value))
    return multiply(b, x, 1.0) if aval.dtype.kind == "f" else add(b, x, 0j)
