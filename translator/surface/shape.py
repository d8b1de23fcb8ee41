"""Handlers of the functions that change, join and pick axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import make
from ..builder import Builder
from ..errors import AxisError, CutError, Diagnostic, DTypeError, OutOfBoundsError, ShapeError, UnsupportedError
from ..ir import Atom, Const, Var
from ..library.checks import check_cast
from ..library.support import axes_of, axis_size
from ..ops.core import Dim, Gather, Run
from .arguments import (
    MISSING,
    array,
    arrays,
    common_dtype,
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
    target = newshape if shape is MISSING else shape
    if target is MISSING:
        raise TypeError("np.reshape needs a shape")
    return _reshaped(b, "np.reshape", array(b, a), static_shape(target), order)


def reshape_method(b: Builder, a: Any, *shape: Any, order: Any = "C", copy: Any = None) -> Atom:
    return reshape(b, a, shape[0] if len(shape) == 1 else shape, order)


def _reshaped(b: Builder, function: str, x: Atom, shape: tuple[int, ...], order: Any) -> Atom:
    """Elements in C order, or in Fortran order, in which the first index runs fastest: that of the transpose in C."""
    if _is_fortran(function, x, order) and max(x.aval.ndim, len(shape)) > 1:
        return make.transpose(b, make.reshape(b, make.transpose(b, x), shape[::-1]))
    return make.reshape(b, x, shape)


def _is_fortran(function: str, x: Atom | None, order: Any) -> bool:
    how = static(order, "the order")
    if how not in ("C", "F", "A", "K", "c", "f", "a", "k", None):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {how!r})")
    if how in ("A", "K", "a", "k") and (x is None or x.aval.ndim > 1):
        raise CutError(
            Diagnostic(
                f"{function}: order={how!r} is not in the language",
                why="it depends on how the elements lie in memory, which differs from one array to the next",
                instead="write order='C' or order='F'",
            )
        )
    return how in ("F", "f")


def ravel(b: Builder, a: Any, order: Any = "C") -> Atom:
    return _reshaped(b, "np.ravel", array(b, a), (-1,), order)


def transpose(b: Builder, a: Any, axes: Any = None) -> Atom:
    return make.transpose(b, array(b, a), None if axes is None else static_shape(axes, "axes"))


def transpose_method(b: Builder, a: Any, *axes: Any) -> Atom:
    order = axes[0] if len(axes) == 1 else axes
    return transpose(b, a, None if order is None or order == () else order)


def matrix_transpose(b: Builder, x: Any, /) -> Atom:
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
    if not 0 <= place <= x.aval.ndim:
        raise AxisError(place, x.aval.ndim + 1)
    order = [k for k in range(x.aval.ndim) if k != i]
    order.insert(place - 1 if i < place else place, i)
    return make.transpose(b, x, order)


def broadcast_to(b: Builder, array_: Any, shape: Any, subok: Any = False) -> Atom:
    return make.broadcast_to(b, array(b, array_), static_shape(shape))


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
        common = common_dtype(atoms)
        flat = {a: make.reshape(b, make.astype(b, a, common) if a.aval.weak else a, (-1,)) for a in atoms}
        atoms = [flat[a] for a in atoms]
    joined = make.concatenate(b, atoms, 0 if axis is None else static_int(axis, "an axis"))
    target, rule = joined.aval.dtype if dtype is None else static_dtype(dtype), static(casting, "the casting")
    for a in atoms:
        check_cast("array data", a.aval.dtype, target, rule, False)
    return make.astype(b, joined, target)


def stack(
    b: Builder, arrays_: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Atom:
    refuse_out("np.stack", out)
    atoms = arrays(b, arrays_)
    if len({a.aval.shape for a in atoms}) > 1:
        raise ShapeError(f"np.stack needs arrays of one shape, not {[a.aval.shape for a in atoms]}")
    place = static_int(axis, "an axis")
    return concatenate(b, [make.expand_dims(b, a, place) for a in atoms], place, dtype=dtype, casting=casting)


def take(b: Builder, a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Atom:
    """Elements chosen along one axis; of the flattened array for no axis."""
    refuse_out("np.take", out)
    x, chosen = array(b, a), array(b, indices)
    is_listed = isinstance(indices, list | tuple | int | float) or isinstance(chosen, Const) or chosen.aval.weak
    if chosen.aval.dtype.kind == "b" or (is_listed and chosen.aval.dtype.kind in "iuf"):  # as NumPy casts a list
        chosen = make.astype(b, chosen, np.int64)
    if chosen.aval.dtype.kind not in "iu":
        raise DTypeError(f"Cannot cast array data from {chosen.aval.dtype} to int64 according to the rule 'same_kind'")
    if axis is None:
        x = make.reshape(b, x, (-1,))
    place = make.normalize_axis(0 if axis is None else static_int(axis, "an axis"), x.aval.ndim)
    n = x.aval.shape[place]
    how = static(mode, "the mode")
    if how not in ("raise", "wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {how!r})")
    if how != "raise":
        chosen = make.astype(b, chosen, np.int64)
    if how == "wrap":
        chosen = make.remainder(b, chosen, n)
    elif how == "clip":
        chosen = make.minimum(b, make.maximum(b, chosen, 0), n - 1)
    dims: list[Dim] = [Run(0, n) for n in x.aval.shape]
    dims[place] = Gather(0)
    return make.index(b, x, dims, [chosen])


def take_along_axis(b: Builder, arr: Any, indices: Any, axis: Any = -1) -> Atom:
    """Elements chosen along one axis, with indices of their own at every place of the others."""
    x, chosen = array(b, arr), array(b, indices)
    if axis is None:
        x, axis = make.reshape(b, x, (-1,)), 0
    place = make.normalize_axis(static_int(axis, "an axis"), x.aval.ndim)
    if chosen.aval.dtype.kind not in "iu":
        raise OutOfBoundsError("`indices` must be an integer array")
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


def matrix_diagonal(b: Builder, x: Any, /, *, offset: Any = 0) -> Atom:
    return diagonal(b, x, offset, -2, -1)


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


def sliding_window_view(
    b: Builder, x: Any, window_shape: Any, axis: Any = None, *, subok: Any = False, writeable: Any = False
) -> Atom:
    """Every window of the array, its axes behind the array's own; read-only."""
    refuse("np.sliding_window_view", "write the array itself", writeable=writeable or None)
    a = array(b, x)
    for place, count, width in _window_plan(a.aval.shape, window_shape, static_axis(axis)):
        dims: list[Dim] = [Run(0, n) for n in a.aval.shape]
        dims[place] = Gather(0)
        starts = make.expand_dims(b, make.iota(b, count), 1)
        a = make.index(b, a, dims, [make.add(b, starts, make.iota(b, width))])
        order = [i for i in range(a.aval.ndim) if i != place + 1]
        a = make.transpose(b, a, (*order, place + 1))
    return a


