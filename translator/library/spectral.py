"""Frequencies, shifts and windows around Fourier transforms, as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rearranging import roll
from .support import axes_of, known


def fftfreq(n: Any, d: Any = 1.0) -> Any:
    n = known(n)
    half = (n - 1) // 2 + 1
    return np.concatenate([np.arange(half), np.arange(-(n // 2), 0)]) * (1.0 / (n * d))


def rfftfreq(n: Any, d: Any = 1.0) -> Any:
    n = known(n)
    return np.arange(n // 2 + 1) * (1.0 / (n * d))


def fftshift(x: Any, axes: Any = None) -> Any:
    x = np.asarray(x)
    turned = axes_of(axes, x.ndim)
    return roll(x, tuple([x.shape[i] // 2 for i in turned]), turned)


def ifftshift(x: Any, axes: Any = None) -> Any:
    x = np.asarray(x)
    turned = axes_of(axes, x.ndim)
    return roll(x, tuple([-(x.shape[i] // 2) for i in turned]), turned)


def bartlett(M: Any) -> Any:
    m = known(M)
    if m <= 1:
        return np.ones(int(m >= 1))
    n = np.arange(1 - m, m, 2)
    return np.where(n <= 0, 1 + n / (m - 1), 1 - n / (m - 1))


def blackman(M: Any) -> Any:
    m = known(M)
    if m <= 1:
        return np.ones(int(m >= 1))
    n = np.arange(1 - m, m, 2)
    return 0.42 + 0.5 * np.cos(np.pi * n / (m - 1)) + 0.08 * np.cos(2.0 * np.pi * n / (m - 1))


def hamming(M: Any) -> Any:
    m = known(M)
    if m <= 1:
        return np.ones(int(m >= 1))
    return 0.54 + 0.46 * np.cos(np.pi * np.arange(1 - m, m, 2) / (m - 1))


def hanning(M: Any) -> Any:
    m = known(M)
    if m <= 1:
        return np.ones(int(m >= 1))
    return 0.5 + 0.5 * np.cos(np.pi * np.arange(1 - m, m, 2) / (m - 1))


def kaiser(M: Any, beta: Any) -> Any:
    m = known(M)
    if m == 1:
        return np.ones(1)
    half = (m - 1) / 2.0
    n = np.arange(0, m)
    return np.i0(beta * np.sqrt(1 - ((n - half) / half) ** 2.0)) / np.i0(np.float64(beta))


def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * np.pi) -> Any:
    """Jumps of more than half a period made smaller by whole periods."""
    p = np.moveaxis(np.asarray(p), axis, -1)
    d = p[..., 1:] - p[..., :-1]
    half = period / 2
    if np.result_type(p, period).kind in "iu":
        half, odd = period // 2, period % 2  # an odd period has no middle, where a jump could go either way
        wrapped = (d + half) % period - half
        wrapped = wrapped if odd else np.where((wrapped == -half) & (d > 0), half, wrapped)
    else:
        wrapped = (d + half) % period - half
        wrapped = np.where((wrapped == -half) & (d > 0), half, wrapped)
    limit = period / 2 if discont is None else discont
    steps = np.where(np.abs(d) < limit, 0, wrapped - d)
    rest = (p[..., 1:] + np.cumsum(steps, axis=-1)).astype(np.result_type(p, period))
    return np.moveaxis(np.concatenate([p[..., :1], rest], axis=-1), -1, axis)


NUMPY_NAMES = {
    name: name for name in ("bartlett", "blackman", "hamming", "hanning", "kaiser", "unwrap")
} | {f"fft.{name}": name for name in ("fftfreq", "rfftfreq", "fftshift", "ifftshift")}
