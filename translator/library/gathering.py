"""`lax.gather` and `lax.scatter`: windows of an array at places that an array of integers lists, by dimension numbers.

The rules are those of XLA: https://openxla.org/xla/operation_semantics#gather and #scatter.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .scattering import changed, updated
from .support import known, product


class GatherDimensionNumbers(NamedTuple):
    """Which axes of the result are a window's, and which axis of the operand each column of the indices counts."""

    offset_dims: Any
    collapsed_slice_dims: Any
    start_index_map: Any
    operand_batching_dims: Any = ()
    start_indices_batching_dims: Any = ()


class ScatterDimensionNumbers(NamedTuple):
    """As GatherDimensionNumbers, of the windows that the updates are."""

    update_window_dims: Any
    inserted_window_dims: Any
    scatter_dims_to_operand_dims: Any
    operand_batching_dims: Any = ()
    scatter_indices_batching_dims: Any = ()


class GatherScatterMode(enum.Enum):
    """What becomes of a window that does not lie in the operand. PROMISE_IN_BOUNDS is read as CLIP."""

    CLIP = 0
    FILL_OR_DROP = 1
    PROMISE_IN_BOUNDS = 2


_MODES = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
}


def parsed_mode(mode: Any) -> GatherScatterMode:
    """The mode of this name. ValueError for another."""
    if isinstance(mode, GatherScatterMode):
        return mode
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(map(repr, _MODES))}, not {mode!r}")
    return _MODES[mode]


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Any:
    """The windows of `slice_sizes` that start at `start_indices[..., :]`. One that does not fit is moved inside; with
    mode "fill" it is filled with NaN, of integers with the least or, unsigned, the greatest.
    """
    numbers, slice_sizes = _known(dimension_numbers), known(slice_sizes)
    x, starts = operand, np.asarray(start_indices)
    batching = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
    gone = (*numbers.collapsed_slice_dims, *batching)
    places, inside = _window_places(x.shape, starts, numbers.start_index_map, batching, slice_sizes, gone)
    windows = x[places]
    if mode is not None and parsed_mode(mode) is GatherScatterMode.FILL_OR_DROP:
        missing = fill_of(x.dtype) if fill_value is None else fill_value
        shape = (*inside.shape, *(1,) * (windows.ndim - inside.ndim))
        windows = np.where(np.reshape(inside, shape), windows, np.asarray(missing, dtype=x.dtype))
    return np.moveaxis(windows, tuple(range(starts.ndim - 1, windows.ndim)), tuple(numbers.offset_dims))


def _known(numbers: Any) -> Any:
    """Dimension numbers; a program that is given them as arguments is made for these."""
    return type(numbers)(*[tuple(known(axes)) for axes in numbers])


def fill_of(dtype: Any) -> Any:
    """What stands for elements that are not there."""
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
    return np.nan


def _window_places(
    shape: tuple[int, ...],
    starts: Any,
    counted: Sequence[int],
    batching: dict[int, int],
    sizes: Sequence[int],
    gone: Sequence[int],
) -> tuple[tuple[Any, ...], Any]:
    """An index array for each axis of the operand, over the batch axes and those of a window that are not `gone`; and
    which windows lie in the operand as they are: the places are those of windows moved inside.
    """
    kept = [axis for axis in range(len(shape)) if axis not in gone]
    rank, inner = starts.ndim - 1, len(kept)
    inside = np.ones(starts.shape[:-1], dtype=np.bool_)
    places = []
    for axis, n in enumerate(shape):
        place: Any = np.zeros((1,) * (rank + inner), dtype=np.int64)
        if axis in batching:
            place = _along(n, batching[axis], rank + inner)
        elif axis in counted:
            wanted = starts[..., tuple(counted).index(axis)].astype(np.int64)
            first = np.clip(wanted, 0, n - sizes[axis])
            inside = inside & (first == wanted)
            place = np.reshape(first, (*first.shape, *(1,) * inner))
        if axis in kept:
            place = place + _along(sizes[axis], rank + kept.index(axis), rank + inner)
        places.append(place)
    return tuple(places), inside


