"""Reductions, extremes' positions, running sums and products in StableHLO."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ...translator.ir import DType, Shape
from ...translator.ops.core import ArgReduceAttrs, ContractAttrs, ReduceAttrs, reduced_shape
from ..client import host_calls
from .elementwise import complex_order, plus_zero
from .writer import BOOL, F32, F64, I32, I64, Value, Writer, is_float, real_dtype, tensor_type

_COMBINE = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "any": "or", "all": "and"}
U8 = np.dtype(np.uint8)
_BOOL_COMBINE = {"max": "or", "min": "and", "any": "or", "all": "and"}


def accumulator(dtype: DType) -> DType:
    """Half precision accumulates in float32, as a pairwise sum would be too inaccurate otherwise."""
    return F32 if is_float(dtype) and dtype.itemsize == 2 else dtype


def reduce(w: Writer, name: str, x: Value, attrs: ReduceAttrs, result: DType, missed: bool = True) -> Value:
    """`missed`: whether it matters that an extreme of NaN is NaN (`extremes`)."""
    shape = reduced_shape(x.shape, attrs.axes, attrs.keepdims)
    if name in ("any", "all"):
        if x.name in w.bounded:
            return w.reshape(_within_bound(w, name, *w.bounded[x.name], attrs.axes), shape)
        x = w.nonzero(x)
    on_host = x.name in w.shifted or (missed and x.name in w.arguments and host_calls.compares(name, x, attrs))
    if w.host and on_host and host_calls.reduces(name, x, result):
        places, called = " ".join(map(str, attrs.axes)), "count" if x.dtype == BOOL and name == "sum" else name
        found = host_calls.call(w, f"{called} {places}", [x], reduced_shape(x.shape, attrs.axes, False), result)
        return w.reshape(found, shape)
    if x.dtype == BOOL and name in _OF_TRUTHS and len(attrs.axes) == len(x.shape) and math.prod(x.shape) >= _MANY:
        return w.reshape(w.convert(_of_truths(w, name, x), result), shape)
    if name in ("max", "min"):
        return w.reshape(_extreme(w, name, x, attrs.axes, missed), shape)
    working = accumulator(result)
    x = w.convert(x, working)
    if name == "sum" and working.kind in "fc" and math.prod(x.shape[i] for i in attrs.axes) == 1:
        return w.convert(plus_zero(w, w.reshape(x, shape)), result)  # XLA would not begin at 0.0
    init = w.constant(identity_of(name, working), (), working)
    left = attrs.axes
    if name == "sum" and w.host and working.kind in "fc" and len(left) > 1 and _LINE < math.prod(x.shape) < _FUSED:
        # line by line, then what they give: in one go each of them is added to all that came before
        line, x = left[-1], w.op("optimization_barrier", w.reduce(x, init, "add", left[-1:]))
        left = tuple(k - (k > line) for k in left[:-1])
    return w.reshape(w.convert(w.reduce(x, init, _COMBINE[name], left), result), shape)


_OF_TRUTHS = {"sum": "add", "any": "maximum", "all": "minimum"}
_LINE = 128  # truths, whose count is a byte
_MANY = 1 << 14


def _of_truths(w: Writer, name: str, x: Value) -> Value:
    """How many truth values are true, whether any or all are: first along lines, as bytes. XLA would write each of them
    out as wide as the result, which takes 3 to 6 times as long.
    """
    combine, neutral, count = _OF_TRUTHS[name], int(name == "all"), math.prod(x.shape)
    line = w.reshape(x, (count,))
    if count % _LINE:
        line = w.pad(line, w.constant(bool(neutral), (), BOOL), [0], [-count % _LINE], [0])
    lines = w.convert(w.reshape(line, (-(-count // _LINE), _LINE)), U8)
    parts = w.reduce(lines, w.constant(neutral, (), U8), combine, (1,))
    if name == "sum":
        return w.reduce(w.convert(parts, I64), w.integer(0), combine, (0,))
    return w.nonzero(w.reduce(parts, w.constant(neutral, (), U8), combine, (0,)))


def _within_bound(w: Writer, name: str, direction: str, x: Value, bound: Value, axes: Sequence[int]) -> Value:
    """Whether any or all of x are less (greater) than a bound: whether the least or the greatest of them is."""
    least = direction in ("LT", "LE")
    extreme = "min" if least == (name == "any") else "max"
    found = reduce(w, extreme, x, ReduceAttrs(tuple(axes), False), x.dtype)
    return w.compare(direction, found, w.broadcast(bound, found.shape))


def identity_of(name: str, dtype: DType) -> object:
    match name:
        case "sum" | "any":
            return 0
        case "prod" | "all":
            return 1
    low = name == "max"
    if dtype.kind == "b":
        return not low
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if low else np.iinfo(dtype).max
    return -np.inf if low else np.inf


_FUSED = 1 << 12  # elements from which XLA gives an extreme of floats to YNNPACK


def _extreme(w: Writer, name: str, x: Value, axes: Sequence[int], missed: bool = True) -> Value:
    """YNNPACK's extremes lose NaN: whether there is one, a second reduction says, of bytes, which it does not take.
    Of the ways to ask, this is the cheapest: a softmax of 2048x512 takes 1.1 times as long; with truths 1.26, sums 1.3.
    """
    if not axes:
        return x
    if x.dtype.kind == "c":
        return _complex_extreme(w, name, x, axes)
    init = w.constant(identity_of(name, x.dtype), (), x.dtype)
    combine = _BOOL_COMBINE[name] if x.dtype == BOOL else _COMBINE[name]
    best = w.reduce(x, init, combine, axes)
    if not (missed and w.loses_nan and is_float(x.dtype) and math.prod(x.shape) >= _FUSED):
        return best
    some = w.reduce(w.convert(w.is_nan(x), U8), w.constant(0, (), U8), "maximum", axes)
    return w.select(w.nonzero(some), w.splat(np.nan, best), best)


def _complex_extreme(w: Writer, name: str, x: Value, axes: Sequence[int]) -> Value:
    """Lexicographic, a NaN wins: the region compares real parts, then imaginary ones."""
    worst = -np.inf if name == "max" else np.inf
    init = w.constant(complex(worst, worst), (), x.dtype)
    shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
    result = Value(w.fresh(), shape, x.dtype)
    a, b = Value(w.fresh("a"), (), x.dtype), Value(w.fresh("b"), (), x.dtype)
    scalar = tensor_type((), x.dtype)
    w.line(f'{result.name} = "stablehlo.reduce"({x.name}, {init.name}) ({{')
    w.line(f"^bb0({a.name}: {scalar}, {b.name}: {scalar}):")
    with w.region():
        first = w.either(w.is_nan(a), complex_order(w, "GE" if name == "max" else "LE", a, b))
        best = w.select(w.both(w.is_nan(b), w.invert(w.is_nan(a))), b, w.select(first, a, b))
        w.line(f"stablehlo.return {best.name} : {scalar}")
    dims = f"{{dimensions = array<i64: {', '.join(map(str, axes))}>}}"
    types = f"({tensor_type(x.shape, x.dtype)}, {scalar}) -> {tensor_type(shape, x.dtype)}"
    w.line(f"}}) {dims} : {types}")
    return result


# ---- argmax, argmin ------------------------------------------------------------------------------


def arg_reduce(w: Writer, name: str, x: Value, attrs: ArgReduceAttrs) -> Value:
    """The extreme first, then the smallest position that holds it: two plain reductions, which vectorise."""
    axis = attrs.axis
    if w.host and host_calls.searches(x, axis):
        first = host_calls.call(w, f"{name} {axis}", [x], reduced_shape(x.shape, (axis,), False), I64)
        return w.reshape(first, reduced_shape(x.shape, (axis,), attrs.keepdims))
    found = _holders(w, name, x, axis)
    index = I32 if x.shape[axis] < 2**31 else I64
    positions = w.iota(x.shape, index, axis)
    beyond = w.constant(x.shape[axis], x.shape, index)
    candidates = w.select(found, positions, beyond)
    first = w.reduce(candidates, w.constant(x.shape[axis], (), index), "minimum", (axis,))
    return w.reshape(w.convert(first, I64), reduced_shape(x.shape, (axis,), attrs.keepdims))


def _holders(w: Writer, name: str, x: Value, axis: int) -> Value:
    """Which elements are the extreme of their line; the NaNs where there are any."""
    kind = "max" if name == "argmax" else "min"
    if x.dtype.kind == "c":
        part = real_dtype(x.dtype)
        re, im = w.op("real", x, dtype=part), w.op("imag", x, dtype=part)
        best = _is_extreme(w, kind, re, axis)
        worst = w.splat(identity_of(kind, part), im)
        nan = w.is_nan(x)
        some = w.reduce(nan, w.constant(False, (), BOOL), "or", (axis,))
        spread = _along(w, some, x.shape, axis)
        return w.select(spread, nan, w.both(best, _is_extreme(w, kind, w.select(best, im, worst), axis)))
    found = _is_extreme(w, kind, x, axis)
    return w.either(found, w.is_nan(x)) if is_float(x.dtype) else found


def _is_extreme(w: Writer, kind: str, x: Value, axis: int) -> Value:
    return w.compare("EQ", x, _along(w, _extreme(w, kind, x, (axis,)), x.shape, axis))


def _along(w: Writer, reduced: Value, shape: Shape, axis: int) -> Value:
    return w.broadcast_in(reduced, shape, [i for i in range(len(shape)) if i != axis])


# ---- products ------------------------------------------------------------------------------------


def contract(w: Writer, x: Value, y: Value, attrs: ContractAttrs, dtype: DType, target: Literal["cpu", "tpu"]) -> Value:
    """One dot_general; a broadcast product where nothing is summed. Operands swap when that saves a transpose.

    A TPU is asked for float32 where it would round the operands to bfloat16.
    """
    lhs, rhs, out = attrs.lhs, attrs.rhs, attrs.out
    summed = [label for label in lhs if label not in out]
    if dtype == BOOL:
        return w.nonzero(contract(w, w.convert(x, I32), w.convert(y, I32), attrs, I32, target))
    x, y = w.convert(x, dtype), w.convert(y, dtype)
    sizes = dict(zip((*lhs, *rhs), (*x.shape, *y.shape), strict=True))
    if not summed:
        shape = tuple(sizes[label] for label in out)
        return w.multiply(_spread(w, x, lhs, out, shape), _spread(w, y, rhs, out, shape))
    batch = [label for label in out if label in lhs and label in rhs]
    free_x = [label for label in lhs if label in out and label not in batch]
    free_y = [label for label in rhs if label in out and label not in batch]
    if [*batch, *free_y, *free_x] == list(out) and free_x and free_y:
        x, y, lhs, rhs, free_x, free_y = y, x, rhs, lhs, free_y, free_x
    if w.host and host_calls.sums_products(attrs, x, y, dtype):
        labels = " ".join(map(str, (len(lhs), *lhs, *rhs, *out)))
        return host_calls.call(w, f"einsum {labels}", [x, y], tuple(sizes[label] for label in out), dtype)
    faster = not batch and host_calls.multiplies_faster(dtype, math.prod(sizes.values()))
    as_it_is = (x.name in w.shifted or y.name in w.shifted) and host_calls.multiplies(attrs, x, y, dtype)
    on_host = w.host and (faster or as_it_is)
    if len(summed) > 1 and not on_host and _adjacent(summed, lhs) and _adjacent(summed, rhs):
        x, lhs = _summed_as_one(w, x, lhs, summed)
        y, rhs = _summed_as_one(w, y, rhs, summed)
        sizes[summed[0]] = _product(sizes, summed)
        summed = summed[:1]
    turned = target == "cpu" and not (batch or on_host) and len(lhs) == 2 and lhs[0] in summed and free_x and free_y
    if turned and _worth_turning(sizes, dtype):
        x, lhs = w.op("optimization_barrier", w.transpose(x, (1, 0))), (lhs[1], lhs[0])
    have = [*batch, *free_x, *free_y]
    if on_host:
        z = _host_product(w, (x, lhs, free_x), (y, rhs, free_y), sizes)
        return w.transpose(w.reshape(z, tuple(sizes[s] for s in have)), [have.index(s) for s in out])
    parts = [f"contracting_dims = {_pair(summed, lhs, rhs)}"]
    if batch:
        parts.insert(0, f"batching_dims = {_pair(batch, lhs, rhs)}")
    if target == "tpu" and dtype.name in ("float32", "complex64"):
        parts.append("precision = [HIGHEST, HIGHEST]")
    z = w.op("dot_general", x, y, shape=tuple(sizes[s] for s in have), attrs=", ".join(parts))
    return w.transpose(z, [have.index(s) for s in out])


def _adjacent(summed: Sequence[int], labels: Sequence[int]) -> bool:
    """Whether these labels stand behind each other, in their order."""
    start = labels.index(summed[0])
    return list(labels[start : start + len(summed)]) == list(summed)


def _summed_as_one(w: Writer, x: Value, labels: Sequence[int], summed: Sequence[int]) -> tuple[Value, tuple[int, ...]]:
    """An operand with the axes that are summed, which lie together, as one axis."""
    start, stop = labels.index(summed[0]), labels.index(summed[-1]) + 1
    shape = (*x.shape[:start], math.prod(x.shape[start:stop]), *x.shape[stop:])
    return w.reshape(x, shape), (*labels[: start + 1], *labels[stop:])


Side = tuple[Value, Sequence[int], Sequence[int]]  # an operand, its labels, those of them that are not summed


def _host_product(w: Writer, left: Side, right: Side, sizes: dict[int, int]) -> Value:
    """BLAS's product of two matrices, which the axes of each operand are taken together to."""
    summed = [label for label in left[1] if label not in left[2]]
    operands, turned = [], 0
    for k, (x, labels, free) in enumerate((left, right)):
        first, second = (free, summed) if k == 0 else (summed, free)
        if list(labels) == [*second, *first]:
            turned |= k + 1
            first, second = second, first
        x = w.transpose(x, [labels.index(s) for s in (*first, *second)])
        operands.append(w.reshape(x, (_product(sizes, first), _product(sizes, second))))
    shape = (_product(sizes, left[2]), _product(sizes, right[2]))
    return host_calls.call(w, f"matmul {turned}", operands, shape, left[0].dtype)


