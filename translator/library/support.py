"""What the library's NumPy source asks about shapes: computed while a program is read, never part of it."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import Diagnostic, ShapeError, UnsupportedError

Axis = int | Sequence[int] | None


def known(value: Any) -> Any:
    """The value itself; where a run-time number stands, the program is specialised on it."""
    return value


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes as non-negative numbers, in the order given; all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    given = (axis,) if isinstance(axis, int | np.integer) else tuple(axis)
    return tuple(one_axis(i, ndim) for i in given)


def one_axis(axis: Any, ndim: int) -> int:
    """A non-negative axis; ShapeError when it is out of range."""
    i = operator.index(axis)
    if not -ndim <= i < ndim:
        raise ShapeError(f"axis {i} is out of bounds for an array of dimension {ndim}")
    return i % ndim


def axis_size(shape: Sequence[int], axis: Axis) -> int:
    """How many elements a reduction over `axis` takes together."""
    return math.prod(shape[i] for i in axes_of(axis, len(shape)))


def product(shape: Sequence[int]) -> int:
    """How many elements an array of this shape has."""
    return math.prod(shape)


def mean_dtypes(dtype: Any, wanted: Any) -> tuple[Any, Any]:
    """The dtypes in which a mean is computed and returned: float64 for integers, float32 for float16."""
    given = np.dtype(dtype)
    if wanted is not None:
        return np.dtype(wanted), np.dtype(wanted)
    if given.kind in "biu":
        return np.dtype(np.float64), np.dtype(np.float64)
    return (np.dtype(np.float32), given) if given == np.float16 else (given, given)


def everywhere(ndim: int, axis: int, where: Any) -> tuple[Any, ...]:
    """The index that is `where` on one axis and takes the others whole."""
    return (*[slice(None)] * one_axis(axis, ndim), where)


def repeat_positions(n: int, repeats: Any) -> Any:
    """For each element of np.repeat's result, the position that it comes from."""
    return np.repeat(np.arange(n), repeats)


def section_bounds(n: int, indices_or_sections: Any, equal: bool) -> tuple[tuple[int, int], ...]:
    """The (start, stop) of each part of np.split (`equal`) and np.array_split."""
    if isinstance(indices_or_sections, int | np.integer):
        count = int(indices_or_sections)
        if count <= 0:
            raise ShapeError("the number of sections must be positive")
        if equal and n % count:
            raise ShapeError(f"an array of {n} elements does not split into {count} equal parts")
        small, more = divmod(n, count)
        sizes = [small + 1] * more + [small] * (count - more)
        ends = np.cumsum([0, *sizes]).tolist()
    else:
        ends = [0, *(slice(None, operator.index(i)).indices(n)[1] for i in indices_or_sections), n]
    return tuple((int(a), max(int(a), int(b))) for a, b in itertools.pairwise(ends))


def triangle(n: int, k: int, m: int | None, upper: bool) -> tuple[Any, Any]:
    """np.tril_indices and np.triu_indices of known sizes."""
    rows, columns = (np.triu_indices if upper else np.tril_indices)(n, k, m)
    return rows, columns


def pad_widths(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """np.pad's widths, one pair an axis."""
    pairs = np.broadcast_to(np.asarray(pad_width), (ndim, 2))
    return tuple((int(a), int(b)) for a, b in pairs)


def pad_positions(n: int, before: int, after: int, mode: str) -> Any:
    """Where each element of a padded axis comes from, for the modes that repeat elements."""
    name = {"edge": "edge", "reflect": "reflect", "symmetric": "symmetric", "wrap": "wrap"}[mode]
    return np.pad(np.arange(n), (before, after), mode=name)  # type: ignore[call-overload]


def reduced_to(shape: Sequence[int], axis: Axis, keepdims: bool) -> tuple[int, ...]:
    """The shape of a reduction over `axis`."""
    gone = axes_of(axis, len(shape))
    if keepdims:
        return tuple(1 if i in gone else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in gone)


def float_of(dtype: Any) -> Any:
    """The dtype itself; float64 for integers and bools."""
    given = np.dtype(dtype)
    return np.dtype(np.float64) if given.kind in "biu" else given


def halvings(n: int) -> int:
    """How often a range of `n` + 1 places is halved until one is left."""
    return int(n).bit_length()


QUANTILE_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile_method(method: str, allowed: Sequence[str] = QUANTILE_METHODS) -> str:
    """The method itself. Raises UnsupportedError for the others that NumPy has."""
    if method not in allowed:
        raise UnsupportedError(
            Diagnostic(f"a quantile by method={method!r} is not in the language", instead=f"use one of {allowed}")
        )
    return method


def bin_count(n: Any) -> int:
    """The number of bins. Raises UnsupportedError where it would depend on the data."""
    if isinstance(n, str) or n == 0:
        raise UnsupportedError(
            Diagnostic(
                "the number of bins must be known",
                why="it would depend on the data, and is the size of the result",
                instead="give np.bincount a minlength and np.histogram a number of bins",
            )
        )
    count = operator.index(n)
    if count < 0:
        raise ValueError(f"the number of bins must not be negative, not {count}")
    return count


def only_axis(axis: int | None, ndim: int) -> int:
    """The axis; that of an array of one axis for None."""
    if axis is None and ndim != 1:
        raise ShapeError("For arrays which have more than one dimension ``axis`` argument is required.")
    return one_axis(0 if axis is None else axis, ndim)


def delete_positions(n: int, obj: Any) -> Any:
    """The positions that np.delete keeps."""
    return np.delete(np.arange(n), obj)


def insert_plan(n: int, obj: Any, count: int) -> tuple[Any, Any, Any]:
    """Where np.insert puts the old elements and the new ones, and which of the `count` values each of those takes."""
    indices = np.asarray(obj)
    if indices.dtype.kind == "b":
        indices = np.flatnonzero(indices)
    if np.any((indices < -n) | (indices > n)):
        raise IndexError(f"index {obj} is out of bounds for an axis of size {n}")
    indices = np.where(indices < 0, indices + n, indices)
    if indices.size == 1:
        new = int(indices.reshape(-1)[0]) + np.arange(count)
    else:
        new = indices.copy()
        new[np.argsort(indices, kind="stable")] += np.arange(indices.size)
    old = np.delete(np.arange(n + new.size), new)
    return old, new, np.zeros(new.size, dtype=np.int64) if count == 1 else np.arange(count)


def grid_plan(start: Any, stop: Any, step: Any) -> tuple[Any, Any, int]:
    """The first point, step and count of a slice in np.mgrid; an imaginary step is a count, the end included."""
    start, step = start or 0, 1 if step is None else step
    if isinstance(step, complex):
        count = int(abs(step))
        return float(start), (stop - start) / (count - 1) if count > 1 else 0.0, count
    return start, step, max(0, math.ceil((stop - start) / step))


STATIC: tuple[Callable[..., Any], ...] = (
    known,
    axes_of,
    one_axis,
    axis_size,
    product,
    mean_dtypes,
    everywhere,
    repeat_positions,
    section_bounds,
    triangle,
    pad_widths,
    pad_positions,
    reduced_to,
    float_of,
    halvings,
    quantile_method,
    bin_count,
    only_axis,
    delete_positions,
    insert_plan,
    grid_plan,
)
