"""np.pad in all its modes, as NumPy source: one axis after the other, so the later axis decides the corners."""

from __future__ import annotations

from typing import Any

import numpy as np

from .checks import check_stat_length, pad_options
from .support import everywhere, known, margins, pad_positions, pad_reaches, pad_widths, stat_lengths

STATISTICS = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    x = np.asarray(array)
    widths = pad_widths(pad_width, x.ndim)
    if callable(mode):
        return _by_function(x, widths, mode, kwargs)
    pad_options(known(mode), tuple(kwargs))
    if mode == "constant" and np.ndim(kwargs.get("constant_values", 0)) == 0:
        return _framed(x, widths, kwargs.get("constant_values", 0))
    if mode == "empty":
        return _framed(x, widths, 0)
    if pad_reaches(x.shape, widths, mode, kwargs.get("reflect_type", "even")):
        return _surrounded(x, widths, mode, x.ndim)
    check_stat_length(mode, kwargs.get("stat_length"))
    x = x.copy()
    for i in tuple(range(x.ndim)):
        before, after = widths[i]
        if before + after > 0:
            x = _padded(x, i, before, after, mode, kwargs)
    return x


def _framed(x: Any, widths: Any, value: Any) -> Any:
    """The array inside a larger one of a single value."""
    if x.ndim == 0:
        return x
    whole = np.full(tuple([a + n + b for (a, b), n in zip(widths, x.shape)]), value, dtype=x.dtype)
    whole[tuple([slice(a, a + n) for (a, b), n in zip(widths, x.shape)])] = x
    return whole


def _surrounded(x: Any, widths: Any, mode: str, axes: int) -> Any:
    """The first `axes` axes padded by slices of x. No store reads what another has written: each is done in place."""
    widths = (*widths[:axes], *[(0, 0)] * (x.ndim - axes))
    whole = _framed(x, widths, 0)
    for i in tuple(range(axes)):
        for part, inside in margins(widths, x.shape, i, mode):
            whole[part] = _surrounded(x[everywhere(x.ndim, i, inside)], widths, mode, i)
    return whole


def _padded(x: Any, axis: int, before: int, after: int, mode: str, options: Any) -> Any:
    if mode in ("reflect", "symmetric") and options.get("reflect_type", "even") == "odd":
        turned = np.moveaxis(x, axis, 0)
        return np.moveaxis(_odd(turned, before, after, mode == "symmetric", turned.shape[0]), 0, axis)
    if mode in ("edge", "reflect", "symmetric", "wrap"):
        return np.take(x, pad_positions(x.shape[axis], before, after, mode), axis=axis)
    if mode == "constant":
        left, right = _sides(options["constant_values"], x, axis)
    elif mode == "linear_ramp":
        left, right = _ramps(x, axis, before, after, _sides(options.get("end_values", 0), x, axis))
    else:
        left, right = _summaries(x, axis, STATISTICS[mode], options.get("stat_length"))
    sizes = [tuple([count if i == axis else n for i, n in enumerate(x.shape)]) for count in (before, after)]
    return np.concatenate([np.broadcast_to(left, sizes[0]), x, np.broadcast_to(right, sizes[1])], axis=axis)


def _sides(values: Any, x: Any, axis: int) -> Any:
    """What stands before and after an axis, out of a number, a pair or a pair an axis."""
    pair = np.broadcast_to(np.asarray(values), (x.ndim, 2))[axis].astype(x.dtype)
    return pair[0], pair[1]


def _ramps(x: Any, axis: int, before: int, after: int, ends: Any) -> Any:
    first = x[everywhere(x.ndim, axis, 0)]
    last = x[everywhere(x.ndim, axis, -1)]
    left = np.linspace(ends[0], first, before, endpoint=False, dtype=x.dtype, axis=axis)
    right = np.linspace(ends[1], last, after, endpoint=False, dtype=x.dtype, axis=axis)
    return left, np.flip(right, axis)


def _summaries(x: Any, axis: int, statistic: Any, stat_length: Any) -> Any:
    """A statistic of the elements next to either end."""
    n = x.shape[axis]
    left, right = stat_lengths(stat_length, x.ndim, axis, n)
    parts = [x[everywhere(x.ndim, axis, slice(0, left))], x[everywhere(x.ndim, axis, slice(n - right, n))]]
    found = [statistic(part, axis=axis, keepdims=True) for part in parts]
    return [np.round(s).astype(x.dtype) if x.dtype.kind in "iu" else s.astype(x.dtype) for s in found]


def _odd(x: Any, before: int, after: int, with_edge: bool, period: int) -> Any:
    """Reflected about the point at either end, as often as it takes."""
    if before + after == 0:
        return x
    if period == 1:
        return np.take(x, pad_positions(1, before, after, "edge"), axis=0)
    n, skip = x.shape[0], 0 if with_edge else 1
    reach = (n - skip) // (period - skip) * (period - skip)
    left, right = min(before, reach), min(after, reach)
    head = 2 * x[:1] - x[skip : skip + left][::-1]
    tail = 2 * x[n - 1 :] - x[n - skip - right : n - skip][::-1]
    return _odd(np.concatenate([head, x, tail]), before - left, after - right, with_edge, period)


def _by_function(x: Any, widths: Any, function: Any, options: Any) -> Any:
    """The user's function writes the ends of each line of every axis."""
    whole = _framed(x, widths, 0)
    for axis in tuple(range(x.ndim)):
        view = np.moveaxis(whole, axis, -1)
        for line in np.ndindex(*view.shape[:-1]):
            function(view[line], widths[axis], axis, options)
    return whole


NUMPY_NAMES = {"pad": "pad"}
