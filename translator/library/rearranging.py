"""Flips, rotations, diagonals and triangles, as NumPy source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .joining import repeat
from .support import axes_of, everywhere, known, triangle

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
    a, shift, axis = np.asarray(a), known(shift), known(axis)
    if axis is None:
        return np.reshape(roll(np.ravel(a), shift, 0), a.shape)
    if not isinstance(axis, int):
        shifts = (shift,) * len(axis) if isinstance(shift, int) else tuple(shift)
        return a if len(axis) == 0 else roll(roll(a, shifts[0], axis[0]), shifts[1:], tuple(axis[1:]))
    n = a.shape[axis]
    s = shift % n if n else 0
    if s == 0:
        return a.copy()
    tail = a[everywhere(a.ndim, axis, slice(n - s, None))]
    return np.concatenate([tail, a[everywhere(a.ndim, axis, slice(None, n - s))]], axis=axis)


def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    m = np.asarray(m)
    turns = known(k) % 4
    if turns == 0:
        return m
    if turns == 2:
        return flip(m, axes)
    if turns == 1:
        return np.swapaxes(flip(m, axes[1]), axes[0], axes[1])
    return flip(np.swapaxes(m, axes[0], axes[1]), axes[1])


def diag(v: Any, k: Any = 0) -> Any:
    v, k = np.asarray(v), known(k)
    if v.ndim == 2:
        return np.diagonal(v, k)
    n = v.shape[0] + abs(k)
    line = np.arange(v.shape[0])
    m = np.zeros((n, n), dtype=v.dtype)
    m[line + max(-k, 0), line + max(k, 0)] = v
    return m


def diagflat(v: Any, k: Any = 0) -> Any:
    return diag(np.ravel(np.asarray(v)), k)


def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None) -> Any:
    return np.sum(np.diagonal(np.asarray(a), offset, axis1, axis2), axis=-1, dtype=dtype)


def tril(m: Any, k: Any = 0) -> Any:
    m = np.asarray(m)
    return np.where(np.tri(m.shape[-2], m.shape[-1], k=k, dtype=bool), m, m.dtype.type(0))


def triu(m: Any, k: Any = 0) -> Any:
    m = np.asarray(m)
    return np.where(np.tri(m.shape[-2], m.shape[-1], k=k - 1, dtype=bool), m.dtype.type(0), m)


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    return triangle(n, k, m, False)


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    return triangle(n, k, m, True)


def vander(x: Any, N: Any = None, increasing: Any = False) -> Any:
    x = np.asarray(x)
    n = x.shape[0] if N is None else N
    powers = np.arange(n) if known(increasing) else np.arange(n)[::-1]
    return x[:, None] ** powers


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
