"""Typed constructors for every operation, and the local rewrites that make a program canonical.

The first argument is the `Builder` that the statement is appended to; operands are atoms, or Python and NumPy
numbers. A constructor returns an atom: a new variable, a constant where all operands are constants (folded), or the
operand itself where the operation changes nothing.
"""

from __future__ import annotations

import builtins
import math
import warnings
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any, assert_never

import numpy as np

from . import ops
from .builder import Builder
from .errors import AxisError, CutError, Diagnostic, DTypeError, OutOfBoundsError, ShapeError
from .evaluate import apply_op
from .fits import check_beside
from .fits import check_holds as check_holds
from .ir import Apply, Atom, Aval, Block, Const, Raise, Shape, Var, const
from .ops import bits
from .ops.core import (
    NO_ATTRS,
    ArgReduceAttrs,
    At,
    Attrs,
    AxesAttrs,
    CastAttrs,
    ConcatenateAttrs,
    ContractAttrs,
    CreateAttrs,
    CumulativeAttrs,
    Dim,
    Dyn,
    Elementwise,
    Fourier,
    FourierAttrs,
    Gather,
    IndexAttrs,
    Linalg,
    LinalgAttrs,
    Op,
    Reduce,
    ReduceAttrs,
    Run,
    ShapeAttrs,
    SortAttrs,
    promote,
)
from .thrown import Known, Thrown

FOLD_LIMIT = 64  # elements: larger constants would be unreadable in the printed source

Axes = int | Iterable[int] | None


def lift(x: object) -> Atom:
    """An atom as it is; a number or array as a constant."""
    return x if isinstance(x, Var | Const) else const(x)


def emit(b: Builder, op: Op, *args: Atom, attrs: Attrs = NO_ATTRS) -> Atom:
    """`op(*args)`, folded where all arguments are constants. Raises ShapeError, DTypeError."""
    if args and all(isinstance(a, Const) for a in args):
        folded = _fold(op, args, attrs)
        if folded is not None:
            return folded
    return b.apply(op, *args, attrs=attrs)


def _fold(op: Op, args: Sequence[Atom], attrs: Attrs) -> Const | None:
    """The constant result; None where it is large, or where NumPy would warn or raise."""
    (aval,) = op.infer([a.aval for a in args], attrs)
    if aval.size > FOLD_LIMIT:
        return None
    values = [a.value for a in args if isinstance(a, Const)]
    try:
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            value = apply_op(op, values, attrs)
            result = const(value if aval.weak else np.asarray(value, aval.dtype))
    except (ArithmeticError, ValueError, IndexError, TypeError, Warning):
        return None
    return result if result.aval == aval else None


def definition(b: Builder, x: Atom, op: Op) -> Apply | None:
    """The statement that made `x`, if it stands in this block and applies `op`."""
    made = b.definitions.get(x) if isinstance(x, Var) else None
    return made if made is not None and made.op is op else None


# ---- elementwise ---------------------------------------------------------------------------------


def elementwise(b: Builder, op: Elementwise, *args: Any) -> Atom:
    """`op(*args)` with NumPy's broadcasting and promotion."""
    atoms = tuple(lift(a) for a in args)
    if len(atoms) != op.arity:
        raise TypeError(f"{op.numpy} takes {op.arity} arguments, {len(atoms)} were given")
    if len(atoms) == 2:
        same = _without_neutral(b, op, atoms[0], atoms[1])
        if same is not None:
            return same
    if op is ops.WHERE:
        chosen = _known_choice(b, *atoms)
        if chosen is not None:
            return chosen
    check_beside(op, atoms)
    op = _of_truths(op, atoms)
    if op is ops.POSITIVE and atoms[0].aval.dtype.kind != "b":
        return atoms[0]
    if op is ops.NEGATIVE:
        inner = definition(b, atoms[0], ops.NEGATIVE)
        if inner is not None:
            return inner.args[0]
    if op is ops.LOGICAL_NOT:
        inner = definition(b, atoms[0], ops.LOGICAL_NOT)
        if inner is not None and inner.args[0].aval.dtype.kind == "b":
            return inner.args[0]
    return emit(b, op, *atoms)


