"""Medians and quantiles by all of NumPy's methods, with and without NaNs, as NumPy source over sort.

The methods after R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages" (1996).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .checks import check_quantile, quantile_method
from .support import axes_of, cut, is_known, known, mean_dtypes, only_plain, product, reduced_to


def median(a: Any, axis: Any = None, *, overwrite_input: Any = False, keepdims: Any = False) -> Any:
    _check_kept(overwrite_input)
    a = np.asarray(a)
    inside, result = mean_dtypes(a.dtype, None)
    s = np.sort(_lines(a, axis), axis=-1)
    n = s.shape[-1]
    if n == 0:
        nan = complex(np.nan, np.nan) if a.dtype.kind == "c" else np.nan
        return np.full(reduced_to(a.shape, axis, keepdims), nan, dtype=result)[()]
    middle = s[..., n // 2].astype(inside) + 0  # a sum begins at 0: no median is -0.0
    if n % 2 == 0:
        middle = (s[..., n // 2 - 1].astype(inside) + middle) / 2
    if a.dtype.kind in "fc":
        middle = np.where(np.isnan(s[..., -1]), s[..., -1].astype(inside), middle)
    return np.reshape(middle.astype(result), reduced_to(a.shape, axis, keepdims))[()]


def _check_kept(overwrite_input: Any) -> None:
    if known(overwrite_input):
        cut("overwrite_input=True", "how far the array is sorted afterwards, NumPy decides", "leave it out")


def _lines(a: Any, axis: Any) -> Any:
    """The elements that a reduction over `axis` takes together, along the last axis."""
    gone = axes_of(axis, a.ndim)
    kept = tuple([i for i in range(a.ndim) if i not in gone])
    count = product([a.shape[i] for i in gone])
    return np.reshape(np.transpose(a, kept + gone), (*tuple([a.shape[i] for i in kept]), count))


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    weights: Any = None,
) -> Any:
    _check_kept(overwrite_input)
    only_plain("np.quantile", weights is None, "with weights")
    return _quantile(np.asarray(a), np.asarray(q), _is_weak(q), axis, method, keepdims, False)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    weights: Any = None,
) -> Any:
    _check_kept(overwrite_input)
    only_plain("np.percentile", weights is None, "with weights")
    return _quantile(np.asarray(a), np.true_divide(q, 100), _is_weak(q), axis, method, keepdims, False)


def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    weights: Any = None,
) -> Any:
    _check_kept(overwrite_input)
    only_plain("np.nanquantile", weights is None, "with weights")
    a = np.asarray(a)
    return _quantile(a, np.asarray(q), _is_weak(q), axis, method, keepdims, a.dtype.kind == "f")


def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    weights: Any = None,
) -> Any:
    _check_kept(overwrite_input)
    only_plain("np.nanpercentile", weights is None, "with weights")
    a = np.asarray(a)
    return _quantile(a, np.true_divide(q, 100), _is_weak(q), axis, method, keepdims, a.dtype.kind == "f")


def _is_weak(q: Any) -> bool:
    """Whether q is a Python number, which leaves the dtype of the data as it is."""
    return isinstance(q, int | float) and not isinstance(q, np.generic)


def _quantile(a: Any, q: Any, weak: bool, axis: Any, method: Any, keepdims: Any, without_nans: bool) -> Any:
    how = quantile_method(known(method), a.dtype)
    if is_known(q):
        check_quantile(q)
    elif not np.all((q >= 0) & (q <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    lines = _lines(a, axis)
    if without_nans and a.size == 0:  # NumPy gives one NaN, however many quantiles there are
        return np.full(reduced_to(a.shape, axis, keepdims), np.nan, dtype=a.dtype)[()]
    s = np.sort(lines, axis=-1)
    places = np.ravel(q)
    if without_nans:
        n = np.sum(~np.isnan(lines), axis=-1, keepdims=True)
        last = np.maximum(n - 1, 0)
    else:
        n = s.shape[-1]
        last = n - 1
    found = _pick(s, _virtual_index(n, places, how), last, how, weak)
    if a.dtype.kind == "f":
        if not without_nans:
            found = np.where(np.isnan(s[..., -1:]), np.nan, found).astype(found.dtype)
    shape = reduced_to(a.shape, axis, keepdims)
    return np.reshape(np.moveaxis(found, -1, 0), np.shape(q) + shape)[()]


CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}


def _virtual_index(n: Any, q: Any, method: str) -> Any:
    """Where the quantile lies among `n` sorted elements: a place between two of them, or the number of one."""
    if method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        return n * q + (alpha + q * (1 - alpha - beta)) - 1
    if method == "averaged_inverted_cdf":
        return n * q - 1
    if method == "inverted_cdf":
        place = n * q - 1
        return np.where(place == np.floor(place), place, np.floor(place) + 1)
    if method == "closest_observation":
        place = n * q - 1 - 0.5
        floor = np.floor(place)
        return np.where((place == floor) & (floor % 2 == 1), floor, floor + 1)
    place = (n - 1) * q
    if method == "lower":
        return np.floor(place)
    if method == "higher":
        return np.ceil(place)
    if method == "nearest":
        return np.round(place)
    return 0.5 * (np.floor(place) + np.ceil(place)) if method == "midpoint" else place


def _pick(s: Any, place: Any, last: Any, method: str, weak: bool) -> Any:
    """The elements at `place`, of which `last` is the largest; between two of them interpolated."""
    whole = method == "linear" and place.dtype.kind in "iu"
    if whole or method in ("lower", "higher", "nearest", "inverted_cdf", "closest_observation"):
        return _at(s, np.clip(place, 0, last).astype(np.int64))
    floor = np.floor(place)
    below = np.clip(floor, 0, last)
    above = np.clip(np.where(place < 0, 0, floor + 1), 0, last)
    part = place - np.where(place >= last, last, below)
    if method == "averaged_inverted_cdf":
        part = np.where(part == 0, 0.5, 1.0)
    elif method == "midpoint":
        part = np.where(place % 1 == 0, 0.0, 0.5)
    part = part.astype(place.dtype)
    if weak:
        part = part.astype(s.dtype if s.dtype.kind == "f" else np.float64)
    low, high = _at(s, below.astype(np.int64)), _at(s, above.astype(np.int64))
    d = high - low
    return np.where(part >= 0.5, high - d * (1 - part), low + d * part)


def _at(s: Any, places: Any) -> Any:
    return s[..., places] if places.ndim == 1 else np.take_along_axis(s, places, axis=-1)


def nanmedian(a: Any, axis: Any = None, *, overwrite_input: Any = False, keepdims: Any = False) -> Any:
    _check_kept(overwrite_input)
    a = np.asarray(a)
    if a.dtype.kind in "biu":
        return median(a, axis, keepdims=keepdims)
    x = _lines(a, axis)
    s = np.sort(x, axis=-1)
    if s.shape[-1] == 0:
        return np.full(reduced_to(a.shape, axis, keepdims), np.nan, dtype=a.dtype)[()]
    count = np.sum(~np.isnan(x), axis=-1, keepdims=True)
    low = np.take_along_axis(s, np.maximum(count - 1, 0) // 2, axis=-1)
    high = np.take_along_axis(s, np.minimum(count // 2, s.shape[-1] - 1), axis=-1)
    middle = np.where(count % 2 == 1, low, (low + high) / 2).astype(a.dtype)
    middle = np.where(count == 0, np.nan, middle).astype(a.dtype)
    return np.reshape(middle, reduced_to(a.shape, axis, keepdims))[()]


NUMPY_NAMES = {name: name for name in ("median", "quantile", "percentile", "nanmedian", "nanquantile", "nanpercentile")}
