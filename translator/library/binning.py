"""Searches and interpolation in sorted arrays, histograms and counts, as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.implicit import sloped
from ..ops.selection import of_parts, stop_gradient
from .checks import check_bins, check_counted, check_range, check_search
from .support import bin_count, counted_size, cut, float_of, halvings, is_known, known, whole_range

FEW, MANY = 16, 1024  # comparing each of many numbers with each of a few is faster than looking a few up

# ---- searches ------------------------------------------------------------------------------------


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """How many elements of `a` stand before: counted where they are few, else found bit by bit, the highest first."""
    a, v = np.asarray(a), np.asarray(v)
    check_search(a.shape, side)
    if sorter is not None:
        a = a[sorter]
    n = a.shape[0]
    low = np.zeros(v.shape, dtype=np.int64)
    if n == 0:
        return low
    if n <= FEW and v.size >= MANY:
        for i in tuple(range(n)):
            low = low + (_before(a[i], v) if known(side) == "left" else ~_before(v, a[i]))
        return low[()]
    width = 2 ** (halvings(n) - 1)
    for _ in range(halvings(n)):
        further = low + width
        here = a[np.clip(further - 1, 0, n - 1)]
        right = _before(here, v) if known(side) == "left" else ~_before(v, here)
        low = np.where(right & (further <= n), further, low)
        width = width // 2
    return low[()]


def _before(x: Any, y: Any) -> Any:
    """x < y with NaN last."""
    if "c" in (x.dtype.kind, y.dtype.kind):
        return _before_in_parts(np.real(x), np.imag(x), np.real(y), np.imag(y))
    less = x < y
    if y.dtype.kind == "f":
        less = less | (np.isnan(y) & ~np.isnan(x))
    return less


def _before_in_parts(a: Any, b: Any, c: Any, d: Any) -> Any:
    """a + bi < c + di: those with an imaginary NaN alone come after all without NaN, then those with a real one."""
    first, second = np.isnan(b) + 2 * np.isnan(a), np.isnan(d) + 2 * np.isnan(c)
    a, b, c, d = (np.where(np.isnan(part), 0, part) for part in (a, b, c, d))
    return (first < second) | ((first == second) & ((a < c) | ((a == c) & (b < d))))


def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    x, bins = np.asarray(x), np.asarray(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if is_known(bins):
        check_bins(bins, False)
    if bins.shape[0] == 0:
        return np.zeros(x.shape, dtype=np.int64)[()]
    if bins.dtype.kind == "c":
        raise TypeError("Cannot cast array data from complex to float64 according to the rule 'safe'")
    side = "left" if right else "right"
    falls = _fall(bins)
    if not is_known(bins) and bins.shape[0] > 1:
        if np.where(falls, np.any(bins[1:] > bins[:-1]), np.any(bins[1:] < bins[:-1])):
            raise ValueError("bins must be monotonically increasing or decreasing")
    if falls:
        places = bins.shape[0] - searchsorted(bins[::-1], x, side)
    else:
        places = searchsorted(bins, x, side)
    return places[()]


def _fall(bins: Any) -> Any:
    """Whether the first two edges that differ do not rise: as NumPy asks, NaN differs and never rises."""
    if bins.shape[0] < 2:
        return False
    differ = bins[1:] != bins[:-1]
    k = np.argmax(differ)
    return np.any(differ) & ~(bins[k] < bins[k + 1])


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    x, xp, fp = np.asarray(x), np.asarray(xp), np.asarray(fp)
    if x.dtype.kind == "c" or xp.dtype.kind == "c":
        raise TypeError("Cannot cast array data from complex to float64 according to the rule 'safe'")
    if period is not None and period == 0:
        raise ValueError("period must be a non-zero value")
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xp.shape[0] == 0:
        raise ValueError("array of sample points is empty")
    if xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    if fp.dtype.kind == "c":
        first, last = fp[0] if left is None else left, fp[-1] if right is None else right
        real, imag = (
            interp(x, xp, part(fp), part(first), part(last), period) for part in (np.real, np.imag)
        )
        return of_parts(real, np.where(np.isnan(x), 0.0, imag))[()]
    if np.iscomplexobj(left) or np.iscomplexobj(right):
        raise TypeError("must be real number, not complex")
    x, xp, fp = x.astype(np.float64), xp.astype(np.float64), fp.astype(np.float64)
    if period is not None:
        x, xp = x % np.absolute(period), xp % np.absolute(period)
        order = np.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - np.absolute(period), xp, xp[:1] + np.absolute(period)])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
    n = xp.shape[0]
    first = fp[0] if left is None or period is not None else left
    last = fp[-1] if right is None or period is not None else right
    if n == 1:
        return np.where(x > xp[0], last, np.where(x < xp[0], first, fp[0]))[()]
    i = np.clip(searchsorted(xp, x, "right") - 1, 0, n - 2)
    slopes = (fp[1:] - fp[:-1]) / (xp[1:] - xp[:-1])
    y = line = slopes[i] * (x - xp[i]) + fp[i]
    if not (np.all(np.isfinite(slopes)) & np.isfinite(xp[n - 1] - xp[0])):  # what one end does not tell the other may
        other = _told_from_the_right(y, slopes[i] * (x - xp[i + 1]) + fp[i + 1], fp[i], fp[i + 1])
        y = np.where(np.isnan(x), x, other)
    y = np.where(x == xp[i], fp[i], y)
    y = np.where(x == xp[n - 1], fp[n - 1], y)
    y = sloped(stop_gradient(y), line, 1.0)  # on a point, too, where two lines meet: the one on the right
    return np.where(x > xp[n - 1], last, np.where(x < xp[0], first, y))[()]  # of points that fall, both may hold


def _told_from_the_right(y: Any, other: Any, start: Any, end: Any) -> Any:
    """y where it is a number, else `other`, else the value that both ends have."""
    other = np.where(np.isnan(other) & (start == end), start, other)
    return np.where(np.isnan(y), other, y)


# ---- histograms ----------------------------------------------------------------------------------


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    a = np.ravel(np.asarray(a))
    if not isinstance(bins, str) and np.ndim(bins) == 1:
        return _rising(bins)
    low, high = _outer_edges(a, range)
    n, kind = bin_count(bins), np.result_type(a) if range is None else np.result_type(range[0], range[1], a)
    edges = np.linspace(low, high, n + 1, dtype=float_of(kind))
    if np.any(edges[:-1] >= edges[1:]):
        raise ValueError(f"Too many bins for data range. Cannot create {n} finite-sized bins.")
    return edges


def _rising(bins: Any) -> Any:
    """The edges that are given. Raises ValueError unless they rise."""
    edges = np.asarray(bins)
    if is_known(bins):
        check_bins(bins, True)
    elif np.any(edges[1:] < edges[:-1]):
        raise ValueError("`bins` must increase monotonically, when an array")
    return edges


def _outer_edges(a: Any, range: Any) -> Any:
    """The lowest and highest edge: those given, else the extremes; half a unit around a single value."""
    if range is None:
        low, high = (np.min(a), np.max(a)) if a.size else (0.0, 1.0)
        if a.dtype.kind == "f" and not np.isfinite(high - low):
            raise ValueError("autodetected range is not finite")
    else:
        low, high = range
        if is_known(low) and is_known(high):
            check_range(low, high)
        elif low > high:
            raise ValueError("max must be larger than min in range parameter.")
        elif not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(f"supplied range of [{low}, {high}] is not finite")
    flat = low == high
    return np.where(flat, low - 0.5, low), np.where(flat, high + 0.5, high)


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    shape = np.shape(a)
    a = np.ravel(np.asarray(a))
    if a.dtype.kind == "b":
        a = a.astype(np.uint8)
    if a.dtype.kind == "c":
        cut("np.histogram of complex numbers", "they have no order that would be worth bins", "count real numbers")
    edges = histogram_bin_edges(a, bins, range)
    n = edges.shape[0] - 1
    place, inside = _even_bins_of(a, edges) if np.ndim(bins) == 0 else _bins_of(a, edges)
    place = np.where(inside, place, n)
    if weights is None:
        counts = np.zeros(n + 1, dtype=np.int64)
        np.add.at(counts, place, 1)
    else:
        if np.shape(weights) != shape:
            raise ValueError("weights should have the same shape as a.")
        w = np.ravel(np.asarray(weights))
        counts = np.zeros(n + 1, dtype=w.dtype)
        np.add.at(counts, place, w)
    counts = counts[:-1]
    if density:
        return counts / np.diff(edges).astype(np.float64) / np.sum(counts), edges
    return counts, edges


def _bins_of(a: Any, edges: Any) -> Any:
    """The bin of each element, 0 for those in none, and which are in one. The last bin has both of its edges."""
    n = edges.shape[0] - 1
    if n <= FEW or a.size < MANY or edges.dtype != np.float64 or a.dtype.kind not in "fiu":
        return _bins_by_search(a, edges)
    finite = np.where(np.isfinite(edges) & (edges[0] < edges[-1]), edges, np.nan)  # inf - inf and 0 / 0 would warn
    guesses, bins = np.floor(_near(finite, finite)), np.arange(n + 1)
    if np.all((guesses == bins) | (guesses == bins - 1)):
        place, inside = _even_bins_of(a, edges)
    else:
        place, inside = _bins_by_search(a, edges)
    return place, inside


def _bins_by_search(a: Any, edges: Any) -> Any:
    n = edges.shape[0] - 1
    place = searchsorted(edges, a.astype(np.result_type(a, edges)), "right") - 1
    place = np.where(a == edges[-1], n - 1, place)
    inside = (a >= edges[0]) & (a <= edges[-1])
    return np.where(inside, place, 0), inside


def _near(a: Any, edges: Any) -> Any:
    """Where elements stand among even edges. It rises with them: if it is right for each edge, or one less, then it is
    off by one at most for what lies between two edges.
    """
    return (a - edges[0]) / (edges[-1] - edges[0]) * (edges.shape[0] - 1)


def _even_bins_of(a: Any, edges: Any) -> Any:
    """`_bins_of` where the edges are evenly spaced: a division finds the bin, or its neighbour."""
    n = edges.shape[0] - 1
    if edges.dtype not in (np.float64, np.float32) or a.dtype.kind not in "fiu" or n < 2:
        return _bins_by_search(a, edges)
    a = a.astype(edges.dtype)
    inside = (a >= edges[0]) & (a <= edges[-1])
    place = np.clip(np.where(inside, _near(a, edges), 0.0).astype(np.int64), 0, n - 1)
    place = place - (a < edges[place])
    place = place + ((a >= edges[np.clip(place + 1, 0, n)]) & (place != n - 1))
    return np.where(inside, np.clip(place, 0, n - 1), 0), inside


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    x = np.asarray(sample) if isinstance(sample, np.ndarray) else np.atleast_2d(sample).T
    x = x if x.ndim == 2 else np.atleast_2d(x).T
    if x.ndim != 2:
        raise ValueError("too many values to unpack (expected 2)")
    columns = tuple(x.T)
    sides = tuple(bins) if isinstance(bins, list | tuple | np.ndarray) else (bins,) * len(columns)
    ranges = (None,) * len(columns) if range is None else tuple(range)
    if len(sides) != len(columns):
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if len(ranges) != len(columns):
        raise ValueError("range argument must have one entry per dimension")
    edges = [_edges_of(c, b, r) for c, b, r in tuple(zip(columns, sides, ranges))]
    shape = tuple([e.shape[0] - 1 for e in edges])
    place, inside = 0, True
    for c, e in tuple(zip(columns, edges)):
        here, fits = _bins_of(c, e)
        place, inside = place * (e.shape[0] - 1) + here, fits & inside
    w = np.ones(x.shape[0]) if weights is None else np.asarray(weights).astype(np.float64)
    counts = np.zeros(int(np.prod(shape)))
    np.add.at(counts, np.where(inside, place, 0), np.where(inside, w, 0.0))
    counts = np.reshape(counts, shape)
    if density:
        total = np.sum(counts)
        for i, e in tuple(enumerate(edges)):
            counts = counts / np.reshape(np.diff(e), (1,) * i + (-1,) + (1,) * (len(shape) - 1 - i))
        counts = counts / total
    return counts, edges


def _edges_of(column: Any, bins: Any, range: Any) -> Any:
    if np.ndim(bins) == 1:
        return _rising(bins)
    low, high = _outer_edges(column, range)
    return np.linspace(low, high, bin_count(bins) + 1)


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if isinstance(bins, list | tuple | np.ndarray) and len(bins) != 2 and len(bins) != 1:
        bins = [np.asarray(bins), np.asarray(bins)]
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """Of `minlength` bins. What they do not hold is CPython's to count: OverflowError leaves the call to it."""
    n = bin_count(minlength, True)
    x = np.asarray(x)
    check_counted(x.shape, x.dtype, None if weights is None else np.shape(weights))
    if is_known(x) or x.size == 0:
        n = counted_size(x if x.size else np.zeros(0, dtype=np.int64), n)
    elif n == 0:
        cut("np.bincount without a minlength", "the largest element gives the size of the result", "give a minlength")
    w = np.int64(1) if weights is None else np.asarray(weights).astype(np.float64)
    counts = np.zeros(n, dtype=w.dtype)
    if not is_known(x) and x.size:
        least, largest = whole_range(x.dtype)
        if least < 0 and np.min(x) < 0:
            raise ValueError("'list' argument must have no negative elements")
        if largest >= n and np.max(x) >= n:
            raise OverflowError("an element of np.bincount beyond its minlength")
    np.add.at(counts, x, w)
    return counts


NUMPY_NAMES = {
    name: name
    for name in (
        "searchsorted",
        "digitize",
        "interp",
        "histogram_bin_edges",
        "histogram",
        "histogramdd",
        "histogram2d",
        "bincount",
    )
}
METHODS = {"searchsorted": searchsorted}
