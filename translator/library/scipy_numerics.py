"""scipy.integrate's sums, scipy.spatial's distances, scipy.optimize's test function, statistics: as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from .scipy_support import legendre_nodes
from .statistics import trapezoid
from .support import known, one_axis, only_plain

# ---- scipy.integrate -----------------------------------------------------------------------------


def integrate_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """The integral of y along an axis by the trapezoidal rule, at places x, or `dx` apart: sums of
    (y[k] + y[k + 1]) / 2 times the widths. Without that axis.
    """
    return trapezoid(y, x, dx, axis)


def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1, initial: Any = None) -> Any:
    """The running integral of y along an axis by the trapezoidal rule, at places x, or `dx` apart: one element less
    than y has along the axis, or, with initial=0, as many, the first 0.
    """
    y = np.asarray(y)
    axis = one_axis(axis, y.ndim)
    steps: Any = dx
    if x is not None:
        steps = np.diff(np.asarray(x), axis=-1 if np.ndim(x) == 1 else axis)
        if np.ndim(x) == 1:
            steps = np.reshape(steps, [-1 if k == axis else 1 for k in range(y.ndim)])
    rows = np.moveaxis(y, axis, 0)
    wide = np.moveaxis(steps, axis, 0) if np.ndim(steps) else steps
    total = np.cumsum(wide * (rows[1:] + rows[:-1]) / 2.0, axis=0)
    if initial is not None:
        only_plain("scipy.integrate.cumulative_trapezoid", known(initial) == 0)
        total = np.concatenate([np.zeros((1, *total.shape[1:]), total.dtype), total])
    return np.moveaxis(total, 0, axis)


def romb(y: Any, dx: Any = 1.0, axis: Any = -1, show: Any = False) -> Any:
    """Romberg's rule: trapezoidal sums over 1, 2, 4, ... intervals, extrapolated (L. F. Richardson, 1911)."""
    y = np.asarray(y)
    only_plain("scipy.integrate.romb", not known(show))
    y = np.moveaxis(y, one_axis(axis, y.ndim), 0)
    n = y.shape[0] - 1
    if n < 1 or n & (n - 1):
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    rows: list[Any] = []
    for k in tuple(range(n.bit_length())):
        step = n >> k
        better = [np.sum((y[:-step:step] + y[step::step]) / 2.0, axis=0) * (step * dx)]
        for j, worse in enumerate(rows):
            better.append(better[j] + (better[j] - worse) / (4.0 ** (j + 1) - 1.0))
        rows = better
    return rows[-1]


def fixed_quad(func: Any, a: Any, b: Any, args: Any = (), n: Any = 5) -> Any:
    """Gauss and Legendre's sum of `n` terms, over the last axis of what `func` returns for all of them."""
    nodes, weights = legendre_nodes(known(n))
    values = func((b - a) * (nodes + 1.0) / 2.0 + a, *args)
    return (b - a) / 2.0 * np.sum(weights * values, axis=-1), None


# ---- scipy.spatial.distance ----------------------------------------------------------------------


def _root(squares: Any) -> Any:
    """A distance has derivative 0 where it is 0, as a norm has."""
    return np.where(squares == 0, 0.0, np.sqrt(np.where(squares == 0, 1.0, squares)))


def _between(d: Any, x: Any, y: Any, metric: Any, p: Any) -> Any:
    """The metric along the last axis; `d` is the difference."""
    if metric in ("euclidean", "sqeuclidean"):
        squares = np.sum(d * d, axis=-1)
        return squares if metric == "sqeuclidean" else _root(squares)
    if metric == "cityblock":
        return np.sum(np.abs(d), axis=-1)
    if metric == "chebyshev":
        return np.max(np.abs(d), axis=-1)
    if metric == "minkowski":
        return np.sum(np.abs(d) ** p, axis=-1) ** (1.0 / p)
    only_plain("scipy.spatial.distance", metric == "cosine", "with this metric")
    norms = np.sqrt(np.sum(x * x, axis=-1)) * np.sqrt(np.sum(y * y, axis=-1))
    return 1.0 - np.sum(x * y, axis=-1) / norms


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, p: Any = 2) -> Any:
    a, b = np.asarray(XA), np.asarray(XB)
    only_plain("scipy.spatial.distance.cdist", out is None and isinstance(metric, str))
    a, b = a.astype(np.float64)[:, None], b.astype(np.float64)[None]
    return _between(a - b, a, b, known(metric), p)


