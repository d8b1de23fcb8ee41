"""Handlers of the functions that make arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..errors import CutError, Diagnostic, ShapeError
from ..fits import check_holds
from ..float0 import Zeros
from ..ir import Atom, Const, DType, Var
from ..ops.core import At, Run
from .arguments import (
    MISSING,
    array,
    common_dtype,
    holds_atoms,
    plain,
    refuse,
    static,
    static_bool,
    static_dtype,
    static_int,
    static_shape,
    wants_float0,
)

Direct = Callable[..., Any]


def filled(value: int) -> Direct:
    """np.zeros and np.ones."""

    def handler(b: Builder, shape: Any, dtype: Any = None, order: Any = "C", *, like: Any = None) -> Atom | Zeros:
        if wants_float0(dtype) and not value:
            return Zeros(static_shape(shape))
        target = static_dtype(dtype) or np.dtype(np.float64)
        return make.full(b, static_shape(shape), np.asarray(value, target)[()], target)

    return handler


def empty(b: Builder, shape: Any, dtype: Any = None, order: Any = "C", *, like: Any = None) -> Atom | Zeros:
    if wants_float0(dtype):
        return Zeros(static_shape(shape))
    sizes, target = static_shape(shape), static_dtype(dtype) or np.dtype(np.float64)
    return make.empty(b, sizes, target) if sizes else make.zeros(b, sizes, target)


def ndarray(
    b: Builder,
    shape: Any,
    dtype: Any = float,
    buffer: Any = None,
    offset: Any = 0,
    strides: Any = None,
    order: Any = None,
) -> Atom | Zeros:
    """The class called: an array of what is in memory, which is np.empty where no memory is given."""
    if buffer is not None or strides is not None:
        raise CutError(
            Diagnostic(
                "np.ndarray of a buffer is left to NumPy",
                why="what memory the array shares, its strides say",
                instead="use np.frombuffer, a slice or a reshape",
            )
        )
    return empty(b, shape, dtype)


def full(b: Builder, shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, like: Any = None) -> Atom:
    value = array(b, fill_value)
    return make.full(b, static_shape(shape), value, static_dtype(dtype))


def filled_like(value: int | None) -> Direct:
    """np.zeros_like, np.ones_like and, for None, np.empty_like."""

    def handler(
        b: Builder, a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None
    ) -> Atom | Zeros:
        if not value and (wants_float0(dtype) or (dtype is None and type(a) is Zeros)):
            like = a.shape if type(a) is Zeros else array(b, a).aval.shape
            return Zeros(like if shape is None else static_shape(shape))
        aval = array(b, a).aval
        target = static_dtype(dtype) or aval.dtype
        sizes = aval.shape if shape is None else static_shape(shape)
        if value is None:
            return empty(b, sizes, target)
        return make.full(b, sizes, np.asarray(value, target)[()], target)

    return handler


def full_like(
    b: Builder, a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None
) -> Atom:
    aval = array(b, a).aval
    target = static_dtype(dtype) or aval.dtype
    return make.full(b, aval.shape if shape is None else static_shape(shape), array(b, fill_value), target)


def arange(
    b: Builder, start: Any = MISSING, stop: Any = None, step: Any = None, dtype: Any = None, *, like: Any = None
) -> Atom:
    """np.arange of known numbers: counting from 0, scaled and shifted in the dtype of the result, as NumPy does."""
    if start is MISSING and stop is None:
        raise TypeError("arange() requires stop to be specified.")
    start = 0 if start is MISSING else start
    first, last, stride = (static(x, "an end or step of np.arange") for x in (start, stop, step))
    if last is None:
        first, last = 0, first
    stride = 1 if stride is None else stride
    target = static_dtype(dtype) or np.result_type(np.int64, *(np.asarray(x).dtype for x in (first, last, stride)))
    if target.kind not in "iuf":
        return make.lift(np.arange(first, last, stride, dtype=target))
    n = len(np.arange(first, last, stride, dtype=target))
    if n == 1:  # the step may be infinite
        return make.full(b, (1,), target.type(first))
    origin = target.type(first)
    with np.errstate(over="ignore"):
        delta = target.type(first + stride) - origin
    counted = make.iota(b, n, target)
    if delta < 0 and origin == 0 and target.kind == "f":  # 0 * delta is -0.0, but NumPy begins with 0.0
        return make.subtract(b, origin, make.multiply(b, counted, -delta))
    scaled = counted if delta == 1 else make.multiply(b, counted, delta)
    return scaled if origin == 0 else make.add(b, scaled, origin)


def linspace(
    b: Builder,
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    """Evenly spaced numbers. The ends may be run-time numbers or arrays; the count is known."""
    n, closed = static_int(num, "the number of points"), static_bool(endpoint, "endpoint")
    if n < 0:
        raise ShapeError(f"the number of points must not be negative, not {n}")
    ends = [array(b, x) for x in (start, stop)]
    first, last = (make.multiply(b, x, 1.0) for x in ends)
    target = static_dtype(dtype) or np.result_type(common_dtype(ends), 1.0)
    gaps = n - 1 if closed else n
    span = make.subtract(b, last, first)
    step = make.divide(b, span, gaps) if gaps > 0 else span
    step = make.astype(b, step, step.aval.dtype)
    points = _points(b, first, last, step, n, closed)
    if axis not in (0, None):
        points = make.transpose(b, points, _front_to(points.aval.ndim, static_int(axis, "an axis")))
    points = make.elementwise(b, ops.FLOOR, points) if target.kind in "iu" else points
    points = make.astype(b, points, target)
    if not static_bool(retstep, "retstep"):
        return points
    return points, step if gaps > 0 else math.nan


def _points(b: Builder, first: Atom, last: Atom, step: Atom, n: int, closed: bool) -> Atom:
    shape = np.broadcast_shapes(first.aval.shape, last.aval.shape)
    kind = make.subtract(b, last, first).aval.dtype
    steps = np.empty((), kind).real.dtype if kind.kind in "fc" else np.float64
    counted = make.reshape(b, make.iota(b, n, steps), (n,) + (1,) * len(shape))
    counted = make.multiply(b, counted, step)
    points = make.add(b, counted, first)
    points = make.broadcast_to(b, points, (n, *shape))
    if not closed or n < 2 or _ends_exactly(first, last, n):
        return points
    return make.put(b, points, last, (At(n - 1), *(Run(0, m) for m in shape)))


def _ends_exactly(first: Atom, last: Atom, n: int) -> bool:
    """Whether the last point needs no correction."""
    if not isinstance(first, Const) or not isinstance(last, Const) or first.aval.shape or last.aval.shape:
        return False
    step = (last.value - first.value) / (n - 1)
    return bool((n - 1) * step + first.value == last.value)


def _front_to(ndim: int, axis: int) -> list[int]:
    order = list(range(1, ndim))
    order.insert(make.normalize_axis(axis, ndim), 0)
    return order


def eye(b: Builder, N: Any, M: Any = None, k: Any = 0, dtype: Any = None, order: Any = "C") -> Atom:
    """Ones on a diagonal: where the row plus `k` equals the column."""
    rows = max(static_int(N, "the number of rows"), 0)
    columns = rows if M is None else max(static_int(M, "the number of columns"), 0)
    shift = static_int(k, "the diagonal")
    down = make.expand_dims(b, make.iota(b, rows), 1)
    down = make.add(b, down, shift) if shift else down
    return make.astype(b, make.equal(b, down, make.iota(b, columns)), static_dtype(dtype) or np.dtype(np.float64))


def identity(b: Builder, n: Any, dtype: Any = None) -> Atom:
    return eye(b, n, dtype=dtype)


def tri(b: Builder, N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Atom:
    """Ones at and below a diagonal."""
    rows = max(static_int(N, "the number of rows"), 0)
    columns = rows if M is None else max(static_int(M, "the number of columns"), 0)
    shift = static_int(k, "the diagonal")
    down = make.expand_dims(b, make.iota(b, rows), 1)
    down = make.add(b, down, shift) if shift else down
    below = make.greater_equal(b, down, make.iota(b, columns))
    return make.astype(b, below, static_dtype(dtype) or np.dtype(np.float64))


def new_array(
    b: Builder,
    object_: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: Any = False,
    ndmin: Any = 0,
) -> Atom:
    """np.array: a strong array with the values of its argument."""
    x = as_array(b, object_, dtype)
    x = make.astype(b, x, x.aval.dtype)
    missing = static_int(ndmin, "ndmin") - x.aval.ndim
    return make.expand_dims(b, x, tuple(range(missing))) if missing > 0 else x


def as_array(b: Builder, a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, like: Any = None) -> Atom:
    """np.asarray: the same array where the dtype is right. Python numbers that it cannot hold are an error."""
    target = static_dtype(dtype)
    if target is not None and isinstance(a, list | tuple | range) and not holds_atoms(a):
        make.number_dtype(target)
        return make.lift(np.array(plain(a), target))
    if target is not None and isinstance(a, list | tuple):
        a = _held_by(b, a, target)
    x = array(b, a)
    check_holds(target or x.aval.dtype, x)
    return make.astype(b, x, target or x.aval.dtype)


def _held_by(b: Builder, items: Any, target: DType) -> Any:
    """Nested lists with their Python numbers in the dtype: joined they would have lost what it refuses to hold."""
    if isinstance(items, list | tuple):
        return [_held_by(b, x, target) for x in items]
    if isinstance(items, Var) and items.aval.weak:
        check_holds(target, items)
        return make.astype(b, items, target)
    if isinstance(items, bool | int | float | complex):
        return make.lift(np.array(items, target))
    return items


def as_contiguous(b: Builder, a: Any, dtype: Any = None, *, like: Any = None) -> Atom:
    """np.ascontiguousarray and np.asfortranarray: at least one axis."""
    x = as_array(b, a, dtype)
    return x if x.aval.ndim else make.expand_dims(b, x, 0)


def constructor(scalar_type: type) -> Direct:
    """np.float32(x) and its like: a cast."""

    def handler(b: Builder, x: Any = 0) -> Atom:
        given = array(b, x)
        check_holds(scalar_type, given)
        return make.astype(b, given, scalar_type)

    return handler


def meshgrid(b: Builder, *xi: Any, indexing: Any = "xy", sparse: Any = False, copy: Any = True) -> tuple[Atom, ...]:
    """Coordinate grids from coordinate vectors."""
    if indexing not in ("xy", "ij"):
        refuse("np.meshgrid", indexing=indexing)
    lines = [make.reshape(b, array(b, x), (-1,)) for x in xi]
    place = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        place[:2] = [1, 0]
    shape = [0] * len(lines)
    for p, line in zip(place, lines, strict=True):
        shape[p] = line.aval.shape[0]
    thin = [
        make.reshape(b, line, [line.aval.shape[0] if i == p else 1 for i in range(len(lines))])
        for p, line in zip(place, lines, strict=True)
    ]
    return tuple(thin) if static_bool(sparse, "sparse") else tuple(make.broadcast_to(b, x, shape) for x in thin)


def indices(b: Builder, dimensions: Any, dtype: Any = int, sparse: Any = False) -> Any:
    shape = static_shape(dimensions)
    if not shape:
        return () if static_bool(sparse, "sparse") else make.zeros(b, (0,), static_dtype(dtype))
    lines = [arange(b, n, dtype=dtype) for n in shape]
    grids = meshgrid(b, *lines, indexing="ij", sparse=sparse)
    if static_bool(sparse, "sparse"):
        return grids
    return make.concatenate(b, [make.expand_dims(b, g, 0) for g in grids], 0)

