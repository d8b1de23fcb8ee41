"""scipy.interpolate's B-splines, polynomials and kernels through points, densities, for derivatives and batches alone.

Values by C. de Boor's recurrence, A Practical Guide to Splines (1978), ch. X. Slopes: H. Akima, "A new method of
interpolation and smooth curve fitting based on local procedures" (1970).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .scipy_interpolate import cubic_pieces
from .support import known, only_plain


def b_spline(t: Any, c: Any, k: Any, extrapolate: Any = True, axis: Any = 0) -> Any:
    """A function of (points, nu): the spline of degree k with the knots t, or its derivative of order nu."""
    t, c, k = np.asarray(t) + 0.0, np.asarray(c) + 0.0, known(k)
    only_plain("scipy.interpolate.BSpline", known(extrapolate) is True and known(axis) == 0 and c.ndim >= 1)
    n = t.shape[0] - k - 1
    if n < k + 1 or c.shape[0] < n:
        raise ValueError(f"Need at least {2 * k + 2} knots for degree {k}, and {n} coefficients")

    def spline(x: Any, nu: Any = 0, extrapolate: Any = None) -> Any:
        only_plain("a spline of scipy.interpolate", extrapolate in (None, True))
        order = known(nu)
        x = np.asarray(x) + 0.0
        knots, weights, degree = t, c[:n], k
        for _ in tuple(range(min(order, k))):
            weights = _sloped(knots, weights, degree)
            knots, degree = knots[1:-1], degree - 1
        made = _value(knots, weights, degree, x)
        return made if order <= k else made * 0.0

    return spline


def _sloped(t: Any, c: Any, k: int) -> Any:
    """The coefficients of the derivative, on the inner knots."""
    gaps = t[k + 1 : -1] - t[1 : c.shape[0]]
    gaps = np.reshape(np.where(gaps == 0, 1.0, gaps), (-1, *(1 for _ in c.shape[1:])))
    return k * np.diff(c, axis=0) / gaps


def _value(t: Any, c: Any, k: int, x: Any) -> Any:
    i = np.clip(np.searchsorted(t, x, side="right") - 1, k, c.shape[0] - 1)
    d = [c[i - k + j] for j in range(k + 1)]
    rest = tuple([1 for _ in c.shape[1:]])
    for r in tuple(range(1, k + 1)):
        for j in tuple(range(k, r - 1, -1)):
            low = t[i - k + j]
            part = np.reshape((x - low) / (t[i + 1 + j - r] - low), (*np.shape(x), *rest))
            d[j] = (1.0 - part) * d[j - 1] + part * d[j]
    return d[k]


def make_interp_spline(
    x: Any, y: Any, k: Any = 3, t: Any = None, bc_type: Any = None, axis: Any = 0, check_finite: Any = True
) -> Any:
    """The spline through points: of odd degree with no knots beside the ends, of degree 2 with knots halfway."""
    x, y, k = np.asarray(x) + 0.0, np.asarray(y) + 0.0, known(k)
    plain = bc_type in (None, "not-a-knot") and known(axis) == 0 and (t is not None or k in (1, 2, 3, 5))
    only_plain("scipy.interpolate.make_interp_spline", plain and x.ndim == 1)
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"Shapes of x {x.shape} and y {y.shape} are incompatible")
    if t is None:
        inner = (x[1:-2] + x[2:-1]) / 2.0 if k == 2 else x[(k + 1) // 2 : x.shape[0] - (k + 1) // 2]
        knots = np.concatenate([x[0] * np.ones(k + 1), inner, x[-1] * np.ones(k + 1)])
    else:
        knots = np.asarray(t) + 0.0
    n = x.shape[0]
    if knots.shape[0] != n + k + 1:
        raise ValueError("The number of knots does not match the number of points.")
    basis = _value(knots, np.eye(n), k, x)
    weights = np.linalg.solve(basis, np.reshape(y, (n, -1)))
    return b_spline(knots, np.reshape(weights, y.shape), k)


def interpolating_spline(
    x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: Any = 3, ext: Any = 0, check_finite: Any = False
) -> Any:  # fmt: skip
    """scipy.interpolate.InterpolatedUnivariateSpline of vectors."""
    name = "scipy.interpolate.InterpolatedUnivariateSpline"
    only_plain(name, w is None and tuple(known(bbox)) == (None, None) and known(ext) in (0, "extrapolate"))
    only_plain(name, known(k) in (1, 3, 5), "of even degree")
    return make_interp_spline(x, y, k)


def univariate_spline(
    x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: Any = 3, s: Any = None, ext: Any = 0,
    check_finite: Any = False,
) -> Any:  # fmt: skip
    only_plain("scipy.interpolate.UnivariateSpline", s is not None and known(s) == 0, "that smooths")
    return interpolating_spline(x, y, w, bbox, k, ext, check_finite)


def akima(x: Any, y: Any, axis: Any = 0, *, method: Any = "akima", extrapolate: Any = None) -> Any:
    """A function of (points, nu): cubics with slopes of four neighbours' lines; NaN outside unless `extrapolate`."""
    x, y = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    plain = known(method) == "akima" and y.ndim == 1 and y.shape[0] >= 3
    only_plain("scipy.interpolate.Akima1DInterpolator", plain and known(extrapolate) in (None, True, False))
    dx = np.diff(x)
    rises = np.diff(y) / dx
    first, last = 2.0 * rises[:1] - rises[1:2], 2.0 * rises[-1:] - rises[-2:-1]
    m = np.concatenate([2.0 * first - rises[:1], first, rises, last, 2.0 * last - rises[-1:]])
    turns = np.abs(np.diff(m))
    ahead, behind = turns[2:], turns[:-2]
    total = ahead + behind
    flat = total <= 1e-9 * np.max(total)
    mixed = (ahead * m[1:-2] + behind * m[2:-1]) / np.where(flat, 1.0, total)
    cubics = cubic_pieces(x, y, dx, rises, np.where(flat, 0.5 * (m[3:] + m[:-3]), mixed))

    def within(at: Any, nu: Any = 0, extrapolate: Any = None) -> Any:
        only_plain("a spline of scipy.interpolate", extrapolate is None)
        at = np.asarray(at) + 0.0
        return np.where((at < x[0]) | (at > x[-1]), np.nan, cubics(at, nu))[()]

    return cubics if known(extrapolate) else within


