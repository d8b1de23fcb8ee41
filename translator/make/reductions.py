"""Reductions, running sums, sorts, transforms, linear algebra: operations along axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import ops
from ..builder import Builder
from ..errors import ShapeError
from ..ir import Atom
from ..ops.attributes import SortKind
from ..ops.core import (
    ArgReduceAttrs,
    Cumulative,
    CumulativeAttrs,
    Fourier,
    FourierAttrs,
    Linalg,
    LinalgAttrs,
    Reduce,
    ReduceAttrs,
    SortAttrs,
    promote,
)
from .base import Axes, emit, lift, normalize_axes, normalize_axis
from .casts import astype
from .elementwise import add, equal, logical_and


def reduce(b: Builder, op: Reduce, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    """A reduction over `axes`; over no axes it only changes the dtype."""
    x = lift(x)
    normal = normalize_axes(axes, x.aval.ndim)
    if not normal:
        return astype(b, x, op.dtype(x.aval.dtype))
    return emit(b, op, x, attrs=ReduceAttrs(normal, bool(keepdims)))


def sum(b: Builder, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    return reduce(b, ops.SUM, x, axes, keepdims)


def prod(b: Builder, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    return reduce(b, ops.PROD, x, axes, keepdims)


def max(b: Builder, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    return reduce(b, ops.MAX, x, axes, keepdims)


def min(b: Builder, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    return reduce(b, ops.MIN, x, axes, keepdims)


def any(b: Builder, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    return reduce(b, ops.ANY, x, axes, keepdims)


def all_(b: Builder, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    return reduce(b, ops.ALL_, x, axes, keepdims)


def argmax(b: Builder, x: object, axis: int, keepdims: bool = False) -> Atom:
    x = lift(x)
    return emit(b, ops.ARGMAX, x, attrs=ArgReduceAttrs(normalize_axis(axis, x.aval.ndim), bool(keepdims)))


def argmin(b: Builder, x: object, axis: int, keepdims: bool = False) -> Atom:
    x = lift(x)
    return emit(b, ops.ARGMIN, x, attrs=ArgReduceAttrs(normalize_axis(axis, x.aval.ndim), bool(keepdims)))


def cumsum(b: Builder, x: object, axis: int) -> Atom:
    x = lift(x)
    return emit(b, ops.CUMSUM, x, attrs=CumulativeAttrs(normalize_axis(axis, x.aval.ndim)))


def place_of_true(b: Builder, mask: object, number: object) -> Atom:
    """np.nonzero(mask)[0][number], of a number that is there: from 0 on."""
    counted = cumsum(b, mask, 0)
    return argmax(b, logical_and(b, mask, equal(b, counted, add(b, number, 1))), 0)


def cumulative(b: Builder, op: Cumulative, x: object, axis: int) -> Atom:
    x = lift(x)
    return emit(b, op, x, attrs=CumulativeAttrs(normalize_axis(axis, x.aval.ndim)))


def cumprod(b: Builder, x: object, axis: int) -> Atom:
    x = lift(x)
    return emit(b, ops.CUMPROD, x, attrs=CumulativeAttrs(normalize_axis(axis, x.aval.ndim)))


def sort(b: Builder, x: object, axis: int, places: tuple[int, ...] = ()) -> Atom:
    """The elements in ascending order along an axis, NaN last; `places`: a partition at these."""
    x = lift(x)
    return emit(b, ops.SORT, x, attrs=SortAttrs(normalize_axis(axis, x.aval.ndim), places))


def argsort(
    b: Builder, x: object, axis: int, places: tuple[int, ...] = (), kind: SortKind = "stable"
) -> Atom:
    """The positions in which `sort` takes the elements; equal ones, of the stable kind, in the order they stand in."""
    x = lift(x)
    return emit(b, ops.ARGSORT, x, attrs=SortAttrs(normalize_axis(axis, x.aval.ndim), places, kind))


def fourier(b: Builder, op: Fourier, x: object, axes: Sequence[int], size: int = 0) -> Atom:
    """A transform along `axes`; `size` is that of irfft's result along the last of them."""
    x = lift(x)
    normal = tuple(normalize_axis(a, x.aval.ndim) for a in axes)
    if len(set(normal)) != len(normal):
        raise ShapeError(f"{op.numpy}: an axis is repeated in {tuple(axes)}")
    if op.name in ("fft", "ifft"):
        normal = tuple(sorted(normal))
    return emit(b, op, x, attrs=FourierAttrs(normal, size))


def linalg(b: Builder, op: Linalg, *args: object, full: bool = False) -> Atom:
    """An operation on matrices, in NumPy's dtype for them: integers are computed in float64."""
    atoms = [lift(a) for a in args]
    matrices = [a for a, core in zip(atoms, op.cores, strict=True) if core]
    dtype = promote([a.aval for a in matrices])
    if dtype.kind in "biu":
        dtype = np.dtype(np.float64)
    atoms = [astype(b, a, dtype) if core else a for a, core in zip(atoms, op.cores, strict=True)]
    return emit(b, op, *atoms, attrs=LinalgAttrs(full))