def _along(n: int, axis: int, ndim: int) -> Any:
    """0, 1, ..., n - 1 along one of `ndim` axes."""
    return np.reshape(np.arange(n), (*(1,) * axis, n, *(1,) * (ndim - axis - 1)))


def scatter(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """A copy of `operand` with windows of `updates` at these places; of two at one place the later. Windows that do not
    fit are left out, or moved inside with mode "clip".
    """
    return _scattered("set", operand, scatter_indices, updates, dimension_numbers, mode)


def scatter_add(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """As `scatter`; updates are added to what is there, all of those that meet at one place."""
    return _scattered("add", operand, scatter_indices, updates, dimension_numbers, mode)


def scatter_sub(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """As `scatter`; updates are subtracted from what is there, all of those that meet at one place."""
    return _scattered("subtract", operand, scatter_indices, updates, dimension_numbers, mode)


def scatter_mul(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """As `scatter`; what is there is multiplied by the updates, all of those that meet at one place."""
    return _scattered("multiply", operand, scatter_indices, updates, dimension_numbers, mode)


def scatter_min(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """As `scatter`; the least of what is there and the updates at its place."""
    return _scattered("min", operand, scatter_indices, updates, dimension_numbers, mode)


def scatter_max(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """As `scatter`; the greatest of what is there and the updates at its place."""
    return _scattered("max", operand, scatter_indices, updates, dimension_numbers, mode)


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """As `scatter`, with updates of `update_shape`; `func` of what is there, as often as updates meet at its place."""
    updates = np.zeros(tuple(update_shape), operand.dtype)
    flat_x, places, _ = _laid_out(operand, scatter_indices, updates, dimension_numbers, mode)
    return np.reshape(changed(func, flat_x, places)[:-1], operand.shape)


def _scattered(
    how: str,
    x: Any,
    indices: Any,
    updates: Any,
    numbers: ScatterDimensionNumbers,
    mode: Any,
) -> Any:
    flat_x, places, u = _laid_out(x, indices, updates, numbers, mode)
    return np.reshape(updated(flat_x, places, u.astype(x.dtype), how)[:-1], x.shape)


def _laid_out(
    x: Any, indices: Any, updates: Any, numbers: ScatterDimensionNumbers, mode: Any
) -> tuple[Any, Any, Any]:
    """The elements of `x` in a row, and one more, which takes what is dropped; for each update its place there; and
    the updates with the axes of their windows last.
    """
    numbers, starts, u = _known(numbers), np.asarray(indices), np.asarray(updates)
    batching = dict(zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True))
    gone = (*numbers.inserted_window_dims, *batching)
    windows = tuple(numbers.update_window_dims)
    u = np.moveaxis(u, windows, tuple(range(u.ndim - len(windows), u.ndim)))
    kept = [axis for axis in range(x.ndim) if axis not in gone]
    sizes = [u.shape[u.ndim - len(kept) + kept.index(axis)] if axis in kept else 1 for axis in range(x.ndim)]
    counted = numbers.scatter_dims_to_operand_dims
    places, inside = _window_places(x.shape, starts, counted, batching, sizes, gone)
    flat, count = _positions(places, x.shape), product(x.shape)
    if parsed_mode(mode) is GatherScatterMode.FILL_OR_DROP:  # what is dropped goes behind the last element
        flat = np.where(np.reshape(inside, (*inside.shape, *(1,) * len(kept))), flat, count)
    flat_x = np.concatenate([np.ravel(x), np.zeros(1, dtype=x.dtype)])
    return flat_x, np.broadcast_to(flat, u.shape), u


def _positions(places: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """Indices of axes as positions in C order."""
    found: Any = 0
    for place, n in zip(places, shape, strict=True):
        found = found * n + place
    return found


CALLED: tuple[Callable[..., Any], ...] = (
    gather, scatter, scatter_add, scatter_sub, scatter_mul, scatter_min, scatter_max,
)  # fmt: skip
STATIC: tuple[Callable[..., Any], ...] = (parsed_mode, fill_of)