def barycentric(xi: Any, yi: Any = None, axis: Any = 0) -> Any:
    """A function of points: the polynomial through all of the points, its values at these points their own."""
    x = np.asarray(xi) + 0.0
    only_plain("scipy.interpolate.BarycentricInterpolator", yi is not None and known(axis) == 0)
    y = np.asarray(yi) + 0.0
    rest = tuple([1 for _ in y.shape[1:]])

    def polynomial(at: Any) -> Any:
        at = np.asarray(at) + 0.0
        terms = []  # as Lagrange's products, of which no quotient is singular at the points
        for k in tuple(range(x.shape[0])):
            others = np.concatenate([x[:k], x[k + 1 :]])
            terms.append(np.prod((at[..., None] - others) / (x[k] - others), axis=-1))
        return np.tensordot(np.stack(terms, axis=-1), y, 1) if rest else np.stack(terms, axis=-1) @ y

    return polynomial


def hermite(x: Any, y: Any, dydx: Any, axis: Any = 0, extrapolate: Any = None) -> Any:
    """A function of (points, nu): the cubics with these slopes at the knots."""
    x, y, slopes = np.asarray(x) + 0.0, np.asarray(y) + 0.0, np.asarray(dydx) + 0.0
    only_plain("scipy.interpolate.CubicHermiteSpline", extrapolate in (None, True) and y.ndim == 1)
    dx = np.diff(x)
    return cubic_pieces(x, y, dx, np.diff(y) / dx, slopes)


# ---- scattered points ----------------------------------------------------------------------------

_DEGREES = {"thin_plate_spline": 1, "cubic": 1, "linear": 0, "multiquadric": 0}


def _radial(kernel: str, squares: Any, epsilon: Any) -> Any:
    """The kernel by the squared distance; at 0 it has no slope that anything goes along."""
    there = squares > 0
    safe = np.where(there, squares, 1.0)
    if kernel == "thin_plate_spline":
        return np.where(there, 0.5 * safe * np.log(safe), 0.0)
    if kernel in ("linear", "cubic"):
        r = np.where(there, np.sqrt(safe), 0.0)
        return -r if kernel == "linear" else squares * r
    scaled = epsilon * epsilon * squares
    if kernel == "gaussian":
        return np.exp(-scaled)
    if kernel == "inverse_quadratic":
        return 1.0 / (scaled + 1.0)
    return 1.0 / np.sqrt(scaled + 1.0) if kernel == "inverse_multiquadric" else -np.sqrt(scaled + 1.0)


