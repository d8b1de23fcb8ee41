"""scipy.signal's filters without delay, changes of rate and responses, for derivatives and batches alone.

Filters forwards and backwards: F. Gustafsson, "Determining the initial states in forward-backward filtering" (1996).
Smoothing by local polynomials: A. Savitzky and M. Golay, "Smoothing and differentiation of data" (1964). Local noise:
J. S. Lim, "Two-Dimensional Signal and Image Processing" (1990), p. 548.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

from .padding import pad
from .scipy_images import median_filter
from .scipy_signal import correlate, correlate1d, fftconvolve, lfilter
from .scipy_spectral import sosfilt
from .scipy_support import lowpass_weights, savgol_edges, savgol_weights
from .support import known, one_axis, only_plain, product

# ---- forwards and backwards ----------------------------------------------------------------------


def lfilter_zi(b: Any, a: Any) -> Any:
    """The state in which a filter answers a step of 1 at once, (max(len(a), len(b)) - 1,)."""
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    order = max(b.shape[0], a.shape[0])
    b = np.concatenate([b, np.zeros(order - b.shape[0])]) / a[0]
    a = np.concatenate([a, np.zeros(order - a.shape[0])]) / a[0]
    step = np.eye(order - 1, k=1)
    return np.linalg.solve(np.eye(order - 1) - step + a[1:, None] * np.eye(1, order - 1), b[1:] - a[1:] * b[0])


def sosfilt_zi(sos: Any) -> Any:
    """The states of the sections, (sections, 2): each is driven by what those before it make of a step."""
    sos = np.asarray(sos)
    states, gain = [], 1.0
    for k in tuple(range(sos.shape[0])):
        b, a = sos[k, :3], sos[k, 3:]
        states.append(gain * lfilter_zi(b, a))
        gain = gain * np.sum(b) / np.sum(a)
    return np.stack(states)


def _extended(name: str, x: Any, kind: Any, n: int) -> Any:
    """`n` more samples at both ends of the last axis."""
    only_plain(name, kind in ("odd", "even", "constant", None))
    if x.shape[-1] <= n:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {n}.")
    if kind is None or n == 0:
        return x
    if kind == "odd":
        left, right = 2.0 * x[..., :1] - x[..., n:0:-1], 2.0 * x[..., -1:] - x[..., -2 : -n - 2 : -1]
        return np.concatenate([left, x, right], axis=-1)
    widths = [*[(0, 0)] * (x.ndim - 1), (n, n)]
    return pad(x, widths, "reflect" if kind == "even" else "edge")


def filtfilt(
    b: Any, a: Any, x: Any, axis: Any = -1, padtype: Any = "odd", padlen: Any = None, method: Any = "pad",
    irlen: Any = None,
) -> Any:  # fmt: skip
    b, a, x = np.atleast_1d(b), np.atleast_1d(a), np.asarray(x)
    only_plain("scipy.signal.filtfilt", known(method) == "pad" and b.ndim == a.ndim == 1)
    axis, taps = one_axis(axis, x.ndim), max(b.shape[0], a.shape[0])
    n = 0 if known(padtype) is None else 3 * taps if known(padlen) is None else known(padlen)
    y = _extended("scipy.signal.filtfilt", np.moveaxis(x, axis, -1), known(padtype), n)
    if taps == 1:
        y = y * (b[0] / a[0]) ** 2
    else:
        zi = lfilter_zi(b, a)
        for _ in (1, 2):
            y = lfilter(b, a, y, zi=zi * y[..., :1])[0][..., ::-1]
    return np.moveaxis(y[..., n : y.shape[-1] - n], -1, axis)


def sosfiltfilt(sos: Any, x: Any, axis: Any = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    sos, x = np.asarray(sos), np.asarray(x)
    axis, n = one_axis(axis, x.ndim), known(padlen)
    if known(padtype) is None:
        n = 0
    elif n is None:
        short = [np.nonzero(last == 0)[0].shape[0] for last in (sos[:, 2], sos[:, 5])]  # sections of first order
        n = 3 * (2 * sos.shape[0] + 1 - min(short))
    y, zi = _extended("scipy.signal.sosfiltfilt", np.moveaxis(x, axis, -1), known(padtype), n), sosfilt_zi(sos)
    zi = np.reshape(zi, (zi.shape[0], *(1 for _ in y.shape[:-1]), 2))
    for _ in (1, 2):
        y = sosfilt(sos, y, zi=zi * y[..., :1])[0][..., ::-1]
    return np.moveaxis(y[..., n : y.shape[-1] - n], -1, axis)


# ---- neighbourhoods ------------------------------------------------------------------------------


def savgol_filter(
    x: Any, window_length: Any, polyorder: Any, deriv: Any = 0, delta: Any = 1.0, axis: Any = -1,
    mode: Any = "interp", cval: Any = 0.0,
) -> Any:  # fmt: skip
    x = np.asarray(x)
    x = x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)
    n, degree, order, mode = known(window_length), known(polyorder), known(deriv), known(mode)
    only_plain("scipy.signal.savgol_filter", n % 2 == 1, "with a window of even length")
    if degree >= n:
        raise ValueError("polyorder must be less than window_length.")
    weights = savgol_weights(n, degree, order).astype(x.dtype)
    x = np.moveaxis(x, one_axis(axis, x.ndim), -1)
    if mode != "interp":
        return np.moveaxis(correlate1d(x, weights, -1, None, mode, cval) / delta**order, -1, axis)
    if n > x.shape[-1]:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    edges, inner = savgol_edges(n, degree, order).astype(x.dtype), x.shape[-1] - n + 1
    within = np.zeros((*x.shape[:-1], inner), dtype=x.dtype)
    for k in tuple(range(n)):
        within = within + weights[k] * x[..., k : k + inner]
    low, high = x[..., :n] @ edges[0].T, x[..., -n:] @ edges[1].T
    return np.moveaxis(np.concatenate([low, within, high], axis=-1) / delta**order, -1, axis)


def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """Medians of neighbourhoods, outside of which there are zeros."""
    size = 3 if known(kernel_size) is None else known(kernel_size)
    odd = size % 2 == 1 if isinstance(size, int) else all(n % 2 == 1 for n in size)
    if not odd:
        raise ValueError("Each element of kernel_size should be odd.")
    return median_filter(volume, size, mode="constant")


def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    return medfilt(input, kernel_size)


def wiener(im: Any, mysize: Any = None, noise: Any = None) -> Any:
    """An average where the local variance is below that of the noise, without `noise` the mean variance."""
    x = np.asarray(im)
    size = 3 if known(mysize) is None else known(mysize)
    size = (size,) * x.ndim if isinstance(size, int) else tuple(size)
    n, ones = product(size), np.ones(size)
    mean = correlate(x, ones, "same") / n
    variance = correlate(x * x, ones, "same") / n - mean * mean
    level = np.mean(variance) if noise is None else noise
    noisy = variance < level
    kept = 1.0 - level / np.where(noisy, 1.0, variance)
    return np.where(noisy, mean, mean + (x - mean) * kept)


# ---- rates ---------------------------------------------------------------------------------------


def _upsampled(h: Any, x: Any, up: int) -> Any:
    """The full convolution, along the last axis, of h with x and `up - 1` zeros behind each of its samples."""
    n, taps = (x.shape[-1] - 1) * up + 1, h.shape[0]
    wide = np.zeros((*x.shape[:-1], n), dtype=np.result_type(x, h))
    wide[..., ::up] = x
    return fftconvolve(wide, np.reshape(h, (*(1 for _ in x.shape[:-1]), taps)))


def upfirdn(
    h: Any, x: Any, up: Any = 1, down: Any = 1, axis: Any = -1, mode: Any = "constant", cval: Any = 0
) -> Any:  # fmt: skip
    h, x = np.asarray(h), np.asarray(x)
    plain = known(mode) in (None, "constant") and known(cval) == 0 and h.ndim == 1
    only_plain("scipy.signal.upfirdn", plain)
    return np.moveaxis(_upsampled(h, np.moveaxis(x, axis, -1), known(up))[..., :: known(down)], -1, axis)


def resample_poly(
    x: Any, up: Any, down: Any, axis: Any = 0, window: Any = ("kaiser", 5.0), padtype: Any = "constant",
    cval: Any = None,
) -> Any:  # fmt: skip
    x, window = np.asarray(x), known(window)
    only_plain("scipy.signal.resample_poly", known(padtype) == "constant" and cval is None)
    common = gcd(known(up), known(down))
    up, down = known(up) // common, known(down) // common
    if up == down == 1:
        return x.copy()
    h = np.asarray(window) if isinstance(window, list | np.ndarray) else lowpass_weights(max(up, down), window)
    x = np.moveaxis(x, axis, -1)
    middle, n = (h.shape[0] - 1) // 2, -(-x.shape[-1] * up // down)
    full = _upsampled(h * up, x, up)
    short = max(middle + (n - 1) * down + 1 - full.shape[-1], 0)
    full = np.concatenate([full, np.zeros((*x.shape[:-1], short))], axis=-1)
    return np.moveaxis(full[..., middle : middle + (n - 1) * down + 1 : down], -1, axis)


# ---- responses -----------------------------------------------------------------------------------


def _frequencies(worN: Any, whole: Any, fs: Any, include_nyquist: Any) -> Any:
    worN = 512 if worN is None else worN
    if isinstance(worN, int):
        top = fs if known(whole) else fs / 2.0
        return np.linspace(0.0, top, worN, endpoint=bool(known(include_nyquist)) and not known(whole))
    return np.asarray(worN)


def _polynomial(c: Any, w: Any) -> Any:
    """The sum over k of c[k] exp(-i k w)."""
    c = np.atleast_1d(c)
    return np.sum(c[:, None] * np.exp(-1j * (np.arange(c.shape[0])[:, None] * w)), axis=0)


def freqz(
    b: Any, a: Any = 1, worN: Any = 512, whole: Any = False, plot: Any = None, fs: Any = 2 * np.pi,
    include_nyquist: Any = False,
) -> Any:  # fmt: skip
    only_plain("scipy.signal.freqz", plot is None and np.ndim(b) <= 1 and np.ndim(a) <= 1)
    w = _frequencies(worN, whole, fs, include_nyquist)
    turn = w * (2.0 * np.pi / fs)
    return w, _polynomial(b, turn) / _polynomial(a, turn)


def freqz_sos(sos: Any, worN: Any = 512, whole: Any = False, fs: Any = 2 * np.pi) -> Any:
    sos, w = np.asarray(sos), _frequencies(worN, whole, fs, False)
    turn, h = w * (2.0 * np.pi / fs), 1.0 + 0.0j
    for k in tuple(range(sos.shape[0])):
        h = h * (_polynomial(sos[k, :3], turn) / _polynomial(sos[k, 3:], turn))
    return w, h


TRANSFORMED: dict[str, Any] = {
    f.__name__: f
    for f in (
        lfilter_zi, sosfilt_zi, filtfilt, sosfiltfilt, savgol_filter, medfilt, medfilt2d, wiener, upfirdn,
        resample_poly, freqz, freqz_sos,
    )
} | {"sosfreqz": freqz_sos}  # fmt: skip
