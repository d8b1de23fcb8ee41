"""What the library's sources of SciPy's functions ask about shapes and known numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np


def fast_length(n: int) -> int:
    """The least length from `n` on with factors of 2, 3 and 5 alone, whose Fourier transform is quick."""
    best = 1 << max(n - 1, 0).bit_length()
    for odd in (3**i * 5**j for i in range(best.bit_length()) for j in range(best.bit_length())):
        if odd < best:
            best = min(best, odd << max(-(-n // odd) - 1, 0).bit_length())
    return best


def swapped(shape: Sequence[int], by: Sequence[int], mode: str) -> bool:
    """Whether scipy.signal swaps the operands of a valid convolution. ValueError where neither fits into the other."""
    if mode != "valid" or all(m >= n for m, n in zip(shape, by, strict=True)):
        return False
    if all(m <= n for m, n in zip(shape, by, strict=True)):
        return True
    raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")


def centred(shape: Sequence[int], wanted: Sequence[int]) -> tuple[slice, ...]:
    """The index of the middle of an array."""
    return tuple(slice((n - m) // 2, (n - m) // 2 + m) for n, m in zip(shape, wanted, strict=True))


def spectral_window(window: Any, n: int) -> Any:
    """scipy.signal's window of `n` places, by its name or by name and parameters."""
    return np.asarray(import_module("scipy.signal").get_window(window, n))


def gaussian_weights(sigma: float, truncate: float, radius: int | None) -> Any:
    """The weights of scipy.ndimage's Gaussian filter, whose sum is 1."""
    reach = int(truncate * float(sigma) + 0.5) if radius is None else operator.index(radius)
    w = np.exp(-0.5 / (sigma * sigma) * np.arange(-reach, reach + 1) ** 2)
    return w / w.sum()


def legendre_nodes(n: int) -> tuple[Any, Any]:
    """The places and weights of Gauss and Legendre's rule of n terms on [-1, 1]."""
    nodes, weights = import_module("scipy.special").roots_legendre(n)
    return np.asarray(nodes), np.asarray(weights)


def lowpass_weights(rate: int, window: Any) -> Any:
    """The weights with which scipy.signal.resample_poly keeps what a rate `rate` times as low can hold."""
    return np.asarray(import_module("scipy.signal").firwin(20 * rate + 1, 1.0 / rate, window=window))


def savgol_weights(n: int, degree: int, order: int) -> Any:
    """What n neighbours count in the derivative, of this order, of the polynomial fitted to them, at the middle."""
    return _fitted(n, degree, order, np.zeros(1))[0]


def savgol_edges(n: int, degree: int, order: int) -> Any:
    """The same at the places in front of the middle and behind it: (2, n // 2, n)."""
    before = np.arange(-(n // 2), 0.0)
    return np.stack([_fitted(n, degree, order, before), _fitted(n, degree, order, -before[::-1])])


def _fitted(n: int, degree: int, order: int, places: Any) -> Any:
    powers = np.arange(degree + 1)
    falling = np.prod([np.maximum(powers - k, 0) for k in range(order)], axis=0) * np.ones(degree + 1)
    basis = falling * places[:, None] ** np.maximum(powers - order, 0)
    return basis @ np.linalg.pinv(np.vander(np.arange(n) - n // 2, degree + 1, increasing=True).astype(np.float64))


def band_offsets(n: int, below: int, above: int) -> tuple[tuple[int, Any, Any], ...]:
    """For each row of a banded matrix in LAPACK's storage, where its elements stand in the whole one."""
    found = []
    for row in range(below + above + 1):
        columns = np.arange(max(above - row, 0), min(n, n + above - row))
        found.append((row, columns + row - above, columns))
    return tuple(found)


STATIC: tuple[Callable[..., Any], ...] = (fast_length, spectral_window, legendre_nodes, lowpass_weights)
