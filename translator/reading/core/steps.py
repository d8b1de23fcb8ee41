"""The steps of a view: what each shows of the array before it, and how a store goes back through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import make, ops
from ...builder import Builder
from ...errors import CutError, Diagnostic
from ...evaluate import numpy_index
from ...ir import Atom, Aval
from ...ops import bits
from ...ops.core import Attrs, AxesAttrs, Dim, Gather, IndexAttrs, Op, ShapeAttrs, gather_position, indexed_shape
from ...progressions import Windows
from .values import IndexStep, OpStep, Ref, Step


def replayed(b: Builder, base: Atom, step: Step) -> Atom:
    """The part of `base` that the step shows."""
    if isinstance(step, IndexStep):
        return make.index(b, base, step.dims, step.dynamic)
    return _applied(b, base, step.op, step.attrs, step.extra)


def _applied(b: Builder, base: Atom, op: Op, attrs: Attrs, extra: tuple[Atom, ...]) -> Atom:
    """The view operation, in canonical form."""
    match attrs:
        case ShapeAttrs(shape=shape) if op is ops.RESHAPE:
            return make.reshape(b, base, shape)
        case ShapeAttrs(shape=shape):
            return make.broadcast_to(b, base, shape)
        case AxesAttrs(axes=axes) if op is ops.TRANSPOSE:
            return make.transpose(b, base, axes)
        case AxesAttrs(axes=axes) if op is ops.EXPAND_DIMS:
            return make.expand_dims(b, base, axes)
        case AxesAttrs(axes=axes):
            return make.squeeze(b, base, axes)
    return make.emit(b, op, base, *extra, attrs=attrs)


def unviewed(b: Builder, step: Step, base: Atom, new: Atom) -> Atom:
    """`base` after `new` was stored through the view step."""
    if isinstance(step, IndexStep):
        return make.put(b, base, new, step.dims, step.dynamic)
    match step.op:
        case ops.RESHAPE:
            return make.reshape(b, new, base.aval.shape)
        case ops.TRANSPOSE:
            assert isinstance(step.attrs, AxesAttrs)
            return make.transpose(b, new, tuple(int(i) for i in np.argsort(step.attrs.axes)))
        case ops.EXPAND_DIMS:
            assert isinstance(step.attrs, AxesAttrs)
            return make.squeeze(b, new, step.attrs.axes)
        case ops.SQUEEZE:
            assert isinstance(step.attrs, AxesAttrs)
            return make.expand_dims(b, new, step.attrs.axes)
    if step.op.name in bits.NAMES:
        return make.view(b, new, base.aval.dtype)
    if step.op in (ops.REAL, ops.IMAG):
        other = make.elementwise(b, ops.IMAG if step.op is ops.REAL else ops.REAL, base)
        re, im = (new, other) if step.op is ops.REAL else (other, new)
        return make.elementwise(b, ops.OF_PARTS, re, im)
    raise CutError(Diagnostic(f"a view made by {step.op.name} cannot be written", instead="write a .copy() of it"))


def shown(x: np.ndarray[Any, Any], step: Step | Windows, numbers: Sequence[Any] = ()) -> np.ndarray[Any, Any]:
    """What NumPy shows of an array by this step; `numbers` are the values of `dynamic`."""
    if isinstance(step, Windows):
        return _windows(x, step)
    if isinstance(step, IndexStep):
        if any(isinstance(d, Gather) for d in step.dims):
            return _diagonal(x, step, numbers)
        found: np.ndarray[Any, Any] = x[(*numpy_index(IndexAttrs(step.dims), numbers), ...)]
        return found
    match step.op, step.attrs:
        case ops.BROADCAST_TO, ShapeAttrs(shape=shape):
            return np.broadcast_to(x, shape)
        case _, ShapeAttrs(shape=shape):
            return np.reshape(x, shape)
        case _, AxesAttrs(axes=axes):
            turned: np.ndarray[Any, Any] = getattr(np, step.op.name)(x, axes)
            return turned
        case ops.REAL | ops.IMAG, _:
            part: np.ndarray[Any, Any] = getattr(x, step.op.name)
            return part
    return x.view(step.aval.dtype)


def _windows(x: np.ndarray[Any, Any], windows: Windows) -> np.ndarray[Any, Any]:
    k, starts, within = windows.axis, windows.starts, windows.within
    first = x[(slice(None),) * k + (slice(starts.start + within.start, None),)]
    shape = (*x.shape[:k], len(starts), len(within), *x.shape[k + 1 :])
    strides = (*x.strides[:k], x.strides[k] * starts.step, x.strides[k] * within.step, *x.strides[k + 1 :])
    return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False)


def is_shown(step: Step) -> bool:
    """Whether `shown` knows the step: not the windows that slide along an axis."""
    if isinstance(step, OpStep):
        return True
    gathers = [d for d in step.dims if isinstance(d, Gather)]
    return not gathers or (len(gathers) == 2 and all(step.dynamic[d.arg].aval.ndim == 1 for d in gathers))


def _diagonal(x: np.ndarray[Any, Any], step: IndexStep, numbers: Sequence[Any]) -> np.ndarray[Any, Any]:
    """A diagonal, whose places go up by one along each of its axes."""
    axes = [k for k, d in enumerate(step.dims) if isinstance(d, Gather)]
    rest = tuple(slice(None) if isinstance(d, Gather) else numpy_index(IndexAttrs((d,)), numbers)[0] for d in step.dims)
    first, second = (numbers[d.arg] for d in step.dims if isinstance(d, Gather))
    offset = int(second[0] - first[0]) if len(first) else x.shape[axes[1]]  # as far as that, there are no places
    return np.moveaxis(np.diagonal(x[rest], offset, *axes), -1, gather_position(step.dims))


def is_read_only(step: Step) -> bool:
    """Views that NumPy does not let anyone write: np.broadcast_to, np.diagonal."""
    if isinstance(step, IndexStep):
        return any(isinstance(d, Gather) for d in step.dims)
    return step.op is ops.BROADCAST_TO


def read_only(view: Ref) -> Ref:
    """The whole of a view, not to be written through."""
    step = OpStep(ops.BROADCAST_TO, ShapeAttrs(view.aval.shape), (), view.aval)
    return Ref(view.cell, (*view.path, step))


def indexed_aval(base: Aval, dims: Sequence[Dim], atoms: Sequence[Atom]) -> Aval:
    """The type of `base[...]`; the positions in `dims` count within `atoms`."""
    shifted = tuple(Gather(d.arg + 1) if isinstance(d, Gather) else d for d in dims)
    return Aval(indexed_shape(IndexAttrs(shifted), [base, *(a.aval for a in atoms)]), base.dtype)
