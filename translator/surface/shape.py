"""Handlers of the functions that change, join and pick axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import make
from ..builder import Builder
from ..errors import Diagnostic, ShapeError, UnsupportedError
from ..ir import Atom, Var
from ..library.support import axis_size
from ..ops.core import Dim, Gather, Run
from .arguments import (
    MISSING,
    array,
    arrays,
    refuse,
    refuse_out,
    static,
    static_axis,
    static_dtype,
    static_int,
    static_shape,
)


def reshape(
    b: Builder, a: Any, shape: Any = MISSING, order: Any = "C", *, newshape: Any = MISSING, copy: Any = None
) -> Atom:
    _row_major("np.reshape", order)
    target = newshape if shape is MISSING else shape
    if target is MISSING:
        raise TypeError("np.reshape needs a shape")
    return make.reshape(b, array(b, a), static_shape(target))


def reshape_method(b: Builder, a: Any, *shape: Any, order: Any = "C", copy: Any = None) -> Atom:
    return reshape(b, a, shape[0] if len(shape) == 1 else shape, order)


def _row_major(function: str, order: Any) -> None:
    if order not in ("C", "A", "K"):
        raise UnsupportedError(
            Diagnostic(f"{function}: order={order!r} is not in the language", instead="transpose before and after")
        )


def ravel(b: Builder, a: Any, order: Any = "C") -> Atom:
    _row_major("np.ravel", order)
    return make.reshape(b, array(b, a), (-1,))


def transpose(b: Builder, a: Any, axes: Any = None) -> Atom:
    return make.transpose(b, array(b, a), None if axes is None else static_shape(axes, "axes"))


def transpose_method(b: Builder, a: Any, *axes: Any) -> Atom:
    order = axes[0] if len(axes) == 1 else axes
    return transpose(b, a, None if order is None or order == () else order)


def matrix_transpose(b: Builder, x: Any) -> Atom:
    """The last two axes exchanged."""
    a = array(b, x)
    if a.aval.ndim < 2:
        raise ShapeError(f"a matrix transpose needs at least two axes, not shape {a.aval.shape}")
    return swapaxes(b, a, -1, -2)


def swapaxes(b: Builder, a: Any, axis1: Any, axis2: Any) -> Atom:
    x = array(b, a)
    i = make.normalize_axis(static_int(axis1, "an axis"), x.aval.ndim)
    j = make.normalize_axis(static_int(axis2, "an axis"), x.aval.ndim)
    order = list(range(x.aval.ndim))
    order[i], order[j] = order[j], order[i]
    return make.transpose(b, x, order)


def moveaxis(b: Builder, a: Any, source: Any, destination: Any) -> Atom:
    x = array(b, a)
    ndim = x.aval.ndim
    sources = [make.normalize_axis(i, ndim) for i in static_shape(source, "an axis")]
    places = [make.normalize_axis(i, ndim) for i in static_shape(destination, "an axis")]
    if len(sources) != len(places) or len(set(sources)) != len(sources) or len(set(places)) != len(places):
        raise ShapeError("np.moveaxis: source and destination must be as many different axes")
    order = [i for i in range(ndim) if i not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return make.transpose(b, x, order)


def rollaxis(b: Builder, a: Any, axis: Any, start: Any = 0) -> Atom:
    x = array(b, a)
    i = make.normalize_axis(static_int(axis, "an axis"), x.aval.ndim)
    place = static_int(start, "an axis")
    place = place + x.aval.ndim if place < 0 else place
    order = [k for k in range(x.aval.ndim) if k != i]
    order.insert(place - 1 if i < place else place, i)
    return make.transpose(b, x, order)


def broadcast_to(b: Builder, array_: Any, shape: Any, subok: Any = False) -> Atom:
    return make.broadcast_to(b, array(b, array_), static_shape(shape))


def broadcast_arrays(b: Builder, *args: Any, subok: Any = False) -> tuple[Atom, ...]:
    atoms = [array(b, a) for a in args]
    shape = np.broadcast_shapes(*(a.aval.shape for a in atoms))
    return tuple(make.broadcast_to(b, a, shape) for a in atoms)


def expand_dims(b: Builder, a: Any, axis: Any) -> Atom:
    axes = static_axis(axis)
    return make.expand_dims(b, array(b, a), () if axes is None else axes)


def squeeze(b: Builder, a: Any, axis: Any = None) -> Atom:
    return make.squeeze(b, array(b, a), static_axis(axis))


def concatenate(
    b: Builder, arrays_: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Atom:
    refuse_out("np.concatenate", out)
    atoms = arrays(b, arrays_)
    if axis is None:
        flat = {a: make.reshape(b, a, (-1,)) for a in atoms}
        atoms = [flat[a] for a in atoms]
    joined = make.concatenate(b, atoms, 0 if axis is None else static_int(axis, "an axis"))
    return joined if dtype is None else make.astype(b, joined, static_dtype(dtype))


def stack(
    b: Builder, arrays_: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Atom:
    refuse_out("np.stack", out)
    atoms = arrays(b, arrays_)
    if len({a.aval.shape for a in atoms}) > 1:
        raise ShapeError(f"np.stack needs arrays of one shape, not {[a.aval.shape for a in atoms]}")
    place = static_int(axis, "an axis")
    return concatenate(b, [make.expand_dims(b, a, place) for a in atoms], place, dtype=dtype)


def take(b: Builder, a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Atom:
    """Elements chosen along one axis; of the flattened array for no axis."""
    refuse_out("np.take", out)
    if mode != "raise":
        refuse("np.take", mode=mode, instead="np.clip(indices, 0, n - 1) or indices % n")
    x = array(b, a)
    if axis is None:
        x = make.reshape(b, x, (-1,))
    place = make.normalize_axis(0 if axis is None else static_int(axis, "an axis"), x.aval.ndim)
    dims: list[Dim] = [Run(0, n) for n in x.aval.shape]
    dims[place] = Gather(0)
    return make.index(b, x, dims, [array(b, indices)])


def take_along_axis(b: Builder, arr: Any, indices: Any, axis: Any = -1) -> Atom:
    """Elements chosen along one axis, with indices of their own at every place of the others."""
    x, chosen = array(b, arr), array(b, indices)
    if axis is None:
        x, axis = make.reshape(b, x, (-1,)), 0
    place = make.normalize_axis(static_int(axis, "an axis"), x.aval.ndim)
    if chosen.aval.ndim != x.aval.ndim:
        raise ShapeError("np.take_along_axis: indices and array must have as many axes")
    positions: list[Atom] = []
    for i in range(x.aval.ndim):
        n = chosen.aval.shape[i] if x.aval.shape[i] == 1 else x.aval.shape[i]
        line = make.iota(b, n) if x.aval.shape[i] != 1 else make.zeros(b, (n,), np.int64)
        axes = [k for k in range(x.aval.ndim) if k != i]
        positions.append(chosen if i == place else make.expand_dims(b, line, axes))
    return make.index(b, x, [Gather(i) for i in range(x.aval.ndim)], positions)


def diagonal(b: Builder, a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Atom:
    """The diagonal of two axes, as the last axis of the result."""
    x, shift = array(b, a), static_int(offset, "the offset")
    i = make.normalize_axis(static_int(axis1, "an axis"), x.aval.ndim)
    j = make.normalize_axis(static_int(axis2, "an axis"), x.aval.ndim)
    if i == j:
        raise ShapeError("np.diagonal: axis1 and axis2 must differ")
    x = moveaxis(b, x, (i, j), (-2, -1))
    rows, columns = x.aval.shape[-2:]
    count = max(0, min(rows, columns - shift) if shift >= 0 else min(rows + shift, columns))
    down, across = make.iota(b, count), make.iota(b, count)
    down = make.add(b, down, -shift) if shift < 0 else down
    across = make.add(b, across, shift) if shift > 0 else across
    dims: list[Dim] = [Run(0, n) for n in x.aval.shape]
    dims[-2:] = [Gather(0), Gather(1)]
    return make.index(b, x, dims, [down, across])


def shape_of(b: Builder, a: Any) -> tuple[int, ...]:
    return array(b, a).aval.shape


def ndim_of(b: Builder, a: Any) -> int:
    return array(b, a).aval.ndim


def size_of(b: Builder, a: Any, axis: Any = None) -> int:
    aval = array(b, a).aval
    axes = static_axis(axis)
    return aval.size if axes is None else axis_size(aval.shape, axes)


def copy(b: Builder, a: Any, order: Any = "K", subok: Any = False) -> Atom:
    x = array(b, a)
    return make.astype(b, x, x.aval.dtype)


def outer_of(function: Callable[..., Atom]) -> Callable[..., Atom]:
    """np.subtract.outer and its like: every element of the one with every element of the other."""

    def handler(b: Builder, A: Any, B: Any) -> Atom:
        x, y = array(b, A), array(b, B)
        spread = make.expand_dims(b, x, tuple(range(x.aval.ndim, x.aval.ndim + y.aval.ndim)))
        return function(b, spread, y)

    return handler


# ---- positions in flat arrays --------------------------------------------------------------------


def unravel_index(b: Builder, indices: Any, shape: Any, order: Any = "C") -> Any:
    """np.unravel_index; of run-time positions by quotients and remainders, one out of range fails where it is used."""
    sizes = static_shape(shape)
    if not isinstance(indices, Var):
        return np.unravel_index(static(indices, "a position"), sizes, order)
    _row_major("np.unravel_index", order)
    x, parts = make.astype(b, indices, np.int64), []
    for n in sizes[:0:-1]:
        parts.append(make.remainder(b, x, n))
        x = make.floor_divide(b, x, n)
    return (x, *reversed(parts)) if sizes else ()


def ravel_multi_index(b: Builder, multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    """np.ravel_multi_index; a run-time position out of range gives one that fails where it is used."""
    sizes = static_shape(dims)
    lines = arrays(b, multi_index)
    if not any(isinstance(x, Var) for x in lines):
        return np.ravel_multi_index(static(multi_index, "a position"), sizes, mode, order)
    _row_major("np.ravel_multi_index", order)
    if len(lines) != len(sizes):
        raise ShapeError(f"parameter multi_index must be a sequence of length {len(sizes)}")
    total: Atom = make.lift(np.int64(0))
    beyond: Atom = make.lift(np.False_)
    for x, n in zip(lines, sizes, strict=True):
        if mode == "raise":
            outside = make.logical_or(b, make.less(b, x, 0), make.greater_equal(b, x, n))
            beyond = make.logical_or(b, beyond, outside)
        elif mode == "wrap":
            x = make.remainder(b, x, n)
        else:
            x = make.minimum(b, make.maximum(b, x, 0), n - 1)
        total = make.add(b, make.multiply(b, total, n), make.astype(b, x, np.int64))
    return make.where(b, beyond, math.prod(sizes), total) if mode == "raise" else total
