"""scipy.signal's analytic signals, spectra and second-order sections, for derivatives and batches alone.

Windows, overlaps and normalisation are those of SciPy's documentation of `csd`, `stft` and `istft`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .scipy_signal import detrend as without_trend
from .scipy_signal import fftconvolve, lfilter
from .scipy_support import spectral_window
from .support import known, one_axis, only_plain


def hilbert(x: Any, N: Any = None, axis: Any = -1) -> Any:
    """The analytic signal: no negative frequencies, the positive ones doubled."""
    x = np.asarray(x)
    axis = one_axis(axis, x.ndim)
    n = x.shape[axis] if N is None else known(N)
    factors = np.zeros(n)
    factors[0] = 1.0
    factors[1 : (n + 1) // 2] = 2.0
    if n % 2 == 0:
        factors[n // 2] = 1.0
    shape = [n if k == axis else 1 for k in range(x.ndim)]
    return np.fft.ifft(np.fft.fft(x, n, axis=axis) * np.reshape(factors, shape), axis=axis)


def oaconvolve(in1: Any, in2: Any, mode: Any = "full", axes: Any = None) -> Any:
    """The convolution of two arrays along `axes`, as fftconvolve gives it; `mode` is full, same or valid."""
    return fftconvolve(in1, in2, mode, axes)


def sosfilt(sos: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any:
    """One second-order section after the other."""
    sos = np.asarray(sos)
    if zi is None:
        for k in range(sos.shape[0]):
            x = lfilter(sos[k, :3], sos[k, 3:], x, axis)
        return x
    begin, end = np.asarray(zi), []
    for k in tuple(range(sos.shape[0])):
        x, final = lfilter(sos[k, :3], sos[k, 3:], x, axis, begin[k])
        end.append(final)
    return x, np.stack(end)


def resample(x: Any, num: Any, t: Any = None, axis: Any = 0, window: Any = None, domain: Any = "time") -> Any:
    """By the Fourier series of a real or complex periodic signal, cut off or continued with zeros."""
    x, num = np.asarray(x), known(num)
    only_plain("scipy.signal.resample", t is None and window is None and known(domain) == "time")
    axis = one_axis(axis, x.ndim)
    x = np.moveaxis(x, axis, -1)
    n = x.shape[-1]
    kept = min(num, n)
    parts = np.fft.fft(x)
    wide = np.zeros((*x.shape[:-1], num), dtype=parts.dtype)
    wide[..., : (kept + 1) // 2] = parts[..., : (kept + 1) // 2]
    if kept > 1:
        wide[..., num - (kept - 1) // 2 :] = parts[..., n - (kept - 1) // 2 :]
    if kept % 2 == 0:  # the frequency that stands for two
        middle = kept // 2
        if num < n:
            wide[..., middle] = parts[..., middle] + parts[..., n - middle]
        elif num > n:
            wide[..., middle] = 0.5 * parts[..., middle]
            wide[..., num - middle] = 0.5 * parts[..., middle]
        else:
            wide[..., middle] = parts[..., middle]
    y = np.fft.ifft(wide) * (num / n)
    return np.moveaxis(y if x.dtype.kind == "c" else np.real(y), -1, axis)


# ---- spectra ---------------------------------------------------------------------------------------


def _window(window: Any, n: int) -> Any:
    if isinstance(window, str | tuple):
        return np.asarray(spectral_window(window, n))
    return np.asarray(window)


def _parts(
    x: Any, window: Any, n: int, step: int, width: int, detrend: Any, one_sided: bool
) -> Any:
    """The transforms of overlapping windowed pieces of the last axis: shape (..., frequencies, pieces)."""
    count = (x.shape[-1] - n) // step + 1
    pieces = np.stack([x[..., k * step : k * step + n] for k in range(count)], axis=-2)
    if known(detrend):
        pieces = without_trend(pieces, -1, detrend)
    pieces = pieces * window
    found = np.fft.rfft(pieces, width) if one_sided else np.fft.fft(pieces, width)
    return np.swapaxes(found, -1, -2)


def _segments(name: str, n: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, default: Any = None) -> Any:
    """The window, its length, the distance of pieces, the length of transforms."""
    nperseg = known(nperseg)
    if not isinstance(window, str | tuple):
        length = np.shape(window)[0]
    else:
        length = min(256 if nperseg is None else nperseg, n)
    shape = _window(window, length)
    noverlap, nfft = known(noverlap), known(nfft)
    over = (length // 2 if default is None else length // default) if noverlap is None else noverlap
    only_plain(name, over < length and (nfft is None or nfft >= length) and length <= n)
    return shape, length, length - over, length if nfft is None else nfft


def _spectrum(
    name: str, x: Any, y: Any, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any,
    one_sided: Any, scaling: Any, axis: Any, default: Any = None,
) -> Any:  # fmt: skip
    """Frequencies, times and the densities (..., frequencies, pieces) of conj(x) y."""
    x, same = np.asarray(x), y is None
    y = x if same else np.asarray(y)
    plain = x.ndim == y.ndim and known(detrend) in (False, None, "constant", "linear")
    only_plain(name, plain and known(scaling) in ("density", "spectrum"))
    x, y = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    longest = max(x.shape[-1], y.shape[-1])
    x, y = _lengthened(x, longest), _lengthened(y, longest)
    shape, n, step, width = _segments(name, longest, window, nperseg, noverlap, nfft, default)
    one_sided = known(one_sided) and x.dtype.kind != "c" and y.dtype.kind != "c"
    scale = 1.0 / (fs * np.sum(shape * shape)) if known(scaling) == "density" else 1.0 / np.sum(shape) ** 2
    first = _parts(x, shape, n, step, width, detrend, one_sided)
    if same:
        power = (np.real(first) ** 2 + np.imag(first) ** 2) * scale
    else:
        power = np.conj(first) * _parts(y, shape, n, step, width, detrend, one_sided) * scale
    if one_sided:
        factors = np.full((power.shape[-2], 1), 2.0)
        factors[0] = 1.0
        if width % 2 == 0:
            factors[-1] = 1.0
        power = power * factors
    frequencies = np.fft.rfftfreq(width, 1.0 / fs) if one_sided else np.fft.fftfreq(width, 1.0 / fs)
    return frequencies, (n / 2 + step * np.arange(power.shape[-1])) / fs, power


def _lengthened(x: Any, n: int) -> Any:
    if x.shape[-1] == n:
        return x
    return np.concatenate((x, np.zeros((*x.shape[:-1], n - x.shape[-1]))), axis=-1)


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: Any = True,
    scaling: Any = "density",
    axis: Any = -1,
    average: Any = "mean",
) -> Any:
    """The cross spectral density by Welch's method: the mean over pieces."""
    name, y = "scipy.signal.csd", None if y is x else y
    only_plain(name, known(average) == "mean")
    frequencies, _, power = _spectrum(
        name, x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis
    )
    return frequencies, np.moveaxis(np.mean(power, axis=-1), -1, axis)


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: Any = True,
    scaling: Any = "density",
    axis: Any = -1,
    average: Any = "mean",
) -> Any:
    """The spectral density by Welch's method: the mean over pieces. Frequencies, and the density at each."""
    return csd(x, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


def periodogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = "boxcar",
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: Any = True,
    scaling: Any = "density",
    axis: Any = -1,
) -> Any:
    """The spectral density from one piece, the whole signal. Frequencies, and the density at each."""
    x = np.asarray(x)
    n, window = x.shape[axis], "boxcar" if window is None else window
    only_plain("scipy.signal.periodogram", known(nfft) is None or known(nfft) >= n)
    return csd(x, x, fs, window, n, 0, nfft, detrend, return_onesided, scaling, axis)


