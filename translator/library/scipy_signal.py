"""scipy.signal's convolutions and recursive filters, and scipy.ndimage's filters along axes, as NumPy source.

Images are convolved tap by tap up to `MOST_TAPS` weights, by Fourier transforms beyond; along one axis by np.convolve.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .padding import pad
from .scipy_support import centred, fast_length, gaussian_weights, swapped
from .support import known, one_axis, only_plain, product

MOST_TAPS = 64


def convolve(in1: Any, in2: Any, mode: Any = "full", method: Any = "auto") -> Any:
    """The convolution of two arrays of n axes: out[k] is the sum over j of in1[j] in2[k - j], in their common dtype.

    mode    "full" (each axis has m + n - 1 elements), "same" (as in1), "valid" (what needs no zeros)
    method  "direct" sums, "fft" transforms, "auto" sums along one axis and for up to 64 weights

    Numbers are floating-point; of others SciPy's own function is called.
    """
    x, w, mode, method = np.asarray(in1), np.asarray(in2), known(mode), known(method)
    floats = np.result_type(x, w).kind in "fc"  # whole numbers stay whole
    only_plain("scipy.signal.convolve", mode in ("full", "same", "valid") and x.ndim == w.ndim and floats)
    if x.ndim == 0:
        return x * w
    x, w = (w, x) if swapped(x.shape, w.shape, mode) else (x, w)
    if method == "fft":
        return fftconvolve(x, w, mode)
    if x.ndim == 1:
        return _part(np.convolve(x, w), x.shape, w.shape, mode)
    if product(w.shape) > MOST_TAPS and method == "direct":  # what is not finite stays where it is
        only_plain("scipy.signal.convolve", x.ndim == 2)
        return _part(_by_rows(x, w), x.shape, w.shape, mode)
    if product(w.shape) > MOST_TAPS:
        return fftconvolve(x, w, mode)
    return _part(_by_taps(x, w), x.shape, w.shape, mode)


def _by_taps(x: Any, w: Any) -> Any:
    out = np.zeros([m + n - 1 for m, n in zip(x.shape, w.shape)], dtype=np.result_type(x, w))
    for tap in tuple(np.ndindex(w.shape)):
        out[tuple([slice(k, k + n) for k, n in zip(tap, x.shape)])] += w[tap] * x
    return out


def _by_rows(x: Any, w: Any) -> Any:
    """Images and many taps: a loop."""
    (rows, columns), (m, n) = x.shape, w.shape
    out = np.zeros((rows + m - 1, columns + n - 1), dtype=np.result_type(x, w))
    for i in range(m):
        for j in range(n):
            out[i : i + rows, j : j + columns] += w[i, j] * x
    return out


def _part(full: Any, shape: Any, by: Any, mode: str) -> Any:
    """Of the full convolution what `mode` keeps."""
    if mode == "full":
        return full
    return full[centred(full.shape, shape if mode == "same" else [m - n + 1 for m, n in zip(shape, by)])]


def fftconvolve(in1: Any, in2: Any, mode: Any = "full", axes: Any = None) -> Any:
    """`convolve` by Fourier transforms: n log n work; errors are in proportion to the largest element."""
    x, w, mode = np.asarray(in1), np.asarray(in2), known(mode)
    only_plain("scipy.signal.fftconvolve", axes is None and mode in ("full", "same", "valid") and x.ndim == w.ndim)
    if x.ndim == 0:
        return x * w
    x, w = (w, x) if swapped(x.shape, w.shape, mode) else (x, w)
    sizes, axes = [fast_length(m + n - 1) for m, n in zip(x.shape, w.shape)], tuple(range(x.ndim))
    full: Any
    if np.result_type(x, w).kind == "c":
        full = np.fft.ifftn(np.fft.fftn(x, sizes, axes) * np.fft.fftn(w, sizes, axes), sizes, axes)
    else:
        full = np.fft.irfftn(np.fft.rfftn(x, sizes, axes) * np.fft.rfftn(w, sizes, axes), sizes, axes)
    whole = full[tuple([slice(m + n - 1) for m, n in zip(x.shape, w.shape)])]
    return _part(whole, x.shape, w.shape, mode)


def correlate(in1: Any, in2: Any, mode: Any = "full", method: Any = "auto") -> Any:
    """The correlation of two arrays of n axes: the sums over j of in1[j + k] conj(in2[j]), for every shift k at which
    they overlap. Modes and methods are those of `convolve`; in2 is the smaller one.
    """
    x, w, mode = np.asarray(in1), np.asarray(in2), known(mode)
    only_plain("scipy.signal.correlate", x.ndim == w.ndim and not swapped(x.shape, w.shape, mode))
    if x.ndim == 0:
        return x * np.conj(w)
    return convolve(x, np.conj(w)[(slice(None, None, -1),) * w.ndim], mode, method)


def convolve2d(in1: Any, in2: Any, mode: Any = "full", boundary: Any = "fill", fillvalue: Any = 0) -> Any:
    """The convolution of two images, (m, n) and (k, l). Outside the first is `fillvalue`, or, with boundary="wrap" or
    "symm", the image again, shifted or mirrored. Modes are those of `convolve`.
    """
    return _image("convolve2d", np.asarray(in1), np.asarray(in2), known(mode), known(boundary), fillvalue, 1)


def correlate2d(in1: Any, in2: Any, mode: Any = "full", boundary: Any = "fill", fillvalue: Any = 0) -> Any:
    """The correlation of an image with another; arguments as for `convolve2d`."""
    w = np.conj(np.asarray(in2))[::-1, ::-1]
    return _image("correlate2d", np.asarray(in1), w, known(mode), known(boundary), fillvalue, 0)


def _image(name: str, x: Any, w: Any, mode: str, boundary: str, fillvalue: Any, first: int) -> Any:
    """A convolution of an image. Of two taps in the middle that in front counts where `first` is 1, else the other."""
    only_plain(f"scipy.signal.{name}", x.ndim == 2 and w.ndim == 2 and not swapped(x.shape, w.shape, mode))
    if mode == "valid":
        return convolve(x, w, mode, "direct")
    if boundary == "fill" and isinstance(fillvalue, int | float) and fillvalue == 0:
        full = convolve(x, w, "full", "direct")
    else:
        widths = [(n - 1, n - 1) for n in w.shape]
        if boundary == "fill":
            wide = pad(x, widths, "constant", constant_values=fillvalue)
        else:
            wide = pad(x, widths, {"wrap": "wrap", "symm": "symmetric"}[boundary])
        full = convolve(wide, w, "valid", "direct")
    if mode == "full":
        return full
    starts = [(n - first) // 2 for n in w.shape]
    return full[tuple([slice(k, k + n) for k, n in zip(starts, x.shape)])]


def lfilter(b: Any, a: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any:
    """A loop over samples, in the transposed direct form II (A. Oppenheim, R. Schafer, "Discrete-Time Signal
    Processing", section 6.3); without feedback a convolution, where what is not finite stays among its neighbours."""
    b, a, x = np.atleast_1d(b), np.atleast_1d(a), np.asarray(x)
    only_plain("scipy.signal.lfilter", b.ndim == 1 and a.ndim == 1 and np.result_type(b, a, x).kind in "fc")
    dtype = np.result_type(b, a, x, np.float32)
    if a.shape[0] == 1:
        full, n = _weighted_sums((b / a[0]).astype(dtype), np.moveaxis(x, axis, -1).astype(dtype)), x.shape[axis]
        if zi is None:
            return np.moveaxis(full[..., :n], -1, axis)
        full[..., : b.shape[0] - 1] += np.moveaxis(np.asarray(zi), axis, -1)
        return np.moveaxis(full[..., :n], -1, axis), np.moveaxis(full[..., n:], -1, axis)
    order = max(b.shape[0], a.shape[0])
    forward = np.concatenate([b, np.zeros(order - b.shape[0], dtype=b.dtype)]) / a[0]
    backward = np.concatenate([a, np.zeros(order - a.shape[0], dtype=a.dtype)]) / a[0]
    samples = np.moveaxis(x, axis, 0).astype(dtype)
    rest = samples.shape[1:]
    column = (order - 1, *(1 for _ in rest))
    ahead, back = np.reshape(forward[1:], column), np.reshape(backward[1:], column)
    state = np.zeros((order, *rest), dtype=dtype)  # the last one stays zero
    if zi is not None:
        state[:-1] = np.moveaxis(np.asarray(zi), axis, 0)
    y = np.zeros(samples.shape, dtype=dtype)
    for n in range(samples.shape[0]):
        y[n] = forward[0] * samples[n] + state[0]
        state[:-1] = state[1:] + ahead * samples[n] - back * y[n]
    y = np.moveaxis(y, 0, axis)
    return y if zi is None else (y, np.moveaxis(state[:-1], 0, axis))


def _weighted_sums(b: Any, x: Any) -> Any:
    """The full convolution along the last axis."""
    if x.ndim == 1:
        return np.convolve(b, x)
    taps, n = b.shape[0], x.shape[-1]
    out = np.zeros((*x.shape[:-1], n + taps - 1), dtype=x.dtype)
    for k in range(taps):
        out[..., k : k + n] += b[k] * x
    return out


def detrend(data: Any, axis: Any = -1, type: Any = "linear", bp: Any = 0, overwrite_data: Any = False) -> Any:
    """`data` less its mean along the axis, or, for type="linear", less the line of least squares: an array of the
    shape of `data`, floating-point.
    """
    x, kind = np.asarray(data), known(type)
    only_plain("scipy.signal.detrend", isinstance(bp, int) and bp == 0 and kind in ("linear", "l", "constant", "c"))
    x = x.astype(np.result_type(x, np.float32))
    axis = one_axis(axis, x.ndim)
    level = x - np.mean(x, axis=axis, keepdims=True)
    if kind in ("constant", "c"):
        return level
    n = x.shape[axis]
    t = np.reshape(np.arange(n) - (n - 1) / 2, [n if k == axis else 1 for k in range(x.ndim)])
    slope = np.sum(level * t, axis=axis, keepdims=True) / max(n * (n * n - 1) / 12, 1)
    return (level - slope * t).astype(x.dtype)


# ---- scipy.ndimage -------------------------------------------------------------------------------

EDGES = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge",
    "wrap": "wrap", "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def correlate1d(
    input: Any,
    weights: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> Any:
    """Weighted sums of neighbours along one axis: out[k] is the sum over j of weights[j] input[k + j - m // 2], for m
    weights. The shape and dtype of `input`, which is float32 or float64.

    mode  what lies beyond the ends: "reflect" (around the edge of the last element), "mirror" (around its middle),
          "nearest", "wrap" or "constant" (`cval`)
    """
    x, w = np.asarray(input), np.asarray(weights)
    floats = x.dtype in (np.float32, np.float64)  # whole numbers are rounded after every axis
    plain = output is None and isinstance(origin, int) and origin == 0
    only_plain("scipy.ndimage.correlate1d", plain and w.ndim == 1 and floats)
    n, m = x.shape[axis], w.shape[0]
    x = np.moveaxis(x, axis, -1)
    widths = [*[(0, 0)] * (x.ndim - 1), (m // 2, m - 1 - m // 2)]
    edges = EDGES[known(mode)]
    wide = pad(x, widths, edges, constant_values=cval) if edges == "constant" else pad(x, widths, edges)
    out = np.zeros_like(x)
    for k in range(m):
        out += w[k] * wide[..., k : k + n]
    return np.moveaxis(out, -1, axis)


def convolve1d(
    input: Any,
    weights: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> Any:
    """`correlate1d` with the weights, an odd number of them, in reverse."""
    w = np.asarray(weights)[::-1]
    only_plain("scipy.ndimage.convolve1d", w.shape[0] % 2 == 1, "of an even number of weights")
    return correlate1d(input, w, axis, output, mode, cval, origin)


def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: Any = -1,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: Any = 4.0,
    *,
    radius: Any = None,
) -> Any:
    """Averages along one axis with weights exp(-j^2 / (2 sigma^2)), of sum 1, for |j| up to `radius` elements, by
    default the integer nearest to truncate * sigma. `mode` and `cval` as for `correlate1d`.
    """
    only_plain("scipy.ndimage.gaussian_filter1d", isinstance(order, int) and order == 0)
    return correlate1d(input, gaussian_weights(known(sigma), known(truncate), known(radius)), axis, output, mode, cval)


def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: Any = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """`gaussian_filter1d` along every axis; `sigma` in elements, one number or one for each axis."""
    x = np.asarray(input)
    plain = isinstance(order, int) and order == 0 and isinstance(mode, str) and axes is None and output is None
    only_plain("scipy.ndimage.gaussian_filter", plain and not isinstance(radius, list | tuple))
    widths = known(sigma)
    widths = tuple(widths) if isinstance(widths, list | tuple) else (widths,) * x.ndim
    for axis, width in enumerate(widths):
        if width > 1e-15:
            x = gaussian_filter1d(x, width, axis, 0, None, mode, cval, truncate, radius=radius)
    return x


def uniform_filter1d(
    input: Any, size: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0
) -> Any:
    """Means of `size` neighbours along one axis; `mode` and `cval` as for `correlate1d`."""
    n = known(size)
    return correlate1d(input, np.full(n, 1.0 / n), axis, output, mode, cval, origin)


SIGNAL_NAMES = {
    "convolve": convolve,
    "fftconvolve": fftconvolve,
    "correlate": correlate,
    "convolve2d": convolve2d,
    "correlate2d": correlate2d,
    "lfilter": lfilter,
    "detrend": detrend,
}
NDIMAGE_NAMES = {
    "correlate1d": correlate1d,
    "convolve1d": convolve1d,
    "gaussian_filter1d": gaussian_filter1d,
    "gaussian_filter": gaussian_filter,
    "uniform_filter1d": uniform_filter1d,
}


# ---- under derivatives and in batches ------------------------------------------------------------


def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0,
    *, axes: Any = None,
) -> Any:  # fmt: skip
    """`uniform_filter1d` along every axis; `size` is one number or one for each axis."""
    x = np.asarray(input)
    plain = isinstance(mode, str) and axes is None and output is None and isinstance(origin, int)
    only_plain("scipy.ndimage.uniform_filter", plain)
    widths = known(size)
    widths = tuple(widths) if isinstance(widths, list | tuple) else (widths,) * x.ndim
    for axis, width in enumerate(widths):
        if width > 1:
            x = uniform_filter1d(x, width, axis, None, mode, cval, origin)
    return x


def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Any:
    """The sum over axes of x[k + 1] - 2 x[k] + x[k - 1]; `mode` and `cval` as for `correlate1d`."""
    x = np.asarray(input)
    only_plain("scipy.ndimage.laplace", isinstance(mode, str) and axes is None and output is None)
    weights = np.array([1.0, -2.0, 1.0])
    total = correlate1d(x, weights, 0, None, mode, cval)
    for axis in tuple(range(1, x.ndim)):
        total = total + correlate1d(x, weights, axis, None, mode, cval)
    return total


def _edges(input: Any, axis: Any, output: Any, mode: Any, cval: Any, across: Any, function: str) -> Any:
    x = np.asarray(input)
    only_plain(function, isinstance(mode, str) and output is None)
    axis = one_axis(axis, x.ndim)
    x = correlate1d(x, np.array([-1.0, 0.0, 1.0]), axis, None, mode, cval)
    for other in tuple(range(x.ndim)):
        if other != axis:
            x = correlate1d(x, np.array(across), other, None, mode, cval)
    return x


def sobel(input: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """Sobel's gradient: x[k + 1] - x[k - 1] along `axis`, sums with weights 1, 2, 1 along the others."""
    return _edges(input, axis, output, mode, cval, (1.0, 2.0, 1.0), "scipy.ndimage.sobel")


def prewitt(input: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """Prewitt's gradient: x[k + 1] - x[k - 1] along `axis`, sums of three along the others."""
    return _edges(input, axis, output, mode, cval, (1.0, 1.0, 1.0), "scipy.ndimage.prewitt")


TRANSFORMED = {"uniform_filter": uniform_filter, "laplace": laplace, "sobel": sobel, "prewitt": prewitt}
