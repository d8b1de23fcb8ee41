"""What NumPy raises for arguments that do not fit: asked while a program is read, never part of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError, ShapeError
from .support import Axis, axes_of


def check_cast(what: str, given: Any, target: Any, casting: str, is_number: bool) -> None:
    """Raises DTypeError, as NumPy does, unless a value may be cast so; a Python number takes the dtype of its kind."""
    have, want = np.dtype(given), np.dtype(target)
    order = "biufVc"  # V: bfloat16
    if is_number and want.kind != "b" and order.index(have.kind.replace("u", "i")) <= order.index(want.kind):
        return
    if not np.can_cast(have, want, casting):  # type: ignore[arg-type]
        raise DTypeError(f"Cannot cast {what} from {have!r} to {want!r} according to the rule {casting!r}")


def check_nan_dtype(dtype: Any) -> None:
    """Raises TypeError for a mean or a variance, wanted as an integer, of numbers that may be NaN."""
    if dtype is not None and np.dtype(dtype).kind in "biu":
        raise TypeError("If a is inexact, then dtype must be inexact")


def require_real(dtype: np.dtype[Any]) -> None:
    """Raises DTypeError for complex numbers, which have no sign."""
    if dtype.kind == "c":
        raise DTypeError(f"This operation is not supported for {dtype} values because it would be ambiguous.")


def check_mask(function: str, mask: Sequence[int], data: Sequence[int]) -> None:
    """Raises ShapeError unless there is one element of the mask for each of the array's."""
    if math.prod(mask) != math.prod(data):
        raise ShapeError(f"{function}: mask and data must be the same size")


def check_diagonal(shape: Sequence[int]) -> None:
    """Raises ShapeError for an array without a main diagonal."""
    if len(shape) < 2:
        raise ShapeError("array must be at least 2-d")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ShapeError("All dimensions of input must be of equal length")


def check_turned(ndim: int, axes: Sequence[int]) -> None:
    """Raises ValueError, as NumPy does, for axes that np.rot90 cannot turn."""
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if abs(axes[0] - axes[1]) in (0, ndim):
        raise ValueError("Axes must be different.")
    if not all(-ndim <= i < ndim for i in axes):
        raise ValueError(f"Axes={tuple(axes)} out of range for array of ndim={ndim}.")


PAD_OPTIONS = {
    "constant": ("constant_values",),
    "edge": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
    "empty": (),
}


def pad_options(mode: Any, names: Sequence[str]) -> None:
    """Raises ValueError, as NumPy does, for a mode of np.pad that there is not, or an option that it does not take."""
    if mode not in PAD_OPTIONS:
        raise ValueError(f"mode {mode!r} is not supported")
    wrong = set(names) - set(PAD_OPTIONS[mode])
    if wrong:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {wrong}")


def check_stat_length(mode: str, stat_length: Any) -> None:
    """Raises ValueError, as NumPy does, for ends of an array of which np.pad can make no statistic."""
    if stat_length is None:
        return
    lengths = np.asarray(stat_length)
    if np.any(lengths < 0):
        raise ValueError("index can't contain negative values")
    if mode in ("maximum", "minimum") and np.any(lengths == 0):
        raise ValueError("stat_length of 0 yields no value for padding")


def packed_dtype(dtype: Any) -> None:
    """Raises DTypeError for what np.packbits does not take."""
    if np.dtype(dtype).kind not in "biu":
        raise DTypeError("Expected an input array of integer or boolean data type")


QUANTILE_METHODS = (
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
)


def quantile_method(method: str, dtype: Any) -> str:
    """The method itself. Raises what NumPy raises for one that there is not, and for data that have no quantiles."""
    if np.dtype(dtype).kind == "c":
        raise DTypeError("a must be an array of real numbers")
    if method not in QUANTILE_METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {QUANTILE_METHODS}")
    return method


def check_quantile(q: Any) -> None:
    """Raises ValueError unless all of q lies between 0 and 1."""
    if not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1], and percentiles in the range [0, 100]")


