"""Reshapes, transposes and broadcasts: the same elements along other axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .. import ops
from ..builder import Builder
from ..errors import Diagnostic, ShapeError
from ..ir import Atom, Aval, DType, Shape
from ..ops.core import AxesAttrs, CreateAttrs, ShapeAttrs
from .base import Axes, definition, emit, lift, normalize_axes, normalize_axis


def reshape(b: Builder, x: object, shape: Sequence[int]) -> Atom:
    """`shape` may hold one -1."""
    x = lift(x)
    target = _resolve_shape(x.aval, tuple(int(n) for n in shape))
    earlier = definition(b, x, ops.RESHAPE)
    if earlier is not None:
        x = earlier.args[0]
    if target == x.aval.shape:
        return x
    return emit(b, ops.RESHAPE, x, attrs=ShapeAttrs(target))


def _resolve_shape(aval: Aval, shape: Shape) -> Shape:
    unknown = [i for i, n in enumerate(shape) if n < 0]
    if not unknown:
        return shape
    known = math.prod(n for n in shape if n >= 0)
    if len(unknown) > 1 or not known or aval.size % known:
        raise ShapeError(f"cannot reshape an array of shape {aval.shape} into shape {shape}")
    return tuple(aval.size // known if n < 0 else n for n in shape)


def transpose(b: Builder, x: object, axes: Sequence[int] | None = None) -> Atom:
    """A permutation of the axes; reversed for None."""
    x = lift(x)
    ndim = x.aval.ndim
    order = tuple(range(ndim))[::-1] if axes is None else tuple(normalize_axis(a, ndim) for a in axes)
    if sorted(order) != list(range(ndim)):
        what = f"axes {order} are not a permutation of those of an array of shape {x.aval.shape}"
        raise ShapeError(Diagnostic(what, instead="name each axis once"))
    earlier = definition(b, x, ops.TRANSPOSE)
    if earlier is not None:
        assert isinstance(earlier.attrs, AxesAttrs)
        inner = earlier.attrs.axes
        x, order = earlier.args[0], tuple(inner[a] for a in order)
    if order == tuple(range(ndim)):
        return x
    return emit(b, ops.TRANSPOSE, x, attrs=AxesAttrs(order))


def broadcast_to(b: Builder, x: object, shape: Sequence[int]) -> Atom:
    x, target = lift(x), tuple(int(n) for n in shape)
    if x.aval.shape == target:
        return x
    return emit(b, ops.BROADCAST_TO, x, attrs=ShapeAttrs(checked_shape(target, x.aval.dtype)))


def checked_shape(shape: Sequence[int], dtype: DType) -> Shape:
    """The shape of a new array. Raises ShapeError, a ValueError as in NumPy, for one that no memory can hold."""
    sizes = tuple(int(n) for n in shape)
    if any(n < 0 for n in sizes):
        raise ShapeError(Diagnostic("negative dimensions are not allowed", instead="give sizes of 0 or more"))
    if 0 not in sizes and math.prod(sizes) * dtype.itemsize > np.iinfo(np.int64).max:
        raise ShapeError("array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.")
    return sizes


def expand_dims(b: Builder, x: object, axes: Axes) -> Atom:
    """Axes of size 1 at the positions `axes` of the result."""
    x = lift(x)
    count = 1 if isinstance(axes, int) else len(tuple(axes or ()))
    normal = normalize_axes(() if axes is None else axes, x.aval.ndim + count)
    filled = definition(b, x, ops.FULL)
    if filled is not None and normal:
        (aval,) = ops.EXPAND_DIMS.infer([x.aval], AxesAttrs(normal))
        return b.apply(ops.FULL, *filled.args, attrs=CreateAttrs(aval.shape, aval.dtype))
    earlier = definition(b, x, ops.SQUEEZE)
    if earlier is not None and earlier.attrs == AxesAttrs(normal):
        return earlier.args[0]
    return emit(b, ops.EXPAND_DIMS, x, attrs=AxesAttrs(normal)) if normal else x


def squeeze(b: Builder, x: object, axes: Axes = None) -> Atom:
    """Without the axes of size 1 in `axes`; without all of them for None."""
    x = lift(x)
    if axes is None:
        axes = tuple(i for i, n in enumerate(x.aval.shape) if n == 1)
    normal = normalize_axes(axes, x.aval.ndim)
    earlier = definition(b, x, ops.EXPAND_DIMS)
    if earlier is not None and earlier.attrs == AxesAttrs(normal):
        return earlier.args[0]
    return emit(b, ops.SQUEEZE, x, attrs=AxesAttrs(normal)) if normal else x
