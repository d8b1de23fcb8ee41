"""Handlers of numpy.fft: lengths become slices and zeros, norms become products, so one operation is enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..errors import DTypeError
from ..ir import Atom
from ..ops.core import Dim, Fourier, Run
from .arguments import array, refuse_out, static, static_int, static_shape

Direct = Callable[..., Any]

_INVERSE = frozenset({"ifft", "irfft"})


def along_one(op: Fourier) -> Direct:
    """np.fft.fft and its kin: along one axis, of length `n`."""

    def handler(b: Builder, a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Atom:
        refuse_out(op.numpy, out)
        lengths = None if n is None else (static_int(n, "the length of a transform"),)
        return _transform(b, op, array(b, a), lengths, (static_int(axis, "an axis"),), norm)

    return handler


def along_several(op: Fourier, count: int | None) -> Direct:
    """np.fft.fft2 (`count` 2: the last two axes by default) and np.fft.fftn (all axes by default)."""

    def handler(
        b: Builder, a: Any, s: Any = None, axes: Any = (-2, -1) if count else None, norm: Any = None, out: Any = None
    ) -> Atom:
        refuse_out(op.numpy, out)
        x = array(b, a)
        lengths = None if s is None else static_shape(s, "the lengths of a transform")
        if axes is not None:
            places = static_shape(axes, "the axes")
        else:
            places = tuple(range(x.aval.ndim))[-len(lengths) :] if lengths is not None else tuple(range(x.aval.ndim))
        return _transform(b, op, x, lengths, places, norm)

    return handler


def hfft(b: Builder, a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Atom:
    """np.fft.hfft: irfft of the conjugate, scaled the other way round."""
    other = make.elementwise(b, ops.CONJUGATE, array(b, a))
    return along_one(ops.IRFFT)(b, other, n, axis, _swapped(norm), out)  # type: ignore[no-any-return]


def ihfft(b: Builder, a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Atom:
    return make.elementwise(b, ops.CONJUGATE, along_one(ops.RFFT)(b, a, n, axis, _swapped(norm), out))


def _swapped(norm: Any) -> Any:
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


def _transform(
    b: Builder, op: Fourier, x: Atom, lengths: Sequence[int] | None, axes: Sequence[int], norm: Any
) -> Atom:
    places = [make.normalize_axis(a, x.aval.ndim) for a in axes]
    if not places:
        return x
    if lengths is not None and len(lengths) != len(places):
        raise ValueError("Shape and axes have different lengths.")
    if x.aval.dtype.kind not in "biufc" or x.aval.dtype.itemsize > (16 if x.aval.dtype.kind == "c" else 8):
        raise DTypeError(f"{op.numpy} of {x.aval.dtype} is not in the language")
    half = op is ops.IRFFT and x.aval.dtype == np.float16
    if op is ops.IRFFT:
        exact = x.aval.dtype if x.aval.dtype.kind in "fc" else np.dtype(np.float64)
        x = make.astype(b, x, np.result_type(exact, np.complex64))
    whole = [x.aval.shape[i] for i in places]
    wanted = whole if lengths is None else [m if n == -1 else int(n) for m, n in zip(whole, lengths, strict=True)]
    size = 0
    if op is ops.IRFFT:
        size = 2 * (wanted[-1] - 1) if lengths is None else wanted[-1]
        wanted[-1] = size // 2 + 1
    for i, n in zip(places, wanted, strict=True):
        if n < 1 or (op is ops.IRFFT and size < 1):
            raise ValueError(f"Invalid number of FFT data points ({n if n < 1 else size}) specified.")
        x = _fitted(b, x, i, n)
    result = make.fourier(b, op, x, places, size)
    points = math.prod(wanted[:-1]) * (size if op is ops.IRFFT else wanted[-1])
    scale = _scale(op, static(norm, "the norm of a transform"), points)
    result = result if scale == 1.0 else make.multiply(b, result, scale)
    return make.astype(b, result, np.float16) if half else result


def _fitted(b: Builder, x: Atom, axis: int, n: int) -> Atom:
    """The first `n` elements along an axis, or zeros behind them up to there."""
    shape = x.aval.shape
    if shape[axis] == n:
        return x
    dims: list[Dim] = [Run(0, m) for m in shape]
    dims[axis] = Run(0, min(n, shape[axis]))
    if n < shape[axis]:
        return make.index(b, x, dims)
    return make.put(b, make.zeros(b, (*shape[:axis], n, *shape[axis + 1 :]), x.aval.dtype), x, dims)


def _scale(op: Fourier, norm: Any, points: int) -> float:
    """What NumPy's result is, times that of the operation, which scales inverse transforms only."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    inverse = op.name in _INVERSE
    match norm:
        case "ortho":
            return math.sqrt(points) if inverse else 1.0 / math.sqrt(points)
        case "forward":
            return float(points) if inverse else 1.0 / points
    return 1.0
