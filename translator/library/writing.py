"""Functions that write into an array they are given, as NumPy source: np.copyto, np.put, np.fill_diagonal, ..."""

from __future__ import annotations

from typing import Any

import numpy as np

from .checks import check_cast, check_diagonal, check_mask
from .grids import resize
from .support import is_plain, known, one_axis, wrapped_diagonal


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    what, plain = "scalar" if np.ndim(src) == 0 else "array data", is_plain(src)
    check_cast(what, np.asarray(src).dtype, dst.dtype, casting, plain)
    value = np.broadcast_to(np.asarray(src, dst.dtype) if plain else np.asarray(src).astype(dst.dtype), dst.shape)
    dst[...] = value if where is True else np.where(where, value, dst)


def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Elements of `a` in C order; `v` starts again where it is too short."""
    places, values = np.ravel(np.asarray(ind)).astype(np.int64), np.ravel(_elements(v, a.dtype))
    if places.size == 0 or values.size == 0:
        return
    if a.ndim == 0:
        a = np.reshape(a, 1)
    if known(mode) == "wrap":
        places = places % a.size
    elif known(mode) == "clip":
        places = np.clip(places, 0, a.size - 1)
    a[_unravelled(places, a.shape)] = values[0] if values.size == 1 else resize(values, places.size)


def _elements(values: Any, dtype: Any) -> Any:
    """An array as it is, numbers in this dtype. Raises OverflowError where it cannot hold a Python int."""
    return values if isinstance(values, np.ndarray) else np.asarray(values, dtype)


def _unravelled(places: Any, shape: tuple[int, ...]) -> Any:
    """Positions in C order as one index an axis; negative ones count from the end."""
    lines = []
    for n in shape[:0:-1]:
        lines.append(places % n)
        places = places // n
    return (places, *lines[::-1])


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Where the mask is True, the element of `values` at the same place, which start again where they are too short."""
    check_mask("putmask", np.shape(mask), a.shape)
    v = _elements(values, a.dtype)
    if v.size == 0:
        return
    check_cast("array data", v.dtype, a.dtype, "safe", False)
    v = np.ravel(v.astype(a.dtype))
    spread = v[0] if v.size == 1 else resize(v, a.shape)
    a[...] = np.where(np.reshape(np.asarray(mask), a.shape), spread, a)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """The places where the mask is True take `vals` one after the other; these start again where they are too few."""
    check_mask("place", np.shape(mask), arr.shape)
    v = _elements(vals, arr.dtype)
    if v.size == 0:
        raise ValueError("Cannot insert from an empty array!")
    check_cast("array data", v.dtype, arr.dtype, "safe", False)
    v, chosen = np.ravel(v.astype(arr.dtype)), np.ravel(np.asarray(mask)).astype(bool)
    taken = v[0] if v.size == 1 else np.reshape(v[(np.cumsum(chosen) - 1) % v.size], arr.shape)
    arr[...] = np.where(np.reshape(chosen, arr.shape), taken, arr)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    places = np.asarray(indices)
    if places.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if places.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        arr[_unravelled(places, arr.shape)] = values
        return
    place = one_axis(axis, arr.ndim)
    if places.ndim != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    lines = [
        places if i == place else np.reshape(np.arange(n), (1,) * i + (n,) + (1,) * (arr.ndim - 1 - i))
        for i, n in enumerate(arr.shape)
    ]
    arr[tuple(lines)] = values


def fill_diagonal(a: Any, val: Any, wrap: Any = False) -> None:
    check_diagonal(a.shape)
    v = _elements(val, a.dtype)
    if wrap and a.ndim == 2 and a.shape[0] > a.shape[1]:
        rows, columns = wrapped_diagonal(a.shape)
        a[rows, columns] = v if v.ndim == 0 else resize(v, len(rows))
        return
    n = min(a.shape)
    a[(np.arange(n),) * a.ndim] = v if v.ndim == 0 else resize(v, n)


NUMPY_NAMES = {name: name for name in ("copyto", "put", "putmask", "place", "put_along_axis", "fill_diagonal")}
METHODS = {"put": put}
