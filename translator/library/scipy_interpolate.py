"""scipy.interpolate's cubic splines, piecewise lines and regular grids, for derivatives and batches only.

The slopes of a spline at its knots solve a tridiagonal system: C. de Boor, A Practical Guide to Splines (1978), ch. IV.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .support import known, only_plain

_ENDS = ("not-a-knot", "natural", "clamped")


def cubic_spline(x: Any, y: Any, axis: Any = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> Any:
    """A function of (points, nu): the spline, or its derivative of order nu."""
    x, y = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    usual = extrapolate in (None, True) and isinstance(bc_type, str) and bc_type in _ENDS
    only_plain("scipy.interpolate.CubicSpline", usual and y.ndim == 1 and y.shape[0] >= 3)
    if x.shape != y.shape:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    if np.any(np.diff(x) <= 0):
        raise ValueError("`x` must be strictly increasing sequence.")
    return _cubic(x, y, bc_type)


def _cubic(x: Any, y: Any, ends: Any) -> Any:
    dx = np.diff(x)
    rises = np.diff(y) / dx
    return cubic_pieces(x, y, dx, rises, _slopes(dx, rises, ends))


def cubic_pieces(x: Any, y: Any, dx: Any, rises: Any, s: Any) -> Any:
    """The cubics with these slopes at the knots."""
    bend = (s[:-1] + s[1:] - 2.0 * rises) / dx
    third, second = bend / dx, (rises - s[:-1]) / dx - bend

    def spline(t: Any, nu: Any = 0, extrapolate: Any = None) -> Any:
        only_plain("a spline of scipy.interpolate", extrapolate in (None, True) and known(nu) in (0, 1, 2, 3))
        t = np.asarray(t) + 0.0
        i = np.clip(np.searchsorted(x, t, side="right") - 1, 0, x.shape[0] - 2)
        h = t - x[i]
        if nu == 0:
            return y[i] + h * (s[i] + h * (second[i] + h * third[i]))
        if nu == 1:
            return s[i] + h * (2.0 * second[i] + h * (3.0 * third[i]))
        return 2.0 * second[i] + h * (6.0 * third[i]) if nu == 2 else 6.0 * third[i]

    return spline


def _slopes(dx: Any, rises: Any, ends: Any) -> Any:
    """The slopes at the knots, of which there are three or more."""
    n = dx.shape[0] + 1
    a, b = np.zeros((n, n)), np.zeros(n)
    k = np.arange(1, n - 1)
    a[k, k - 1], a[k, k], a[k, k + 1] = dx[1:], 2.0 * (dx[:-1] + dx[1:]), dx[:-1]
    b[1:-1] = 3.0 * (dx[1:] * rises[:-1] + dx[:-1] * rises[1:])
    if ends == "clamped":
        a[0, 0], a[-1, -1] = 1.0, 1.0
    elif ends == "natural":
        a[0, 0], a[0, 1], b[0] = 2.0, 1.0, 3.0 * rises[0]
        a[-1, -1], a[-1, -2], b[-1] = 2.0, 1.0, 3.0 * rises[-1]
    elif n == 3:  # a parabola
        a[0, 0], a[0, 1], b[0] = 1.0, 1.0, 2.0 * rises[0]
        a[-1, -1], a[-1, -2], b[-1] = 1.0, 1.0, 2.0 * rises[-1]
    else:
        first, last = dx[0] + dx[1], dx[-1] + dx[-2]
        a[0, 0], a[0, 1] = dx[1], first
        b[0] = ((dx[0] + 2.0 * first) * dx[1] * rises[0] + dx[0] * dx[0] * rises[1]) / first
        a[-1, -1], a[-1, -2] = dx[-2], last
        b[-1] = (dx[-1] * dx[-1] * rises[-2] + (2.0 * last + dx[-1]) * dx[-2] * rises[-1]) / last
    return np.linalg.solve(a, b)


def pchip(x: Any, y: Any, axis: Any = 0, extrapolate: Any = None) -> Any:
    """A function of (points, nu): cubics that do not overshoot, or their derivative of order nu.

    The slopes are those of F. N. Fritsch and J. Butland, "A method for constructing local monotone piecewise cubic
    interpolants" (1984).
    """
    x, y = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    only_plain("scipy.interpolate.PchipInterpolator", extrapolate in (None, True) and y.ndim == 1 and y.shape[0] >= 3)
    if x.shape != y.shape:
        raise ValueError("x and y arrays must be equal in length along interpolation axis.")
    if np.any(np.diff(x) <= 0):
        raise ValueError("`x` must be strictly increasing sequence.")
    dx = np.diff(x)
    rises = np.diff(y) / dx
    return cubic_pieces(x, y, dx, rises, _monotone(dx, rises))


def _monotone(dx: Any, rises: Any) -> Any:
    """A weighted harmonic mean of the neighbours' slopes, 0 where they differ in sign."""
    before, after = rises[:-1], rises[1:]
    same = before * after > 0
    w, v = 2.0 * dx[1:] + dx[:-1], dx[1:] + 2.0 * dx[:-1]
    inner = np.where(same, (w + v) / (w / np.where(same, before, 1.0) + v / np.where(same, after, 1.0)), 0.0)
    first = _end(dx[0], dx[1], rises[0], rises[1])
    last = _end(dx[-1], dx[-2], rises[-1], rises[-2])
    return np.concatenate([np.stack([first]), inner, np.stack([last])])


