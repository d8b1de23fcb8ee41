"""Extremes that only shift an exponent, before they are derived: nothing depends on them.

    m = np.max(z)                           m = stop_gradient(np.max(z))
    return m + np.log(np.sum(np.exp(z - m)))

The value is the same for every m, so its derivative by m is zero: no cotangent of m has to be added up, nor shared
among the elements that are the greatest. The parts of the sum would cancel up to rounding errors only.

What a small shift c of m does to a value is followed through the block that makes m: the value has `weight * c` added
to it, or is multiplied by `exp(weight * c)`, along the axes of m that it has left; sums over others add up c. Where all
that depends on m ends in values of weight zero, m is marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from .. import ops
from ..ir import (
    Apply,
    Atom,
    Block,
    Const,
    Function,
    Shape,
    Statement,
    Var,
    blocks_of,
    free_variables,
    inputs_of,
    is_number,
    walk,
    with_blocks,
    with_statements,
)
from ..ops.core import (
    NO_ATTRS,
    AxesAttrs,
    Cast,
    Contract,
    ContractAttrs,
    Elementwise,
    Reduce,
    ReduceAttrs,
    Reshape,
    ShapeAttrs,
)
from ..ops.selection import STOP_GRADIENT
from ..records import dataclass
from .activity import inexact

Axes = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class _Shift:
    """What a shift c does to a value: `weight * c` is added to it, or it is multiplied by `exp(weight * c)`.

    `axes` says for each axis of the value which one of c it goes along, None where c is the same along it. Over the
    axes of c that are missing, c is summed.
    """

    weight: Fraction
    scales: bool
    axes: Axes


def without_shifts(function: Function) -> Function:
    """The program with a stop at each extreme that only shifts what is exponentiated."""
    if not any(isinstance(s, Apply) and s.op is ops.EXP for s in walk(function.body)):
        return function
    body = _block(function.body)
    return function if body is function.body else replace(function, body=body)


def _block(block: Block) -> Block:
    statements: list[Statement] = []
    for i, s in enumerate(block.statements):
        s = with_blocks(s, _block)
        if isinstance(s, Apply) and _is_extreme(s) and _only_shifts(s.targets[0], block, i + 1):
            (m,) = s.targets
            value = Var(m.hint, m.aval)
            statements += replace(s, targets=(value,)), Apply((m,), STOP_GRADIENT, (value,), NO_ATTRS, s.span)
        else:
            statements.append(s)
    return with_statements(block, statements)


def _is_extreme(s: Apply) -> bool:
    return s.op in (ops.MAX, ops.MIN) and s.targets[0].aval.dtype.kind == "f"


def _only_shifts(m: Var, block: Block, start: int) -> bool:
    """Whether nothing that the statements from `start` on make of `m` depends on its value."""
    shifts = {m: _Shift(Fraction(1), False, _labels(m.aval.shape))}
    stopped = False
    for s in block.statements[start:]:
        if not isinstance(s, Apply):
            used = (*inputs_of(s), *(v for inner in blocks_of(s) for v in free_variables(inner)))
            if any(a in shifts for a in used):
                return False
            continue
        if s.op is STOP_GRADIENT or not any(a in shifts for a in s.args):
            continue
        if not any(inexact(t.aval) for t in s.targets):
            continue  # a choice, a count
        made = _shifted(s, shifts)
        if made is None:
            return False
        if made.weight:
            shifts[s.targets[0]] = made
        else:
            stopped = True
    return stopped and not any(r in shifts for r in block.results)


def _labels(shape: Shape) -> Axes:
    return tuple(i if n > 1 else None for i, n in enumerate(shape))


def _shifted(s: Apply, shifts: dict[Var, _Shift]) -> _Shift | None:
    """What a shift does to the result of `s`; None where that is neither to add nor to multiply."""
    found = [shifts.get(a) if isinstance(a, Var) else None for a in s.args]
    (target,) = s.targets
    first = found[0]
    match s.op:
        case Elementwise():
            return _elementwise(s, [f and _aligned(f, target.aval.ndim) for f in found])
        case Reduce() if first is not None:
            return _reduced(s, first)
        case Reshape() if first is not None:
            axes = _reshaped(s, first.axes)
            return None if axes is None else replace(first, axes=axes)
        case Contract():
            return _contracted(s, found)
        case Cast() if first is not None and target.aval.dtype.kind == "f":
            return first
    return None


def _aligned(f: _Shift, ndim: int) -> _Shift:
    return replace(f, axes=(None,) * (ndim - len(f.axes)) + f.axes)


def _elementwise(s: Apply, found: Sequence[_Shift | None]) -> _Shift | None:
    there = [f for f in found if f is not None]
    first = there[0]
    if any((f.axes, f.scales) != (first.axes, first.scales) for f in there):
        return None
    weights = [f.weight if f is not None else Fraction(0) for f in found]
    if s.op is ops.NEGATIVE:
        return None if first.scales else replace(first, weight=-first.weight)
    if s.op in (ops.EXP, ops.LOG):
        return replace(first, scales=not first.scales) if first.scales is (s.op is ops.LOG) else None
    if s.op is ops.WHERE:
        return first if all(_keeps(a, f, first) for a, f in zip(s.args[1:], found[1:], strict=True)) else None
    if s.op in (ops.MULTIPLY, ops.DIVIDE) and not first.scales:
        return _times_number(s, found)
    sums, differences = (ops.MULTIPLY, ops.DIVIDE) if first.scales else (ops.ADD, ops.SUBTRACT)
    if s.op is sums:
        return replace(first, weight=sum(weights, Fraction(0)))
    if s.op is differences:
        return replace(first, weight=weights[0] - weights[1])
    return None


def _keeps(a: Atom, f: _Shift | None, first: _Shift) -> bool:
    """Whether a side of a choice is shifted like the other, or is what no shift changes: 0 times a factor, -inf."""
    if f is not None:
        return f == first
    return is_number(a, 0) if first.scales else is_number(a, -np.inf)


def _times_number(s: Apply, found: Sequence[_Shift | None]) -> _Shift | None:
    for f, c, divides in ((found[0], s.args[-1], s.op is ops.DIVIDE), (found[-1], s.args[0], False)):
        if f is None or not isinstance(c, Const) or c.aval.shape or c.aval.dtype.kind not in "iuf":
            continue
        number = float(c.value)
        if not np.isfinite(number) or not number or (s.op is ops.DIVIDE and not divides):
            return None
        factor = Fraction(number)
        return replace(f, weight=f.weight / factor if divides else f.weight * factor)
    return None


def _reduced(s: Apply, f: _Shift) -> _Shift | None:
    """A sum, or an extreme, over axes."""
    if not isinstance(s.attrs, ReduceAttrs) or s.op not in (ops.SUM, ops.MAX, ops.MIN):
        return None
    gone, shape, weight = s.attrs.axes, s.args[0].aval.shape, f.weight
    if any(f.axes[i] is not None for i in gone) and (f.scales or s.op is not ops.SUM):
        return None
    if s.op is ops.SUM and not f.scales:
        for i in gone:
            weight *= shape[i] if f.axes[i] is None else 1
    if s.op is not ops.SUM and f.scales:
        return None
    kept = tuple(None if i in gone else a for i, a in enumerate(f.axes) if s.attrs.keepdims or i not in gone)
    return _Shift(weight, f.scales, kept)


def _reshaped(s: Apply, axes: Axes) -> Axes | None:
    ndim = s.targets[0].aval.ndim
    if all(a is None for a in axes):
        return (None,) * ndim
    if isinstance(s.attrs, ShapeAttrs):
        return (None,) * (ndim - len(axes)) + axes if s.op is ops.BROADCAST_TO else None
    assert isinstance(s.attrs, AxesAttrs)
    changed = s.attrs.axes
    if s.op is ops.TRANSPOSE:
        return tuple(axes[i] for i in changed)
    if s.op is ops.SQUEEZE:
        return tuple(a for i, a in enumerate(axes) if i not in changed)
    if s.op is ops.EXPAND_DIMS:
        rest = iter(axes)
        return tuple(None if i in changed else next(rest) for i in range(ndim))
    return None


def _contracted(s: Apply, found: Sequence[_Shift | None]) -> _Shift | None:
    """A product of what a shift multiplies, constant along what is summed, and of something else."""
    assert isinstance(s.attrs, ContractAttrs)
    sides = ((found[0], s.attrs.lhs, found[1]), (found[1], s.attrs.rhs, found[0]))
    for f, labels, other in sides:
        if f is None or other is not None or not f.scales:
            continue
        along = {label: a for label, a in zip(labels, f.axes, strict=True) if a is not None}
        if all(label in s.attrs.out for label in along):
            return replace(f, axes=tuple(along.get(label) for label in s.attrs.out))
    return None
