"""The namespace `untraced.lax`: JAX's control flow, slices, products and windows, NumPy's functions under JAX's names.

A JAX program that uses them runs with its import changed. Each is a plain Python function over NumPy arrays; inside an
accelerated or transformed function it is read like the loop, branch or expression that it stands for. NumPy's semantics
hold: float64 stays float64, and operands broadcast and promote where JAX would refuse.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator.library.across import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pbroadcast,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
)
from ...translator.library.gathering import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    gather,
    scatter,
    scatter_add,
    scatter_apply,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_sub,
)
from ...translator.library.incomplete import betainc
from ...translator.library.incomplete import gamma_draw_slope as random_gamma_grad
from ...translator.library.incomplete import gammainc as igamma
from ...translator.library.incomplete import gammainc_slope as igamma_grad_a
from ...translator.library.incomplete import gammaincc as igammac
from ...translator.library.looping import (
    associative_scan,
    cond,
    fori_loop,
    scan,
    switch,
    while_loop,
)
from ...translator.library.looping import map_rows as map
from ...translator.library.ordering import sort_key_val, sort_several
from ...translator.library.special import expit as logistic
from ...translator.library.special import polygamma, zeta
from ...translator.library.support import one_axis as _one_axis
from ...translator.library.windows import (
    ConvDimensionNumbers,
    broadcast,
    broadcast_in_dim,
    conv,
    conv_dimension_numbers,
    conv_general_dilated,
    conv_general_dilated_local,
    conv_general_dilated_patches,
    conv_transpose,
    conv_with_general_padding,
    dot_general,
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
    index_in_dim,
    pad,
    reduce_window,
    slice_in_dim,
    top_k,
)
from ...translator.library.windows import static_slice as slice
from ...translator.ops.arithmetic import quotient
from ...translator.ops.bessel import i0e, i1e
from ...translator.ops.gamma import digamma, gammaln
from ...translator.ops.selection import of_parts
from ...translator.ops.special import erf, erfc, erfinv
from ..arrays.hosted import offer
from ..arrays.numbers import of_arrays
from ..targets.devices import platform_read_for
from ..transforms.implicit import custom_linear_solve, custom_root
from ..transforms.stopping import stop_gradient
from . import lax_linalg as linalg
from .lax_bits import bitcast_convert_type, clz, mulhi, population_count, reduce_precision, shift_right_logical
from .lax_generator import rng_bit_generator, rng_uniform
from .lax_options import DotAlgorithmPreset, FftType, Precision, RandomAlgorithm, RoundingMethod
from .lax_reductions import (
    reduce,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)
from .lax_shapes import (
    conv_general_permutations,
    conv_general_shape_tuple,
    conv_shape_tuple,
    conv_transpose_shape_tuple,
    padtype_to_pads,
    reduce_window_shape_tuple,
)
from .unp_arguments import full_like as _full_like

_UFUNCS = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "add": np.add, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh, "bitwise_and": np.bitwise_and,
    "bitwise_not": np.bitwise_not, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "cbrt": np.cbrt,
    "ceil": np.ceil, "conj": np.conj, "cos": np.cos, "cosh": np.cosh, "eq": np.equal, "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "floor": np.floor, "ge": np.greater_equal, "gt": np.greater, "imag": np.imag,
    "is_finite": np.isfinite, "le": np.less_equal, "log": np.log, "log1p": np.log1p, "lt": np.less, "max": np.maximum,
    "min": np.minimum, "mul": np.multiply, "ne": np.not_equal, "neg": np.negative, "nextafter": np.nextafter,
    "pow": np.power, "real": np.real, "sign": np.sign, "sin": np.sin,
    "sinh": np.sinh, "sqrt": np.sqrt, "square": np.square, "sub": np.subtract, "tan": np.tan, "tanh": np.tanh,
    "shift_left": np.left_shift, "shift_right_arithmetic": np.right_shift,
}  # fmt: skip
globals().update(_UFUNCS)
lgamma, erf_inv, bessel_i0e, bessel_i1e = gammaln, erfinv, i0e, i1e


# ---- of one line ---------------------------------------------------------------------------------


def div(x: Any, y: Any) -> Any:
    """x / y, of operands that broadcast; of integers the quotient towards zero, as in C."""
    return quotient(x, y) if np.result_type(x, y).kind in "iu" else x / y


def rem(x: Any, y: Any) -> Any:
    """The remainder with the sign of `x`, as in C, of operands that broadcast."""
    return np.fmod(x, y)


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x), element by element; inf at 0, NaN below."""
    return 1 / np.sqrt(x)


def reciprocal(x: Any) -> Any:
    """1 / x, element by element."""
    return 1 / x


def integer_pow(x: Any, y: int) -> Any:
    """x ** y, element by element, for an integer that is known before the run."""
    return x**y