def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, p: Any = 2) -> Any:
    x = np.asarray(X).astype(np.float64)
    only_plain("scipy.spatial.distance.pdist", out is None and isinstance(metric, str))
    i, j = np.triu_indices(x.shape[0], 1)
    return _between(x[i] - x[j], x[i], x[j], known(metric), p)


# ---- scipy.optimize ------------------------------------------------------------------------------


def rosen(x: Any) -> Any:
    x = np.asarray(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0, axis=0)


# ---- scipy.stats ---------------------------------------------------------------------------------


def _plain(function: str, nan_policy: Any, keepdims: Any = False) -> None:
    only_plain(f"scipy.stats.{function}", known(nan_policy) == "propagate" and not known(keepdims))


def zscore(a: Any, axis: Any = 0, ddof: Any = 0, nan_policy: Any = "propagate") -> Any:
    _plain("zscore", nan_policy)
    a = np.asarray(a)
    return (a - np.mean(a, axis=axis, keepdims=True)) / np.std(a, axis=axis, ddof=ddof, keepdims=True)


def _moments(a: Any, axis: Any, order: int) -> tuple[Any, Any]:
    d = a - np.mean(a, axis=axis, keepdims=True)
    return np.mean(d**2, axis=axis), np.mean(d**order, axis=axis)


def skew(a: Any, axis: Any = 0, bias: Any = True, nan_policy: Any = "propagate", *, keepdims: Any = False) -> Any:
    _plain("skew", nan_policy, keepdims)
    only_plain("scipy.stats.skew", known(bias))
    second, third = _moments(np.asarray(a), axis, 3)
    return third / second**1.5


def kurtosis(
    a: Any,
    axis: Any = 0,
    fisher: Any = True,
    bias: Any = True,
    nan_policy: Any = "propagate",
    *,
    keepdims: Any = False,
) -> Any:
    _plain("kurtosis", nan_policy, keepdims)
    only_plain("scipy.stats.kurtosis", known(bias))
    second, fourth = _moments(np.asarray(a), axis, 4)
    return fourth / second**2 - (3.0 if known(fisher) else 0.0)


def sem(a: Any, axis: Any = 0, ddof: Any = 1, nan_policy: Any = "propagate", *, keepdims: Any = False) -> Any:
    _plain("sem", nan_policy, keepdims)
    a = np.asarray(a)
    n = a.size if axis is None else a.shape[axis]
    return np.std(a, axis=axis, ddof=ddof) / np.sqrt(n)


def gmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    nan_policy: Any = "propagate",
    *,
    keepdims: Any = False,
) -> Any:
    _plain("gmean", nan_policy, keepdims)
    only_plain("scipy.stats.gmean", dtype is None)
    return np.exp(np.average(np.log(a), axis=axis, weights=weights))


def hmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    *,
    weights: Any = None,
    nan_policy: Any = "propagate",
    keepdims: Any = False,
) -> Any:
    _plain("hmean", nan_policy, keepdims)
    only_plain("scipy.stats.hmean", dtype is None)
    a = np.asarray(a)
    return np.where(np.any(a < 0, axis=axis), np.nan, 1.0 / np.average(1.0 / a, axis=axis, weights=weights))[()]


INTEGRATE_NAMES = {"trapezoid": integrate_trapezoid, "cumulative_trapezoid": cumulative_trapezoid}
DISTANCE_NAMES = {"cdist": cdist, "pdist": pdist}
OPTIMIZE_NAMES = {"rosen": rosen}
STATS_NAMES = {"zscore": zscore, "skew": skew, "kurtosis": kurtosis, "sem": sem, "gmean": gmean, "hmean": hmean}
TRANSFORMED = {"romb": romb, "fixed_quad": fixed_quad}
