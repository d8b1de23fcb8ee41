"""scipy.ndimage's filters of whole neighbourhoods and its interpolation, for derivatives and batches alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from .padding import pad
from .scipy_signal import EDGES
from .support import known, only_plain, product

MOST_TAPS = 400


def _extents(value: Any, n: int) -> Any:
    """One whole number for each axis."""
    value = known(value)
    return (value,) * n if isinstance(value, int) else tuple(value)


def _windows(name: str, x: Any, sizes: Any, mode: Any, cval: Any, origin: Any) -> Any:
    """The elements around each one, an array for each place in the neighbourhood."""
    mode = known(mode)
    only_plain(name, isinstance(mode, str) and mode in EDGES and product(sizes) <= MOST_TAPS)
    origins = _extents(origin, x.ndim)
    widths = [(m // 2 + o, m - 1 - m // 2 - o) for m, o in zip(sizes, origins, strict=True)]
    only_plain(name, all(low >= 0 and high >= 0 for low, high in widths), "with this origin")
    edges = EDGES[mode]
    wide = pad(x, widths, edges, constant_values=cval) if edges == "constant" else pad(x, widths, edges)
    return [
        wide[tuple([slice(k, k + n) for k, n in zip(tap, x.shape)])] for tap in tuple(np.ndindex(tuple(sizes)))
    ]


def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    x, w = np.asarray(input), np.asarray(weights)
    only_plain("scipy.ndimage.correlate", output is None and axes is None and x.dtype.kind in "fc" and w.ndim == x.ndim)
    found = _windows("scipy.ndimage.correlate", x, w.shape, mode, cval, origin)
    total = np.zeros_like(x)
    for tap, part in zip(tuple(np.ndindex(w.shape)), found, strict=True):
        total = total + w[tap] * part
    return total.astype(x.dtype)


def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Correlation with the weights turned around; of an even number of them the centre is the right of two."""
    w = np.asarray(weights)
    origins = _extents(origin, w.ndim)
    turned = tuple([-o - (1 if m % 2 == 0 else 0) for o, m in zip(origins, w.shape, strict=True)])
    return correlate(input, w[(slice(None, None, -1),) * w.ndim], output, mode, cval, turned, axes=axes)


def _extreme(
    name: str, choose: Any, input: Any, size: Any, footprint: Any, output: Any, mode: Any, cval: Any, origin: Any,
    axes: Any,
) -> Any:  # fmt: skip
    x = np.asarray(input)
    plain = size is not None and footprint is None and output is None and axes is None
    only_plain(name, plain and x.dtype.kind == "f")
    return choose(np.stack(_windows(name, x, _extents(size, x.ndim), mode, cval, origin)), axis=0)


def maximum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    name = "scipy.ndimage.maximum_filter"
    return _extreme(name, np.max, input, size, footprint, output, mode, cval, origin, axes)


def minimum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    name = "scipy.ndimage.minimum_filter"
    return _extreme(name, np.min, input, size, footprint, output, mode, cval, origin, axes)


