"""Medians, quantiles, searches and histograms, as NumPy source over sort and comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np

from .support import axes_of, bin_count, float_of, halvings, known, mean_dtypes, quantile_method, reduced_to


def median(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    a = np.asarray(a)
    inside, result = mean_dtypes(a.dtype, None)
    s = np.sort(_lines(a, axis), axis=-1).astype(inside)
    n = s.shape[-1]
    middle = s[..., n // 2] if n % 2 else (s[..., n // 2 - 1] + s[..., n // 2]) / 2
    if a.dtype.kind in "fc":
        middle = np.where(np.isnan(s[..., -1]), s[..., -1], middle)
    return np.reshape(middle.astype(result), reduced_to(a.shape, axis, keepdims))[()]


def _lines(a: Any, axis: Any) -> Any:
    """The elements that a reduction over `axis` takes together, along the last axis."""
    gone = axes_of(axis, a.ndim)
    kept = tuple([i for i in range(a.ndim) if i not in gone])
    return np.reshape(np.transpose(a, kept + gone), (*tuple([a.shape[i] for i in kept]), -1))


def quantile(a: Any, q: Any, axis: Any = None, *, method: Any = "linear", keepdims: Any = False) -> Any:
    a = np.asarray(a)
    how = quantile_method(method)
    s = np.sort(_lines(a, axis), axis=-1)
    if how == "linear" or how == "midpoint":
        s = s.astype(float_of(a.dtype))
    n = s.shape[-1]
    shape = reduced_to(a.shape, axis, keepdims)
    q = _like(q, a)
    place = (np.ravel(q) if q.ndim else q) * (n - 1)
    floor = np.clip(np.floor(place), 0, n - 1)
    below = floor.astype(np.int64)
    low, high = s[..., below], s[..., np.minimum(below + 1, n - 1)]
    between = place - floor
    if how == "linear":
        d = high - low
        found = np.where(between >= 0.5, high - d * (1 - between), low + d * between)
    elif how == "lower":
        found = low
    elif how == "higher":
        found = np.where(between > 0, high, low)
    elif how == "midpoint":
        found = np.where(between > 0, (low + high) / 2, low)
    else:
        found = np.where((between > 0.5) | ((between == 0.5) & (below % 2 == 1)), high, low)
    if found.dtype.kind == "f":
        found = np.where((q < 0) | (q > 1), np.nan, found)  # an error in NumPy
    if a.dtype.kind == "f":
        last = s[..., -1:] if q.ndim else s[..., -1]
        found = np.where(np.isnan(last), np.nan, found)
    return np.reshape(np.moveaxis(found, -1, 0) if q.ndim else found, q.shape + shape)[()]


def _like(q: Any, a: Any) -> Any:
    """A Python number takes the dtype of floating-point data."""
    return np.multiply(q, a.dtype.type(1)) if a.dtype.kind == "f" else np.asarray(q)


def percentile(a: Any, q: Any, axis: Any = None, *, method: Any = "linear", keepdims: Any = False) -> Any:
    a = np.asarray(a)
    return quantile(a, _like(q, a) / 100, axis, method=method, keepdims=keepdims)


def nanmedian(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    a = np.asarray(a)
    if a.dtype.kind in "biu":
        return median(a, axis, keepdims=keepdims)
    x = _lines(a, axis)
    s = np.sort(x, axis=-1)
    count = np.sum(~np.isnan(x), axis=-1, keepdims=True)
    low = np.take_along_axis(s, np.maximum(count - 1, 0) // 2, axis=-1)
    high = np.take_along_axis(s, np.minimum(count // 2, s.shape[-1] - 1), axis=-1)
    middle = np.where(count % 2 == 1, low, (low + high) / 2).astype(a.dtype)
    middle = np.where(count == 0, np.nan, middle).astype(a.dtype)
    return np.reshape(middle, reduced_to(a.shape, axis, keepdims))[()]


def nanquantile(a: Any, q: Any, axis: Any = None, *, method: Any = "linear", keepdims: Any = False) -> Any:
    a = np.asarray(a)
    if a.dtype.kind in "biu":
        return quantile(a, q, axis, method=method, keepdims=keepdims)
    quantile_method(method, ("linear",))
    x = _lines(a, axis)
    s = np.sort(x, axis=-1)
    count = np.sum(~np.isnan(x), axis=-1, keepdims=True)
    q = _like(q, a)
    last = np.maximum(count - 1, 0)
    place = np.ravel(q) * last.astype(q.dtype)
    floor = np.clip(np.floor(place), 0, last).astype(place.dtype)
    below = floor.astype(np.int64)
    between = place - floor
    low = np.take_along_axis(s, below, axis=-1)
    d = np.take_along_axis(s, np.minimum(below + 1, last), axis=-1) - low
    found = np.where(between >= 0.5, low + d - d * (1 - between), low + d * between)
    return np.reshape(np.moveaxis(found, -1, 0), q.shape + reduced_to(a.shape, axis, keepdims))[()]


def nanpercentile(a: Any, q: Any, axis: Any = None, *, method: Any = "linear", keepdims: Any = False) -> Any:
    a = np.asarray(a)
    return nanquantile(a, _like(q, a) / 100, axis, method=method, keepdims=keepdims)


def sort_complex(a: Any) -> Any:
    s = np.sort(np.asarray(a), axis=-1)
    if s.dtype.kind == "c":
        return s
    return s.astype(np.complex64 if s.dtype.itemsize < 4 and s.dtype.kind != "b" else np.complex128)


def lexsort(keys: Any, axis: Any = -1) -> Any:
    """The last key counts most."""
    lines = [np.asarray(k) for k in keys]
    order = np.argsort(lines[0], axis=axis, kind="stable")
    for line in lines[1:]:
        turned = np.argsort(np.take_along_axis(line, order, axis=axis), axis=axis, kind="stable")
        order = np.take_along_axis(order, turned, axis=axis)
    return order


# ---- searches ------------------------------------------------------------------------------------


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """By bisection: every element of `v` halves its own range, as often as the longest needs."""
    a, v = np.asarray(a), np.asarray(v)
    if sorter is not None:
        a = a[sorter]
    n = a.shape[0]
    low = np.zeros(v.shape, dtype=np.int64)
    if n == 0:
        return low
    high = np.full(v.shape, n, dtype=np.int64)
    for _ in range(halvings(n)):
        middle = (low + high) // 2
        here = a[np.minimum(middle, n - 1)]
        right = _before(here, v) if known(side) == "left" else ~_before(v, here)
        right = right & (low < high)
        low = np.where(right, middle + 1, low)
        high = np.where(right, high, middle)
    return low[()]


def _before(x: Any, y: Any) -> Any:
    """x < y with NaN last."""
    less = x < y
    if y.dtype.kind == "f":
        less = less | (np.isnan(y) & ~np.isnan(x))
    return less


def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    bins = np.asarray(bins)
    side = "left" if right else "right"
    up = searchsorted(bins, x, side)
    down = bins.shape[0] - searchsorted(bins[::-1], x, side)
    return np.where(bins[0] <= bins[-1], up, down)[()]


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    x, xp, fp = np.asarray(x), np.asarray(xp), np.asarray(fp)
    x, xp = x.astype(np.float64), xp.astype(np.float64)
    fp = fp.astype(np.complex128 if fp.dtype.kind == "c" else np.float64)
    if period is not None:
        x, xp = x % period, xp % period
        order = np.argsort(xp, kind="stable")
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
    n = xp.shape[0]
    first = fp[0] if left is None or period is not None else left
    last = fp[-1] if right is None or period is not None else right
    if n == 1:
        return np.where(x < xp[0], first, np.where(x > xp[0], last, fp[0]))[()]
    i = np.clip(searchsorted(xp, x, "right") - 1, 0, n - 2)
    slope = (fp[i + 1] - fp[i]) / (xp[i + 1] - xp[i])
    y = slope * (x - xp[i]) + fp[i]
    return np.where(x < xp[0], first, np.where(x > xp[n - 1], last, y))[()]


# ---- counts --------------------------------------------------------------------------------------


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    a = np.ravel(np.asarray(a))
    if not isinstance(bins, str) and np.ndim(bins) == 1:
        return np.asarray(bins)
    low, high = (np.min(a), np.max(a)) if range is None else (range[0], range[1])
    flat = low == high
    low, high = np.where(flat, low - 0.5, low), np.where(flat, high + 0.5, high)
    return np.linspace(low, high, bin_count(bins) + 1, dtype=float_of(a.dtype))


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    a = np.ravel(np.asarray(a))
    edges = histogram_bin_edges(a, bins, range)
    n = edges.shape[0] - 1
    place = searchsorted(edges, a.astype(np.result_type(a, edges)), "right") - 1
    place = np.where(a == edges[-1], n - 1, place)
    inside = (a >= edges[0]) & (a <= edges[-1])
    place = np.where(inside, place, 0)
    if weights is None:
        counts = np.zeros(n, dtype=np.int64)
        np.add.at(counts, place, inside.astype(np.int64))
    else:
        w = np.ravel(np.asarray(weights))
        counts = np.zeros(n, dtype=w.dtype)
        np.add.at(counts, place, np.where(inside, w, w.dtype.type(0)))
    if density:
        return counts / np.diff(edges).astype(np.float64) / np.sum(counts), edges
    return counts, edges


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """Of `minlength` bins, which must hold every element; others, and negative ones, are an IndexError."""
    x, n = np.asarray(x), bin_count(minlength)
    w = np.ones(x.shape, dtype=np.int64) if weights is None else np.asarray(weights).astype(np.float64)
    counts = np.zeros(n, dtype=w.dtype)
    np.add.at(counts, np.where(x < 0, n, x), w)
    return counts


NUMPY_NAMES = {
    name: name
    for name in (
        "median",
        "quantile",
        "percentile",
        "nanmedian",
        "nanquantile",
        "nanpercentile",
        "sort_complex",
        "lexsort",
        "searchsorted",
        "digitize",
        "interp",
        "histogram_bin_edges",
        "histogram",
        "bincount",
    )
}
METHODS = {"searchsorted": searchsorted}