def _of_truths(op: Elementwise, atoms: Sequence[Atom]) -> Elementwise:
    """`&`, `|`, `~` of arrays of bool as what they are: the logical operations."""
    logical = _LOGICAL.get(op)
    if logical is None or all(not a.aval.shape for a in atoms):
        return op
    return logical if all(a.aval.dtype.kind == "b" for a in atoms) else op


_LOGICAL = {
    ops.BITWISE_AND: ops.LOGICAL_AND,
    ops.BITWISE_OR: ops.LOGICAL_OR,
    ops.BITWISE_XOR: ops.LOGICAL_XOR,
    ops.INVERT: ops.LOGICAL_NOT,
}


def _without_neutral(b: Builder, op: Elementwise, x: Atom, y: Atom) -> Atom | None:
    """`x * 1`, `1 * x`, `x / 1`, `x ** 1` as `x` and `-1 * x` as `-x`, where that is exact and has the same type."""
    if op not in (ops.MULTIPLY, ops.DIVIDE, ops.POWER):
        return None
    if op is ops.MULTIPLY and _number(x) in (1, -1) and not isinstance(y, Const):
        x, y = y, x
    number = _number(y)
    if number not in (1, -1) or isinstance(x, Const):
        return None
    if op.infer([x.aval, y.aval], NO_ATTRS) != (x.aval,):
        return None
    if number == 1:
        return x
    return elementwise(b, ops.NEGATIVE, x) if op is ops.MULTIPLY and x.aval.dtype.kind in "fi" else None


def _number(x: Atom) -> Any:
    return x.value if isinstance(x, Const) and x.aval.shape == () and x.aval.dtype.kind in "iuf" else None


def _known_choice(b: Builder, condition: Atom, x: Atom, y: Atom) -> Atom | None:
    """`np.where` whose condition is a known scalar: one of the two, broadcast and cast."""
    if not isinstance(condition, Const) or condition.aval.shape != ():
        return None
    (aval,) = ops.WHERE.infer([condition.aval, x.aval, y.aval], NO_ATTRS)
    return broadcast_to(b, astype(b, x if condition.value else y, aval.dtype), aval.shape)


def add(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.ADD, x, y)


def subtract(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.SUBTRACT, x, y)


def multiply(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.MULTIPLY, x, y)


def divide(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.DIVIDE, x, y)


def floor_divide(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.FLOOR_DIVIDE, x, y)


def remainder(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.REMAINDER, x, y)


def power(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.POWER, x, y)


def negative(b: Builder, x: object) -> Atom:
    return elementwise(b, ops.NEGATIVE, x)


def where(b: Builder, condition: object, x: object, y: object) -> Atom:
    return elementwise(b, ops.WHERE, condition, x, y)


def maximum(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.MAXIMUM, x, y)


def minimum(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.MINIMUM, x, y)


def equal(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.EQUAL, x, y)


def not_equal(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.NOT_EQUAL, x, y)


def less(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.LESS, x, y)


def less_equal(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.LESS_EQUAL, x, y)


def greater(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.GREATER, x, y)


def greater_equal(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.GREATER_EQUAL, x, y)


def logical_and(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.LOGICAL_AND, x, y)


def logical_or(b: Builder, x: object, y: object) -> Atom:
    return elementwise(b, ops.LOGICAL_OR, x, y)


def logical_not(b: Builder, x: object) -> Atom:
    return elementwise(b, ops.LOGICAL_NOT, x)


def astype(b: Builder, x: object, dtype: Any) -> Atom:
    """`x.astype(dtype)`: strong, even where `x` is a Python number of that dtype."""
    x, target = lift(x), np.dtype(dtype)
    if target.hasobject or target.kind not in "biufcV" or target.fields is not None:
        raise DTypeError.refusing(f"arrays of dtype {target} are not in the language")
    if x.aval.dtype == target and not x.aval.weak:
        return x
    return emit(b, ops.ASTYPE, x, attrs=CastAttrs(target))


def raise_if(b: Builder, bad: object, error: type[Exception], message: str) -> None:
    """Raises `error(message)` at run time where any of `bad` is true."""
    bad = lift(bad)
    if bad.aval.shape:
        bad = any(b, bad)
    if not isinstance(bad, Const) or bad.value:
        b.append(Raise(bad, Block((), (), ()), Thrown(error, (Known(message),)), b.span))


