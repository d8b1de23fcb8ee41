"""Updates through index arrays in which an index may stand more than once, as NumPy source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def scattered(combine: Callable[[Any, Any], Any], x: Any, places: Any, value: Any) -> Any:
    """`x` after `combine(element, value)` at each of `places`, which count its elements in C order, one by one."""
    flat = np.array(np.reshape(x, -1))
    values = np.reshape(np.broadcast_to(value, places.shape), -1)
    order = np.reshape(places, -1)
    for k in range(order.shape[0]):
        flat[order[k]] = combine(flat[order[k]], values[k])
    return np.reshape(flat, x.shape)


def changed(function: Callable[[Any], Any], x: Any, places: Any) -> Any:
    """`x` after `function(element)` at each of `places`, which count its elements in C order, one by one."""
    flat = np.array(np.reshape(x, -1))
    order = np.reshape(places, -1)
    for k in range(order.shape[0]):
        flat[order[k]] = function(flat[order[k]])
    return np.reshape(flat, x.shape)


_UFUNCS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "min": np.minimum, "max": np.maximum
}  # fmt: skip


def updated(x: Any, places: Any, values: Any, how: str) -> Any:
    """A copy of `x` with `values` at these places, or combined with what is there: `how` is "set" or a name of _UFUNCS.
    What is no NumPy array is changed by its own `.at`. Read, it is `updated_in_place`.
    """
    if not isinstance(x, np.ndarray):
        return getattr(x.at[places], how)(values)
    return updated_in_place(x, places, values, how)


def updated_in_place(x: Any, places: Any, values: Any, how: str) -> Any:
    out = x.copy()
    if how == "set":
        out[places] = values
    else:
        _UFUNCS[how].at(out, places, values)
    return out


def clipped(i: Any, n: int) -> Any:
    """An index of an axis of size n, negative ones counted from the end, moved inside."""
    k = np.asarray(i).astype(np.int64)
    return np.clip(np.where(k < 0, k + n, k), 0, n - 1)


def wrapped(i: Any, n: int) -> Any:
    """An index modulo the size of the axis."""
    return np.asarray(i).astype(np.int64) % n


def or_behind(i: Any, n: int) -> Any:
    """An index of an axis of size n; n where it is out of range."""
    k = np.asarray(i).astype(np.int64)
    return np.where((k >= -n) & (k < n), np.where(k < 0, k + n, k), n)


def unless_negative(i: Any, beyond: int) -> Any:
    """An index; `beyond` where it is negative."""
    k = np.asarray(i)
    return np.where(k < 0, beyond, k)


def extended(x: Any, axis: int, value: Any) -> Any:
    """`x` with one more place along an axis, filled with `value`."""
    end = np.full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), value, dtype=x.dtype)
    return np.concatenate([x, end], axis=axis)
