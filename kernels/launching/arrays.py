"""Operations that are no kernels, on the arrays of a module like NumPy (CuPy on a GPU, NumPy in the tests)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any, assert_never

import numpy as np

from ...translator.errors import RaisedError, UnsupportedError
from ...translator.evaluate import apply_op, check_runs, numpy_index
from ...translator.ir import DType, Shape
from ...translator.ops.core import (
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
    Gather,
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

NUMBERS = (int, float, complex, np.generic)


def is_host(value: Any) -> bool:
    """Whether it is a number in the host's memory."""
    return isinstance(value, NUMBERS)


def in_python(op: Op, values: Sequence[Any], attrs: Attrs, dtype: DType) -> Any:
    """One operation on numbers, as Python and NumPy have it. What no number of this dtype is, CPython is to compute."""
    made = apply_op(op, values, attrs)
    if type(made) is int and dtype.kind == "i":
        fits(made, dtype)
    if type(made) is complex and dtype.kind != "c":
        raise RaisedError(f"{op.name} of {values} is complex")
    return made


def fits(n: Any, dtype: DType) -> None:
    """Raises OverflowError where a Python number is outside the range of the integers that it becomes."""
    limits = np.iinfo(dtype)
    if not limits.min <= n <= limits.max:
        raise OverflowError(f"Python integer {n} out of bounds for {dtype.name}")


def number(x: Any) -> Any:
    """The content of an array without axes, as a Python number. Waits for the device."""
    return x if isinstance(x, (int, float, complex)) else x.item()


def no_negative_exponents(y: Any) -> None:
    """Raises what NumPy raises for integers to negative integer powers. Waits for the device where it holds them."""
    if bool((y < 0).any() if getattr(y, "shape", ()) else y < 0):
        raise ValueError("Integers to negative integer powers are not allowed.")


def apply_on(xp: Any, op: Op, values: Sequence[Any], attrs: Attrs, dtype: DType) -> Any:
    """One operation whose result has this dtype. Numbers stay on the host where all operands are numbers."""
    if values and all(map(is_host, values)) and isinstance(op, Elementwise | Cast):
        return in_python(op, values, attrs, dtype)
    match op:
        case Elementwise():
            return op.evaluate(*values)
        case Cast():
            assert isinstance(attrs, CastAttrs)
            return xp.asarray(values[0]).astype(attrs.dtype)
        case Reduce():
            assert isinstance(attrs, ReduceAttrs)
            return getattr(xp, op.name)(xp.asarray(values[0]), axis=attrs.axes, keepdims=attrs.keepdims)
        case ArgReduce():
            assert isinstance(attrs, ArgReduceAttrs)
            found = getattr(xp, op.name)(values[0], axis=attrs.axis)
            return xp.expand_dims(found, attrs.axis) if attrs.keepdims else found
        case Cumulative():
            assert isinstance(attrs, CumulativeAttrs)
            if op.name in EXTREMES:
                return _running(xp, EXTREMES[op.name], values[0], attrs.axis)
            return getattr(xp, op.name)(values[0], axis=attrs.axis, dtype=dtype)
        case Sort():
            assert isinstance(attrs, SortAttrs)
            return _sorted(xp, op.name, values[0], attrs.axis).astype(dtype, copy=False)
        case Fourier():
            assert isinstance(attrs, FourierAttrs)
            sizes = None if op.name != "irfft" else [*(values[0].shape[a] for a in attrs.axes[:-1]), attrs.size]
            transformed = getattr(xp.fft, f"{op.name}n")(values[0], s=sizes, axes=attrs.axes)
            return transformed.astype(dtype, copy=False)
        case Linalg():
            assert isinstance(attrs, LinalgAttrs)
            return _linalg(xp, op, values, attrs, dtype)
        case Contract():
            assert isinstance(attrs, ContractAttrs)
            x, y = (xp.asarray(v).astype(dtype, copy=False) for v in values)
            return product(xp, x, y, attrs)
        case Reshape():
            return _reshape(xp, op.name, xp.asarray(values[0]), attrs)
        case Concatenate():
            assert isinstance(attrs, ConcatenateAttrs)
            return xp.concatenate([xp.asarray(v).astype(dtype, copy=False) for v in values], axis=attrs.axis)
        case Create():
            assert isinstance(attrs, CreateAttrs)
            return _create(xp, op.name, values, attrs)
        case Index():
            assert isinstance(attrs, IndexAttrs)
            return values[0][_key(xp, attrs, values, values[0].shape)]
        case Put():
            assert isinstance(attrs, IndexAttrs)
            x = xp.array(values[0])
            store(xp, op.name, x, values, attrs)
            return x
        case Collective(name=name):
            raise UnsupportedError(f"lax.{name} has no value outside the function that is mapped")
        case Draw():
            raise AssertionError("native loops of the CPU draw")
        case Tape():
            raise AssertionError("programs for kernels keep windows")
        case Ruled():
            return xp.array(values[0])
        case _:
            assert_never(op)


EXTREMES = {"cummax": "maximum", "cummin": "minimum"}


def _sorted(xp: Any, name: str, x: Any, axis: int) -> Any:
    if x.dtype.name == "bfloat16":  # which CuPy does not sort
        x = x.astype(np.float32)
    return xp.sort(x, axis=axis) if name == "sort" else xp.argsort(x, axis=axis, kind="stable")


