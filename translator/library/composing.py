"""Arrays composed of others: choices, insertions, running sums, positions, as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from .inserting import delete_positions, insert_plan, insert_runs, runs_of
from .support import known, mask_positions, one_axis, only_axis

# ---- choices -------------------------------------------------------------------------------------


def extract(condition: Any, arr: Any) -> Any:
    """The elements where the condition is true; it may be shorter, or go on with false ones."""
    return compress(np.ravel(condition), arr)


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """What stands at the True places of an axis, of all of `a` for None; the condition may be shorter, or go on with
    false ones.
    """
    condition, x = np.asarray(condition), np.asarray(a) if axis is not None else np.ravel(a)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    along = 0 if axis is None else one_axis(axis, x.ndim)
    n = x.shape[along]
    if condition.size > n and np.any(condition[n:]):
        raise IndexError(f"a true element of the condition is out of bounds for axis {along} with size {n}")
    before = (slice(None),) * along
    return x[(*before, slice(condition.size))][(*before, condition[:n].astype(bool))]


def compress_method(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return compress(condition, a, axis)


def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    """Elements of the choice that `a` numbers."""
    a = np.asarray(a)
    if not np.can_cast(a.dtype, np.int64):
        raise TypeError(f"Cannot cast array data from {a.dtype} to int64 according to the rule 'safe'")
    numbers = [c if isinstance(c, int | float | complex) else np.asarray(c) for c in choices]  # Python's stay weak
    dtype = np.result_type(*numbers)
    rows = np.broadcast_arrays(a.astype(np.int64), *[np.asarray(c).astype(dtype) for c in numbers])
    which, n = rows[0], len(rows) - 1
    if mode == "clip":
        which = np.clip(which, 0, n - 1)
    elif mode == "wrap":
        which = which % n
    else:
        if np.any((which < 0) | (which >= n)):
            raise ValueError("invalid entry in choice array")
    return np.take_along_axis(np.stack(rows[1:]), which[None], axis=0)[0]


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Every function is given the elements where its condition holds; a later condition wins."""
    x = np.asarray(x)
    if x.ndim == 0:
        lines = condlist if isinstance(condlist, list | tuple) else [condlist]
        return piecewise(np.reshape(x, 1), [np.reshape(c, 1) for c in lines], funclist, *args, **kw)[0]
    several = len(condlist) > 0 and np.ndim(condlist[0]) > 0  # else it is the only one
    conditions = [np.asarray(c).astype(np.bool_) for c in (condlist if several else [condlist])]
    y = np.zeros_like(x)
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    if len(funclist) == len(conditions) + 1:
        rest = conditions[0]
        for c in conditions[1:]:
            rest = rest | c
        conditions = [*conditions, ~rest]
    for c, f in tuple(zip(conditions, funclist)):
        y[c] = f(x[c], *args, **kw) if callable(f) else f
    return y


# ---- insertions ----------------------------------------------------------------------------------


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    x = np.asarray(arr)
    if axis is None:
        x = np.ravel(x)
        axis = 0
    kept = delete_positions(x.shape[axis], obj)
    runs = runs_of(kept)
    if not runs:
        return np.take(x, kept, axis=axis)
    before = (slice(None),) * (axis % x.ndim)
    return np.concatenate([x[(*before, slice(start, stop))] for start, stop in runs], axis=axis)


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """At known positions."""
    x = np.asarray(arr)
    if axis is None:
        x = np.ravel(x)
        axis = 0
    x = np.moveaxis(x, axis, 0)
    obj = known(obj)
    single = isinstance(obj, int | np.integer)
    v = np.asarray(values).astype(x.dtype) if isinstance(values, np.ndarray) else np.asarray(values, x.dtype)
    if v.ndim < x.ndim:
        v = np.reshape(v, (1,) * (x.ndim - v.ndim) + v.shape)
    v = v if single else np.moveaxis(v, axis, 0)
    old, new, source = insert_plan(x.shape[0], obj, v.shape[0])
    runs = insert_runs(old, new, source)
    if runs:
        v = np.broadcast_to(v, (v.shape[0], *x.shape[1:]))
        pieces = [(v if is_new else x)[start:stop] for is_new, start, stop in runs]
        return np.moveaxis(np.concatenate(pieces), 0, axis)
    whole = np.zeros((x.shape[0] + len(new), *x.shape[1:]), dtype=x.dtype)
    whole[old] = x
    whole[new] = v[source]
    return np.moveaxis(whole, 0, axis)


# ---- running sums ------------------------------------------------------------------------------------


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


# ---- positions -----------------------------------------------------------------------------------


def diag_indices(n: Any, ndim: Any = 2) -> Any:
    return (np.arange(known(n)),) * known(ndim)


def diag_indices_from(arr: Any) -> Any:
    shape = np.shape(arr)
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(shape[0], len(shape))


def tril_indices_from(arr: Any, k: Any = 0) -> Any:
    if np.ndim(arr) != 2:
        raise ValueError("input array must be 2-d")
    return np.tril_indices(np.shape(arr)[0], k, np.shape(arr)[1])


def triu_indices_from(arr: Any, k: Any = 0) -> Any:
    if np.ndim(arr) != 2:
        raise ValueError("input array must be 2-d")
    return np.triu_indices(np.shape(arr)[0], k, np.shape(arr)[1])


def mask_indices(n: Any, mask_func: Any, k: Any = 0) -> Any:
    if mask_func is np.triu or mask_func is np.tril:
        return mask_positions(n, mask_func, k)
    return np.nonzero(mask_func(np.ones((n, n), dtype=np.int64), k) != 0)


NUMPY_NAMES = {
    name: name
    for name in (
        "choose",
        "compress",
        "extract",
        "piecewise",
        "delete",
        "insert",
        "cumulative_sum",
        "cumulative_prod",
        "diag_indices",
        "diag_indices_from",
        "tril_indices_from",
        "triu_indices_from",
        "mask_indices",
    )
}


METHODS = {"choose": choose, "compress": compress_method}
