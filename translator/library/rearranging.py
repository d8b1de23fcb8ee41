"""Flips, rotations, diagonals and triangles, as NumPy source."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .checks import check_turned
from .joining import repeat
from .support import axes_of, everywhere, is_known, known, one_axis, triangle

BACKWARDS = slice(None, None, -1)


def flip(m: Any, axis: Any = None) -> Any:
    m = np.asarray(m)
    turned = axes_of(axis, m.ndim)
    return m[tuple([BACKWARDS if i in turned else slice(None) for i in range(m.ndim)])]


def flipud(m: Any) -> Any:
    return flip(m, 0)


def fliplr(m: Any) -> Any:
    return flip(m, 1)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    a = np.asarray(a)
    if axis is None:
        return np.reshape(roll(np.ravel(a), _total(shift), 0), a.shape)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) if np.ndim(shift) == 0 else tuple(shift)
    count = max(len(axes), len(shifts))
    result = a.copy()
    for s, i in tuple(zip(shifts * count if len(shifts) == 1 else shifts, axes * count if len(axes) == 1 else axes)):
        result = _rolled(result, s, one_axis(i, a.ndim))
    return result


def _total(shift: Any) -> Any:
    if np.ndim(shift) > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    return shift if np.ndim(shift) == 0 else np.sum(np.asarray(shift), dtype=np.int64)


def _rolled(a: Any, shift: Any, axis: int) -> Any:
    """Along one axis. By a run-time number of places it is a slice of the array after itself."""
    n = a.shape[axis]
    s = int(shift) % n if n else 0
    if not is_known(s):
        twice = np.concatenate([a, a], axis=axis)
        return twice[everywhere(a.ndim, axis, slice(n - s, n - s + n))]
    if s == 0:
        return a
    tail = a[everywhere(a.ndim, axis, slice(n - s, None))]
    return np.concatenate([tail, a[everywhere(a.ndim, axis, slice(None, n - s))]], axis=axis)


def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    m = np.asarray(m)
    turns = known(k) % 4
    check_turned(m.ndim, axes)
    if turns == 0:
        return m[:]
    if turns == 2:
        return flip(m, axes)
    if turns == 1:
        return np.swapaxes(flip(m, axes[1]), axes[0], axes[1])
    return flip(np.swapaxes(m, axes[0], axes[1]), axes[1])


def diag(v: Any, k: Any = 0) -> Any:
    v, k = np.asarray(v), known(k)
    if v.ndim == 2:
        return np.diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = v.shape[0] + abs(k)
    line = np.arange(v.shape[0])
    m = np.zeros((n, n), dtype=v.dtype)
    m[line - k if k < 0 else line, line + k if k > 0 else line] = v
    return m


def diagflat(v: Any, k: Any = 0) -> Any:
    return diag(np.ravel(np.asarray(v)), k)


def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None) -> Any:
    return np.sum(np.diagonal(np.asarray(a), offset, axis1, axis2), axis=-1, dtype=dtype)


def tril(m: Any, k: Any = 0) -> Any:
    m = np.asarray(m)
    return np.where(_triangle(m.shape, k), m, _nothing(m.dtype))


def triu(m: Any, k: Any = 0) -> Any:
    m = np.asarray(m)
    return np.where(_triangle(m.shape, k - 1), _nothing(m.dtype), m)


def _nothing(dtype: Any) -> Any:
    """A 0 of Python's that an array of this dtype keeps its own beside; bfloat16 keeps it beside an int alone."""
    return 0 if dtype.kind == "V" else dtype.type(0).item()


def _triangle(shape: Any, k: Any) -> Any:
    """Where the last two axes, or one twice, are at the k-th diagonal or below it."""
    if not shape:
        raise TypeError("tri() missing 1 required positional argument: 'N'")
    return np.tri(shape[-2:][0], shape[-1], k=k, dtype=bool)


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    return triangle(n, k, m, False)


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    return triangle(n, k, m, True)


def vander(x: Any, N: Any = None, increasing: Any = False) -> Any:
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = x.shape[0] if N is None else operator.index(N)
    powers = np.arange(n) if known(increasing) else np.arange(n)[::-1]
    square = x.astype(np.result_type(x, np.int64))[:, None]
    result = np.where(powers % 2 == 1, square, square.dtype.type(1))
    bit = 2
    while bit < n:  # a fifth of the time that powers take
        square = square * square
        result = result * np.where(powers // bit % 2 == 1, square, square.dtype.type(1))
        bit = bit * 2
    return result


NUMPY_NAMES = {
    name: name
    for name in (
        "flip",
        "flipud",
        "fliplr",
        "roll",
        "rot90",
        "diag",
        "diagflat",
        "trace",
        "tril",
        "triu",
        "tril_indices",
        "triu_indices",
        "vander",
    )
}
METHODS: dict[str, Callable[..., Any]] = {"repeat": repeat, "trace": trace}
