"""Joining, splitting, repeating and padding arrays, as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from .support import cut, everywhere, is_known, known, one_axis, repeat_positions, section_bounds


def atleast_1d(*arys: Any) -> Any:
    found = [_raised(x, 1) for x in arys]
    return found[0] if len(found) == 1 else tuple(found)


def atleast_2d(*arys: Any) -> Any:
    found = [_raised(x, 2) for x in arys]
    return found[0] if len(found) == 1 else tuple(found)


def atleast_3d(*arys: Any) -> Any:
    found = [_raised_3d(x) for x in arys]
    return found[0] if len(found) == 1 else tuple(found)


def _raised(x: Any, ndim: int) -> Any:
    x = np.asarray(x)
    return x if x.ndim >= ndim else np.reshape(x, (1,) * (ndim - x.ndim) + x.shape)


def _raised_3d(x: Any) -> Any:
    x = np.asarray(x)
    if x.ndim >= 3:
        return x
    return np.reshape(x, {0: (1, 1, 1), 1: (1, x.size, 1), 2: (*x.shape, 1)}[x.ndim])


def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return np.concatenate([_raised(x, 2) for x in tup], axis=0, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    parts = [_raised(x, 1) for x in tup]
    return np.concatenate(parts, axis=0 if parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Any:
    return np.concatenate([_raised_3d(x) for x in tup], axis=2)


def column_stack(tup: Any) -> Any:
    return np.concatenate([_column(x) for x in tup], axis=1)


def _column(x: Any) -> Any:
    x = np.asarray(x)
    return np.reshape(x, (x.size, 1)) if x.ndim < 2 else x


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.concatenate([np.ravel(np.asarray(arr)), np.ravel(np.asarray(values))])
    return np.concatenate([arr, values], axis=axis)


def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    x = np.asarray(ary)
    bounds = section_bounds(x.shape[one_axis(axis, x.ndim)], indices_or_sections, True)
    return [x[everywhere(x.ndim, axis, slice(low, high))] for low, high in bounds]


def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    x = np.asarray(ary)
    bounds = section_bounds(x.shape[one_axis(axis, x.ndim)], indices_or_sections, False)
    return [x[everywhere(x.ndim, axis, slice(low, high))] for low, high in bounds]


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    if np.ndim(ary) < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    x = np.asarray(ary)
    if x.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    if np.ndim(ary) < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


def unstack(x: Any, /, *, axis: Any = 0) -> Any:
    x = np.moveaxis(np.asarray(x), axis, 0)
    return tuple([x[i] for i in tuple(range(x.shape[0]))])


def tile(A: Any, reps: Any) -> Any:
    x, reps = np.asarray(A), known(reps)
    times = (reps,) if isinstance(reps, int) else tuple(reps)
    shape = (1,) * (len(times) - x.ndim) + x.shape
    times = (1,) * (len(shape) - len(times)) + times
    pairs = tuple(zip(times, shape))
    thin = np.reshape(x, tuple([m for t, n in pairs for m in (1, n)]))
    wide = np.broadcast_to(thin, tuple([m for t, n in pairs for m in (t, n)]))
    return np.reshape(wide, tuple([t * n for t, n in pairs])).copy()


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    x = np.asarray(a)
    if not is_known(repeats) and np.ndim(repeats) > 0:
        cut("np.repeat by run-time counts", "their sum is the size of the result", "give the counts as a list")
    repeats = known(repeats)
    if np.any(np.asarray(repeats) < 0):
        raise ValueError("repeats may not contain negative values.")
    if axis is None:
        x = np.ravel(x)
        axis = 0
    axis = one_axis(axis, x.ndim)
    if not isinstance(repeats, int | np.integer):
        return np.take(x, repeat_positions(x.shape[axis], repeats), axis=axis)
    repeats = int(repeats)
    before, n, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    wide = np.broadcast_to(np.expand_dims(x, axis + 1), (*before, n, repeats, *after))
    return np.reshape(wide, (*before, n * repeats, *after)).copy()


NUMPY_NAMES = {
    name: name
    for name in (
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "vstack",
        "hstack",
        "dstack",
        "column_stack",
        "append",
        "split",
        "array_split",
        "vsplit",
        "hsplit",
        "dsplit",
        "unstack",
        "tile",
        "repeat",
    )
}