def coherence(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    axis: Any = -1,
) -> Any:
    """The share of the power of one signal that the other explains, by frequency: between 0 and 1."""
    frequencies, own = welch(x, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)
    other = welch(y, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)[1]
    both = csd(x, y, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)[1]
    return frequencies, (np.real(both) ** 2 + np.imag(both) ** 2) / own / other


def spectrogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: Any = True,
    scaling: Any = "density",
    axis: Any = -1,
    mode: Any = "psd",
) -> Any:
    """The spectral density piece by piece: frequencies, times, and an array of frequencies by times."""
    name = "scipy.signal.spectrogram"
    only_plain(name, known(mode) == "psd" and known(axis) == -1)
    return _spectrum(name, x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, 8)


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = 256,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = False,
    return_onesided: Any = True,
    boundary: Any = "zeros",
    padded: Any = True,
    axis: Any = -1,
    scaling: Any = "spectrum",
) -> Any:
    """The spectra of windowed pieces: frequencies, times, and an array of frequencies by times."""
    name, x = "scipy.signal.stft", np.asarray(x)
    plain = known(boundary) in ("zeros", None) and known(axis) == -1 and known(scaling) in ("spectrum", "psd")
    only_plain(name, plain and known(detrend) in (False, None, "constant", "linear"))
    shape, n, step, width = _segments(name, x.shape[-1], window, nperseg, noverlap, nfft)
    edge = n // 2 if known(boundary) == "zeros" else 0
    whole = x.shape[-1] + 2 * edge
    rest = (-(whole - n) % step) % n if known(padded) else 0
    ends = [np.zeros((*x.shape[:-1], k)) for k in (edge, edge + rest)]
    one_sided = known(return_onesided) and x.dtype.kind != "c"
    found = _parts(np.concatenate((ends[0], x, ends[1]), axis=-1), shape, n, step, width, detrend, one_sided)
    scale = 1.0 / np.sum(shape) if known(scaling) == "spectrum" else 1.0 / np.sqrt(fs * np.sum(shape * shape))
    frequencies = np.fft.rfftfreq(width, 1.0 / fs) if one_sided else np.fft.fftfreq(width, 1.0 / fs)
    return frequencies, (step * np.arange(found.shape[-1]) + (0.0 if edge else n / 2)) / fs, found * scale


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    input_onesided: Any = True,
    boundary: Any = True,
    time_axis: Any = -1,
    freq_axis: Any = -2,
    scaling: Any = "spectrum",
) -> Any:
    """The sum of the windowed pieces, over that of the squared windows."""
    name, z, one_sided = "scipy.signal.istft", np.asarray(Zxx), known(input_onesided)
    plain = known(time_axis) == -1 and known(freq_axis) == -2 and known(scaling) in ("spectrum", "psd")
    lines, count = z.shape[-2:]
    whole = 2 * (lines - 1) if one_sided else lines
    n = whole if known(nperseg) is None else known(nperseg)
    width = known(nfft) if known(nfft) is not None else n if one_sided and n == whole + 1 else whole
    only_plain(name, plain and z.ndim >= 2 and width >= n)
    step = n - (n // 2 if known(noverlap) is None else known(noverlap))
    shape = _window(window, n)
    pieces = np.fft.irfft(z, width, axis=-2) if one_sided else np.fft.ifft(z, width, axis=-2)
    pieces = pieces[..., :n, :] * (np.sum(shape) if known(scaling) == "spectrum" else np.sqrt(fs * np.sum(shape**2)))
    total = np.zeros((*z.shape[:-2], n + (count - 1) * step), dtype=pieces.dtype)
    norm = np.zeros(n + (count - 1) * step)
    for k in range(count):
        total[..., k * step : k * step + n] += pieces[..., k] * shape
        norm[k * step : k * step + n] += shape**2
    if known(boundary):
        total, norm = total[..., n // 2 : -(n // 2)], norm[n // 2 : -(n // 2)]
    total = total / np.where(norm > 1e-10, norm, 1.0)
    return np.arange(total.shape[0]) / fs, total  # SciPy counts along the first axis, too


TRANSFORMED: dict[str, Any] = {
    f.__name__: f
    for f in (
        hilbert, oaconvolve, sosfilt, resample, csd, welch, periodogram, coherence, spectrogram, stft, istft
    )
}  # fmt: skip
