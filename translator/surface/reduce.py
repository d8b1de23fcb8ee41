"""Handlers of NumPy's reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import make, ops
from ..builder import Builder
from ..ir import Atom
from ..ops.core import ArgReduce, Cumulative, Reduce
from .arguments import MISSING, array, refuse, refuse_out, static_axis, static_bool, static_dtype, static_int

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
        refuse(op.numpy, instead=f"{op.numpy}(np.where(where, x, neutral))", initial=initial, where=where)
        x, target = array(b, a), static_dtype(dtype)
        if target is not None:
            x = make.astype(b, x, target)
        result = _reduced(b, op, x, axis, keepdims)
        return result if target is None else make.astype(b, result, target)

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
        refuse(op.numpy, instead=f"{op.numpy}(np.where(where, x, neutral))", initial=initial, where=where)
        return _reduced(b, op, array(b, a), axis, keepdims)

    return handler


def truth_like(op: Reduce) -> Direct:
    """np.any and np.all."""

    def handler(
        b: Builder, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = MISSING
    ) -> Atom:
        refuse_out(op.numpy, out)
        refuse(op.numpy, instead=f"{op.numpy}(np.where(where, x, neutral))", where=where)
        return _reduced(b, op, array(b, a), axis, keepdims)

    return handler


def _reduced(b: Builder, op: Reduce, x: Atom, axis: Any, keepdims: Any) -> Atom:
    return make.reduce(b, op, x, static_axis(axis), static_bool(keepdims, "keepdims"))


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


def cumulative(op: Cumulative) -> Direct:
    """np.cumsum and np.cumprod; of the flattened array for no axis."""
    accumulate = make.cumsum if op is ops.CUMSUM else make.cumprod

    def handler(b: Builder, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Atom:
        refuse_out(op.numpy, out)
        x, target = array(b, a), static_dtype(dtype)
        if target is not None:
            x = make.astype(b, x, target)
        flat = make.reshape(b, x, (-1,)) if axis is None else x
        result = accumulate(b, flat, 0 if axis is None else static_int(axis, "an axis"))
        return result if target is None else make.astype(b, result, target)

    return handler
