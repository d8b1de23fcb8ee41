"""Means, variances, differences and their kin, as NumPy source: the reader inlines these functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.selection import stop_gradient
from .checks import check_gradient, check_joined, check_nan_dtype, check_spacing, weighted_axes
from .support import axes_of, axis_size, everywhere, known, mean_dtypes, one_axis, variance_dtypes

COUNTS_ARE_INTS = not isinstance(np.count_nonzero(np.zeros(1)), np.generic)  # it depends on NumPy's version


def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, where: Any = True) -> Any:
    a = np.asarray(a)
    inside, result = mean_dtypes(a.dtype, dtype)
    total = np.sum(a.astype(inside), axis=axis, dtype=inside, keepdims=keepdims, where=where)  # small integers wrap
    return (total / _count(a, axis, keepdims, where)).astype(result)


def _count(a: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """How many elements a reduction takes together."""
    if where is True:
        return axis_size(a.shape, axis)
    return np.sum(np.broadcast_to(where, a.shape), axis=axis, dtype=np.int64, keepdims=keepdims)


def _freedom(ddof: Any, correction: Any) -> Any:
    """What is taken off the number of elements: it has two names, of which one may be used."""
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    a = np.asarray(a)
    inside, wide, result = variance_dtypes(a.dtype, dtype)
    x = a.astype(inside)
    if mean is None:
        axes = axes_of(known(axis), a.ndim)
        inner = sorted(axes) != list(range(len(axes)))  # broadcasting puts leading axes back by itself
        mean = np.sum(x, axis=axis, keepdims=inner, where=where) / _count(a, axis, inner, where)
    d = a.astype(wide) - mean
    free = _freedom(ddof, correction)
    n = _count(a, axis, keepdims, where)
    degrees = max(n - free, 0) if where is True else np.maximum(n - free, 0)
    return (np.sum(_squares(d, inside), axis=axis, keepdims=keepdims, where=where) / degrees).astype(result)


def _squares(d: Any, inside: Any) -> Any:
    """Of the distances from a mean, in the precision of `inside`."""
    if d.dtype.kind == "c":
        return np.real(d * np.conjugate(d)).astype(inside.type(0).real.dtype)
    return (d * d).astype(inside)


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    free = _freedom(ddof, correction)
    squares = var(a, axis, dtype, ddof=free, keepdims=keepdims, where=where, mean=mean)
    if where is True and mean is None and axis_size(np.shape(a), axis) == 1:
        squares = stop_gradient(squares)  # of one number it is 0, where the root has no derivative
    return np.sqrt(squares)


def average(a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False) -> Any:
    a = np.asarray(a)
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        if result.size == 0:  # NumPy asks how many elements fall to each
            raise ZeroDivisionError("division by zero")
        scale = np.full(result.shape, axis_size(a.shape, axis), dtype=result.dtype)
    else:
        w = np.asarray(weights)
        if w.shape != a.shape:
            axes = weighted_axes(a.shape, w.shape, axis)
            shape = tuple([a.shape[i] if i in axes else 1 for i in range(a.ndim)])
            w = np.reshape(np.transpose(w, tuple([axes.index(i) for i in sorted(axes)])), shape)
        dtype = np.result_type(a, w, np.float64) if a.dtype.kind in "biu" else np.result_type(a, w)
        w = np.broadcast_to(w, a.shape)
        scale = np.sum(w, axis=axis, dtype=dtype, keepdims=keepdims)
        if np.any(scale == 0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        result = np.sum(np.multiply(a, w, dtype=dtype), axis=axis, keepdims=keepdims) / scale
    return (result, scale) if returned else result


def everywhere_one(ndim: int, axis: int, n: int) -> Any:
    return tuple([n if i == one_axis(axis, ndim) else 1 for i in range(ndim)])


def ptp(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    a = np.asarray(a)
    count = np.sum(a if a.dtype.kind == "b" else a != 0, axis=axis, keepdims=keepdims)
    return int(count) if COUNTS_ARE_INTS and axis is None and not keepdims else count


# ---- without NaNs --------------------------------------------------------------------------------


def nansum(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    a = np.asarray(a)
    x = np.where(np.isnan(a), a.dtype.type(0), a)
    return np.sum(x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    a = np.asarray(a)
    x = np.where(np.isnan(a), a.dtype.type(1), a)
    return np.prod(x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    a = np.asarray(a)
    return np.cumsum(np.where(np.isnan(a), a.dtype.type(0), a), axis=axis, dtype=dtype)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    a = np.asarray(a)
    return np.cumprod(np.where(np.isnan(a), a.dtype.type(1), a), axis=axis, dtype=dtype)


def nanmax(a: Any, axis: Any = None, *, keepdims: Any = False, initial: Any = None, where: Any = True) -> Any:
    a = np.asarray(a)
    if a.dtype.kind in "biu":
        return np.max(a, axis=axis, keepdims=keepdims, initial=initial, where=where)
    x = np.where(np.isnan(a), a.dtype.type(-np.inf), a)
    m = np.max(x, axis=axis, keepdims=keepdims, initial=initial, where=where)
    if initial is not None:
        return m
    return np.where(np.all(np.isnan(a), axis=axis, keepdims=keepdims), a.dtype.type(np.nan), m)[()]


def nanmin(a: Any, axis: Any = None, *, keepdims: Any = False, initial: Any = None, where: Any = True) -> Any:
    a = np.asarray(a)
    if a.dtype.kind in "biu":
        return np.min(a, axis=axis, keepdims=keepdims, initial=initial, where=where)
    x = np.where(np.isnan(a), a.dtype.type(np.inf), a)
    m = np.min(x, axis=axis, keepdims=keepdims, initial=initial, where=where)
    if initial is not None:
        return m
    return np.where(np.all(np.isnan(a), axis=axis, keepdims=keepdims), a.dtype.type(np.nan), m)[()]


def nanargmax(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    a = np.asarray(a)
    if a.dtype.kind not in "biu":
        a = _not_all_nan(np.where(np.isnan(a), a.dtype.type(-np.inf), a), a, axis)
    return np.argmax(a, axis=axis, keepdims=keepdims)


def nanargmin(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    a = np.asarray(a)
    if a.dtype.kind not in "biu":
        a = _not_all_nan(np.where(np.isnan(a), a.dtype.type(np.inf), a), a, axis)
    return np.argmin(a, axis=axis, keepdims=keepdims)


def _not_all_nan(filled: Any, a: Any, axis: Any) -> Any:
    if np.any(np.all(np.isnan(a), axis=axis)):
        raise ValueError("All-NaN slice encountered")
    return filled


def nanmean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, where: Any = True) -> Any:
    a = np.asarray(a)
    if a.dtype.kind not in "biu":
        check_nan_dtype(dtype)
    inside, result = mean_dtypes(a.dtype, dtype)
    count = np.sum(~np.isnan(a), axis=axis, dtype=inside, keepdims=keepdims, where=where)
    return (nansum(a.astype(inside), axis, keepdims=keepdims, where=where) / count).astype(result)


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    a = np.asarray(a)
    if a.dtype.kind in "biu":
        return var(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction)
    check_nan_dtype(dtype)
    inside, wide, result = variance_dtypes(a.dtype, dtype)
    x, missing = a.astype(inside), np.isnan(a)
    middle = nanmean(x, axis, keepdims=True, where=where) if mean is None else mean
    d = np.where(missing, 0, a.astype(wide) - middle)
    free = _freedom(ddof, correction)
    squares = np.sum(_squares(d, inside), axis=axis, keepdims=keepdims, where=where)
    count = np.sum(~missing, axis=axis, dtype=squares.dtype, keepdims=keepdims, where=where) - free
    variance = np.where(count > 0, squares / np.where(count > 0, count, 1), np.nan)
    return variance.astype(result)[()]


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    free = _freedom(ddof, correction)
    return np.sqrt(nanvar(a, axis, dtype, ddof=free, keepdims=keepdims, where=where, mean=mean))


# ---- differences and sums along a line -----------------------------------------------------------


def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    n = known(n)
    if n == 0:
        return a
    a = np.asarray(a)
    if prepend is not None:
        a = np.concatenate([_edge(prepend, a, axis), a], axis=axis)
    if append is not None:
        a = np.concatenate([a, _edge(append, a, axis)], axis=axis)
    upper = a[everywhere(a.ndim, axis, slice(1, None))]
    lower = a[everywhere(a.ndim, axis, slice(None, -1))]
    d = upper != lower if a.dtype.kind == "b" else upper - lower
    return diff(d, n - 1, axis)


def _edge(value: Any, a: Any, axis: int) -> Any:
    """What stands beside an array along an axis: a number is spread."""
    x = np.asarray(value)
    if x.ndim:
        return x
    return np.broadcast_to(x, tuple([1 if i == one_axis(axis, a.ndim) else n for i, n in enumerate(a.shape)]))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x = np.ravel(np.asarray(ary))
    check_joined(x.dtype, to_begin is None or np.asarray(to_begin).dtype, to_end is None or np.asarray(to_end).dtype)
    d = x[1:] - x[:-1]
    if to_begin is not None:
        d = np.concatenate([np.ravel(np.asarray(to_begin)).astype(x.dtype), d])
    if to_end is not None:
        d = np.concatenate([d, np.ravel(np.asarray(to_end)).astype(x.dtype)])
    return d


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    y = np.asarray(y)
    widths = dx
    if x is not None:
        x = np.asarray(x)
        widths = diff(x) if x.ndim == 1 else diff(x, axis=axis)
        if x.ndim == 1:
            widths = np.reshape(widths, everywhere_one(y.ndim, axis, widths.shape[0]))
    upper = y[everywhere(y.ndim, axis, slice(1, None))]
    lower = y[everywhere(y.ndim, axis, slice(None, -1))]
    return np.sum(widths * (upper + lower) / 2.0, axis=axis)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """Central differences, one-sided at the ends (`edge_order` 1 or 2); a spacing is a number or the coordinates."""
    f = np.asarray(f)
    axes = axes_of(axis, f.ndim)
    one = len(varargs) == 0 or (len(varargs) == 1 and np.ndim(varargs[0]) == 0)  # spacing for all axes
    check_gradient(f.shape, axes, len(axes) if one else len(varargs), known(edge_order))
    steps = ((varargs[0] if varargs else 1.0),) * len(axes) if one else varargs
    parts = [_gradient_along(f, h, i, edge_order) for i, h in zip(axes, steps)]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _gradient_along(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    x = np.moveaxis(f, axis, 0)
    check_spacing(x.shape[0], np.shape(h))
    if x.dtype.kind in "iu":
        x = x.astype(np.float64)
    if np.ndim(h) == 1:
        places = np.asarray(h)
        places = places.astype(np.float64) if places.dtype.kind in "iu" else places  # differences of integers may wrap
        return np.moveaxis(_gradient_at(x, places, edge_order).astype(x.dtype), 0, axis)
    inner = (x[2:] - x[:-2]) / (2.0 * h)
    if known(edge_order) == 1:
        first = (x[1:2] - x[0:1]) / h
        last = (x[-1:] - x[-2:-1]) / h
    else:
        first = (-1.5 * x[0:1] + 2.0 * x[1:2] - 0.5 * x[2:3]) / h
        last = (1.5 * x[-1:] - 2.0 * x[-2:-1] + 0.5 * x[-3:-2]) / h
    return np.moveaxis(np.concatenate([first, inner, last]).astype(x.dtype), 0, axis)


def _gradient_at(x: Any, places: Any, edge_order: int) -> Any:
    """Along the first axis, at uneven spacing: the slope of the parabola through three neighbours."""
    h = np.reshape(diff(places), (-1,) + (1,) * (x.ndim - 1))
    before, after = h[:-1], h[1:]
    inner = (
        -after / (before * (before + after)) * x[:-2]
        + (after - before) / (before * after) * x[1:-1]
        + before / (after * (before + after)) * x[2:]
    )
    if known(edge_order) == 1:
        first, last = (x[1:2] - x[0:1]) / h[0:1], (x[-1:] - x[-2:-1]) / h[-1:]
        return np.concatenate([first, inner, last])
    p, q = h[0:1], h[1:2]
    first = -(2.0 * p + q) / (p * (p + q)) * x[0:1] + (p + q) / (p * q) * x[1:2] - p / (q * (p + q)) * x[2:3]
    p, q = h[-2:-1], h[-1:]
    last = q / (p * (p + q)) * x[-3:-2] - (p + q) / (p * q) * x[-2:-1] + (2.0 * q + p) / (q * (p + q)) * x[-1:]
    return np.concatenate([first, inner, last])


def polyval(p: Any, x: Any) -> Any:
    p, x = np.asarray(p), np.asarray(x)
    y = np.zeros(x.shape, dtype=np.result_type(p, x) if len(p) else x.dtype)
    for c in p:
        y = y * x + c
    return y


def cov(
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    if np.ndim(m) > 2 or (y is not None and np.ndim(y) > 2):
        raise ValueError("m and y have more than 2 dimensions")
    if isinstance(ddof, float) and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = _observations(m, rowvar)
    if x.shape[0] == 0:
        return np.zeros((0, 0))
    if y is not None:
        x = np.concatenate([x, _observations(y, rowvar or np.shape(y)[0] == 1)])
    if dtype is not None:
        x = x.astype(dtype)
    free = (0 if bias else 1) if ddof is None else ddof
    if fweights is not None or aweights is not None:
        w = np.ones(x.shape[1]) if fweights is None else np.asarray(fweights).astype(np.float64)
        w = w if aweights is None else w * np.asarray(aweights)
        total = np.sum(w)
        lost = free if aweights is None or free == 0 else free * np.sum(w * np.asarray(aweights)) / total
        d = x - np.sum(x * w, axis=1, keepdims=True) / total
        return np.squeeze(d @ np.conjugate(d * w).T / (total - lost))[()]
    d = x - mean(x, 1, keepdims=True)
    degrees = max(x.shape[1] - free, 0)
    return np.squeeze(d @ np.conjugate(d).T * np.divide(1, degrees).astype(np.real(d).dtype))[()]


def _observations(m: Any, rowvar: bool) -> Any:
    x = np.asarray(m)
    x = x.astype(np.result_type(x, np.float64))
    if x.ndim < 2:
        return np.reshape(x, (1, x.size))
    return x if rowvar else x.T


def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    s = np.sqrt(np.real(np.diagonal(c)))
    return np.clip(c / s[:, None] / s[None, :], -1.0, 1.0)


NUMPY_NAMES = {
    name: name
    for name in (
        "mean",
        "var",
        "std",
        "average",
        "ptp",
        "count_nonzero",
        "nansum",
        "nanprod",
        "nancumsum",
        "nancumprod",
        "nanmax",
        "nanmin",
        "nanargmax",
        "nanargmin",
        "nanmean",
        "nanvar",
        "nanstd",
        "diff",
        "ediff1d",
        "trapezoid",
        "gradient",
        "polyval",
        "cov",
        "corrcoef",
    )
}
METHODS: dict[str, Callable[..., Any]] = {"mean": mean, "var": var, "std": std}