def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Of an even number of elements the upper of the two in the middle."""
    x = np.asarray(input)
    name = "scipy.ndimage.median_filter"
    plain = size is not None and footprint is None and output is None and axes is None
    only_plain(name, plain and x.dtype.kind == "f")
    found = np.sort(np.stack(_windows(name, x, _extents(size, x.ndim), mode, cval, origin)), axis=0)
    return found[found.shape[0] // 2]


# ---- interpolation -------------------------------------------------------------------------------


def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
) -> Any:
    """Of order 0, the nearest element, and of order 1, linear between neighbours."""
    x, at = np.asarray(input), np.asarray(coordinates)
    order, mode = known(order), known(mode)
    plain = output is None and order in (0, 1) and x.dtype.kind in "fc" and mode in _PLACES
    only_plain("scipy.ndimage.map_coordinates", plain and at.shape[0] == x.ndim)
    return _interpolated(x, [at[k] for k in range(x.ndim)], order, mode, cval).astype(x.dtype)


def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
) -> Any:
    x, order, mode = np.asarray(input), known(order), known(mode)
    only_plain("scipy.ndimage.shift", output is None and order in (0, 1) and x.dtype.kind in "fc" and mode in _PLACES)
    by = np.broadcast_to(np.asarray(shift), (x.ndim,))
    places = np.meshgrid(*[np.arange(n) - by[k] for k, n in enumerate(x.shape)], indexing="ij")
    return _interpolated(x, places, order, mode, cval).astype(x.dtype)


def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
) -> Any:
    """The element at o is that of the input at `matrix @ o + offset`."""
    x, m, order, mode = np.asarray(input), np.asarray(matrix), known(order), known(mode)
    plain = output is None and order in (0, 1) and x.dtype.kind in "fc" and mode in _PLACES
    only_plain("scipy.ndimage.affine_transform", plain and m.shape == (x.ndim, x.ndim))
    shape = x.shape if output_shape is None else tuple(known(output_shape))
    grid = np.stack(np.meshgrid(*[np.arange(n) for n in shape], indexing="ij")).astype(np.float64)
    by = np.reshape(np.broadcast_to(np.asarray(offset), (x.ndim,)), (x.ndim,) + (1,) * len(shape))
    places = np.tensordot(m, grid, 1) + by
    return _interpolated(x, [places[k] for k in range(x.ndim)], order, mode, cval).astype(x.dtype)


def _interpolated(x: Any, places: Any, order: int, mode: str, cval: Any) -> Any:
    inside, ways = np.ones(np.shape(places[0]), dtype=bool), []
    for place, n in zip(places, x.shape, strict=True):
        place, known_to_be = _PLACES[mode](place, n)
        inside = inside if known_to_be is None else inside & known_to_be
        if order == 0:
            ways.append([(1.0, np.floor(place + 0.5).astype(np.int64))])
        else:
            low = np.floor(place)
            part = place - low
            ways.append([(1.0 - part, low.astype(np.int64)), (part, low.astype(np.int64) + 1)])
    total = np.zeros(np.shape(inside), dtype=np.result_type(x, places[0]))
    for corner in tuple(np.ndindex(tuple([len(w) for w in ways]))):
        weight, index, there = 1.0, [], np.ones(np.shape(inside), dtype=bool)
        for k, way in enumerate(corner):
            share, at = ways[k][way]
            at, exists = _WHOLE[mode](at, x.shape[k])
            there = there if exists is None else there & exists
            weight = weight * share
            index.append(at)
        total = total + weight * np.where(there, x[tuple(index)], cval)
    return np.where(inside, total, cval)


def _in_range(place: Any, n: int) -> Any:
    """Between the first and the last element; nothing is between those and what lies outside."""
    return np.clip(place, 0, n - 1), (place >= 0) & (place <= n - 1)


def _anywhere(place: Any, n: int) -> Any:
    return place, None


def _mirrored(place: Any, n: int) -> Any:
    """About the middles of the first and the last element."""
    if n == 1:
        return np.zeros_like(place), None
    place = np.mod(place, 2 * (n - 1))
    return np.where(place > n - 1, 2 * (n - 1) - place, place), None


def _reflected(place: Any, n: int) -> Any:
    """About their outer edges."""
    place = np.mod(place + 0.5, 2 * n)
    place = np.where(place >= n, 2 * n - place, place) - 0.5
    return np.clip(place, 0, n - 1), None


def _wrapped(place: Any, n: int) -> Any:
    """With a period of n - 1: the last element stands where the first does."""
    if n == 1:
        return np.zeros_like(place), None
    return np.where((place < 0) | (place > n - 1), np.mod(place, n - 1), place), None


def _repeated(place: Any, n: int) -> Any:
    return np.mod(place, n), None


def _clipped(at: Any, n: int) -> Any:
    return np.clip(at, 0, n - 1), None


def _within(at: Any, n: int) -> Any:
    return np.clip(at, 0, n - 1), (at >= 0) & (at < n)


_PLACES = {
    "constant": _in_range, "nearest": _clipped, "mirror": _mirrored, "reflect": _reflected, "grid-mirror": _reflected,
    "wrap": _wrapped, "grid-wrap": _repeated, "grid-constant": _anywhere,
}  # fmt: skip
_WHOLE = {
    "constant": _clipped, "nearest": _clipped, "mirror": _clipped, "reflect": _clipped, "grid-mirror": _clipped,
    "wrap": _clipped, "grid-wrap": _repeated, "grid-constant": _within,
}  # fmt: skip
TRANSFORMED: dict[str, Any] = {
    f.__name__: f
    for f in (
        correlate, convolve, maximum_filter, minimum_filter, median_filter, map_coordinates, shift, affine_transform
    )
}  # fmt: skip
