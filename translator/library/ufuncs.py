"""The methods of ufuncs that have no operation of their own, as NumPy source: reduce, accumulate, reduceat, outer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .support import fold_axes, fold_dtype, fold_start, is_associative, known, one_axis, product, reduced_to

PARTS = 8


def reduce(
    ufunc: Any,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """The elements along axes combined; in order from the first one, unless the order is free."""
    a = np.asarray(array)
    a = a.astype(fold_dtype(ufunc, a.dtype, dtype))
    axes, shape = fold_axes(ufunc, axis, a.ndim), reduced_to(a.shape, axis, keepdims)
    x = _lines(a, axes)
    start = fold_start(ufunc, x.shape[0], initial is not None, where is not True)
    first = initial if start is None else start
    mask: Any = True if where is True else _lines(np.broadcast_to(where, a.shape), axes)
    if is_associative(ufunc):
        neutral = initial if ufunc.identity is None else ufunc.identity
        x = x if where is True else np.where(mask, x, np.asarray(neutral).astype(x.dtype))
        if x.shape[0] > 0:
            y = _combined(ufunc, x)
            return np.reshape(y if initial is None else ufunc(np.asarray(initial).astype(x.dtype), y), shape)[()]
        return np.full(shape, first, dtype=x.dtype)[()]
    y = x[0] if first is None else np.full(x.shape[1:], first, dtype=x.dtype)[()]
    for i in range(1 if first is None else 0, x.shape[0]):
        combined = ufunc(y, x[i], dtype=x.dtype)
        y = combined if where is True else np.asarray(np.where(mask[i], combined, y))[()]
    return np.reshape(y, shape)[()]


def _lines(a: Any, axes: Any) -> Any:
    """The axes moved to the front, as one."""
    moved = np.moveaxis(a, axes, tuple(range(len(axes))))
    return np.reshape(moved, (product(moved.shape[: len(axes)]), *moved.shape[len(axes) :]))


def _combined(ufunc: Any, x: Any) -> Any:
    """In halves; of many elements in several parts at once, so that the large array is read in one pass."""
    n = x.shape[0]
    if n == 1:
        return x[0]
    parts = PARTS if n >= PARTS * PARTS else 2
    size = n // parts
    y = x[:size]
    for k in tuple(range(1, parts)):
        y = ufunc(y, x[k * size : (k + 1) * size])
    return _combined(ufunc, y if n % parts == 0 else np.concatenate([y, x[parts * size :]]))


def accumulate(ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """The results of `reduce` of ever more elements along an axis; by doubling, where that is exact."""
    a = np.asarray(array)
    if a.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    x = np.moveaxis(a.astype(fold_dtype(ufunc, a.dtype, dtype)), axis, 0)
    n = x.shape[0]
    if is_associative(ufunc, True):
        step = 1
        while known(step) < n:
            x = np.concatenate([x[:step], ufunc(x[:-step], x[step:])])
            step = 2 * known(step)
        return np.moveaxis(x, 0, axis)
    y = x.copy()
    for i in range(1, n):
        y[i] = ufunc(y[i - 1], x[i], dtype=x.dtype)
    return np.moveaxis(y, 0, axis)


def reduceat(ufunc: Any, array: Any, indices: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """The elements from each index up to the next one, combined; one element where the next index is no higher."""
    a = np.asarray(array)
    x = np.moveaxis(a.astype(fold_dtype(ufunc, a.dtype, dtype)), one_axis(axis, a.ndim), 0)
    starts = np.asarray(indices)
    ends = np.concatenate([starts[1:], np.full(1, x.shape[0], dtype=starts.dtype)])
    y = x[starts]
    for i in range(starts.shape[0]):
        for k in range(starts[i] + 1, ends[i]):
            y[i] = ufunc(y[i], x[k], dtype=x.dtype)
    return np.moveaxis(y, 0, axis)


def outer(ufunc: Any, A: Any, B: Any, **kwargs: Any) -> Any:
    """Every element of the one with every element of the other."""
    x, y = np.asarray(A), np.asarray(B)
    return ufunc(np.expand_dims(x, tuple(range(x.ndim, x.ndim + y.ndim))), y, **kwargs)


METHODS: dict[str, Callable[..., Any]] = {
    "reduce": reduce,
    "accumulate": accumulate,
    "reduceat": reduceat,
    "outer": outer,
}
