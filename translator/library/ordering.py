"""Orders by several keys and of complex numbers, as NumPy source over sort."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np


def sort_complex(a: Any) -> Any:
    s = np.sort(np.asarray(a), axis=-1)
    if s.dtype.kind == "c":
        return s
    small = s.dtype.itemsize < 4 and s.dtype.kind in "iu"
    return s.astype(np.complex64 if small else np.promote_types(s.dtype, np.complex128))


def lexsort(keys: Any, axis: Any = -1) -> Any:
    """The last key counts most."""
    lines = [np.asarray(k) for k in keys]
    if len({line.shape for line in lines}) > 1:
        raise ValueError("all keys need to be the same shape")
    order = np.argsort(lines[0], axis=axis, kind="stable")
    for line in lines[1:]:
        turned = np.argsort(np.take_along_axis(line, order, axis=axis), axis=axis, kind="stable")
        order = np.take_along_axis(order, turned, axis=axis)
    return order


def sort_several(operands: Any, dimension: int, num_keys: int) -> tuple[Any, ...]:
    """All arrays in the order of the first `num_keys`, of which the first counts most (`lax.sort` of a tuple)."""
    order = lexsort(list(operands[:num_keys])[::-1], dimension)
    return tuple(np.take_along_axis(x, order, dimension) for x in operands)


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Sorted keys, and the values in their order. Arrays of one shape, each in its dtype."""
    order = np.argsort(keys, axis=dimension, kind="stable")
    return np.take_along_axis(keys, order, dimension), np.take_along_axis(values, order, dimension)


def bisect_right(a: Any, x: Any, lo: int = 0, hi: int | None = None, *, key: Any = None) -> Any:
    """Python's bisect.bisect, step by step, so that it ends where Python's does in what is not in order, too."""
    return _bisected(a, lambda v: not x < v, lo, hi, key)


def bisect_left(a: Any, x: Any, lo: int = 0, hi: int | None = None, *, key: Any = None) -> Any:
    """Python's bisect.bisect_left, in the same way."""
    return _bisected(a, lambda v: v < x, lo, hi, key)


def _bisected(a: Any, is_before: Any, lo: int, hi: int | None, key: Any) -> Any:
    values = np.asarray(a)
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(values)
    while lo < hi:
        mid = (lo + hi) // 2
        if is_before(values[mid] if key is None else key(values[mid])):
            lo = mid + 1
        else:
            hi = mid
    return lo


def keys_of(items: Any, key: Any) -> list[Any]:
    """By what `items` are ordered."""
    return [key(x) for x in items]


PYTHON = {bisect.bisect_right: bisect_right, bisect.bisect_left: bisect_left}
NUMPY_NAMES = {"sort_complex": "sort_complex", "lexsort": "lexsort"}