def _end(h0: Any, h1: Any, d0: Any, d1: Any) -> Any:
    """Of three points, kept to the shape of the data."""
    slope = ((2.0 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    steep = (np.sign(d0) != np.sign(d1)) & (np.abs(slope) > 3.0 * np.abs(d0))
    return np.where(np.sign(slope) != np.sign(d0), 0.0, np.where(steep, 3.0 * d0, slope))


def interp1d(
    x: Any,
    y: Any,
    kind: Any = "linear",
    axis: Any = -1,
    copy: Any = True,
    bounds_error: Any = None,
    fill_value: Any = np.nan,
    assume_sorted: Any = False,
) -> Any:
    """A function of points, between lines or as a cubic spline; ValueError outside unless fill_value="extrapolate"."""
    x, y = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    beyond = isinstance(fill_value, str) and fill_value == "extrapolate"
    usual = kind in ("linear", "cubic") and y.ndim == 1 and (beyond or not isinstance(fill_value, str | tuple))
    only_plain("scipy.interpolate.interp1d", usual and bounds_error is not False)
    if x.shape != y.shape:
        raise ValueError("x and y arrays must be equal in length along interpolation axis.")
    if not assume_sorted:
        order = np.argsort(x, kind="mergesort")
        x, y = x[order], y[order]
    least = 4 if kind == "cubic" else 1
    if x.shape[0] < least:
        raise ValueError(f"x and y arrays must have at least {least} entries")
    if kind == "cubic":
        if np.any(np.diff(x) == 0):
            raise ValueError("Expect x to not have duplicates")
        curve = _cubic(x, y, "not-a-knot")
    elif beyond or x.dtype != np.float64 or y.dtype != np.float64:
        curve = _lines(x, y)
    else:
        curve = _lines_between(x, y)

    def between(t: Any) -> Any:
        t = np.asarray(t) + 0.0
        if not beyond and np.any(t < x[0]):
            raise ValueError("A value in x_new is below the interpolation range.")
        if not beyond and np.any(t > x[-1]):
            raise ValueError("A value in x_new is above the interpolation range.")
        return curve(t)

    return between


def _lines_between(x: Any, y: Any) -> Any:
    """As numpy.interp, to which SciPy leaves these: at a repeated knot what the last of its values is."""
    if x.shape[0] == 1:
        return lambda t: y[0] + 0.0 * t

    def lines(t: Any) -> Any:
        i = np.clip(np.searchsorted(x, t, side="right"), 1, x.shape[0] - 1)
        empty = x[i] == x[i - 1]  # at a last knot that is repeated
        slope = (y[i] - y[i - 1]) / np.where(empty, 1.0, x[i] - x[i - 1])
        return np.where(empty, y[i], slope * (t - x[i - 1]) + y[i - 1])

    return lines


def _lines(x: Any, y: Any) -> Any:
    """Lines that go on at both ends; at a repeated knot what the first of its values is."""

    def lines(t: Any) -> Any:
        i = np.clip(np.searchsorted(x, t), 1, x.shape[0] - 1)
        return (y[i] - y[i - 1]) / (x[i] - x[i - 1]) * (t - x[i - 1]) + y[i - 1]

    return lines


def regular_grid(
    points: Any, values: Any, method: Any = "linear", bounds_error: Any = True, fill_value: Any = np.nan, **rest: Any
) -> Any:
    """A function of points along the last axis: linear between the nearest corners, or the nearest of them. Axes of the
    values behind those of the grids follow in the result.
    """
    y, grids = np.asarray(values), [np.asarray(g) + 0.0 for g in points]
    usual = known(method) in ("linear", "nearest") and len(rest) == 0 and y.ndim >= len(grids)
    only_plain("scipy.interpolate.RegularGridInterpolator", usual and y.dtype.kind in "fc")
    for g in grids:
        if np.any(np.diff(g) <= 0):
            raise ValueError("The points must be strictly ascending or descending")

    def interpolated(xi: Any, method: Any = method) -> Any:
        only_plain("scipy.interpolate.RegularGridInterpolator", known(method) in ("linear", "nearest"))
        at = np.stack(np.broadcast_arrays(*xi), axis=-1) if isinstance(xi, tuple) else np.asarray(xi)
        at = np.reshape(at, (-1, len(grids))) if at.ndim == 1 else at
        behind = (...,) + (None,) * (y.ndim - len(grids))
        places: list[Any] = []
        outside = np.zeros(at.shape[:-1], dtype=bool)
        for k, g in enumerate(grids):
            x = at[..., k]
            low = np.clip(np.searchsorted(g, x, side="right") - 1, 0, g.shape[0] - 2)
            part = (x - g[low]) / (g[low + 1] - g[low])
            outside = outside | (x < g[0]) | (x > g[-1])
            if known(method) == "linear":
                places.append([(1.0 - part, low), (part, low + 1)])
            else:
                places.append([(1.0, np.where(part <= 0.5, low, low + 1))])
        if known(bounds_error) and np.any(outside):
            raise ValueError("One of the requested xi is out of bounds")
        total = np.zeros(at.shape[:-1] + y.shape[len(grids) :], dtype=y.dtype)
        for corner in tuple(np.ndindex(tuple([len(p) for p in places]))):
            weight = np.ones(at.shape[:-1])
            for k, way in enumerate(corner):
                weight = weight * places[k][way][0]
            total = total + weight[behind] * y[tuple([places[k][way][1] for k, way in enumerate(corner)])]
        return total if known(bounds_error) or fill_value is None else np.where(outside[behind], fill_value, total)

    return interpolated


TRANSFORMED: dict[str, Callable[..., Any]] = {
    "RegularGridInterpolator": regular_grid,
    "CubicSpline": cubic_spline,
    "PchipInterpolator": pchip,
    "interp1d": interp1d,
}
