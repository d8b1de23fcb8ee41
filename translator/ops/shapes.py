"""Shapes of results: broadcasting, reductions, changes of axes, indexing. What NumPy refuses raises ShapeError."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ShapeError
from ..ir import Aval, Shape
from .attributes import Attrs, AxesAttrs, Dim, Dyn, Gather, IndexAttrs, Run, ShapeAttrs


def broadcast_shapes(shapes: Sequence[Shape], what: str) -> Shape:
    """NumPy's broadcast shape; ShapeError naming the operation when there is none."""
    first = shapes[0]
    if all(s == first for s in shapes):
        return first
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(str(s) for s in shapes)
        raise ShapeError(f"operands of {what} could not be broadcast together: shapes {listed}") from None


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    if keepdims:
        return tuple(1 if i in axes else s for i, s in enumerate(shape))
    return tuple(s for i, s in enumerate(shape) if i not in axes)


def c_strides(shape: Shape) -> tuple[int, ...]:
    """Strides in elements of an array in C order."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def resized(shape: Shape, axis: int, n: int) -> Shape:
    return (*shape[:axis], n, *shape[axis + 1 :])


def reshaped(name: str, shape: Shape, attrs: Attrs) -> Shape:
    match attrs:
        case ShapeAttrs(shape=target) if name == "reshape":
            if Aval(target, np.dtype(bool)).size != Aval(shape, np.dtype(bool)).size:
                raise ShapeError(f"cannot reshape an array of shape {shape} into shape {target}")
            return target
        case ShapeAttrs(shape=target):
            if broadcast_shapes([shape, target], "np.broadcast_to") != target:
                raise ShapeError(f"cannot broadcast an array of shape {shape} to shape {target}")
            return target
        case AxesAttrs(axes=axes) if name == "transpose":
            return tuple(shape[a] for a in axes)
        case AxesAttrs(axes=axes) if name == "expand_dims":
            rest = iter(shape)
            return tuple(1 if i in axes else next(rest) for i in range(len(shape) + len(axes)))
        case AxesAttrs(axes=axes):
            if any(shape[a] != 1 for a in axes):
                raise ShapeError(f"cannot squeeze axes {axes} of shape {shape}: their sizes are not all one")
            return tuple(s for i, s in enumerate(shape) if i not in axes)
    raise AssertionError(f"{name} with {attrs}")


def indexed_shape(attrs: IndexAttrs, avals: Sequence[Aval]) -> Shape:
    """The shape of x[...] by NumPy's rule for where gathered axes go."""
    gathered = [avals[d.arg].shape for d in attrs.dims if isinstance(d, Gather)]
    if not gathered:
        return tuple(d.size for d in attrs.dims if isinstance(d, Run))
    g = broadcast_shapes(gathered, "index arrays")
    position = gather_position(attrs.dims)
    runs = [d.size for d in attrs.dims if isinstance(d, Run)]
    return (*runs[:position], *g, *runs[position:])


def gather_position(dims: tuple[Dim, ...]) -> int:
    """The axis of the result at which the gathered axes stand."""
    advanced = [i for i, d in enumerate(dims) if not isinstance(d, Run)]
    if advanced[-1] - advanced[0] + 1 != len(advanced):
        return 0
    return advanced[0]  # every axis before the first advanced one is a Run, and stays


def backward_runs(attrs: IndexAttrs) -> list[int]:
    """The entries that run backwards from a place that only the run knows: no slice says that near the front."""
    return [i for i, d in enumerate(attrs.dims) if isinstance(d, Run) and isinstance(d.start, Dyn) and d.step < 0]


def axis_of_run(attrs: IndexAttrs, avals: Sequence[Aval], entry: int) -> int:
    """The axis of x[...] along which the entry, a Run, goes."""
    number = sum(isinstance(d, Run) for d in attrs.dims[:entry])
    gathered = [avals[d.arg].shape for d in attrs.dims if isinstance(d, Gather)]
    if not gathered or number < gather_position(attrs.dims):
        return number
    return number + len(broadcast_shapes(gathered, "index arrays"))
