"""SciPy's B-splines, interpolants of scattered points and kernel densities: its values, derivatives to order 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as interpolate
import scipy.stats as stats

from untraced import UnsupportedError, grad, vjp
from untraced.runtime.transforms.testing import check_grads

RNG = np.random.default_rng(2)
X = np.array([0.0, 0.7, 1.9, 2.6, 3.7, 5.1, 6.0])
Y, PAIRS = RNG.standard_normal(7), RNG.standard_normal((7, 2))
AT, WIDE = np.array([0.5, 2.1, 3.9]), np.array([-0.3, 0.5, 2.8, 6.2])  # the last ones beyond the ends
ENDS = np.array([0, 0, 0, 1, 2, 3, 3, 3.0])
POINTS, THERE = RNG.standard_normal((6, 2)), RNG.standard_normal((3, 2))


def radial(**options: Any) -> Callable[..., Any]:
    return lambda x, y, z: interpolate.RBFInterpolator(x, y, **options)(z)


ROWS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("b-spline", lambda c, x: interpolate.BSpline(np.arange(11.0), c, 3)(x + 3.5), (Y, AT)),
    ("b-spline-slope", lambda c, x: interpolate.BSpline(ENDS, c, 2)(x[:2], nu=1), (Y[:5], AT)),
    ("b-spline-of-degree", lambda c, x: interpolate.BSpline(ENDS, c, 2)(x[:2], nu=3), (Y[:5], AT)),
    ("b-splines", lambda c, x: interpolate.BSpline(np.arange(11.0), c, 3)(x), (PAIRS, 3.1 + THERE)),
    *[
        (f"through-{k}", lambda x, y, k=k: interpolate.make_interp_spline(x, y, k)(WIDE), (X, PAIRS))
        for k in (1, 2, 3, 5)
    ],
    ("interpolated", lambda x, y: interpolate.InterpolatedUnivariateSpline(x, y)(WIDE), (X, Y)),
    ("univariate", lambda y, z: interpolate.UnivariateSpline(X, y, s=0)(z), (Y, AT)),
    ("akima", lambda x, y, z: interpolate.Akima1DInterpolator(x, y)(z), (X, Y, AT)),
    ("akima-wide", lambda y: interpolate.Akima1DInterpolator(X, y, extrapolate=True)(WIDE), (Y,)),
    ("barycentric", lambda x, y, z: interpolate.BarycentricInterpolator(x, y)(z), (X, Y, AT)),
    ("barycentric-at-points", lambda y: interpolate.BarycentricInterpolator(X, y)(X[2:4]), (PAIRS,)),
    ("hermite", lambda x, y, s, z: interpolate.CubicHermiteSpline(x, y, s)(z), (X, Y, Y[::-1].copy(), AT)),
    ("thin-plates", radial(), (POINTS, Y[:6], THERE)),
    ("cubes", radial(kernel="cubic"), (POINTS, PAIRS[:6], THERE)),
    ("bells", radial(kernel="gaussian", epsilon=1.2, smoothing=0.1), (POINTS, PAIRS[:6], THERE)),
    ("density", lambda x, z: stats.gaussian_kde(x)(z), (Y, AT)),
    ("density-of-pairs", lambda x, z: stats.gaussian_kde(x.T, "silverman")(z.T), (PAIRS, THERE)),
    ("density-by-width", lambda x, z, w: stats.gaussian_kde(x, w)(z), (Y, AT, 0.4)),
]


@pytest.mark.parametrize("f, args", [pytest.param(f, args, id=name) for name, f, args in ROWS])
def test_values_and_derivatives(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check_grads(f, args, order=1)
    found, want = vjp(f, *args)[0], f(*args)
    assert np.shape(found) == np.shape(want)
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-11)  # other algorithms for the same things


@pytest.mark.slow
@pytest.mark.parametrize("f, args", [pytest.param(f, args, id=name) for name, f, args in ROWS])
def test_second_derivatives(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check_grads(f, args, order=2)


@pytest.mark.parametrize("y", [Y, X, np.ones(7), np.abs(X - 2.6)])
def test_akimas_spline_ends_at_its_points_and_follows_lines(y: Any) -> None:
    found = vjp(lambda y: interpolate.Akima1DInterpolator(X, y)(WIDE), y)[0]
    np.testing.assert_allclose(found, interpolate.Akima1DInterpolator(X, y)(WIDE), rtol=1e-12)


def test_splines_that_smooth_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="that smooths"):
        grad(lambda y: interpolate.UnivariateSpline(X, y)(1.0))(Y)