def _running(xp: Any, name: str, x: Any, axis: int) -> Any:
    """Running extremes, which CuPy does not have: by doubling."""
    combine, x, step = getattr(xp, name), xp.moveaxis(xp.array(x), axis, 0), 1
    while step < x.shape[0]:
        x = xp.concatenate([x[:step], combine(x[:-step], x[step:])])
        step *= 2
    return xp.moveaxis(x, 0, axis)


def product(xp: Any, x: Any, y: Any, attrs: ContractAttrs) -> Any:
    """A labelled product as one (batched) matrix product: axes are merged in the order batch, free, summed."""
    lhs, rhs = attrs.lhs, attrs.rhs
    batch, left, right = _outer(attrs)
    summed = [a for a in lhs if a not in attrs.out]
    sizes = {**dict(zip(lhs, x.shape, strict=True)), **dict(zip(rhs, y.shape, strict=True))}

    def size(labels: Sequence[int]) -> int:
        return math.prod(sizes[a] for a in labels)

    x = x.transpose([lhs.index(a) for a in (*batch, *left, *summed)])
    y = y.transpose([rhs.index(a) for a in (*batch, *summed, *right)])
    outer = (size(batch),) if batch else ()
    x = x.reshape((*outer, size(left), size(summed)))
    y = y.reshape((*outer, size(summed), size(right)))
    have = product_order(attrs)
    z = _matmul(xp, x, y).reshape([sizes[a] for a in have])
    return z.transpose([have.index(a) for a in attrs.out])


def _matmul(xp: Any, x: Any, y: Any) -> Any:
    """A (batched) matrix product. Batches of half precision go by float32, as products of two vectors do: CuPy up to
    14.2 refuses batches of bfloat16, makes float32 of those of float16 itself, and sums two vectors in their own dtype.
    """
    batched, vectors = x.ndim > 2, x.shape[-2] == y.shape[-1] == 1
    if not (batched or vectors) or x.dtype != y.dtype or x.dtype.name not in ("float16", "bfloat16"):
        return xp.matmul(x, y)
    single = np.dtype(np.float32)
    return xp.matmul(x.astype(single), y.astype(single)).astype(x.dtype)


def product_order(attrs: ContractAttrs) -> tuple[int, ...]:
    """The axes of a product as the library gives it: batch, then the left operand's, then the right one's."""
    return tuple(a for part in _outer(attrs) for a in part)


def _outer(attrs: ContractAttrs) -> tuple[list[int], list[int], list[int]]:
    lhs, rhs, out = attrs.lhs, attrs.rhs, attrs.out
    return (
        [a for a in lhs if a in rhs and a in out],
        [a for a in lhs if a not in rhs and a in out],
        [a for a in rhs if a not in lhs],
    )


def _linalg(xp: Any, op: Linalg, values: Sequence[Any], attrs: LinalgAttrs, dtype: DType) -> Any:
    """CuPy says that a matrix is singular only when it is asked to."""
    if getattr(xp, "__name__", "") != "cupy":
        return op.evaluate(xp, *values, full=attrs.full)
    with import_module("cupyx").errstate(linalg="raise"):
        return xp.asarray(op.evaluate(xp, *values, full=attrs.full)).astype(dtype, copy=False)


def _reshape(xp: Any, name: str, x: Any, attrs: Attrs) -> Any:
    match attrs:
        case ShapeAttrs(shape=shape):
            return x.reshape(shape) if name == "reshape" else xp.broadcast_to(x, shape)
        case AxesAttrs(axes=axes):
            return getattr(xp, name)(x, axes)
    raise AssertionError(f"{name} with {attrs}")


def _create(xp: Any, name: str, values: Sequence[Any], attrs: CreateAttrs) -> Any:
    if name == "full":
        filled = xp.empty(attrs.shape, attrs.dtype)
        filled[...] = values[0]
        return filled
    if name == "iota":
        return xp.arange(attrs.shape[0], dtype=attrs.dtype)
    return xp.empty(attrs.shape, attrs.dtype)


def _key(xp: Any, attrs: IndexAttrs, values: Sequence[Any], shape: Shape) -> tuple[Any, ...]:
    for axis, d in enumerate(attrs.dims):
        if isinstance(d, Gather):
            _check_places(xp.asarray(values[d.arg]), axis, shape[axis])
    check_runs(shape, attrs, values)
    gathered = {d.arg for d in attrs.dims if isinstance(d, Gather)}
    return numpy_index(attrs, [xp.asarray(v) if i in gathered else v for i, v in enumerate(values)])


def _check_places(places: Any, axis: int, n: int) -> None:
    """Raises IndexError as NumPy does; CuPy would take the index modulo the extent. Waits for the device."""
    if places.size and places.dtype.kind in "iu" and (int(places.min()) < -n or int(places.max()) >= n):
        outside = places[(places < -n) | (places >= n)]
        raise IndexError(f"index {int(outside[0])} is out of bounds for axis {axis} with size {n}")


def store(xp: Any, name: str, x: Any, values: Sequence[Any], attrs: IndexAttrs) -> None:
    """Write `values[1]` into `x` itself: put, or put_add where repeated indices accumulate."""
    key = _key(xp, attrs, values, x.shape)
    if name == "put":
        x[key] = values[1]
    elif attrs.gathers:
        xp.add.at(x, key, values[1])
    else:
        x[key] += values[1]