def clamp(min: Any, x: Any, max: Any) -> Any:
    """`x` moved into [min, max]; all three broadcast. Where min > max the result is max."""
    return np.minimum(np.maximum(x, min), max)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """on_true where `pred`, an array of bool, holds, else on_false; all three broadcast. Both are computed."""
    return np.where(pred, on_true, on_false)


def select_n(which: Any, *cases: Any) -> Any:
    """cases[which], element by element: `which` is of bool, for two cases, or of integers below their number, and
    broadcasts with them. ValueError where an integer is out of range.
    """
    if len(cases) == 1:
        return cases[0]
    if np.result_type(which) == np.bool_:
        return np.where(which, cases[1], cases[0])
    return np.choose(which, cases)


def iota(dtype: Any, size: int) -> Any:
    """0, 1, ..., size - 1: an array of shape (size,) and this dtype. TypeError for a size below 0."""
    if size < 0:
        raise TypeError(f"iota: a size of {size}")
    return np.arange(size, dtype=dtype)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Any:
    """An array of this shape and dtype whose elements count along the axis `dimension` from 0. AxisError for an axis
    that it does not have.
    """
    dimension = _one_axis(dimension, len(shape))
    count = np.arange(shape[dimension], dtype=dtype)
    return np.broadcast_to(np.expand_dims(count, [i for i in range(len(shape)) if i != dimension]), tuple(shape))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """np.full: an array of this shape, all elements `fill_value`."""
    return np.full(shape, fill_value, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """np.full_like: in the shape and dtype of `x` where none are given."""
    return _full_like(x, fill_value, dtype, shape=shape)


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """The operand as an array of another dtype, of the same shape. TypeError for what is no dtype."""
    return np.asarray(operand).astype(new_dtype)


def empty(shape: int | Sequence[int], dtype: Any) -> Any:
    """An array of zeros."""
    return np.zeros(shape, dtype)


def dtype(x: Any) -> Any:
    """np.result_type(x): the dtype of an array or a number."""
    return np.result_type(x)


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """`arr` broadcast to the shape of `like_arr`. ValueError where it does not fit."""
    return np.broadcast_to(arr, np.shape(like_arr))


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Arrays one behind another along the axis `dimension`. ValueError where their other axes differ or there are none,
    AxisError for an axis that they do not have.
    """
    return np.concatenate(operands, axis=dimension)


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape beside each other along a new axis. ValueError where shapes differ or there are none,
    AxisError for an axis that the result does not have.
    """
    return np.stack(operands, axis=axis)


def unstack(x: Any, axis: int = 0) -> Any:
    """The parts along an axis, a tuple of arrays without it. AxisError for an axis that `x` does not have."""
    return tuple(np.moveaxis(x, axis, 0))


def broadcast_shapes(*shapes: Sequence[int]) -> Any:
    """The shape to which arrays of these shapes broadcast, a tuple. ValueError where they do not."""
    return np.broadcast_shapes(*shapes)


def reshape(operand: Any, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> Any:
    """The operand with the shape `new_sizes`, its axes permuted first where `dimensions` says so. ValueError where the
    numbers of elements differ.
    """
    return np.reshape(operand if dimensions is None else np.transpose(operand, dimensions), tuple(new_sizes))


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """The axes in the order `permutation`, which names each once; else ValueError."""
    return np.transpose(operand, tuple(permutation))


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """Without the axes `dimensions`. ValueError where one of them has more than one element."""
    return np.squeeze(array, tuple(dimensions))


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """With axes of one element at the places `dimensions` of the result; AxisError outside of it."""
    return np.expand_dims(array, tuple(dimensions))


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """The elements along the axes `dimensions` in reverse, in the same shape."""
    return np.flip(operand, tuple(dimensions))


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sorted along an axis. Of a tuple of arrays the first `num_keys` are the keys, the first one counting most, and
    all are brought into that order.
    """
    if isinstance(operand, tuple | list):
        return sort_several(operand, dimension, num_keys)
    return np.sort(operand, axis=dimension)


def argmax(operand: Any, axis: int, index_dtype: Any = np.int32) -> Any:
    """The place of the largest element along `axis`, the first of several, as `index_dtype`.

    TypeError for a dtype that is no integer's.
    """
    return np.argmax(operand, axis).astype(_of_integers(index_dtype))


def argmin(operand: Any, axis: int, index_dtype: Any = np.int32) -> Any:
    """The place of the smallest element along `axis`, the first of several, as `index_dtype`.

    TypeError for a dtype that is no integer's.
    """
    return np.argmin(operand, axis).astype(_of_integers(index_dtype))


def _of_integers(dtype: Any) -> Any:
    if np.dtype(dtype).kind not in "iu":
        raise TypeError(f"index_dtype must be an integer type, not {np.dtype(dtype).name}")
    return dtype


def approx_max_k(operand: Any, k: int, reduction_dimension: int = -1, **options: Any) -> list[Any]:
    """`top_k` along an axis; here it is exact. Values and their places, of the operand's shape with `k` in place of
    that axis.
    """
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(operand: Any, k: int, reduction_dimension: int = -1, **options: Any) -> list[Any]:
    """The k least elements along an axis, the least first, and their places: of the operand's shape with `k` in place
    of that axis.
    """
    if operand.dtype.kind in "biu":  # the negative of the least is none, and of what has no sign
        values, places = top_k(~operand, k, axis=reduction_dimension)
        return [~values, places]
    values, places = top_k(-operand, k, axis=reduction_dimension)
    return [-values, places]


def dot(
    lhs: Any, rhs: Any, *, dimension_numbers: Any = None, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """The product of vectors and matrices, the last axis of `lhs` with the first of `rhs`; with `dimension_numbers` it
    is dot_general. The operands' common dtype, or `preferred_element_type`. ValueError where the sizes differ.
    """
    if dimension_numbers is None:
        dimension_numbers = (((lhs.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def ragged_dot(lhs: Any, rhs: Any, group_sizes: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Rows of `lhs` (m, k) in groups that lie one after the other, each times a matrix of its own of `rhs` (g, k, n).
    Rows behind the last group give 0.
    """
    ends = np.cumsum(group_sizes)
    row = np.arange(lhs.shape[0])[:, None]
    chosen = (row >= ends - group_sizes) & (row < ends)  # (m, g)
    wide = np.result_type(lhs, rhs) if preferred_element_type is None else preferred_element_type
    return np.einsum("mg,mk,gkn->mn", chosen.astype(wide), lhs.astype(wide), rhs.astype(wide))


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """np.matmul: products of the matrices in the last two axes, (..., m, k) with (..., k, n), whose leading axes
    broadcast. ValueError where the sizes differ.
    """
    return np.matmul(lhs, rhs)


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running sums along `axis`, from its end where `reverse`; of the operand's shape and dtype, in which integers wrap
    around. AxisError for another axis.
    """
    found = np.cumsum(np.flip(operand, axis) if reverse else operand, axis, operand.dtype)
    return np.flip(found, axis) if reverse else found


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running products, of the operand's shape and dtype, in which integers wrap around; from the end of `axis` where
    `reverse`.
    """
    found = np.cumprod(np.flip(operand, axis) if reverse else operand, axis, operand.dtype)
    return np.flip(found, axis) if reverse else found


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The largest element so far along `axis`, from its end where `reverse`; of the operand's shape and dtype."""
    found = np.maximum.accumulate(np.flip(operand, axis) if reverse else operand, axis)
    return np.flip(found, axis) if reverse else found


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The smallest element so far along `axis`, from its end where `reverse`; of the operand's shape and dtype."""
    found = np.minimum.accumulate(np.flip(operand, axis) if reverse else operand, axis)
    return np.flip(found, axis) if reverse else found


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The logarithm of the running sum of exponentials along `axis`, from its end where `reverse`; of the operand's
    shape.
    """
    return associative_scan(np.logaddexp, operand, reverse, axis)


# ---- more shapes -----------------------------------------------------------------------------------


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """A list of pieces of these sizes along an axis. ValueError where the sizes do not add up to its length."""
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    if ends[-1] != operand.shape[axis]:
        raise ValueError(f"split: the sizes add up to {ends[-1]}, and the axis has {operand.shape[axis]} elements")
    return np.split(operand, ends[:-1], axis)


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """np.tile: `operand` repeated along each axis."""
    return np.tile(operand, tuple(reps))


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """The axes from `start_dimension` up to `stop_dimension`, which count as bounds of slices do, as one; the elements
    stay in their order.
    """
    first, stop, _ = builtins.slice(start_dimension, stop_dimension).indices(operand.ndim)
    return np.reshape(operand, (*operand.shape[:first], math.prod(operand.shape[first:stop]), *operand.shape[stop:]))


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """With leading axes of size 1, `rank` axes in all."""
    return np.reshape(x, (1,) * (rank - x.ndim) + x.shape)


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """Elements by arrays of indices for some axes: the shape to which these broadcast, then the other axes. IndexError
    out of range.
    """
    return np.moveaxis(src, tuple(axes), tuple(range(len(axes))))[tuple(idxs)]


def optimization_barrier(operand: Any) -> Any:
    """The operand, any tree: what keeps compilers from moving work across it changes no value."""
    return operand


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """The function itself, for which compilers that know `name` may have something better; none here does."""
    return decomposition


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """The tree itself: whether values differ along a mesh is not part of their type here."""
    return x


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The tree itself: Arrays are whole."""
    return x


def platform_dependent(*args: Any, default: Any = None, **per_platform: Any) -> Any:
    """What is told for the platform of the target (`cpu`, `cuda`, `tpu`), else `default`, of the arguments.

    NotImplementedError where neither is there.
    """
    chosen = per_platform.get(platform_read_for(), default)
    if chosen is None:
        raise NotImplementedError(f"platform_dependent: give it a default, or a function for {platform_read_for()}=")
    return chosen(*args)


# ---- more arithmetic -------------------------------------------------------------------------------


def round(x: Any, rounding_method: Any = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """To the nearest integer, halves away from zero or to even ones, in the dtype of `x`."""
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return np.rint(x)
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole)


def complex(x: Any, y: Any) -> Any:
    """x + iy, of operands that broadcast: complex128, complex64 of float32."""
    return of_parts(x, y)


def fft(x: Any, fft_type: Any, fft_lengths: Sequence[int]) -> Any:
    """A discrete Fourier transform over the last axes: complex results, for IRFFT real ones, in the precision of `x`.

    `fft_type` is an `FftType` or its name, in either case; `fft_lengths` are the lengths of as many last axes, for
    IRFFT of those of the result. ValueError for other names.
    """
    kind = fft_type.name if isinstance(fft_type, FftType) else fft_type.upper()
    axes = tuple(range(-len(fft_lengths), 0))
    if kind == "FFT":
        return np.fft.fftn(x, tuple(fft_lengths), axes)
    if kind == "IFFT":
        return np.fft.ifftn(x, tuple(fft_lengths), axes)
    if kind == "RFFT":
        return np.fft.rfftn(x, tuple(fft_lengths), axes)
    if kind == "IRFFT":
        return np.fft.irfftn(x, tuple(fft_lengths), axes)
    raise ValueError(f"fft: unknown FFT type {fft_type!r}")


__all__ = [
    *_UFUNCS,
    "ConvDimensionNumbers", "DotAlgorithmPreset", "FftType", "GatherDimensionNumbers", "GatherScatterMode",
    "Precision", "RandomAlgorithm", "RoundingMethod", "ScatterDimensionNumbers", "all_gather", "all_to_all",
    "approx_max_k", "approx_min_k", "argmax", "argmin", "associative_scan", "axis_index", "axis_size", "batch_matmul",
    "bessel_i0e", "bessel_i1e", "betainc", "bitcast_convert_type", "broadcast", "broadcast_in_dim", "broadcast_like",
    "broadcast_shapes", "broadcast_to_rank", "broadcasted_iota", "clamp", "clz", "collapse", "complex", "composite",
    "concatenate", "cond", "conv", "conv_dimension_numbers", "conv_general_dilated", "conv_general_dilated_local",
    "conv_general_dilated_patches", "conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple",
    "conv_transpose", "conv_transpose_shape_tuple", "conv_with_general_padding", "convert_element_type",
    "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "custom_linear_solve", "custom_root", "digamma", "div",
    "dot", "dot_general", "dtype", "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim", "dynamic_update_slice", "dynamic_update_slice_in_dim", "empty", "erf", "erf_inv",
    "erfc", "erfinv", "expand_dims", "fft", "fori_loop", "full", "full_like", "gammaln", "gather", "i0e", "i1e",
    "igamma", "igamma_grad_a", "igammac", "index_in_dim", "index_take", "integer_pow", "iota", "lgamma", "linalg",
    "logistic", "map", "mulhi", "optimization_barrier", "pad", "padtype_to_pads", "pbroadcast", "pcast",
    "platform_dependent", "pmax", "pmean", "pmin", "polygamma", "population_count", "ppermute", "pshuffle", "psum",
    "psum_scatter", "pswapaxes", "ragged_dot", "random_gamma_grad", "reciprocal", "reduce", "reduce_and",
    "reduce_max", "reduce_min", "reduce_or", "reduce_precision", "reduce_prod", "reduce_sum", "reduce_window",
    "reduce_window_shape_tuple", "reduce_xor", "rem", "reshape", "rev", "rng_bit_generator", "rng_uniform", "round",
    "rsqrt", "scan", "scatter", "scatter_add", "scatter_apply", "scatter_max", "scatter_min", "scatter_mul",
    "scatter_sub", "select", "select_n", "shift_right_logical", "slice", "slice_in_dim", "sort", "sort_key_val",
    "split", "squeeze", "stack", "stop_gradient", "switch", "tile", "top_k", "transpose", "unstack", "while_loop",
    "with_sharding_constraint", "zeta",
]  # fmt: skip

offer(globals(), __all__, "untraced.lax")
for _name in ("cond", "switch", "while_loop", "fori_loop", "scan", "map"):
    globals()[_name] = of_arrays(globals()[_name])