def weighted_axes(shape: Sequence[int], weights: Sequence[int], axis: Axis) -> tuple[int, ...]:
    """The axes of an array along which its weights lie. Raises, as NumPy does, for weights that do not fit."""
    if axis is None:
        raise DTypeError("Axis must be specified when shapes of a and weights differ.")
    axes = axes_of(axis, len(shape))
    if tuple(weights) != tuple(shape[i] for i in axes):
        raise ShapeError("Shape of weights must be consistent with shape of a along specified axis.")
    return axes


def check_joined(dtype: Any, *others: Any) -> None:
    """Raises DTypeError for what np.ediff1d cannot subtract, or put before or behind the differences."""
    if np.dtype(dtype).kind == "b":
        raise DTypeError("numpy boolean subtract, the `-` operator, is not supported")
    for name, other in zip(("to_begin", "to_end"), others, strict=True):
        if other is not True and not np.can_cast(other, dtype, "same_kind"):
            raise DTypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")


def check_gradient(shape: Sequence[int], axes: Sequence[int], given: int, edge_order: int) -> None:
    """Raises, as NumPy does, for arguments of np.gradient that do not fit: `given` spacings, one for each axis."""
    if given != len(axes):
        raise DTypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    if any(shape[i] < edge_order + 1 for i in axes):
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )


def check_spacing(n: int, shape: Sequence[int]) -> None:
    """Raises ValueError unless a spacing is a number or has a coordinate for each element."""
    if len(shape) > 1:
        raise ValueError("distances must be either scalars or 1d")
    if shape and shape[0] != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")


def check_convolved(a: Sequence[int], v: Sequence[int], mode: Any) -> None:
    """Raises ValueError, as NumPy does, for what np.convolve and np.correlate do not take."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    if len(a) > 1 or len(v) > 1:
        raise ValueError("object too deep for desired array")
    if 0 in a or 0 in v:
        raise ValueError("an array cannot be empty")


def check_search(shape: Sequence[int], side: Any) -> None:
    """Raises ValueError, as NumPy does, for what np.searchsorted does not take."""
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    if len(shape) != 1:
        raise ValueError(f"object {'too deep' if shape else 'of too small depth'} for desired array")


def check_bins(bins: Any, only_upwards: bool) -> None:
    """Raises ValueError unless the edges rise, or for np.digitize fall, all the way."""
    steps = np.diff(np.asarray(bins).astype(np.float64))
    if np.ndim(bins) != 1:
        raise ValueError("object of too small depth for desired array")
    if only_upwards and np.any(steps < 0):
        raise ValueError("`bins` must increase monotonically, when an array")
    if np.any(steps < 0) and np.any(steps > 0):
        raise ValueError("bins must be monotonically increasing or decreasing")


def check_range(low: Any, high: Any) -> None:
    """Raises ValueError for the range of a histogram that is none."""
    if low > high:
        raise ValueError("max must be larger than min in range parameter.")
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"supplied range of [{low}, {high}] is not finite")


def check_counted(shape: Sequence[int], dtype: Any, weights: Any) -> None:
    """Raises, as NumPy does, for what np.bincount does not count."""
    if len(shape) != 1:
        raise ValueError(f"object {'too deep' if shape else 'of too small depth'} for desired array")
    if np.dtype(dtype).kind not in "biu" and shape[0]:
        what = f"Cannot cast array data from {np.dtype(dtype)!r} to dtype('int64') according to the rule 'safe'"
        raise DTypeError(what)
    if weights is not None and tuple(weights) != tuple(shape):
        raise ValueError("The weights and list don't have the same length.")


STATIC: tuple[Callable[..., Any], ...] = (
    check_cast,
    check_mask,
    check_diagonal,
    check_turned,
    pad_options,
    packed_dtype,
    quantile_method,
    check_quantile,
    weighted_axes,
    check_joined,
    check_gradient,
    check_spacing,
    check_convolved,
    check_search,
    check_bins,
    check_range,
    check_counted,
    require_real,
)
