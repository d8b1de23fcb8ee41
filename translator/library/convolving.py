"""np.convolve and np.correlate, as NumPy source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .checks import check_convolved

TAPS, LONG = 6, 4096  # so few weights of so many elements are one expression; with more, derivatives take longer
PIECE = 512  # sums that stay in the first cache while the weights are gone through


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    a, v = _long_and_short(a, v, mode)
    n, m = a.shape[0], v.shape[0]
    if m > TAPS and n >= max(LONG, 4 * m) and np.result_type(a, v).kind in "fiu":
        return _by_pieces(a, v, mode)
    return _by_weights(a, v, mode)


def convolve_by_weights(a: Any, v: Any, mode: Any = "full") -> Any:
    """Whole arrays: their derivatives and batches have no loop over pieces."""
    a, v = _long_and_short(a, v, mode)
    return _by_weights(a, v, mode)


def _long_and_short(a: Any, v: Any, mode: Any) -> Any:
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    check_convolved(a.shape, v.shape, mode)
    return a, v


def _by_weights(a: Any, v: Any, mode: Any) -> Any:
    n, m = a.shape[0], v.shape[0]
    if 1 < m <= TAPS and n >= LONG:
        return _with_edges(_inner_products(a, v), a, v, mode)
    return _part(_shifted_sums(a, v), n, m, mode)


def _with_edges(inner: Any, a: Any, v: Any, mode: Any) -> Any:
    """What `mode` keeps; `inner` is what all of `v` gives. No weight meets a zero that is not there: it may be inf."""
    if mode == "valid":
        return inner
    before, behind = _edges(a, v, mode)
    return np.concatenate([before, inner, behind])


def _edges(a: Any, v: Any, mode: Any) -> Any:
    n, edge = a.shape[0], v.shape[0] - 1
    before, behind = _shifted_sums(a[:edge], v)[:edge], _shifted_sums(a[n - edge :], v)[edge:]
    if mode == "same":
        before, behind = before[edge // 2 :], behind[: edge // 2]
    return before, behind


def _part(full: Any, n: Any, m: Any, mode: Any) -> Any:
    """Of the full convolution of n elements with m what `mode` keeps."""
    if mode == "valid":
        return full[m - 1 : n]
    if mode == "same":
        return full[(m - 1) // 2 : (m - 1) // 2 + n]
    return full


def _shifted_sums(a: Any, v: Any) -> Any:
    n, m = a.shape[0], v.shape[0]
    out = np.zeros(n + m - 1, dtype=np.result_type(a, v))
    for k in range(m):
        out[k : k + n] += v[k] * a
    return out


def _inner_products(a: Any, v: Any) -> Any:
    """Where all of `v` meets elements of `a`, which is long: one expression, so that `a` is not read `m` times over."""
    n, m = a.shape[0], v.shape[0]
    inner = v[0] * a[m - 1 :]
    for k in tuple(range(1, m)):
        inner = inner + v[k] * a[m - 1 - k : n - k]
    return inner


def _by_pieces(a: Any, v: Any, mode: Any) -> Any:
    """Many weights: a piece of the result after the other, between its edges. The last piece ends where all of `v`
    still meets elements of `a`: it begins with what the one before it has.
    """
    m, length = v.shape[0], a.shape[0] - v.shape[0] + 1
    out = np.empty(length if mode == "valid" else length + (m - 1) * (1 + (mode == "full")), np.result_type(a, v))
    low = 0 if mode == "valid" else (m - 1) - (m - 1) // 2 if mode == "same" else m - 1
    for p in range(-(-length // PIECE)):
        start = min(p * PIECE, length - PIECE)
        sums = np.zeros(PIECE, dtype=out.dtype)
        for k in range(m):
            first = start + m - 1 - k
            sums += v[k] * a[first : first + PIECE]
        out[low + start : low + start + PIECE] = sums
    if mode != "valid":
        out[:low], out[low + length :] = _edges(a, v, mode)
    return out


def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    a, v = np.asarray(a), np.asarray(v)
    n, m = a.shape[0], v.shape[0]
    turned = (np.conjugate(v) if v.dtype.kind == "c" else v)[::-1]
    if mode == "same" and n < m:
        return np.convolve(a, turned, "full")[n // 2 : n // 2 + m]
    return np.convolve(a, turned, mode)


NUMPY_NAMES = {"convolve": "convolve", "correlate": "correlate"}
TRANSFORMED: dict[str, Callable[..., Any]] = {"convolve": convolve_by_weights}
