"""The namespace `untraced.lax`: JAX's control flow, slices, products and windows, NumPy's functions under JAX's names.

A JAX program that uses them runs with its import changed. Each is a plain Python function over NumPy arrays; inside an
accelerated or transformed function it is read like the loop, branch or expression that it stands for. NumPy's semantics
hold: float64 stays float64, and operands broadcast and promote where JAX would refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..translator.library.across import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
)
from ..translator.library.looping import (
    associative_scan,
    cond,
    fori_loop,
    scan,
    switch,
    while_loop,
)
from ..translator.library.looping import map_rows as map
from ..translator.library.special import expit as logistic
from ..translator.library.windows import (
    broadcast,
    broadcast_in_dim,
    conv,
    conv_general_dilated,
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
from ..translator.library.windows import static_slice as slice
from ..translator.ops.arithmetic import quotient
from ..translator.ops.bessel import i0e, i1e
from ..translator.ops.gamma import digamma, gammaln
from ..translator.ops.special import erf, erfc, erfinv
from .transforms import stop_gradient

_UFUNCS = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "add": np.add, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh, "bitwise_and": np.bitwise_and,
    "bitwise_not": np.bitwise_not, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "cbrt": np.cbrt,
    "ceil": np.ceil, "conj": np.conj, "cos": np.cos, "cosh": np.cosh, "eq": np.equal, "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "floor": np.floor, "ge": np.greater_equal, "gt": np.greater, "imag": np.imag,
    "is_finite": np.isfinite, "le": np.less_equal, "log": np.log, "log1p": np.log1p, "lt": np.less, "max": np.maximum,
    "min": np.minimum, "mul": np.multiply, "ne": np.not_equal, "neg": np.negative, "nextafter": np.nextafter,
    "population_count": np.bitwise_count, "pow": np.power, "real": np.real, "sign": np.sign, "sin": np.sin,
    "sinh": np.sinh, "sqrt": np.sqrt, "square": np.square, "sub": np.subtract, "tan": np.tan, "tanh": np.tanh,
    "shift_left": np.left_shift, "shift_right_arithmetic": np.right_shift,
}  # fmt: skip
globals().update(_UFUNCS)
lgamma = gammaln


# ---- of one line ---------------------------------------------------------------------------------


def div(x: Any, y: Any) -> Any:
    """x / y; of integers the quotient towards zero, as in C."""
    return quotient(x, y) if np.result_type(x, y).kind in "iu" else x / y


def rem(x: Any, y: Any) -> Any:
    """The remainder with the sign of `x`, as in C."""
    return np.fmod(x, y)


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return 1 / np.sqrt(x)


def reciprocal(x: Any) -> Any:
    """1 / x."""
    return 1 / x


def integer_pow(x: Any, y: int) -> Any:
    """x ** y for a known integer."""
    return x**y


def clamp(min: Any, x: Any, max: Any) -> Any:
    """`x` moved into [min, max]."""
    return np.minimum(np.maximum(x, min), max)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """on_true where `pred` holds, else on_false. Both are computed."""
    return np.where(pred, on_true, on_false)


def select_n(which: Any, *cases: Any) -> Any:
    """cases[which], element by element."""
    if np.result_type(which) == np.bool_:
        return np.where(which, cases[1], cases[0])
    return np.choose(which, cases)


def iota(dtype: Any, size: int) -> Any:
    """0, 1, ..., size - 1."""
    return np.arange(size, dtype=dtype)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Any:
    """Counts along one axis of an array of this shape."""
    count = np.arange(shape[dimension], dtype=dtype)
    return np.broadcast_to(np.expand_dims(count, [i for i in range(len(shape)) if i != dimension]), tuple(shape))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    return np.full(shape, fill_value, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    return np.full_like(x, fill_value, dtype)


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """The operand as an array of another dtype."""
    return np.asarray(operand).astype(new_dtype)


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    return np.concatenate(operands, axis=dimension)


def reshape(operand: Any, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> Any:
    """The operand in another shape, its axes permuted first where `dimensions` says so."""
    return np.reshape(operand if dimensions is None else np.transpose(operand, dimensions), tuple(new_sizes))


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    return np.transpose(operand, tuple(permutation))


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    return np.squeeze(array, tuple(dimensions))


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    return np.expand_dims(array, tuple(dimensions))


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    return np.flip(operand, tuple(dimensions))


def sort(operand: Any, dimension: int = -1, is_stable: bool = True) -> Any:
    return np.sort(operand, axis=dimension)


def argmax(operand: Any, axis: int, index_dtype: Any = np.int32) -> Any:
    return np.argmax(operand, axis).astype(index_dtype)


def argmin(operand: Any, axis: int, index_dtype: Any = np.int32) -> Any:
    return np.argmin(operand, axis).astype(index_dtype)


def dot(lhs: Any, rhs: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Vector and matrix products."""
    out = np.dot(lhs, rhs)
    return out if preferred_element_type is None else out.astype(preferred_element_type)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    return np.matmul(lhs, rhs)


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    return np.flip(np.cumsum(np.flip(operand, axis), axis), axis) if reverse else np.cumsum(operand, axis)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    return np.flip(np.cumprod(np.flip(operand, axis), axis), axis) if reverse else np.cumprod(operand, axis)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running maximum."""
    found = np.maximum.accumulate(np.flip(operand, axis) if reverse else operand, axis)
    return np.flip(found, axis) if reverse else found


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running minimum."""
    found = np.minimum.accumulate(np.flip(operand, axis) if reverse else operand, axis)
    return np.flip(found, axis) if reverse else found


__all__ = [
    *_UFUNCS,
    "all_gather",
    "all_to_all",
    "argmax",
    "argmin",
    "associative_scan",
    "axis_index",
    "axis_size",
    "batch_matmul",
    "broadcast",
    "broadcast_in_dim",
    "broadcasted_iota",
    "clamp",
    "concatenate",
    "cond",
    "conv",
    "conv_general_dilated",
    "convert_element_type",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "digamma",
    "div",
    "dot",
    "dot_general",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "erf",
    "erfc",
    "erfinv",
    "expand_dims",
    "fori_loop",
    "full",
    "full_like",
    "gammaln",
    "i0e",
    "i1e",
    "index_in_dim",
    "integer_pow",
    "iota",
    "lgamma",
    "logistic",
    "map",
    "pad",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "reciprocal",
    "reduce_window",
    "rem",
    "reshape",
    "rev",
    "rsqrt",
    "scan",
    "select",
    "select_n",
    "slice",
    "slice_in_dim",
    "sort",
    "squeeze",
    "stop_gradient",
    "switch",
    "top_k",
    "transpose",
    "while_loop",
]