def as_strided(
    b: Builder, x: Any, shape: Any = None, strides: Any = None, subok: Any = False, writeable: Any = True
) -> Atom:
    """Elements of an array in C order, by steps in bytes along each axis; read-only, for one may stand there twice."""
    a = array(b, x)
    sizes = a.aval.shape if shape is None else static_shape(shape)
    itemsize = a.aval.dtype.itemsize
    ahead = tuple(itemsize * math.prod(a.aval.shape[i + 1 :]) for i in range(a.aval.ndim))
    steps = ahead if strides is None else static_shape(strides, "the strides")
    if len(steps) != len(sizes):
        raise ValueError("mismatch in length of strides and shape")
    if any(n < 0 for n in sizes):
        raise ValueError("negative dimensions are not allowed")
    reach = [(n - 1) * s for n, s in zip(sizes, steps, strict=True)]
    if any(s % itemsize for s in steps):
        raise CutError(
            Diagnostic(
                "np.as_strided with steps that are no whole elements is left to NumPy",
                why="compiled code has elements, no bytes",
                instead="use x.view of a smaller dtype first",
            )
        )
    if 0 not in sizes and not _is_inside(reach, a.aval.size * itemsize):
        raise UnsupportedError(
            Diagnostic(
                "np.as_strided reads outside the array",
                why="compiled code has no memory beside its arrays",
                instead="use np.lib.stride_tricks.sliding_window_view, or indices",
            )
        )
    place: Atom = make.lift(np.int64(0))
    for i, (n, s) in enumerate(zip(sizes, steps, strict=True)):
        line = make.multiply(b, make.iota(b, n), s // itemsize)
        place = make.add(b, place, make.expand_dims(b, line, tuple(range(1, len(sizes) - i))))
    return make.index(b, make.reshape(b, a, (-1,)), (Gather(0),), [make.broadcast_to(b, place, sizes)])


def _is_inside(reach: Sequence[int], size: int) -> bool:
    return sum(min(r, 0) for r in reach) >= 0 and sum(max(r, 0) for r in reach) < size


def _window_plan(shape: Sequence[int], window: Any, axis: Any) -> tuple[tuple[int, int, int], ...]:
    """Axis, number and width of the windows of np.sliding_window_view. Raises what NumPy raises."""
    widths = static_shape(window)
    if min(widths, default=0) < 0:
        raise ValueError("`window_shape` cannot contain negative values")
    if axis is None and len(widths) != len(shape):
        raise ValueError(
            f"Since axis is None, must provide window_shape for all dimensions of `x`; got {len(widths)} window_shape "
            f"elements and `x.ndim` is {len(shape)}."
        )
    axes = tuple(range(len(shape))) if axis is None else axes_of(axis, len(shape))
    if len(axes) != len(widths):
        raise ValueError(
            f"Must provide matching length window_shape and axis; got {len(widths)} window_shape elements and "
            f"{len(axes)} axes elements."
        )
    left = list(shape)
    plan = []
    for place, width in zip(axes, widths, strict=True):
        left[place] -= width - 1
        if left[place] < 1:
            raise ValueError("window shape cannot be larger than input array shape")
        plan.append((place, left[place], width))
    return tuple(plan)


# ---- positions in flat arrays --------------------------------------------------------------------


def unravel_index(b: Builder, indices: Any, shape: Any, order: Any = "C") -> Any:
    """np.unravel_index; of run-time positions by quotients and remainders."""
    sizes = static_shape(shape)
    if not isinstance(indices, Var):
        return np.unravel_index(static(indices, "a position"), sizes, order)
    _check_positions(indices)
    x, parts = make.astype(b, indices, np.int64), []
    size = math.prod(sizes)
    outside = make.logical_or(b, make.less(b, x, 0), make.greater_equal(b, x, size))
    make.raise_if(b, outside, ValueError, f"index is out of bounds for array with size {size}")
    fortran = _is_fortran("np.unravel_index", None, order)
    for n in (sizes if fortran else sizes[::-1])[:-1]:
        parts.append(make.remainder(b, x, n))
        x = make.floor_divide(b, x, n)
    parts.append(x)
    return tuple(parts if fortran else reversed(parts)) if sizes else ()


def _check_positions(*positions: Atom) -> None:
    if any(x.aval.dtype.kind not in "biu" for x in positions):
        raise DTypeError("only int indices permitted")


def ravel_multi_index(b: Builder, multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    """np.ravel_multi_index; of run-time positions by products and sums."""
    sizes = static_shape(dims)
    lines = arrays(b, multi_index)
    if not any(isinstance(x, Var) for x in lines):
        return np.ravel_multi_index(static(multi_index, "a position"), sizes, mode, order)
    if len(lines) != len(sizes):
        raise ShapeError(f"parameter multi_index must be a sequence of length {len(sizes)}")
    _check_positions(*lines)
    modes = static(mode, "the mode")
    modes = tuple(modes) if isinstance(modes, tuple | list) else (modes,) * len(sizes)
    axes = list(zip(lines, sizes, modes, strict=True))
    total: Atom = make.lift(np.int64(0))
    beyond: Atom = make.lift(np.False_)
    for line, n, how in reversed(axes) if _is_fortran("np.ravel_multi_index", None, order) else axes:
        x = make.astype(b, line, np.int64)
        if how == "raise":
            outside = make.logical_or(b, make.less(b, x, 0), make.greater_equal(b, x, n))
            beyond = make.logical_or(b, beyond, outside)
        elif how == "wrap":
            x = make.remainder(b, x, n)
        else:
            x = make.minimum(b, make.maximum(b, x, 0), n - 1)
        total = make.add(b, make.multiply(b, total, n), x)
    make.raise_if(b, beyond, ValueError, "invalid entry in coordinates array")
    return total
