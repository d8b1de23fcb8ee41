"""NumPy's functions with the arguments that jax.numpy gives them besides, as NumPy source.

Where a result has as many elements as the data say, `size` tells how many there are to be: what is too many is left
out, and places that nothing is left for hold `fill_value`. So the shape is known before the run.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ...translator.library.scattering import clipped
from ...translator.library.support import one_axis
from ..arrays.array import Array

# ---- places that data choose -------------------------------------------------------------------------


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """np.nonzero. With `size` arrays of this length; `fill_value` (default 0) may be a tuple, of one for each axis."""
    if size is None:
        return np.nonzero(a)
    a = np.atleast_1d(a)
    flat = np.ravel(a != 0)
    fills = fill_value if isinstance(fill_value, tuple) else (0 if fill_value is None else fill_value,) * a.ndim
    if flat.size == 0:
        return tuple(np.full(size, fill, np.int64) for fill in fills)
    found = np.searchsorted(np.cumsum(flat), np.arange(1, size + 1))  # where the running count reaches 1, 2, ...
    inside = found < flat.size
    places = np.unravel_index(np.where(inside, found, 0), a.shape)
    return tuple(np.where(inside, place, fill) for place, fill in zip(places, fills))


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """np.flatnonzero, of a known length with `size`."""
    return np.flatnonzero(a) if size is None else nonzero(np.ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """np.argwhere, of shape (size, a.ndim) with `size`."""
    if size is None:
        return np.argwhere(a)
    if np.ndim(a) == 0:
        return np.zeros((size, 0), np.int64)
    return np.stack(nonzero(a, size=size, fill_value=fill_value), axis=-1)


def where(condition: Any, x: Any = None, y: Any = None, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """np.where. Without x and y it is `nonzero`. ValueError where one of them is missing."""
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return np.where(condition, x, y)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """np.extract, of a known length with `size`."""
    return compress(np.ravel(condition), np.ravel(arr), size=size, fill_value=fill_value)


def compress(
    condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0, out: None = None
) -> Any:
    """np.compress, with `size` slices along the axis."""
    if size is None:
        return np.compress(condition, a, axis, out)
    a = np.ravel(a) if axis is None else np.moveaxis(a, axis, 0)
    condition = np.asarray(condition)
    places = nonzero(condition[: a.shape[0]], size=size, fill_value=0)[0]
    there = (np.arange(size) < np.sum(condition != 0)).reshape((-1,) + (1,) * (a.ndim - 1))
    chosen = np.where(there, a[places], np.asarray(fill_value).astype(a.dtype))
    return chosen if axis is None else np.moveaxis(chosen, 0, axis)


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Any:
    """np.bincount, with `length` of this length: what is larger is left out, what is negative counts as 0."""
    if length is None:
        return np.bincount(x, weights, minlength)
    x = np.asarray(x)
    ones = np.ones(x.shape, np.int64) if weights is None else np.asarray(weights)
    inside = x < length
    counts = np.zeros(length, ones.dtype)
    np.add.at(counts, np.where(inside, np.maximum(x, 0), 0), np.where(inside, ones, 0))
    return counts


def repeat(a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None) -> Any:
    """np.repeat, with `total_repeat_length` of this length: cut off, or filled with the last element."""
    if total_repeat_length is None:
        return np.repeat(a, repeats, axis)
    a = np.ravel(a) if axis is None else np.asarray(a)
    along = 0 if axis is None else axis
    ends = np.cumsum(np.broadcast_to(repeats, (a.shape[along],)))
    places = np.searchsorted(ends, np.arange(total_repeat_length), side="right")
    return np.take(a, np.minimum(places, a.shape[along] - 1), axis=along)


# ---- elements, sorted and looked up ------------------------------------------------------------------


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: Any = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """np.take. With mode="fill", or a `fill_value` without mode, this stands where an index is out of range.

    Without either NumPy raises IndexError. ValueError for an unknown mode.
    """
    if not _fills(mode, fill_value):
        return np.take(a, indices, axis, out, "raise" if mode is None else mode)
    a = np.ravel(a) if axis is None else np.asarray(a)
    along = 0 if axis is None else one_axis(axis, a.ndim)
    indices = np.asarray(indices)
    inside = (indices >= -a.shape[along]) & (indices < a.shape[along])
    found = np.take(a, np.where(inside, indices, 0), axis=along)
    there = inside.reshape(inside.shape + (1,) * (a.ndim - 1 - along))
    return np.where(there, found, _filling(a, fill_value))


def take_along_axis(
    arr: Any, indices: Any, axis: int | None = -1, mode: str | None = None, fill_value: Any = None
) -> Any:
    """np.take_along_axis. What is out of range NumPy refuses; mode="clip" takes the nearest, "fill" `fill_value`.

    Negative indices count from the end in every mode. ValueError for an unknown mode.
    """
    if mode not in (None, "clip", "fill", "promise_in_bounds"):
        raise ValueError(f'take_along_axis: mode must be "clip", "fill" or "promise_in_bounds", not {mode!r}')
    fills = _fills(mode, fill_value)
    if mode != "clip" and not fills:
        return np.take_along_axis(arr, indices, axis)
    arr, indices = np.ravel(arr) if axis is None else np.asarray(arr), np.asarray(indices)
    along = 0 if axis is None else axis
    size = arr.shape[along]
    if not fills:
        return np.take_along_axis(arr, clipped(indices, size), along)
    inside = (indices >= -size) & (indices < size)
    return np.where(inside, np.take_along_axis(arr, np.where(inside, indices, 0), along), _filling(arr, fill_value))


def _fills(mode: Any, fill_value: Any) -> bool:
    return mode == "fill" or (mode is None and fill_value is not None)


def _filling(a: Any, fill_value: Any) -> Any:
    """What stands where nothing was found: NaN, the smallest integer, the largest unsigned one, True."""
    if fill_value is not None:
        return np.asarray(fill_value).astype(a.dtype)
    if a.dtype.kind in "iu":
        return np.iinfo(a.dtype).min if a.dtype.kind == "i" else np.iinfo(a.dtype).max
    return True if a.dtype.kind == "b" else np.asarray(np.nan).astype(a.dtype)


def sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
) -> Any:
    """np.sort, from the largest on where it is `descending`."""
    ordered = np.sort(a, axis, kind, order) if stable is None else np.sort(a, axis, stable=stable)
    return np.flip(ordered, -1 if axis is None else axis) if descending else ordered


def argsort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
) -> Any:
    """np.argsort, from the largest on where it is `descending`: then equal elements stay in their order."""
    if not descending:
        return np.argsort(a, axis, kind, order) if stable is None else np.argsort(a, axis, stable=stable)
    a = np.ravel(a) if axis is None else np.asarray(a)
    along = -1 if axis is None else axis
    places = np.argsort(np.flip(a, along), axis=along, kind="stable")
    return np.flip(a.shape[along] - 1 - places, along)


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None, *, method: str = "scan") -> Any:
    """np.searchsorted; the method is chosen by the target."""
    return np.searchsorted(a, v, side, sorter)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """np.fill_diagonal, with inplace=False of a copy that is returned."""
    if inplace:
        return np.fill_diagonal(a, val, wrap)
    filled = np.array(a)
    np.fill_diagonal(filled, val, wrap)
    return filled


def put(a: Any, ind: Any, v: Any, mode: Any = None, *, inplace: bool = True) -> Any:
    """np.put, with inplace=False into a copy that is returned."""
    changed = a if inplace else np.array(a)
    np.put(changed, ind, v, "raise" if mode is None else mode)
    return None if inplace else changed


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """np.place, with inplace=False into a copy that is returned."""
    changed = arr if inplace else np.array(arr)
    np.place(changed, mask, vals)
    return None if inplace else changed


def put_along_axis(
    arr: Any, indices: Any, values: Any, axis: int | None, inplace: bool = True, *, mode: str | None = None
) -> Any:
    """np.put_along_axis, with inplace=False into a copy that is returned. What is out of range NumPy refuses;
    mode="clip" takes the nearest place. ValueError for another mode.
    """
    if mode not in (None, "clip", "promise_in_bounds"):
        raise ValueError(f'put_along_axis: mode must be "clip" or "promise_in_bounds", not {mode!r}')
    if mode == "clip":
        size = np.size(arr) if axis is None else np.shape(arr)[axis]
        indices = np.clip(np.where(indices < 0, indices + size, indices), 0, size - 1)
    changed = arr if inplace else np.array(arr)
    np.put_along_axis(changed, indices, values, axis)
    return None if inplace else changed


def delete(arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Any:
    """np.delete. With `assume_unique_indices` no index stands twice, so that the size is known before the run."""
    if not assume_unique_indices or isinstance(obj, int | slice):
        return np.delete(arr, obj, axis)
    a = np.ravel(arr) if axis is None else np.moveaxis(arr, axis, 0)
    n, places = a.shape[0], np.ravel(obj)
    stays = np.ones(n, np.bool_)
    stays[places] = False
    kept = a[nonzero(stays, size=n - places.size)[0]]
    return kept if axis is None else np.moveaxis(kept, 0, axis)


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """np.pad. A function as the mode fills the line that it is given, as NumPy's do, or returns it, as JAX's do."""
    return np.pad(array, pad_width, _filled_by(mode) if callable(mode) else mode, **kwargs)


def _filled_by(function: Any) -> Any:
    def fill(line: Any, *rest: Any) -> None:
        found = function(line, *rest)
        if found is not None:
            line[:] = found

    return fill


def mask_indices(n: int, mask_func: Any, k: Any = 0, *, size: int | None = None) -> Any:
    """np.mask_indices, of a known length with `size`."""
    return nonzero(mask_func(np.ones((n, n), int), k) != 0, size=size)


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
    kind: Any = None,
) -> Any:
    """np.isin; the method is chosen by the target."""
    return np.isin(element, test_elements, assume_unique, invert, kind=kind)


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """np.digitize; the method is chosen by the target."""
    return np.digitize(x, bins, right)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """np.astype, of numbers and lists, too."""
    return np.astype(np.asarray(x), dtype, copy=copy)


# ---- sums and tables ---------------------------------------------------------------------------------


def sum(a: Any, axis: Any = None, dtype: Any = None, promote_integers: bool = True, **options: Any) -> Any:
    """np.sum, with promote_integers=False in the dtype of `a`."""
    return np.sum(a, axis, dtype if promote_integers or dtype is not None else np.result_type(a), **options)


def prod(a: Any, axis: Any = None, dtype: Any = None, promote_integers: bool = True, **options: Any) -> Any:
    """np.prod, with promote_integers=False in the dtype of `a`."""
    return np.prod(a, axis, dtype if promote_integers or dtype is not None else np.result_type(a), **options)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """np.interp, where left="extrapolate" and right="extrapolate" continue the first and the last line.

    ValueError for another word.
    """
    below, above = isinstance(left, str), isinstance(right, str)
    if (below and left != "extrapolate") or (above and right != "extrapolate"):
        raise ValueError(f'interp: left and right are numbers, None or "extrapolate", not {left!r} and {right!r}')
    found = np.interp(x, xp, fp, None if below else left, None if above else right, period)
    if period is None and below:
        found = np.where(x < xp[0], fp[0] + (x - xp[0]) * ((fp[1] - fp[0]) / (xp[1] - xp[0])), found)
    if period is None and above:
        found = np.where(x > xp[-1], fp[-1] + (x - xp[-1]) * ((fp[-1] - fp[-2]) / (xp[-1] - xp[-2])), found)
    return found


def clip(a: Any, min: Any = None, max: Any = None, *, a_min: Any = None, a_max: Any = None, **options: Any) -> Any:
    """np.clip, which may leave either limit out."""
    return np.clip(a, a_min if min is None else min, a_max if max is None else max, **options)


# ---- NumPy's ufuncs whose operands have names in JAX -----------------------------------------------------


def fmax(x1: Any, x2: Any) -> Any:
    """np.fmax."""
    return np.fmax(x1, x2)


def fmin(x1: Any, x2: Any) -> Any:
    """np.fmin."""
    return np.fmin(x1, x2)


def gcd(x1: Any, x2: Any) -> Any:
    """np.gcd."""
    return np.gcd(x1, x2)


def lcm(x1: Any, x2: Any) -> Any:
    """np.lcm."""
    return np.lcm(x1, x2)


def trunc(x: Any) -> Any:
    """np.trunc."""
    return np.trunc(x)


# ---- in the shape of another, or of what only describes an array: a ShapeDtypeStruct ----------------------


def _describes(a: Any) -> bool:
    return hasattr(a, "shape") and hasattr(a, "dtype") and not isinstance(a, np.ndarray | np.generic | Array)


def zeros_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
    """np.zeros_like, of whatever has a shape and a dtype."""
    if _describes(a):
        return np.zeros(a.shape if shape is None else shape, a.dtype if dtype is None else dtype)
    return np.zeros_like(a, dtype, order, subok, shape)


def ones_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
    """np.ones_like, of whatever has a shape and a dtype."""
    if _describes(a):
        return np.ones(a.shape if shape is None else shape, a.dtype if dtype is None else dtype)
    return np.ones_like(a, dtype, order, subok, shape)


def empty_like(prototype: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
    """np.empty_like, of whatever has a shape and a dtype."""
    if _describes(prototype):
        return np.empty(prototype.shape if shape is None else shape, prototype.dtype if dtype is None else dtype)
    return np.empty_like(prototype, dtype, order, subok, shape)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Any:
    """np.full_like, of whatever has a shape and a dtype."""
    if _describes(a):
        return np.full(a.shape if shape is None else shape, fill_value, a.dtype if dtype is None else dtype)
    return np.full_like(a, fill_value, dtype, order, subok, shape)


# ---- products, whose precision is always full --------------------------------------------------------


def _of_kind(x: Any, dtype: Any) -> Any:
    return x if dtype is None else np.asarray(x).astype(dtype)


def dot(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """np.dot, of operands converted to `preferred_element_type`."""
    return np.dot(_of_kind(a, preferred_element_type), _of_kind(b, preferred_element_type), out)


def matmul(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, **options: Any) -> Any:
    """np.matmul, of operands converted to `preferred_element_type`."""
    return np.matmul(_of_kind(a, preferred_element_type), _of_kind(b, preferred_element_type), **options)


def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """np.inner, of operands converted to `preferred_element_type`."""
    return np.inner(_of_kind(a, preferred_element_type), _of_kind(b, preferred_element_type))


def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """np.vdot, of operands converted to `preferred_element_type`."""
    return np.vdot(_of_kind(a, preferred_element_type), _of_kind(b, preferred_element_type))


def tensordot(a: Any, b: Any, axes: Any = 2, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """np.tensordot, of operands converted to `preferred_element_type`."""
    return np.tensordot(_of_kind(a, preferred_element_type), _of_kind(b, preferred_element_type), axes)


def vecdot(
    x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None, **options: Any
) -> Any:
    """np.vecdot, of operands converted to `preferred_element_type`."""
    options["axis"] = axis
    return np.vecdot(_of_kind(x1, preferred_element_type), _of_kind(x2, preferred_element_type), **options)


def einsum(
    subscripts: Any, /, *operands: Any, precision: Any = None, preferred_element_type: Any = None, **options: Any
) -> Any:
    """np.einsum; the result is of `preferred_element_type` where that is given."""
    if preferred_element_type is not None and isinstance(subscripts, str):
        operands = tuple(_of_kind(x, preferred_element_type) for x in operands)
    return np.einsum(subscripts, *operands, **options)


def convolve(a: Any, v: Any, mode: Any = "full", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """np.convolve, of operands converted to `preferred_element_type`."""
    return np.convolve(_of_kind(a, preferred_element_type), _of_kind(v, preferred_element_type), mode)


def correlate(a: Any, v: Any, mode: Any = "valid", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """np.correlate, of operands converted to `preferred_element_type`."""
    return np.correlate(_of_kind(a, preferred_element_type), _of_kind(v, preferred_element_type), mode)


# ---- polynomials -------------------------------------------------------------------------------------


def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """np.polyval."""
    return np.polyval(p, x)


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """np.polymul, which leaves zeros in front of the product out as far as NumPy does."""
    return np.polymul(a1, a2)


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> Any:
    """np.polydiv; the remainder has no zeros in front, as in NumPy."""
    return np.polydiv(u, v)


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """np.roots; with strip_zeros=False as many as the degree says, NaN for those that zeros in front leave out."""
    found = np.roots(p)
    if strip_zeros:
        return found
    return np.concatenate([found, np.full(len(p) - 1 - found.shape[0], np.nan, found.dtype)])


LIKE = ("empty_like", "full_like", "ones_like", "zeros_like")
NAMES = (
    "argsort", "argwhere", "astype", "bincount", "clip", "compress", "convolve", "correlate", "delete", "digitize",
    "dot", "einsum", "extract", "fill_diagonal", "flatnonzero", "fmax", "fmin", "gcd", "inner", "interp", "isin", "lcm",
    "mask_indices", "matmul", "nonzero", "pad", "place", "polydiv", "polymul", "polyval", "prod", "put",
    "put_along_axis", "repeat", "roots", "searchsorted", "sort", "sum", "take", "take_along_axis", "tensordot", "trunc",
    "vdot", "vecdot", "where",
)  # fmt: skip


def of_numpy(module: ModuleType, name: str, ours: str) -> Any:
    """What NumPy's module has under a name that `ours` does not define. AttributeError, in its words, for none."""
    if name.startswith("__"):  # __path__ and its like would make NumPy's submodules be loaded a second time
        raise AttributeError(f"module {ours!r} has no attribute {name!r}")
    try:
        return getattr(module, name)
    except AttributeError as error:
        raise AttributeError(str(error).replace(repr(module.__name__), repr(ours))) from None