def _product(sizes: dict[int, int], labels: Sequence[int]) -> int:
    return math.prod(sizes[label] for label in labels)


def _worth_turning(sizes: dict[int, int], dtype: DType) -> bool:
    """Whether a product of matrices `x.T @ y` is faster on a CPU with the transpose of x written out, behind a barrier
    that XLA cannot fold into the product. YNNPACK has no kernel for a first operand that lies the other way round, and
    Eigen's takes up to 1.9 times as long in float64 from 32 x 32 on; in float32 the gain (1.1 to 1.3) needs larger
    operands. With a vector the transpose takes 5 to 20 times as long as the product.
    """
    smallest, total = min(sizes.values()), math.prod(sizes.values())
    if dtype == F64:
        return smallest >= 16 and total >= 1 << 15
    return dtype == F32 and smallest >= 32 and total >= 1 << 21


def _pair(labels: Sequence[int], lhs: Sequence[int], rhs: Sequence[int]) -> str:
    return " x ".join(f"[{', '.join(str(side.index(s)) for s in labels)}]" for side in (lhs, rhs))


def _spread(w: Writer, x: Value, labels: Sequence[int], out: Sequence[int], shape: Shape) -> Value:
    """The operand of a product without sums, with its axes where the result has them."""
    order = sorted(range(len(labels)), key=lambda k: out.index(labels[k]))
    moved = w.transpose(x, order)
    return moved if moved.shape == shape else w.broadcast_in(moved, shape, [out.index(labels[k]) for k in order])
