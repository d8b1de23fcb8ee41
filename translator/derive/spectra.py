"""Derivatives of sorts and running extremes, which choose elements, and of Fourier transforms, which are linear.

    y = np.sort(x)                   i = np.argsort(x, kind="stable")
                                     np.add.at(d_x, i, d_y)

    y = np.maximum.accumulate(x)     i: the last place up to each at which y changed
                                     np.add.at(d_x, i, d_y)

    y = np.fft.fft(x)                d_x = np.fft.fft(d_y)          # the matrix is symmetric; no conjugate, as in JAX
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Shape, const
from ..named import along
from ..ops.core import CumulativeAttrs, Dim, Fourier, FourierAttrs, Gather, Run, SortAttrs
from .cotangents import cast_like, materialise, strong

# ---- sorts ---------------------------------------------------------------------------------------


def sort_vjp(b: Builder, s: Apply, ct: Atom) -> tuple[Atom, tuple[Dim, ...], tuple[Atom, ...]]:
    """What to add to the cotangent of the operand, and where."""
    dims, dyn = _chosen(b, s)
    return ct, dims, dyn


def sort_jvp(b: Builder, s: Apply, t: Atom) -> Atom:
    """The tangents of the elements in their order."""
    if not t.aval.shape:
        return t
    return make.index(b, materialise(b, t, strong(s.args[0].aval)), *_chosen(b, s))


def _chosen(b: Builder, s: Apply) -> tuple[tuple[Dim, ...], tuple[Atom, ...]]:
    """The index that sorts the operand; of a partition the one that gives the very result, by the ranks in it."""
    assert isinstance(s.attrs, SortAttrs)
    x, axis = s.args[0], s.attrs.axis
    order = make.argsort(b, x, axis)
    if s.attrs.places:
        ranks = make.argsort(b, make.argsort(b, s.targets[0], axis), axis)
        order = make.index(b, order, *_along(b, ranks, axis))
    return _along(b, order, axis)


def _along(b: Builder, order: Atom, axis: int) -> tuple[tuple[Dim, ...], tuple[Atom, ...]]:
    """The index of the elements at positions along an axis, as in np.take_along_axis."""
    ndim = order.aval.ndim
    positions = [
        order if i == axis else make.expand_dims(b, make.iota(b, n), tuple(k for k in range(ndim) if k != i))
        for i, n in enumerate(order.aval.shape)
    ]
    return tuple(Gather(i) for i in range(ndim)), tuple(positions)


# ---- running extremes ----------------------------------------------------------------------------


def extreme_vjp(b: Builder, s: Apply, ct: Atom) -> tuple[Atom, tuple[Dim, ...], tuple[Atom, ...]]:
    """What to add to the cotangent of the operand, and where: where the running extreme was met first."""
    ct = materialise(b, ct, strong(s.targets[0].aval))
    dims, dyn = _met(b, s)
    return ct, dims, dyn


def extreme_jvp(b: Builder, s: Apply, t: Atom) -> Atom:
    """The tangents of the elements that the running extreme met."""
    return make.index(b, materialise(b, t, strong(s.args[0].aval)), *_met(b, s))


def _met(b: Builder, s: Apply) -> tuple[tuple[Dim, ...], tuple[Atom, ...]]:
    """The index of the elements that the running extremes are: the last place at which those changed."""
    assert isinstance(s.attrs, CumulativeAttrs)
    y, axis = s.targets[0], s.attrs.axis
    shape, n = y.aval.shape, y.aval.shape[axis]
    first = make.full(b, (*shape[:axis], min(n, 1), *shape[axis + 1 :]), const(0), np.dtype(np.int64))
    if n < 2:
        return _along(b, first, axis)
    later = make.index(b, y, along(shape, axis, Run(1, n - 1)), ())
    before = make.index(b, y, along(shape, axis, Run(0, n - 1)), ())
    own = make.expand_dims(b, make.add(b, make.iota(b, n - 1), 1), tuple(k for k in range(len(shape)) if k != axis))
    changed = make.elementwise(b, ops.WHERE, make.elementwise(b, ops.NOT_EQUAL, later, before), own, 0)
    return _along(b, make.cumulative(b, ops.CUMMAX, make.concatenate(b, (first, changed), axis), axis), axis)


# ---- Fourier transforms --------------------------------------------------------------------------


def fourier_jvp(b: Builder, s: Apply, t: Atom) -> Atom:
    """The transform of the tangent: it is linear."""
    assert isinstance(s.attrs, FourierAttrs) and isinstance(s.op, Fourier)
    t = materialise(b, t, strong(s.args[0].aval))
    return cast_like(b, make.fourier(b, s.op, t, s.attrs.axes, s.attrs.size), strong(s.targets[0].aval))


def fourier_vjp(b: Builder, s: Apply, ct: Atom) -> Atom:
    """The transpose; a real transform is taken apart into that of its last axis and complex ones of the others."""
    attrs, x = s.attrs, s.args[0].aval
    assert isinstance(attrs, FourierAttrs) and isinstance(s.op, Fourier)
    ct = materialise(b, ct, strong(s.targets[0].aval))
    *others, last = attrs.axes
    if s.op is ops.RFFT:
        ct = _pad(b, _complex(b, ops.FFT, ct, others), last, x.shape[last])
        return cast_like(b, make.fourier(b, ops.FFT, ct, (last,)), x)
    if s.op is ops.IRFFT:
        return cast_like(b, _complex(b, ops.IFFT, _irfft_vjp(b, ct, last), others), x)
    return cast_like(b, make.fourier(b, s.op, ct, attrs.axes), x)


def _complex(b: Builder, op: Fourier, x: Atom, axes: Sequence[int]) -> Atom:
    return make.fourier(b, op, x, axes) if axes else x


def _irfft_vjp(b: Builder, ct: Atom, axis: int) -> Atom:
    """Every frequency stands for two, but the first, and the last of an even number of points."""
    n = ct.aval.shape[axis]
    spectrum = make.elementwise(b, ops.CONJUGATE, make.fourier(b, ops.RFFT, ct, (axis,)))
    shape = spectrum.aval.shape
    weights = [1.0 if k == 0 or 2 * k == n else 2.0 for k in range(shape[axis])]
    real = ct.aval.dtype
    scale = make.divide(b, make.astype(b, _line(b, weights), real), float(n))
    scale = make.reshape(b, scale, (len(weights), *(1,) * (len(shape) - 1 - axis)))
    return make.multiply(b, spectrum, scale)


def _line(b: Builder, weights: Sequence[float]) -> Atom:
    """1, 2, ... 2, 1 as an array; long ones by their ends."""
    n = len(weights)
    if n <= make.FOLD_LIMIT:
        return const(weights)
    middle = make.full(b, (n - 2,), const(2.0))
    ends = [make.full(b, (1,), const(weights[i])) for i in (0, n - 1)]
    return make.concatenate(b, [ends[0], middle, ends[1]], 0)


def _pad(b: Builder, x: Atom, axis: int, n: int) -> Atom:
    """Zeros behind, up to `n` elements."""
    have = x.aval.shape[axis]
    if have == n:
        return x
    shape: Shape = (*x.aval.shape[:axis], n, *x.aval.shape[axis + 1 :])
    return make.put(b, make.zeros(b, shape, x.aval.dtype), x, along(shape, axis, Run(0, have)))
