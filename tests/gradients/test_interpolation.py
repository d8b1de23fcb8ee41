"""scipy.interpolate under derivatives: by the values, by the points, and by the knots."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PchipInterpolator, RegularGridInterpolator, interp1d

import untraced
from untraced import grad, hessian, jvp, tree, value_and_grad
from untraced.testing import check_grads

X = np.array([0.0, 0.7, 1.5, 2.1, 3.0])
Y = np.array([1.0, -0.5, 2.0, 0.3, 1.1])
T = np.array([0.3, 1.1, 2.05, 2.9])

CASES = {
    "not-a-knot": lambda y, t: np.sum(CubicSpline(X, y)(t) ** 2),
    "natural": lambda y, t: np.sum(CubicSpline(X, y, bc_type="natural")(t) ** 2),
    "clamped": lambda y, t: np.sum(CubicSpline(X, y, bc_type="clamped")(t) ** 2),
    "knots": lambda y, x: np.sum(CubicSpline(np.cumsum(x), y[1:])(T * 2.0) ** 2),
    "parabola": lambda y, t: np.sum(CubicSpline(X[:3], y[:3])(t) ** 2),
    "derivative": lambda y, t: np.sum(CubicSpline(X, y)(t, 1) * CubicSpline(X, y)(t, nu=2)),
    "lines": lambda y, t: np.sum(interp1d(X, y)(t) ** 2),
    "cubic": lambda y, t: np.sum(interp1d(X[::-1], y[::-1], kind="cubic")(t) ** 2),
    "extrapolated": lambda y, t: np.sum(interp1d(X, y, fill_value="extrapolate")(t * 2.0 - 1.0) ** 2),
}


@pytest.mark.parametrize("points", [1.0, 2.0, 0.5])
def test_repeated_knots(points):
    x = np.array([0.0, 1.0, 1.0, 2.0, 2.0])
    f = lambda y, t: interp1d(x, y)(t) ** 2
    value, (by_y, _) = value_and_grad(f, (0, 1))(Y, points)
    assert value == f(Y, points)
    weights = np.array([interp1d(x, unit)(points) for unit in np.eye(5)])
    np.testing.assert_allclose(by_y, 2.0 * (weights @ Y) * weights)


def test_few_points():
    assert value_and_grad(lambda y: interp1d(X[:1], y)(0.0) * 2.0)(Y[:1]) == (2.0, 2.0)
    with pytest.raises(ValueError, match="at least 4 entries"):
        grad(lambda t: interp1d(X[:3], Y[:3], kind="cubic")(t))(0.5)
    with pytest.raises(ValueError, match="duplicates"):
        grad(lambda t: interp1d(X // 1.0, Y, kind="cubic")(t))(0.5)


@pytest.mark.parametrize("name", CASES)
def test_splines_and_lines(name):
    f = CASES[name]
    assert value_and_grad(f)(Y, T)[0] == pytest.approx(f(Y, T), rel=1e-12)
    check_grads(f, (Y, T), order=2 if name == "natural" else 1)  # the second derivatives of all are alike


@pytest.mark.parametrize("name", ["derivative", "c"])
def test_of_a_spline_only_calls_are_known(name):
    with pytest.raises(untraced.UnsupportedError, match=f"the attribute {name} of what a library gives"):
        grad(lambda y: np.sum(getattr(CubicSpline(X, y), name)))(Y)


def test_outside():
    with pytest.raises(ValueError, match="above the interpolation range"):
        grad(lambda t: interp1d(X, Y)(t))(3.5)
    with pytest.raises(ValueError, match="increasing"):
        grad(lambda y: CubicSpline(X[::-1], y)(1.0))(Y)


LEVELS = np.array([0.3, 1.0, 0.4, 0.5, 2.0, 2.1, 1.9])
KNOTS = np.array([0.0, 1.2, 1.9, 3.0, 4.1, 5.3, 6.0])
BETWEEN = np.array([-0.2, 0.3, 1.7, 2.2, 3.9, 4.4, 5.8, 6.3])


def test_cubics_that_keep_to_the_shape():
    f = lambda x, y, t: np.sum(PchipInterpolator(x, y)(t) * np.arange(8.0))
    args = (KNOTS, LEVELS, BETWEEN)
    assert value_and_grad(f)(*args)[0] == pytest.approx(f(*args), rel=1e-13)
    check_grads(f, args, order=1)
    slope = lambda t: np.sum(PchipInterpolator(KNOTS, LEVELS)(t, 1) ** 2)
    check_grads(slope, (BETWEEN,), order=1)


GRID = (np.array([0.0, 0.5, 2.0]), np.array([-1.0, 0.0, 1.0, 4.0]))
INSIDE = np.array([[0.2, -0.3], [1.4, 3.7], [0.7, 0.4]])


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_regular_grids(method):
    def f(values, x, y, points):
        whole = RegularGridInterpolator((x, y), values, method=method)(points)
        beyond = RegularGridInterpolator((x, y), values, method, False, 0.7)(points * 1.5)
        further = RegularGridInterpolator((x, y), values, method, bounds_error=False, fill_value=None)
        return whole * beyond + further((points[:, 0] * 2.0, points[:, 1]))

    args = (np.sin(np.arange(12.0)).reshape(3, 4), *GRID, INSIDE)
    np.testing.assert_allclose(jvp(f, args, args)[0], f(*args), rtol=1e-13)
    check_grads(f, args, order=2)


def test_regular_grids_end():
    values = np.ones((3, 4))
    with pytest.raises(ValueError, match="out of bounds"):
        grad(lambda p: np.sum(RegularGridInterpolator(GRID, values)(p)))(INSIDE * 9.0)
    with pytest.raises(untraced.UnsupportedError, match="RegularGridInterpolator with these options"):
        grad(lambda p: np.sum(RegularGridInterpolator(GRID, values, method="cubic")(p)))(INSIDE)


def test_lines_meet_on_a_point():
    """There the derivative is that of the line on the right, at the last point of the one on the left: as in JAX."""
    xp, fp = np.array([0.0, 1.0, 2.5]), np.array([0.0, 3.0, 4.0])
    x = np.array([0.0, 0.5, 1.0, 2.0, 2.5, 3.0, -1.0])
    w = np.arange(1.0, 8.0)

    def curve(np_, x, xp, fp):
        return np_.sum(w * np_.interp(x, xp, fp) ** 2)

    nums = (0, 1, 2)
    for ours, theirs in ((grad, jax.grad), (hessian, jax.hessian)):
        found = ours(lambda *args: curve(np, *args), argnums=nums)(x, xp, fp)
        with jax.enable_x64(True):
            wanted = theirs(lambda *args: curve(jnp, *args), argnums=nums)(x, xp, fp)
        for a, b in zip(tree.leaves(found), tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)
    complex_fp = fp + 1j * fp[::-1]
    found = grad(lambda x: np.sum(np.abs(np.interp(x, xp, complex_fp)) ** 2))(x)
    parts = grad(lambda x: np.sum(np.interp(x, xp, fp) ** 2 + np.interp(x, xp, fp[::-1]) ** 2))(x)
    np.testing.assert_allclose(found, parts, atol=1e-12)
    source = grad(lambda x: np.sum(np.interp(x, xp, fp))).inspect(x).source
    assert len(source.splitlines()) <= 14, source