def view(b: Builder, x: object, dtype: Any) -> Atom:
    """`x.view(dtype)`: the same bits as numbers of another dtype of the same size. Raises DTypeError."""
    x, target = lift(x), np.dtype(dtype)
    if x.aval.dtype == target:
        return x
    if target not in bits.VIEWS:
        raise CutError(Diagnostic(f"an array of dtype {x.aval.dtype} viewed as {target}"))
    return emit(b, bits.VIEWS[target], x)


def number(b: Builder, x: object, dtype: Any) -> Atom:
    """A scalar as a Python number: int(x), float(x), complex(x), bool(x) for int64, float64, complex128, bool."""
    x, target = lift(x), np.dtype(dtype)
    if x.aval == Aval((), target, weak=True):
        return x
    return emit(b, ops.ASTYPE, x, attrs=CastAttrs(target, weak=True))


MARKS_KINDS: ContextVar[bool] = ContextVar("marks_kinds", default=False)
"""Whether numbers that are brought to another kind get a mark, for the pass `kinds`."""


def widened(b: Builder, x: Atom, aval: Aval) -> Atom:
    """A number of another kind, only a narrower one, as one of the type `aval`."""
    if MARKS_KINDS.get():
        return b.apply(ops.ASTYPE, x, attrs=CastAttrs(aval.dtype, aval.weak, widens=True))
    if not aval.weak:
        return astype(b, x, aval.dtype)
    if not x.aval.weak:
        return number(b, x, aval.dtype)
    if isinstance(x, Const):
        return lift({"f": float, "c": complex}[aval.dtype.kind](x.value))
    return multiply(b, x, 1.0) if aval.dtype.kind == "f" else add(b, x, 0j)


# ---- reductions ----------------------------------------------------------------------------------


def normalize_axis(axis: int, ndim: int) -> int:
    """A non-negative axis; AxisError when out of range."""
    if not -ndim <= axis < ndim:
        raise AxisError(int(axis), ndim)
    return int(axis) % ndim


def normalize_axes(axes: Axes, ndim: int) -> tuple[int, ...]:
    """Sorted, non-negative; all of them for None. AxisError when one is out of range, ShapeError when repeated."""
    if axes is None:
        return tuple(range(ndim))
    given = (axes,) if isinstance(axes, int | np.integer) else tuple(axes)
    normal = sorted(normalize_axis(a, ndim) for a in given)
    if len(set(normal)) != len(normal):
        raise ShapeError(f"an axis is repeated in {given}")
    return tuple(normal)


