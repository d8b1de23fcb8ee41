"""Handlers of NumPy's reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..errors import DTypeError, ShapeError
from ..fits import check_holds
from ..ir import Atom
from ..ops.core import ArgReduce, Cumulative, Elementwise, Reduce, Run, reduced_shape
from .arguments import MISSING, array, refuse_out, static_axis, static_bool, static_dtype, static_int

Direct = Callable[..., Any]


def sum_like(op: Reduce) -> Direct:
    """np.sum and np.prod: `dtype` stands third."""

    def handler(
        b: Builder,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = MISSING,
        where: Any = MISSING,
    ) -> Atom:
        refuse_out(op.numpy, out)
        return _reduced_in(b, op, static_dtype(dtype), array(b, a), axis, keepdims, initial, where)

    return handler


def extreme_like(op: Reduce) -> Direct:
    """np.max and np.min: no `dtype`."""

    def handler(
        b: Builder,
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = MISSING,
        where: Any = MISSING,
    ) -> Atom:
        refuse_out(op.numpy, out)
        return _reduced(b, op, array(b, a), axis, keepdims, initial, where)

    return handler


def truth_like(op: Reduce) -> Direct:
    """np.any and np.all."""

    def handler(
        b: Builder, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = MISSING
    ) -> Atom:
        refuse_out(op.numpy, out)
        return _reduced(b, op, array(b, a), axis, keepdims, MISSING, where)

    return handler


def ufunc_reduce(op: Reduce) -> Direct:
    """np.add.reduce and its like: along the first axis, if nothing else is said."""

    def handler(
        b: Builder,
        array_: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = MISSING,
        where: Any = MISSING,
    ) -> Atom:
        refuse_out(op.numpy, out)
        return _reduced_in(b, op, static_dtype(dtype), array(b, array_), axis, keepdims, initial, where)

    return handler


def _reduced_in(b: Builder, op: Reduce, dtype: Any, x: Atom, *options: Any) -> Atom:
    """Computed in this dtype, if one is given."""
    if dtype is None:
        return _reduced(b, op, x, *options)
    return make.astype(b, _reduced(b, op, make.astype(b, x, dtype), *options), dtype)


def _reduced(b: Builder, op: Reduce, x: Atom, axis: Any, keepdims: Any, initial: Any, where: Any) -> Atom:
    if isinstance(axis, list):
        raise DTypeError("'list' object cannot be interpreted as an integer")
    axes, keep = static_axis(axis), static_bool(keepdims, "keepdims")
    if not x.aval.ndim and axes in (0, -1):  # NumPy lets ufuncs reduce numbers over an axis that they do not have
        axes = None
    start = None if initial is MISSING or initial is None else array(b, initial)
    if start is not None:
        check_holds(op.dtype(x.aval.dtype), start)
        start = make.astype(b, start, op.dtype(x.aval.dtype))
    if where is not MISSING and where is not True:
        x = _where(b, op, x, where, start)
    if start is None:
        return make.reduce(b, op, x, axes, keep)
    gone = make.normalize_axes(axes, x.aval.ndim)
    if op.identity is None and any(x.aval.shape[i] == 0 for i in gone):
        return make.full(b, reduced_shape(x.aval.shape, gone, keep), start, start.aval.dtype)
    return _COMBINE[op.name](b, start, make.reduce(b, op, x, axes, keep))


_COMBINE = {
    "sum": make.add,
    "prod": make.multiply,
    "max": make.maximum,
    "min": make.minimum,
    "any": make.logical_or,
    "all": make.logical_and,
}


def _where(b: Builder, op: Reduce, x: Atom, where: Any, start: Atom | None) -> Atom:
    """`x` with elements that change nothing in place of those outside of the mask."""
    mask = make.astype(b, array(b, where), np.bool_)
    if np.broadcast_shapes(mask.aval.shape, x.aval.shape) != x.aval.shape:
        raise ShapeError(f"{op.numpy}: a mask of shape {mask.aval.shape} for an array of shape {x.aval.shape}")
    x = make.astype(b, x, op.dtype(x.aval.dtype))
    neutral = start if op.identity is None else make.lift(op.identity(x.aval.dtype))
    if neutral is None:
        raise ShapeError(
            f"reduction operation '{op.name}imum' does not have an identity, "
            "so to use a where mask one has to specify 'initial'"
        )
    return make.where(b, mask, x, neutral)


def arg_extreme(op: ArgReduce) -> Direct:
    """np.argmax and np.argmin; over all elements for no axis."""
    reduce = make.argmax if op is ops.ARGMAX else make.argmin

    def handler(b: Builder, a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Atom:
        refuse_out(op.numpy, out)
        x, keep = array(b, a), static_bool(keepdims, "keepdims")
        if axis is not None:
            return reduce(b, x, static_int(axis, "an axis"), keep)
        found = reduce(b, make.reshape(b, x, (-1,)), 0)
        return make.reshape(b, found, (1,) * x.aval.ndim) if keep else found

    return handler


_ELEMENTWISE = {ops.CUMMAX: ops.MAXIMUM, ops.CUMMIN: ops.MINIMUM}


def _doubled(b: Builder, op: Elementwise, x: Atom, axis: int) -> Atom:
    """Running extremes of complex numbers, which no kernel has: each step knows twice as many elements."""
    axis, step = make.normalize_axis(axis, x.aval.ndim), 1
    n = x.aval.shape[axis]

    def part(start: int, stop: int) -> Atom:
        dims = [Run(start, stop - start) if k == axis else Run(0, m) for k, m in enumerate(x.aval.shape)]
        return make.index(b, x, dims, ())

    while step < n:
        joined = make.elementwise(b, op, part(0, n - step), part(step, n))
        x = make.concatenate(b, (part(0, step), joined), axis)
        step *= 2
    return x


def cumulative(op: Cumulative, along: int | None = None) -> Direct:
    """np.cumsum and its kin; of the flattened array for no axis, which `along` stands for."""

    def handler(b: Builder, a: Any, axis: Any = along, dtype: Any = None, out: Any = None) -> Atom:
        refuse_out(op.numpy, out)
        x, target = array(b, a), static_dtype(dtype)
        if target is not None:
            x = make.astype(b, x, target)
        flat = make.reshape(b, x, (-1,)) if axis is None else x
        place = 0 if axis is None else static_int(axis, "an axis")
        if op in _ELEMENTWISE and flat.aval.dtype.kind == "c":
            return _doubled(b, _ELEMENTWISE[op], flat, place)
        result = make.cumulative(b, op, flat, place)
        return result if target is None else make.astype(b, result, target)

    return handler
