"""How each family of operations acts on batched values: rank algebra, the batch axis always in front.

    def f(x, a):                                      def f_batched(x, a):
        return np.sum(x * 2.0) * a + np.max(x @ a)        t = np.sum(x * 2.0, axis=1)[:, None, None] * a
                                                          return t + np.max(x @ a, axis=1)[:, None, None]

Here the first argument is batched, the second is not. An axis of an operation moves up by one, operands of fewer axes
get axes of size 1 behind the batch axis, and a product has one label more, or none where its operand is shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from .. import make, ops
from ..builder import Builder
from ..fits import COMPARISONS
from ..ir import Apply, Atom, Aval, Const, DType, Var, is_filled
from ..ops.core import (
    TAPE_AVAL,
    ArgReduce,
    ArgReduceAttrs,
    Attrs,
    AxesAttrs,
    Cast,
    CastAttrs,
    Collective,
    CollectiveAttrs,
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
    ItemAttrs,
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
    promote,
)
from ..records import dataclass


@dataclass(frozen=True, slots=True)
class Value:
    """`aval` is the type in the program of one element; a batched atom has shape (size, *aval.shape) and is strong.

    A Python number that is batched becomes an array, but `aval` remembers that it must promote as a Python number.
    """

    atom: Atom
    batched: bool
    aval: Aval


def batched_aval(aval: Aval, size: int) -> Aval:
    """The type of a value with the batch axis in front. A batch of Python numbers is an array, one of lists a list."""
    return aval if aval == TAPE_AVAL else Aval((size, *aval.shape), aval.dtype)


def pad(b: Builder, atom: Atom, count: int) -> Atom:
    """`count` axes of size 1 after the batch axis."""
    return make.expand_dims(b, atom, tuple(range(1, 1 + count))) if count > 0 else atom


def renamed(b: Builder, atom: Atom, hint: str) -> Atom:
    """The atom under another name, if the last statement of the block has made it."""
    made = b.statements[-1] if b.statements else None
    if not isinstance(made, Apply) or atom is not made.targets[0] or atom.hint == hint:
        return atom
    new = Var(hint, atom.aval)
    del b.definitions[b.statements.pop().targets[0]]
    b.append(replace(made, targets=(new,)))
    return new


def spread(b: Builder, v: Value, size: int) -> Atom:
    """The value with a batch axis, repeated along it if it has none; fresh buffers are made larger instead."""
    if v.batched or v.aval == TAPE_AVAL:
        return v.atom
    shape = (size, *v.aval.shape)
    made = b.definitions.get(v.atom) if isinstance(v.atom, Var) else None
    if made is not None and made.op is ops.EMPTY:
        return renamed(b, make.empty(b, shape, v.aval.dtype), made.targets[0].hint)
    if made is not None and made.op is ops.FULL:
        return renamed(b, make.full(b, shape, made.args[0], v.aval.dtype), made.targets[0].hint)
    if not v.aval.shape:
        return make.full(b, shape, v.atom, v.aval.dtype)
    if isinstance(v.atom, Const) and is_filled(v.atom.value):
        return make.full(b, shape, v.atom.value.flat[0], v.aval.dtype)
    return make.broadcast_to(b, v.atom, shape)


def apply(b: Builder, op: Op, values: Sequence[Value], attrs: Attrs, size: int) -> Atom:
    """The batched result of an operation at least one of whose arguments is batched (Index and Put are elsewhere)."""
    match op:
        case Elementwise():
            return elementwise(b, op, values)
        case Contract():
            assert isinstance(attrs, ContractAttrs)
            return _contract(b, values[0], values[1], attrs)
        case Linalg():
            assert isinstance(attrs, LinalgAttrs)
            return _linalg(b, op, values, attrs, size)
        case Concatenate():
            assert isinstance(attrs, ConcatenateAttrs)
            return make.concatenate(b, [spread(b, v, size) for v in values], attrs.axis + 1)
        case Create():
            assert isinstance(attrs, CreateAttrs)
            value = pad(b, make.astype(b, values[0].atom, attrs.dtype), len(attrs.shape))
            return make.broadcast_to(b, value, (size, *attrs.shape))
        case Collective():
            assert isinstance(attrs, CollectiveAttrs)
            return _collective(b, op, values[0].atom, attrs)
        case Index() | Put():
            raise AssertionError("batch_index does these")
        case Ruled():
            raise AssertionError("the batcher does these")
        case Draw():
            raise AssertionError("draws of what is batched are hidden parameters")
        case Tape():
            return _tape(b, op, values, attrs, size)
        case Cast() | Reduce() | ArgReduce() | Cumulative() | Sort() | Fourier() | Reshape():
            return _unary(b, op, values[0], attrs, size)
        case _:
            assert_never(op)


def _tape(b: Builder, op: Tape, values: Sequence[Value], attrs: Attrs, size: int) -> Atom:
    """An entry has all elements of the batch, so those that run a loop no longer get entries as well."""
    if isinstance(attrs, ItemAttrs):
        return b.apply(op, values[0].atom, values[1].atom, attrs=ItemAttrs(batched_aval(attrs.aval, size)))
    tape, value, *place = values
    return b.apply(op, tape.atom, spread(b, value, size), *(v.atom for v in place))


def _collective(b: Builder, op: Collective, x: Atom, attrs: CollectiveAttrs) -> Atom:
    """Over another axis than that of the batch: what is gathered stands in front of it, and goes behind."""
    made = b.apply(op, x, attrs=attrs)
    return make.transpose(b, made, (1, 0, *range(2, made.aval.ndim))) if op is ops.ALL_GATHER else made


def elementwise(b: Builder, op: Elementwise, values: Sequence[Value]) -> Atom:
    """Operands of lower rank get axes after the batch axis; unbatched ones broadcast as they are."""
    ndim = max(v.aval.ndim for v in values)
    operands, result = op.loop_dtypes([v.aval for v in values])
    atoms: list[Atom] = []
    for v, dtype in zip(values, operands, strict=True):
        atom = make.astype(b, v.atom, dtype) if op.plain is not None else v.atom  # math's take doubles, whatever comes
        if v.batched:
            if v.aval.weak:
                atom = _adapted(b, replace(v, atom=atom), dtype, op.name in COMPARISONS)
            atom = pad(b, atom, ndim - v.aval.ndim)
        atoms.append(atom)
    return make.astype(b, make.elementwise(b, op.plain or op, *atoms), result)


def _adapted(b: Builder, v: Value, dtype: DType, exact: bool = False) -> Atom:
    """What was a Python number takes the dtype that it would take beside the other operands; where NumPy is `exact`,
    in comparisons of integers, it keeps its own, which holds them all."""
    return make.astype(b, v.atom, dtype) if v.aval.weak and not (exact and dtype.kind in "iu") else v.atom


def _contract(b: Builder, x: Value, y: Value, attrs: ContractAttrs) -> Atom:
    lhs, rhs, out = attrs.lhs, attrs.rhs, attrs.out
    dtype = promote([x.aval, y.aval])
    left, right = (_adapted(b, v, dtype) if v.batched else v.atom for v in (x, y))
    lane = max((*lhs, *rhs), default=-1) + 1
    if x.batched:
        lhs = (lane, *lhs)
    if y.batched:
        rhs = (lane, *rhs)
    if not x.batched and not set(attrs.rhs) & set(out):
        # `w @ x` with a batch of vectors x is `x @ w.T`: the batch axis leads by itself.
        left, lhs, right, rhs = right, rhs, left, lhs
    return make.astype(b, make.contract(b, left, right, lhs, rhs, (lane, *out)), dtype)


def _linalg(b: Builder, op: Linalg, values: Sequence[Value], attrs: LinalgAttrs, size: int) -> Atom:
    """Leading axes are batches already. Of a solution the right sides of all elements stand side by side as columns,
    where only they differ; vectors become columns where the matrices do."""
    cores = [op.core(k, v.aval) for k, v in enumerate(values)]
    depth = max(v.aval.ndim - core for v, core in zip(values, cores, strict=True))
    if op is ops.SOLVE and values[1].aval.ndim == 1:
        matrix, right = values[0].atom, values[1].atom
        if not values[0].batched:
            return make.transpose(b, make.linalg(b, op, matrix, make.transpose(b, right, (1, 0))), (1, 0))
        column = make.expand_dims(b, right, right.aval.ndim)
        return make.squeeze(b, make.linalg(b, op, matrix, column), 2)
    atoms = [
        pad(b, v.atom, depth - (v.aval.ndim - core)) if v.batched else v.atom
        for v, core in zip(values, cores, strict=True)
    ]
    return make.linalg(b, op, *atoms, full=attrs.full)


def _unary(b: Builder, op: Op, v: Value, attrs: Attrs, size: int) -> Atom:
    """Families of one operand: its axes shift by one."""
    x = v.atom
    match op, attrs:
        case Cast(), CastAttrs(dtype=dtype):
            return make.astype(b, x, dtype)
        case Reduce(), ReduceAttrs(axes=axes, keepdims=keepdims):
            return make.reduce(b, op, x, _shifted(axes), keepdims)
        case ArgReduce(), ArgReduceAttrs(axis=axis, keepdims=keepdims):
            return make.emit(b, op, x, attrs=ArgReduceAttrs(axis + 1, keepdims))
        case Cumulative(), CumulativeAttrs(axis=axis):
            return make.emit(b, op, x, attrs=CumulativeAttrs(axis + 1))
        case Sort(), SortAttrs(axis=axis, places=places, kind=kind):
            return make.emit(b, op, x, attrs=SortAttrs(axis + 1, places, kind))
        case Fourier(), FourierAttrs(axes=axes, size=count):
            return make.fourier(b, op, x, _shifted(axes), count)
        case Reshape(name="reshape"), ShapeAttrs(shape=shape):
            return make.reshape(b, x, (size, *shape))
        case Reshape(), ShapeAttrs(shape=shape):
            return make.broadcast_to(b, pad(b, x, len(shape) - v.aval.ndim), (size, *shape))
        case Reshape(name="transpose"), AxesAttrs(axes=axes):
            return make.transpose(b, x, (0, *_shifted(axes)))
        case Reshape(name="expand_dims"), AxesAttrs(axes=axes):
            return make.expand_dims(b, x, _shifted(axes))
        case Reshape(), AxesAttrs(axes=axes):
            return make.squeeze(b, x, _shifted(axes))
    raise AssertionError(f"{op.name} with {attrs}")


def _shifted(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + 1 for a in axes)