def reduce(b: Builder, op: Reduce, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    """A reduction over `axes`; over no axes it only changes the dtype."""
    x = lift(x)
    normal = normalize_axes(axes, x.aval.ndim)
    if not normal:
        return astype(b, x, op.dtype(x.aval.dtype))
    return emit(b, op, x, attrs=ReduceAttrs(normal, bool(keepdims)))


def sum(b: Builder, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    return reduce(b, ops.SUM, x, axes, keepdims)


def prod(b: Builder, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    return reduce(b, ops.PROD, x, axes, keepdims)


def max(b: Builder, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    return reduce(b, ops.MAX, x, axes, keepdims)


def min(b: Builder, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    return reduce(b, ops.MIN, x, axes, keepdims)


def any(b: Builder, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    return reduce(b, ops.ANY, x, axes, keepdims)


def all_(b: Builder, x: object, axes: Axes = None, keepdims: bool = False) -> Atom:
    return reduce(b, ops.ALL_, x, axes, keepdims)


def argmax(b: Builder, x: object, axis: int, keepdims: bool = False) -> Atom:
    x = lift(x)
    return emit(b, ops.ARGMAX, x, attrs=ArgReduceAttrs(normalize_axis(axis, x.aval.ndim), bool(keepdims)))


def argmin(b: Builder, x: object, axis: int, keepdims: bool = False) -> Atom:
    x = lift(x)
    return emit(b, ops.ARGMIN, x, attrs=ArgReduceAttrs(normalize_axis(axis, x.aval.ndim), bool(keepdims)))


def cumsum(b: Builder, x: object, axis: int) -> Atom:
    x = lift(x)
    return emit(b, ops.CUMSUM, x, attrs=CumulativeAttrs(normalize_axis(axis, x.aval.ndim)))


def cumprod(b: Builder, x: object, axis: int) -> Atom:
    x = lift(x)
    return emit(b, ops.CUMPROD, x, attrs=CumulativeAttrs(normalize_axis(axis, x.aval.ndim)))


def sort(b: Builder, x: object, axis: int, places: tuple[int, ...] = ()) -> Atom:
    """The elements in ascending order along an axis, NaN last; `places`: a partition at these."""
    x = lift(x)
    return emit(b, ops.SORT, x, attrs=SortAttrs(normalize_axis(axis, x.aval.ndim), places))


def argsort(b: Builder, x: object, axis: int, places: tuple[int, ...] = ()) -> Atom:
    """The positions in which `sort` takes the elements; equal ones, but for partitions, in the order they stand in."""
    x = lift(x)
    return emit(b, ops.ARGSORT, x, attrs=SortAttrs(normalize_axis(axis, x.aval.ndim), places))


def fourier(b: Builder, op: Fourier, x: object, axes: Sequence[int], size: int = 0) -> Atom:
    """A transform along `axes`; `size` is that of irfft's result along the last of them."""
    x = lift(x)
    normal = tuple(normalize_axis(a, x.aval.ndim) for a in axes)
    if len(set(normal)) != len(normal):
        raise ShapeError(f"{op.numpy}: an axis is repeated in {tuple(axes)}")
    if op.name in ("fft", "ifft"):
        normal = tuple(sorted(normal))
    return emit(b, op, x, attrs=FourierAttrs(normal, size))


# ---- products ------------------------------------------------------------------------------------


def contract(b: Builder, x: object, y: object, lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int]) -> Atom:
    """The product of two arrays over labelled axes; labels missing from `out` are summed.

    A transpose of an operand is taken into the labels; a label that only one operand has and that is summed,
    is summed first. The operand that gives the last axis of the result comes second, as with `@`. Labels are
    renumbered in order of appearance, so equal products are equal statements. A product with a scalar is `x * y`.
    """
    x, lhs = _operand(b, lift(x), tuple(lhs), set(rhs) | set(out))
    y, rhs = _operand(b, lift(y), tuple(rhs), set(lhs) | set(out))
    if not lhs or not rhs:
        scaled = astype(b, multiply(b, x, y), promote([x.aval, y.aval]))
        return transpose(b, scaled, [(lhs or rhs).index(label) for label in out])
    if _is_mirrored(lhs, rhs, out):
        x, y, lhs, rhs = y, x, rhs, lhs
    number: dict[int, int] = {}
    for label in (*lhs, *rhs):
        number.setdefault(label, len(number))
    attrs = ContractAttrs(*(tuple(number[s] for s in labels) for labels in (lhs, rhs, out)))
    return emit(b, ops.CONTRACT, x, y, attrs=attrs)


def _is_mirrored(lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int]) -> bool:
    """Does the last axis of the result come from the first operand, and another from the second?"""
    return bool(out) and out[-1] not in rhs and builtins.any(label not in lhs for label in out)


def _operand(b: Builder, x: Atom, labels: tuple[int, ...], needed: set[int]) -> tuple[Atom, tuple[int, ...]]:
    if len(set(labels)) != len(labels) or len(labels) != x.aval.ndim:
        raise ShapeError(f"labels {labels} do not name the axes of an array of shape {x.aval.shape}")
    alone = [i for i, label in enumerate(labels) if label not in needed]
    if alone:
        x = astype(b, sum(b, x, alone), x.aval.dtype)  # a product keeps small integers, a sum widens them
        labels = tuple(s for s in labels if s in needed)
    transposed = definition(b, x, ops.TRANSPOSE)
    if transposed is None:
        return x, labels
    assert isinstance(transposed.attrs, AxesAttrs)
    inner = dict(zip(transposed.attrs.axes, labels, strict=True))
    return transposed.args[0], tuple(inner[i] for i in range(len(labels)))


def matmul(b: Builder, x: object, y: object) -> Atom:
    """`x @ y` for arrays of rank at least 1; leading axes are batches and broadcast."""
    x, y = lift(x), lift(y)
    if not x.aval.ndim or not y.aval.ndim:
        raise ShapeError("matmul: a scalar operand has no axes to multiply over; use *")
    inner, row, column = 0, 1, 2
    x_core = (inner,) if x.aval.ndim == 1 else (row, inner)
    y_core = (inner,) if y.aval.ndim == 1 else (inner, column)
    x_batch = x.aval.shape[: x.aval.ndim - len(x_core)]
    y_batch = y.aval.shape[: y.aval.ndim - len(y_core)]
    depth = builtins.max(len(x_batch), len(y_batch))
    batch = tuple(range(3, 3 + depth))
    x, x_labels = _drop_broadcast(b, x, batch[depth - len(x_batch) :], y_batch)
    y, y_labels = _drop_broadcast(b, y, batch[depth - len(y_batch) :], x_batch)
    out = (*batch, *x_core[:-1], *y_core[1:])
    missing = [s for s in batch if s not in x_labels and s not in y_labels]
    assert not missing, "a batch axis of size 1 in both operands stays in both"
    return contract(b, x, y, x_labels + x_core, y_labels + y_core, out)


def _drop_broadcast(b: Builder, x: Atom, labels: tuple[int, ...], other: Shape) -> tuple[Atom, tuple[int, ...]]:
    """Squeezes the batch axes of size 1 that the other operand's larger ones stand for."""
    shape = x.aval.shape[: len(labels)]
    theirs = (1,) * (len(labels) - len(other)) + other[builtins.max(0, len(other) - len(labels)) :]
    drop = [i for i, (m, n) in enumerate(zip(shape, theirs, strict=True)) if m == 1 and n != 1]
    kept = tuple(label for i, label in enumerate(labels) if i not in drop)
    return squeeze(b, x, drop), kept


# ---- linear algebra ------------------------------------------------------------------------------


def linalg(b: Builder, op: Linalg, *args: object, full: bool = False) -> Atom:
    """An operation on matrices, in NumPy's dtype for them: integers are computed in float64."""
    atoms = [lift(a) for a in args]
    matrices = [a for a, core in zip(atoms, op.cores, strict=True) if core]
    dtype = promote([a.aval for a in matrices])
    if dtype.kind in "biu":
        dtype = np.dtype(np.float64)
    atoms = [astype(b, a, dtype) if core else a for a, core in zip(atoms, op.cores, strict=True)]
    return emit(b, op, *atoms, attrs=LinalgAttrs(full))


# ---- shapes --------------------------------------------------------------------------------------


def reshape(b: Builder, x: object, shape: Sequence[int]) -> Atom:
    """`shape` may hold one -1."""
    x = lift(x)
    target = _resolve_shape(x.aval, tuple(int(n) for n in shape))
    earlier = definition(b, x, ops.RESHAPE)
    if earlier is not None:
        x = earlier.args[0]
    if target == x.aval.shape:
        return x
    return emit(b, ops.RESHAPE, x, attrs=ShapeAttrs(target))


def _resolve_shape(aval: Aval, shape: Shape) -> Shape:
    unknown = [i for i, n in enumerate(shape) if n < 0]
    if not unknown:
        return shape
    known = math.prod(n for n in shape if n >= 0)
    if len(unknown) > 1 or not known or aval.size % known:
        raise ShapeError(f"cannot reshape an array of shape {aval.shape} into shape {shape}")
    return tuple(aval.size // known if n < 0 else n for n in shape)


def transpose(b: Builder, x: object, axes: Sequence[int] | None = None) -> Atom:
    """A permutation of the axes; reversed for None."""
    x = lift(x)
    ndim = x.aval.ndim
    order = tuple(range(ndim))[::-1] if axes is None else tuple(normalize_axis(a, ndim) for a in axes)
    if sorted(order) != list(range(ndim)):
        raise ShapeError(f"axes {order} are not a permutation of those of an array of shape {x.aval.shape}")
    earlier = definition(b, x, ops.TRANSPOSE)
    if earlier is not None:
        assert isinstance(earlier.attrs, AxesAttrs)
        inner = earlier.attrs.axes
        x, order = earlier.args[0], tuple(inner[a] for a in order)
    if order == tuple(range(ndim)):
        return x
    return emit(b, ops.TRANSPOSE, x, attrs=AxesAttrs(order))


def broadcast_to(b: Builder, x: object, shape: Sequence[int]) -> Atom:
    x, target = lift(x), tuple(int(n) for n in shape)
    if x.aval.shape == target:
        return x
    return emit(b, ops.BROADCAST_TO, x, attrs=ShapeAttrs(target))


def expand_dims(b: Builder, x: object, axes: Axes) -> Atom:
    """Axes of size 1 at the positions `axes` of the result."""
    x = lift(x)
    count = 1 if isinstance(axes, int) else len(tuple(axes or ()))
    normal = normalize_axes(() if axes is None else axes, x.aval.ndim + count)
    return emit(b, ops.EXPAND_DIMS, x, attrs=AxesAttrs(normal)) if normal else x


def squeeze(b: Builder, x: object, axes: Axes = None) -> Atom:
    """Without the axes of size 1 in `axes`; without all of them for None."""
    x = lift(x)
    if axes is None:
        axes = tuple(i for i, n in enumerate(x.aval.shape) if n == 1)
    normal = normalize_axes(axes, x.aval.ndim)
    return emit(b, ops.SQUEEZE, x, attrs=AxesAttrs(normal)) if normal else x


def concatenate(b: Builder, xs: Sequence[Any], axis: int = 0) -> Atom:
    """Arrays of one rank joined along an axis, cast to their common dtype."""
    atoms = [lift(x) for x in xs]
    if not atoms:
        raise ShapeError("need at least one array to concatenate")
    if not atoms[0].aval.ndim:
        raise ShapeError("zero-dimensional arrays cannot be concatenated")
    normal = normalize_axis(axis, atoms[0].aval.ndim)
    dtype = promote([a.aval for a in atoms])
    cast = [astype(b, a, dtype) for a in atoms]
    if len(cast) == 1:
        return cast[0]
    return emit(b, ops.CONCATENATE, *cast, attrs=ConcatenateAttrs(normal))


# ---- creation ------------------------------------------------------------------------------------


def full(b: Builder, shape: Sequence[int], value: object, dtype: Any = None) -> Atom:
    """An array of one repeated scalar, of the scalar's own dtype for None."""
    value = lift(value)
    target = value.aval.dtype if dtype is None else np.dtype(dtype)
    check_holds(target, value)
    if value.aval.shape != ():
        return broadcast_to(b, astype(b, value, target), shape)
    if not tuple(shape):
        return astype(b, value, target)
    if isinstance(value, Const):
        value = astype(b, value, target)
    return b.apply(ops.FULL, value, attrs=CreateAttrs(_sizes(shape), target))


def zeros(b: Builder, shape: Sequence[int], dtype: Any = np.float64) -> Atom:
    return full(b, shape, np.zeros((), dtype)[()], dtype)


def ones(b: Builder, shape: Sequence[int], dtype: Any = np.float64) -> Atom:
    return full(b, shape, np.ones((), dtype)[()], dtype)


def empty(b: Builder, shape: Sequence[int], dtype: Any = np.float64) -> Atom:
    """An array whose contents mean nothing until they are stored."""
    return b.apply(ops.EMPTY, attrs=CreateAttrs(_sizes(shape), np.dtype(dtype)))


def iota(b: Builder, n: int, dtype: Any = np.int64) -> Atom:
    """0, 1, ... n-1."""
    return b.apply(ops.IOTA, attrs=CreateAttrs(_sizes((n,)), np.dtype(dtype)))


def _sizes(shape: Sequence[int]) -> Shape:
    sizes = tuple(int(n) for n in shape)
    if builtins.any(n < 0 for n in sizes):
        raise ShapeError("negative dimensions are not allowed")
    return sizes


# ---- indexing ------------------------------------------------------------------------------------


def index(b: Builder, x: object, dims: Sequence[Dim], dyn: Sequence[Any] = ()) -> Atom:
    """`x[...]`; `Dyn` and `Gather` positions count within `dyn`."""
    x = lift(x)
    attrs, used = _index_attrs(x.aval.shape, dims, dyn, 1)
    if _is_whole(x.aval.shape, attrs):
        return x
    return emit(b, ops.INDEX, x, *used, attrs=attrs)


def put(b: Builder, x: object, value: object, dims: Sequence[Dim], dyn: Sequence[Any] = ()) -> Atom:
    """`x` with `x[...] = value`; the value is cast to the dtype of `x` and broadcast."""
    x, value = lift(x), lift(value)
    check_holds(x.aval.dtype, value)
    attrs, used = _index_attrs(x.aval.shape, dims, dyn, 2)
    if _is_whole(x.aval.shape, attrs) and value.aval.ndim <= x.aval.ndim:
        return broadcast_to(b, astype(b, value, x.aval.dtype), x.aval.shape)
    increment = _increment(b, x, value, dims, dyn)
    if increment is not None:
        return emit(b, ops.PUT_ADD, x, increment, *used, attrs=attrs)
    return emit(b, ops.PUT, x, value, *used, attrs=attrs)


def _increment(b: Builder, x: Atom, value: Atom, dims: Sequence[Dim], dyn: Sequence[Any]) -> Atom | None:
    """`v` where `value` is `x[i] + v` and is about to be stored at `x[i]`: that is `x[i] += v`."""
    total = definition(b, value, ops.ADD)
    part = definition(b, total.args[0], ops.INDEX) if total is not None else None
    if total is None or part is None or part.args[0] is not x or value.aval != total.args[0].aval:
        return None
    attrs, used = _index_attrs(x.aval.shape, dims, dyn, 1)
    if part.attrs != attrs or part.args[1:] != used or any_gather(attrs):
        return None
    return total.args[1]


def any_gather(attrs: IndexAttrs) -> bool:
    return builtins.any(isinstance(d, Gather) for d in attrs.dims)


def put_add(b: Builder, x: object, value: object, dims: Sequence[Dim], dyn: Sequence[Any] = ()) -> Atom:
    """`x` with `value` added at `x[...]`; repeated indices accumulate."""
    x, value = lift(x), lift(value)
    attrs, used = _index_attrs(x.aval.shape, dims, dyn, 2)
    if _is_whole(x.aval.shape, attrs):
        total = add(b, x, value)
        if total.aval.shape == x.aval.shape:
            return astype(b, total, x.aval.dtype)
    return emit(b, ops.PUT_ADD, x, value, *used, attrs=attrs)


def _index_attrs(
    shape: Shape, dims: Sequence[Dim], dyn: Sequence[Any], offset: int
) -> tuple[IndexAttrs, tuple[Atom, ...]]:
    """Entries with known positions made static and the rest renumbered, in order of use, from `offset`."""
    if len(dims) != len(shape):
        raise ShapeError(f"{len(dims)} index entries for an array of shape {shape}")
    atoms = [lift(a) for a in dyn]
    used: dict[Atom, int] = {}

    def position(i: int) -> int:
        return used.setdefault(atoms[i], offset + len(used))

    normal: list[Dim] = []
    for d, n in zip(dims, shape, strict=True):
        match d:
            case At(index=i):
                known = _known_index(i, atoms)
                normal.append(At(Dyn(position(i.arg)) if known is None and isinstance(i, Dyn) else _inside(known, n)))
            case Run(start=start, size=size, step=step):
                known = _known_index(start, atoms)
                step = step if size > 1 else 1
                if not size:
                    normal.append(Run(0, 0))
                elif known is None and isinstance(start, Dyn):
                    normal.append(Run(Dyn(position(start.arg)), size, step))
                else:
                    normal.append(Run(_inside(known, n), size, step))
            case Gather(arg=a) if not atoms[a].aval.shape:
                known = _known_index(Dyn(a), atoms)
                normal.append(At(Dyn(position(a)) if known is None else _inside(known, n)))
            case Gather(arg=a):
                normal.append(Gather(position(a)))
            case _:
                assert_never(d)
    return IndexAttrs(tuple(normal)), tuple(used)


def _known_index(i: int | Dyn, atoms: Sequence[Atom]) -> int | None:
    if not isinstance(i, Dyn):
        return int(i)
    atom = atoms[i.arg]
    if atom.aval.shape != () or atom.aval.dtype.kind not in "iu":
        raise DTypeError(f"an index must be an integer, not {atom.aval}")
    return int(atom.value) if isinstance(atom, Const) else None


def _inside(i: int | None, n: int) -> int:
    assert i is not None
    if not -n <= i < n:
        raise OutOfBoundsError(f"index {i} is out of bounds for axis of size {n}")
    return i % n


def _is_whole(shape: Shape, attrs: IndexAttrs) -> bool:
    return attrs.dims == tuple(Run(0, n) for n in shape)

