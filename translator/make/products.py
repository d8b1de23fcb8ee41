"""The one product, `contract`, and `@` in terms of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import ops
from ..builder import Builder
from ..errors import ShapeError
from ..ir import Atom, Shape
from ..ops.core import AxesAttrs, ContractAttrs, promote
from .base import definition, emit, lift
from .casts import astype
from .elementwise import multiply
from .reductions import sum
from .shapes import expand_dims, squeeze, transpose


def contract(b: Builder, x: object, y: object, lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int]) -> Atom:
    """The product of two arrays over labelled axes; labels missing from `out` are summed.

    A transpose of an operand is taken into the labels, a new axis of one that the result has as it is becomes a new
    axis of the result; a label that only one operand has and that is summed,
    is summed first. The operand that gives the last axis of the result comes second, as with `@`. Labels are
    renumbered in order of appearance, so equal products are equal statements. A product with a scalar is `x * y`.
    """
    x, lhs = _operand(b, lift(x), tuple(lhs), set(rhs) | set(out))
    y, rhs = _operand(b, lift(y), tuple(rhs), set(lhs) | set(out))
    x, lhs, new = _without_new_axes(b, x, lhs, rhs)
    y, rhs, newer = _without_new_axes(b, y, rhs, lhs)
    if any(label in out for label in (*new, *newer)):
        kept = [label for label in out if label not in new and label not in newer]
        places = [i for i, label in enumerate(out) if label not in kept]
        return expand_dims(b, contract(b, x, y, lhs, rhs, kept), places)
    if not lhs or not rhs:
        scaled = astype(b, multiply(b, x, y), promote([x.aval, y.aval]))
        return transpose(b, scaled, [(lhs or rhs).index(label) for label in out])
    if _is_mirrored(lhs, rhs, out):
        x, y, lhs, rhs = y, x, rhs, lhs
    number: dict[int, int] = {}
    for label in (*lhs, *rhs):
        number.setdefault(label, len(number))
    attrs = ContractAttrs(*(tuple(number[s] for s in labels) for labels in (lhs, rhs, out)))
    return emit(b, ops.CONTRACT, x, y, attrs=attrs)


def _is_mirrored(lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int]) -> bool:
    """Does the last axis of the result come from the first operand, and another from the second?"""
    return bool(out) and out[-1] not in rhs and any(label not in lhs for label in out)


def _operand(b: Builder, x: Atom, labels: tuple[int, ...], needed: set[int]) -> tuple[Atom, tuple[int, ...]]:
    if len(set(labels)) != len(labels) or len(labels) != x.aval.ndim:
        raise ShapeError(f"labels {labels} do not name the axes of an array of shape {x.aval.shape}")
    alone = [i for i, label in enumerate(labels) if label not in needed]
    if alone:
        x = astype(b, sum(b, x, alone), x.aval.dtype)  # a product keeps small integers, a sum widens them
        labels = tuple(s for s in labels if s in needed)
    transposed = definition(b, x, ops.TRANSPOSE)
    if transposed is None:
        return x, labels
    assert isinstance(transposed.attrs, AxesAttrs)
    inner = dict(zip(transposed.attrs.axes, labels, strict=True))
    return transposed.args[0], tuple(inner[i] for i in range(len(labels)))


def _without_new_axes(
    b: Builder, x: Atom, labels: tuple[int, ...], others: tuple[int, ...]
) -> tuple[Atom, tuple[int, ...], list[int]]:
    """`x` without the axes of `x[:, None]` that the other operand has not, and their labels."""
    made = definition(b, x, ops.EXPAND_DIMS)
    if made is None:
        return x, labels, []
    assert isinstance(made.attrs, AxesAttrs)
    new = [labels[i] for i in made.attrs.axes]
    if any(label in others for label in new):
        return x, labels, []
    return made.args[0], tuple(label for label in labels if label not in new), new


def matmul(b: Builder, x: object, y: object) -> Atom:
    """`x @ y` for arrays of rank at least 1; leading axes are batches and broadcast."""
    x, y = lift(x), lift(y)
    if not x.aval.ndim or not y.aval.ndim:
        raise ShapeError("matmul: a scalar operand has no axes to multiply over; use *")
    if "V" in (x.aval.dtype.kind, y.aval.dtype.kind) and x.aval.dtype != y.aval.dtype:
        loop, *_ = np.matmul.resolve_dtypes((x.aval.dtype, y.aval.dtype, None))  # bfloat16 has no loops with others
        x, y = astype(b, x, loop), astype(b, y, loop)
    inner, row, column = 0, 1, 2
    x_core = (inner,) if x.aval.ndim == 1 else (row, inner)
    y_core = (inner,) if y.aval.ndim == 1 else (inner, column)
    x_batch = x.aval.shape[: x.aval.ndim - len(x_core)]
    y_batch = y.aval.shape[: y.aval.ndim - len(y_core)]
    depth = max(len(x_batch), len(y_batch))
    batch = tuple(range(3, 3 + depth))
    x, x_labels = _drop_broadcast(b, x, batch[depth - len(x_batch) :], y_batch)
    y, y_labels = _drop_broadcast(b, y, batch[depth - len(y_batch) :], x_batch)
    out = (*batch, *x_core[:-1], *y_core[1:])
    missing = [s for s in batch if s not in x_labels and s not in y_labels]
    assert not missing, "a batch axis of size 1 in both operands stays in both"
    return contract(b, x, y, x_labels + x_core, y_labels + y_core, out)


def _drop_broadcast(b: Builder, x: Atom, labels: tuple[int, ...], other: Shape) -> tuple[Atom, tuple[int, ...]]:
    """Squeezes the batch axes of size 1 that the other operand's larger ones stand for."""
    shape = x.aval.shape[: len(labels)]
    theirs = (1,) * (len(labels) - len(other)) + other[max(0, len(other) - len(labels)) :]
    drop = [i for i, (m, n) in enumerate(zip(shape, theirs, strict=True)) if m == 1 and n != 1]
    kept = tuple(label for i, label in enumerate(labels) if i not in drop)
    return squeeze(b, x, drop), kept
