"""Arrays composed of others: grids, choices, insertions, polynomials, running extremes, as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from .statistics import convolve
from .support import delete_positions, grid_plan, insert_plan, known, one_axis, only_axis

# ---- grids and blocks ----------------------------------------------------------------------------


def ix_(*args: Any) -> Any:
    lines = [np.asarray(x) for x in args]
    count = len(lines)
    return tuple([np.reshape(x, (1,) * i + (x.size,) + (1,) * (count - 1 - i)) for i, x in enumerate(lines)])


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
    items = key if isinstance(key, tuple) else (key,)
    plain = [_points(k) if isinstance(k, slice) else k for k in items]
    return np.concatenate([np.atleast_1d(x) for x in plain]).astype(np.result_type(*plain))


def c_(key: Any) -> Any:
    """np.c_[...]: lines as columns, joined along the last axis."""
    items = key if isinstance(key, tuple) else (key,)
    plain = [_points(k) if isinstance(k, slice) else k for k in items]
    columns = [np.asarray(x) for x in plain]
    whole = np.concatenate([np.reshape(x, (x.size, 1)) if x.ndim < 2 else x for x in columns], axis=-1)
    return whole.astype(np.result_type(*plain))


def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10.0, dtype: Any = None, axis: Any = 0
) -> Any:
    y = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else y.astype(dtype)


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0) -> Any:
    """Of two numbers of one sign."""
    first, last = np.asarray(start) * 1.0, np.asarray(stop) * 1.0
    sign = np.sign(first)
    y = sign * np.power(10.0, np.linspace(np.log10(first / sign), np.log10(last / sign), num, endpoint, axis=axis))
    y = np.moveaxis(y, axis, 0)
    if y.shape[0] > 0:
        y[0] = first
    if y.shape[0] > 1 and endpoint:
        y[-1] = last
    y = np.moveaxis(y, 0, axis)
    return y if dtype is None else y.astype(dtype)


def block(arrays: Any) -> Any:
    return _block(arrays, _depth(arrays), max(_depth(arrays), _rank(arrays)))


def _depth(arrays: Any) -> int:
    return 1 + _depth(arrays[0]) if isinstance(arrays, list) else 0


def _rank(arrays: Any) -> int:
    return max([_rank(x) for x in arrays]) if isinstance(arrays, list) else np.ndim(arrays)


def _block(arrays: Any, depth: int, ndim: int) -> Any:
    if depth == 0:
        x = np.asarray(arrays)
        return np.reshape(x, (1,) * (ndim - x.ndim) + x.shape)
    return np.concatenate([_block(x, depth - 1, ndim) for x in arrays], axis=-depth)


def resize(a: Any, new_shape: Any) -> Any:
    flat, shape = np.ravel(np.asarray(a)), known(new_shape)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = int(np.prod(np.array(shape, dtype=np.int64)))
    return np.reshape(flat[np.arange(size) % flat.size], shape)


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    return function(*np.indices(shape, dtype=dtype), **kwargs)


# ---- choices -------------------------------------------------------------------------------------


def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    """Elements of the choice that `a` numbers; a number that there is not is an IndexError."""
    a = np.asarray(a)
    rows = np.broadcast_arrays(a, *[np.asarray(c) for c in choices])
    which, n = rows[0], len(rows) - 1
    if mode == "clip":
        which = np.clip(which, 0, n - 1)
    elif mode == "wrap":
        which = which % n
    else:
        which = np.where(which < 0, n, which)
    return np.take_along_axis(np.stack(rows[1:]), which[None], axis=0)[0]


def piecewise(x: Any, condlist: Any, funclist: Any) -> Any:
    """Every function is applied to all of x; a later condition wins."""
    x = np.asarray(x)
    conditions = [np.asarray(c) for c in condlist] if isinstance(condlist, list | tuple) else [np.asarray(condlist)]
    y = np.zeros_like(x)
    if len(funclist) == len(conditions) + 1:
        rest = conditions[0]
        for c in conditions[1:]:
            rest = rest | c
        conditions = [*conditions, ~rest]
    for c, f in tuple(zip(conditions, funclist)):
        piece = f(x) if callable(f) else f
        y = np.where(c, np.asarray(piece).astype(x.dtype), y)
    return y[()]


def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """The function of each line along an axis, line after line."""
    x = np.moveaxis(np.asarray(arr), axis, -1)
    before = x.shape[:-1]
    lines = np.reshape(x, (-1, x.shape[-1]))
    first = np.asarray(func1d(lines[0], *args, **kwargs))
    results = np.empty((lines.shape[0], *first.shape), dtype=first.dtype)
    results[0] = first
    for i in range(1, lines.shape[0]):
        results[i] = func1d(lines[i], *args, **kwargs)
    whole = np.reshape(results, before + first.shape)
    place = one_axis(axis, len(before) + 1)
    for k in tuple(range(first.ndim)):
        whole = np.moveaxis(whole, len(before) + k, place + k)
    return whole


# ---- insertions ----------------------------------------------------------------------------------


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    x = np.asarray(arr)
    if axis is None:
        x = np.ravel(x)
        axis = 0
    return np.take(x, delete_positions(x.shape[axis], obj), axis=axis)


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """At known positions."""
    x = np.asarray(arr)
    if axis is None:
        x = np.ravel(x)
        axis = 0
    x = np.moveaxis(x, axis, 0)
    single = isinstance(known(obj), int)
    v = np.asarray(values).astype(x.dtype)
    if v.ndim < x.ndim:
        v = np.reshape(v, (1,) * (x.ndim - v.ndim) + v.shape)
    v = v if single else np.moveaxis(v, axis, 0)
    old, new, source = insert_plan(x.shape[0], obj, v.shape[0])
    whole = np.zeros((x.shape[0] + len(new), *x.shape[1:]), dtype=x.dtype)
    whole[old] = x
    whole[new] = v[source]
    return np.moveaxis(whole, 0, axis)


# ---- polynomials and correlations ----------------------------------------------------------------


def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    a, v = np.asarray(a), np.asarray(v)
    n, m = a.shape[0], v.shape[0]
    turned = np.conjugate(v)[::-1]
    if mode == "same" and n < m:
        return convolve(a, turned, "full")[n // 2 : n // 2 + m]
    return convolve(a, turned, mode)


def polyadd(a1: Any, a2: Any) -> Any:
    p, q = _aligned(a1, a2)
    return p + q


def polysub(a1: Any, a2: Any) -> Any:
    p, q = _aligned(a1, a2)
    return p - q


def _aligned(a1: Any, a2: Any) -> Any:
    p, q = np.atleast_1d(a1), np.atleast_1d(a2)
    n = max(p.shape[0], q.shape[0])
    return (
        np.concatenate([np.zeros(n - p.shape[0], dtype=p.dtype), p]),
        np.concatenate([np.zeros(n - q.shape[0], dtype=q.dtype), q]),
    )


def polymul(a1: Any, a2: Any) -> Any:
    return convolve(np.atleast_1d(a1), np.atleast_1d(a2))


def polyder(p: Any, m: Any = 1) -> Any:
    p = np.asarray(p)
    for _ in tuple(range(known(m))):
        p = p[:-1] * np.arange(p.shape[0] - 1, 0, -1)
    return p


def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    p = np.asarray(p)
    for i in tuple(range(known(m))):
        constant = 0.0 if k is None else (k if m == 1 else k[i])
        p = np.concatenate([p / np.arange(p.shape[0], 0, -1), np.reshape(np.asarray(constant), (-1,))[:1]])
    return p


# ---- running extremes and sums -------------------------------------------------------------------


def running_maximum(array: Any, axis: Any = 0, dtype: Any = None) -> Any:
    x = np.moveaxis(np.asarray(array) if dtype is None else np.asarray(array).astype(dtype), axis, 0)
    y = x.copy()
    for i in range(1, x.shape[0]):
        y[i] = np.maximum(y[i - 1], x[i])
    return np.moveaxis(y, 0, axis)


def running_minimum(array: Any, axis: Any = 0, dtype: Any = None) -> Any:
    x = np.moveaxis(np.asarray(array) if dtype is None else np.asarray(array).astype(dtype), axis, 0)
    y = x.copy()
    for i in range(1, x.shape[0]):
        y[i] = np.minimum(y[i - 1], x[i])
    return np.moveaxis(y, 0, axis)


def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: Any = False) -> Any:
    x = np.asarray(x)
    place = only_axis(axis, x.ndim)
    y = np.cumsum(x, axis=place, dtype=dtype)
    return _with_start(y, place, 0) if include_initial else y


def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: Any = False) -> Any:
    x = np.asarray(x)
    place = only_axis(axis, x.ndim)
    y = np.cumprod(x, axis=place, dtype=dtype)
    return _with_start(y, place, 1) if include_initial else y


def _with_start(y: Any, axis: int, value: int) -> Any:
    shape = tuple([1 if i == axis else n for i, n in enumerate(y.shape)])
    return np.concatenate([np.full(shape, value, dtype=y.dtype), y], axis=axis)


def diag_indices(n: Any, ndim: Any = 2) -> Any:
    return (np.arange(known(n)),) * known(ndim)


NUMPY_NAMES = {
    name: name
    for name in (
        "ix_",
        "logspace",
        "geomspace",
        "block",
        "resize",
        "fromfunction",
        "choose",
        "piecewise",
        "apply_along_axis",
        "delete",
        "insert",
        "correlate",
        "polyadd",
        "polysub",
        "polymul",
        "polyder",
        "polyint",
        "cumulative_sum",
        "cumulative_prod",
        "diag_indices",
    )
}
SUBSCRIPTS: dict[type, Any] = {type(np.mgrid): mgrid, type(np.ogrid): ogrid, type(np.r_): r_, type(np.c_): c_}
ACCUMULATIONS = {np.maximum: running_maximum, np.minimum: running_minimum}
