"""Masks that say where a cotangent can be nonzero, sent back through one operation.

    y = np.log(x)[i]                       reached = np.zeros(x.shape, bool); reached[i] = mask
    z = np.where(mask, y, 0.0)             d_x = np.where(reached, d_log / x, 0.0)

Beyond such a mask the cotangent is zero for certain, and has to stay so where a slope is infinite. A mask may be too
wide, never too narrow; like a cotangent it may be smaller than its value, and broadcast.
"""

from __future__ import annotations

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Shape, const
from ..named import along
from ..ops.core import (
    Cast,
    Concatenate,
    ConcatenateAttrs,
    Contract,
    ContractAttrs,
    Create,
    Cumulative,
    CumulativeAttrs,
    Dim,
    Elementwise,
    Fourier,
    FourierAttrs,
    Linalg,
    Put,
    Reduce,
    Reshape,
    Run,
)
from .linear import index_parts, reshape_vjp
from .reductions import put_axes_back

_BOOL = np.dtype(np.bool_)


def reached(b: Builder, s: Apply, mask: Atom, i: int) -> Atom | None:
    """Which elements of argument `i` those of the result in `mask` can depend on; None: any."""
    x, out = s.args[i].aval, s.targets[0].aval
    match s.op:
        case Elementwise() | Create():
            return narrowed(b, mask, out.shape, x.shape)
        case Cast():
            return mask
        case Reduce():
            return put_axes_back(b, s, mask)
        case Reshape():
            return narrowed(b, mask, out.shape, x.shape) if s.op.name == "broadcast_to" else _moved(b, s, mask)
        case Put():
            return mask if i == 0 else _stored(b, s, mask)
        case Concatenate():
            return _piece(b, s, mask, i)
        case Contract():
            return _factor(b, s, mask, i)
        case Cumulative():
            assert isinstance(s.attrs, CumulativeAttrs)
            return anywhere(b, mask, out.ndim, (s.attrs.axis,))
        case Fourier():
            assert isinstance(s.attrs, FourierAttrs)
            return anywhere(b, mask, out.ndim, s.attrs.axes)
        case Linalg():
            return make.any(b, mask) if mask.aval.shape else mask
        case _:
            return None


def narrowed(b: Builder, mask: Atom, out: Shape, shape: Shape) -> Atom:
    """Where an array of this shape, which was broadcast to `out`, counts anywhere."""
    lead = len(out) - len(shape)
    spread = [i for i in range(len(out)) if i < lead or (shape[i - lead] == 1 and out[i] != 1)]
    kept = anywhere(b, mask, len(out), spread)
    while kept.aval.ndim > len(shape):
        kept = make.squeeze(b, kept, (0,))
    return kept


def scattered(b: Builder, shape: Shape, mask: Atom, dims: tuple[Dim, ...], dyn: tuple[Atom, ...], once: bool) -> Atom:
    """Which elements of an array of this shape an index takes to where `mask` is; `once`: none of them twice."""
    if once:
        return make.put(b, make.zeros(b, shape, _BOOL), mask, dims, dyn)
    int64 = np.dtype(np.int64)
    count = make.put_add(b, make.zeros(b, shape, int64), make.astype(b, mask, int64), dims, dyn)
    return make.elementwise(b, ops.GREATER, count, const(0))


def anywhere(b: Builder, mask: Atom, ndim: int, axes: tuple[int, ...] | list[int]) -> Atom:
    """`np.any` along these axes of the `ndim` to which the mask broadcasts; they stay, with one element."""
    lead = ndim - mask.aval.ndim
    explicit = tuple(i - lead for i in axes if i >= lead and mask.aval.shape[i - lead] != 1)
    return make.any(b, mask, explicit, keepdims=True) if explicit else mask


def _moved(b: Builder, s: Apply, mask: Atom) -> Atom:
    if not mask.aval.shape:
        return mask
    if s.op.name != "expand_dims":
        mask = make.broadcast_to(b, mask, s.targets[0].aval.shape)
    return reshape_vjp(b, s, mask, _BOOL)


def _stored(b: Builder, s: Apply, mask: Atom) -> Atom:
    base, value = s.args[0].aval, s.args[1].aval
    dims, dyn = index_parts(s, 2)
    taken = make.index(b, make.broadcast_to(b, mask, base.shape), dims, dyn) if mask.aval.shape else mask
    shape = (*(1,) * (value.ndim - taken.aval.ndim), *taken.aval.shape)
    return narrowed(b, taken, shape, value.shape) if taken.aval.shape else taken


def _piece(b: Builder, s: Apply, mask: Atom, i: int) -> Atom:
    assert isinstance(s.attrs, ConcatenateAttrs)
    axis, out = s.attrs.axis, s.targets[0].aval.shape
    lead = len(out) - mask.aval.ndim
    if axis < lead or mask.aval.shape[axis - lead] == 1:
        return mask
    start = sum(a.aval.shape[axis] for a in s.args[:i])
    run = Run(start, s.args[i].aval.shape[axis])
    return make.index(b, mask, along(mask.aval.shape, axis - lead, run), ())


def _factor(b: Builder, s: Apply, mask: Atom, i: int) -> Atom | None:
    """Of a product with sums: only where the mask does not vary along the other factor's axes. In masked attention it
    does, and every query meets some key.
    """
    assert isinstance(s.attrs, ContractAttrs)
    labels, out = (s.attrs.lhs, s.attrs.rhs)[i], s.attrs.out
    others = [k for k, label in enumerate(out) if label not in labels]
    narrow = anywhere(b, mask, len(out), others)
    if narrow is not mask and not set(s.attrs.lhs) | set(s.attrs.rhs) <= set(out):
        return None
    mask = narrow
    lead = len(out) - mask.aval.ndim
    named = [label for label, n in zip(out[lead:], mask.aval.shape, strict=True) if n != 1]
    flat = make.reshape(b, mask, tuple(n for n in mask.aval.shape if n != 1)) if 1 in mask.aval.shape else mask
    order = sorted(range(len(named)), key=lambda k: labels.index(named[k]))
    if order != list(range(len(named))):
        flat = make.transpose(b, flat, tuple(order))
    if not named:
        return flat
    sizes = [n if label in named else 1 for label, n in zip(labels, s.args[i].aval.shape, strict=True)]
    return make.reshape(b, flat, tuple(sizes))


def either(b: Builder, x: Atom | None, y: Atom | None) -> Atom | None:
    """Where one of two cotangents counts; None, everywhere, where that is so of one."""
    if x is None or y is None or x is y:
        return x if x is y else None
    return make.elementwise(b, ops.LOGICAL_OR, x, y)
