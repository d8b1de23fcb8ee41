"""NumPy's functions of sets with a `size`, as NumPy source: how many elements there are is known before the run.

What is too many is left out; places that nothing is left for hold `fill_value`, by default the smallest element found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .unp_arguments import compress, nonzero


class UniqueAllResult(NamedTuple):
    """What `unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` gives."""

    values: Any
    inverse_indices: Any


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """np.unique. With `size` the smallest `size` elements, or slices along the axis; `fill_value` is by default the
    smallest. Filled places are counted 0 times.
    """
    if size is None:
        asked: Any = (return_index, return_inverse, return_counts, axis)
        return np.unique(ar, *asked, equal_nan=equal_nan)
    slices = np.ravel(ar) if axis is None else np.moveaxis(np.asarray(ar), axis, 0)
    n = slices.shape[0]
    if slices.size == 0:
        raise ValueError("unique: size= of an array without elements")
    order, new = _ordered(slices.reshape(n, -1), equal_nan)
    places = nonzero(new, size=size + 1, fill_value=n)[0]
    there = places[:size] < n
    starts = np.where(there, places[:size], 0)
    values = slices[order][starts]
    if fill_value is not None:
        among = there.reshape((size,) + (1,) * (values.ndim - 1))
        values = np.where(among, values, np.asarray(fill_value).astype(values.dtype))
    results: tuple[Any, ...] = (values if axis is None else np.moveaxis(values, 0, axis),)
    if return_index:
        results = (*results, order[starts])
    if return_inverse:
        inverse = np.zeros(n, dtype=np.int64)
        inverse[order] = np.cumsum(new) - 1
        results = (*results, inverse.reshape(np.shape(ar)) if axis is None else inverse)
    if return_counts:
        results = (*results, np.diff(places))
    return results if len(results) > 1 else results[0]


def _ordered(rows: Any, equal_nan: bool) -> Any:
    """What sorts the rows, and which of the sorted ones differ from the row before."""
    one = rows.shape[1] == 1
    order = np.argsort(rows[:, 0], kind="stable") if one else np.lexsort(list(rows.T[::-1]))
    ordered = rows[order]
    differ = ordered[1:] != ordered[:-1]
    if equal_nan and rows.dtype.kind in "fc":
        differ = differ & ~(np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    return order, np.concatenate([np.ones(1, dtype=bool), differ[:, 0] if one else np.any(differ, axis=1)])


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """np.unique_all, of a known length with `size`, as `unique`."""
    if size is None:
        return np.unique_all(x)
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """np.unique_counts, of a known length with `size`, as `unique`."""
    if size is None:
        return np.unique_counts(x)
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """np.unique_inverse, of a known length with `size`, as `unique`."""
    if size is None:
        return np.unique_inverse(x)
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """np.unique_values, of a known length with `size`, as `unique`."""
    return np.unique_values(x) if size is None else unique(x, equal_nan=False, size=size, fill_value=fill_value)


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """np.union1d, of a known length with `size`, as `unique`."""
    if size is None:
        return np.union1d(ar1, ar2)
    return unique(np.concatenate([np.ravel(ar1), np.ravel(ar2)]), size=size, fill_value=fill_value)


def setdiff1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """np.setdiff1d, of a known length with `size`; `fill_value` is 0 by default."""
    if size is None:
        return np.setdiff1d(ar1, ar2, assume_unique)
    ar1 = np.ravel(ar1)
    if assume_unique:
        kept = ~np.isin(ar1, ar2)
    else:
        ar1, counts = unique(ar1, return_counts=True, size=ar1.size)
        kept = ~np.isin(ar1, ar2) & (counts > 0)
    return compress(kept, ar1, size=size, fill_value=0 if fill_value is None else fill_value)


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """np.intersect1d, of a known length with `size`; indices of filled places are the lengths of the arrays."""
    if size is None:
        asked: Any = (assume_unique, return_indices)
        return np.intersect1d(ar1, ar2, *asked)
    ar1, ar2 = np.ravel(ar1), np.ravel(ar2)
    ar1, ar2 = ar1.astype(np.result_type(ar1, ar2)), ar2.astype(np.result_type(ar1, ar2))
    values, first, counts = unique(ar1, True, False, True, size=ar1.size, equal_nan=False)
    common = (counts > 0) & np.isin(values, ar2)
    found = _smallest(common, values, size, fill_value)
    if not return_indices:
        return found
    there = np.arange(size) < np.sum(common)
    order = np.argsort(ar2, kind="stable")
    place = order[np.minimum(np.searchsorted(ar2[order], found), ar2.size - 1)]
    return found, compress(common, first, size=size, fill_value=ar1.size), np.where(there, place, ar2.size)


def setxor1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """np.setxor1d, of a known length with `size`."""
    if size is None:
        return np.setxor1d(ar1, ar2, assume_unique)
    both = np.concatenate([np.ravel(ar1), np.ravel(ar2)])
    values, counts = unique(both, return_counts=True, size=both.size, equal_nan=False)
    return _smallest((counts > 0) & (np.isin(values, ar1) ^ np.isin(values, ar2)), values, size, fill_value)


def _smallest(chosen: Any, values: Any, size: int, fill_value: Any) -> Any:
    """The first `size` that are chosen of sorted values. They are filled with the first one, with 0 where is none."""
    if fill_value is None:
        fill_value = np.where(np.any(chosen), values[np.argmax(chosen)], np.zeros((), values.dtype))
    return compress(chosen, values, size=size, fill_value=fill_value)


NAMES = (
    "intersect1d", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse",
    "unique_values",
)  # fmt: skip
