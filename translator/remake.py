"""Rebuilding an operation through `make` with new arguments, so that local rewrites apply."""

from __future__ import annotations

from collections.abc import Sequence

from . import make
from .builder import Builder
from .ir import Atom
from .ops.core import (
    ArgReduce,
    ArgReduceAttrs,
    Attrs,
    AxesAttrs,
    Cast,
    CastAttrs,
    Collective,
    Concatenate,
    ConcatenateAttrs,
    Contract,
    ContractAttrs,
    Create,
    CreateAttrs,
    Cumulative,
    CumulativeAttrs,
    Draw,
    Elementwise,
    Fourier,
    FourierAttrs,
    Index,
    IndexAttrs,
    Linalg,
    LinalgAttrs,
    Op,
    Put,
    Reduce,
    ReduceAttrs,
    Reshape,
    Ruled,
    ShapeAttrs,
    Sort,
    SortAttrs,
    Tape,
)


def remake(b: Builder, op: Op, args: Sequence[Atom], attrs: Attrs) -> Atom:
    """`op(*args)` in canonical form. Raises ShapeError or DTypeError where the arguments do not fit."""
    match op, attrs:
        case Elementwise(), _:
            return make.elementwise(b, op, *args)
        case Cast(), CastAttrs(dtype=dtype, weak=weak):
            return make.number(b, args[0], dtype) if weak else make.astype(b, args[0], dtype)
        case Reduce(), ReduceAttrs(axes=axes, keepdims=keepdims):
            return make.reduce(b, op, args[0], axes, keepdims)
        case ArgReduce() | Cumulative() | Sort(), ArgReduceAttrs() | CumulativeAttrs() | SortAttrs():
            return make.emit(b, op, *args, attrs=attrs)
        case Fourier(), FourierAttrs(axes=axes, size=size):
            return make.fourier(b, op, args[0], axes, size)
        case Contract(), ContractAttrs(lhs=lhs, rhs=rhs, out=out):
            return make.contract(b, args[0], args[1], lhs, rhs, out)
        case Reshape(), ShapeAttrs() | AxesAttrs():
            return _reshape(b, op.name, args[0], attrs)
        case Concatenate(), ConcatenateAttrs(axis=axis):
            return make.concatenate(b, args, axis)
        case Create(), CreateAttrs(shape=shape, dtype=dtype):
            return make.full(b, shape, args[0], dtype) if args else b.apply(op, attrs=attrs)
        case Ruled() | Collective() | Tape() | Draw(), _:
            return b.apply(op, *args, attrs=attrs)
        case Linalg(), LinalgAttrs(full=full):
            return make.linalg(b, op, *args, full=full)
        case Index(), IndexAttrs(dims=dims):
            return make.index(b, args[0], dims, args)
        case Put(name="put"), IndexAttrs(dims=dims):
            return make.put(b, args[0], args[1], dims, args)
        case Put(), IndexAttrs(dims=dims):
            return make.put_add(b, args[0], args[1], dims, args)
    raise AssertionError(f"{op.name} with {attrs}")


def _reshape(b: Builder, name: str, x: Atom, attrs: ShapeAttrs | AxesAttrs) -> Atom:
    match name, attrs:
        case "reshape", ShapeAttrs(shape=shape):
            return make.reshape(b, x, shape)
        case "broadcast_to", ShapeAttrs(shape=shape):
            return make.broadcast_to(b, x, shape)
        case "transpose", AxesAttrs(axes=axes):
            return make.transpose(b, x, axes)
        case "expand_dims", AxesAttrs(axes=axes):
            return make.expand_dims(b, x, axes)
        case "squeeze", AxesAttrs(axes=axes):
            return make.squeeze(b, x, axes)
    raise AssertionError(f"{name} with {attrs}")