def radial(
    y: Any, d: Any, neighbors: Any = None, smoothing: Any = 0.0, kernel: Any = "thin_plate_spline",
    epsilon: Any = None, degree: Any = None,
) -> Any:  # fmt: skip
    """scipy.interpolate.RBFInterpolator: kernels around points (n, k) and a plane, or a constant, as a function."""
    y, d, kernel = np.asarray(y) + 0.0, np.asarray(d) + 0.0, known(kernel)
    order = max(_DEGREES.get(kernel, 0), 0) if degree is None else known(degree)
    plain = neighbors is None and kernel != "quintic" and order in (-1, 0, 1)
    only_plain("scipy.interpolate.RBFInterpolator", plain and np.ndim(smoothing) == 0)
    scale = 1.0 if epsilon is None else epsilon
    n = y.shape[0]

    def columns(at: Any) -> Any:
        if order < 0:
            return np.zeros((at.shape[0], 0))
        ones = np.ones((at.shape[0], 1))
        return ones if order == 0 else np.concatenate([ones, at - np.mean(y, axis=0)], axis=1)

    def kernels(at: Any) -> Any:
        return _radial(kernel, np.sum((at[:, None] - y) ** 2, axis=-1), scale)

    plane = columns(y)
    m = plane.shape[1]
    top = np.concatenate([kernels(y) + smoothing * np.eye(n), plane], axis=1)
    system = np.concatenate([top, np.concatenate([plane.T, np.zeros((m, m))], axis=1)])
    values = np.concatenate([np.reshape(d, (n, -1)), np.zeros((m, np.reshape(d, (n, -1)).shape[1]))])
    weights = np.linalg.solve(system, values)

    def interpolated(x: Any) -> Any:
        at = np.asarray(x) + 0.0
        found = np.concatenate([kernels(at), columns(at)], axis=1) @ weights
        return np.reshape(found, (at.shape[0], *d.shape[1:]))

    return interpolated


def density(dataset: Any, bw_method: Any = None, weights: Any = None) -> Any:
    """scipy.stats.gaussian_kde of points (d, n), as a function: the mean of normal densities around them."""
    x, method = np.atleast_2d(np.asarray(dataset) + 0.0), bw_method
    only_plain("scipy.stats.gaussian_kde", weights is None and (not callable(method)))
    d, n = x.shape
    if method is None or isinstance(method, str):
        only_plain("scipy.stats.gaussian_kde", known(method) in (None, "scott", "silverman"))
        factor = n ** (-1.0 / (d + 4)) if known(method) in (None, "scott") else (n * (d + 2) / 4.0) ** (-1.0 / (d + 4))
    else:
        factor = method
    factors = np.linalg.cholesky(np.atleast_2d(np.cov(x, bias=False)) * factor**2)
    norm = np.prod(np.diag(factors)) * (2.0 * np.pi) ** (d / 2) * n

    def estimate(points: Any) -> Any:
        at = np.atleast_2d(np.asarray(points) + 0.0)
        at = np.reshape(at, (d, 1)) if at.shape[0] != d and at.shape == (1, d) else at
        gaps = np.linalg.solve(factors, np.reshape(at[:, :, None] - x[:, None, :], (d, -1)))
        return np.sum(np.reshape(np.exp(-0.5 * np.sum(gaps * gaps, axis=0)), (at.shape[1], n)), axis=1) / norm

    return estimate


STATS: dict[str, Callable[..., Any]] = {"gaussian_kde": density}
TRANSFORMED: dict[str, Callable[..., Any]] = {
    "BSpline": b_spline,
    "make_interp_spline": make_interp_spline,
    "InterpolatedUnivariateSpline": interpolating_spline,
    "UnivariateSpline": univariate_spline,
    "Akima1DInterpolator": akima,
    "BarycentricInterpolator": barycentric,
    "CubicHermiteSpline": hermite,
    "RBFInterpolator": radial,
}
