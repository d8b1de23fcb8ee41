"""Grids, ranges, blocks, and the subscripts np.mgrid[...], np.r_[...] and their kin, as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from .support import block_depth, grid_plan, known, product, raised_order, subscript_directive


def ix_(*args: Any) -> Any:
    lines = [_positions(np.asarray(x), isinstance(x, np.ndarray)) for x in args]
    count = len(lines)
    return tuple([x[(None,) * i + (slice(None),) + (None,) * (count - 1 - i)] for i, x in enumerate(lines)])


def _positions(x: Any, is_array: bool) -> Any:
    if x.ndim != 1:
        raise ValueError("Cross index must be 1 dimensional")
    if x.size == 0 and not is_array:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(x) if x.dtype.kind == "b" else x


def broadcast_arrays(*args: Any, subok: Any = False) -> Any:
    arrays = [np.asarray(x) for x in args]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    return tuple([np.broadcast_to(x, shape) for x in arrays])


LISTS_OF_LINES = np.lib.NumpyVersion(np.__version__) < "2.5.0"  # what np.meshgrid gives where it copies nothing


def meshgrid(*xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = "xy") -> Any:
    """Coordinate grids from coordinate vectors."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    count = len(xi)
    lines = [np.ravel(np.asarray(x)) for x in xi]
    places = [1 - i if indexing == "xy" and count > 1 and i < 2 else i for i in range(count)]
    grids = [np.reshape(x, (1,) * p + (x.size,) + (1,) * (count - 1 - p)) for x, p in tuple(zip(lines, places))]
    if copy:
        return tuple([g.copy() for g in (grids if sparse else broadcast_arrays(*grids))])
    return (grids if LISTS_OF_LINES else tuple(grids)) if sparse else broadcast_arrays(*grids)


def mgrid(key: Any) -> Any:
    """np.mgrid[...]: coordinates of a full grid."""
    if isinstance(key, slice):
        return _points(key)
    return np.stack(np.meshgrid(*_grid_lines(key), indexing="ij"))


def ogrid(key: Any) -> Any:
    """np.ogrid[...]: coordinates that broadcast to the grid."""
    return _points(key) if isinstance(key, slice) else ix_(*_grid_lines(key))


def _grid_lines(key: Any) -> Any:
    lines = [_points(k) for k in key]
    dtype = np.result_type(*lines)
    return [x.astype(dtype) for x in lines]


def _points(key: Any) -> Any:
    start, step, count = grid_plan(key.start, key.stop, key.step)
    points = np.arange(count) * step
    return points if start == 0 else points + start


def r_(key: Any) -> Any:
    """np.r_[...]: rows, numbers and slices joined along the first axis."""
    return _joined(key, 0, 1, -1)


def c_(key: Any) -> Any:
    """np.c_[...]: lines as columns, joined along the last axis."""
    return _joined(key, -1, 2, 0)


def _joined(key: Any, axis: int, ndim: int, place: int) -> Any:
    """At least `ndim` axes each; the axes of a smaller array start at `place`. A leading text says otherwise."""
    items = key if isinstance(key, tuple) else (key,)
    if isinstance(items[0], str):
        axis, ndim, place = subscript_directive(items[0], axis, ndim, place)
        items = items[1:]
    plain = [_points(k) if isinstance(k, slice) else np.asarray(k) if isinstance(k, list | tuple) else k for k in items]
    parts = [_raised(x, ndim, place) for x in plain]
    return np.concatenate(parts, axis=axis).astype(np.result_type(*plain))


def _raised(x: Any, ndim: int, place: int) -> Any:
    x = np.asarray(x)
    if x.ndim >= ndim:
        return x
    wide = np.reshape(x, (1,) * (ndim - x.ndim) + x.shape)
    return np.transpose(wide, raised_order(ndim, x.ndim, place)) if x.ndim and place != -1 else wide


# ---- ranges --------------------------------------------------------------------------------------


def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10.0, dtype: Any = None, axis: Any = 0
) -> Any:
    if np.ndim(base) > 0:
        start, stop, base = np.broadcast_arrays(start, stop, base)
        base = np.expand_dims(base, axis)
    y = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else y.astype(dtype)


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0) -> Any:
    """Turned so that it begins on the positive half of the real axis, as NumPy does."""
    kind = np.result_type(start, stop, float(num), np.zeros((), dtype))
    first, last = np.asarray(start).astype(kind), np.asarray(stop).astype(kind)
    if np.any(first == 0) or np.any(last == 0):
        raise ValueError("Geometric sequence cannot include zero")
    sign = np.sign(first)
    first, last = first / sign, last / sign
    y = np.power(10.0, np.linspace(np.log10(first), np.log10(last), num, endpoint))
    if y.shape[0] > 0:
        y[0] = first
    if y.shape[0] > 1 and endpoint:
        y[-1] = last
    y = np.moveaxis(y * sign, 0, axis)
    return y.astype(kind) if dtype is None else y.astype(dtype)


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    return function(*np.indices(shape, dtype=dtype), **kwargs)


def fromiter(iter: Any, dtype: Any, count: Any = -1) -> Any:
    """Of elements that are known one by one."""
    items = list(iter)
    if any([np.ndim(item) > 0 for item in items]):
        raise ValueError("setting an array element with a sequence.")
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    return np.array(items if count < 0 else items[:count], dtype=dtype)


def ndenumerate(arr: Any) -> Any:
    x = np.asarray(arr)
    return zip(np.ndindex(x.shape), x.flat)


# ---- blocks --------------------------------------------------------------------------------------


def block(arrays: Any) -> Any:
    depth = block_depth(_nesting(arrays))
    if depth == 0:
        return np.array(arrays)
    return _block(arrays, depth, max(depth, _rank(arrays)))


def _nesting(arrays: Any) -> Any:
    """The lists alone."""
    return [_nesting(x) for x in arrays] if isinstance(arrays, list) else None


def _rank(arrays: Any) -> int:
    return max([_rank(x) for x in arrays]) if isinstance(arrays, list) else np.ndim(arrays)


def _block(arrays: Any, depth: int, ndim: int) -> Any:
    if depth == 0:
        x = np.asarray(arrays)
        return np.reshape(x, (1,) * (ndim - x.ndim) + x.shape)
    return np.concatenate([_block(x, depth - 1, ndim) for x in arrays], axis=-depth)


def resize(a: Any, new_shape: Any) -> Any:
    flat, shape = np.ravel(np.asarray(a)), known(new_shape)
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    size = product(shape)
    if flat.size == 0:
        return np.zeros(shape, dtype=flat.dtype)
    if size <= flat.size:
        return np.reshape(flat[:size].copy(), shape)
    return np.reshape(np.tile(flat, -(-size // flat.size))[:size], shape)


NUMPY_NAMES = {
    name: name
    for name in (
        "ix_",
        "broadcast_arrays",
        "meshgrid",
        "logspace",
        "geomspace",
        "fromfunction",
        "fromiter",
        "ndenumerate",
        "block",
        "resize",
    )
}
SUBSCRIPTS: dict[type, Any] = {type(np.mgrid): mgrid, type(np.ogrid): ogrid, type(np.r_): r_, type(np.c_): c_}
