"""scipy.optimize's solutions and minima, and scipy.integrate.quad: derivatives that the definition shows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, optimize

import untraced
from untraced import accelerate, grad, hessian, value_and_grad
from untraced.testing import check_grads

V = np.array([0.3, 0.9, 0.5, 1.4])
TIMES = np.linspace(0.0, 2.0, 9)


def bent(v):
    return lambda x: [x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1 - v[0], 0.5 * (x[1] - x[0]) ** 3 + x[1] * v[1]]


def valley(x, v, a):
    return (x[0] - v[0]) ** 4 + (x[0] - v[0] * v[2]) ** 2 + (x[1] - a * x[0]) ** 2


def lowest(v):
    found = optimize.minimize(lambda x, a: valley(x, v, a), [1.0, 0.5], args=(v[1],))
    return found.x[0] + found.x[1] ** 2 + found.fun


def fitted(v):
    data = 3.0 * v[0] * np.exp(-v[1] * TIMES) + 0.01 * np.cos(9.0 * TIMES) * v[2]
    p, spread = optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t), TIMES, data, p0=[1.0, 1.0])
    return p[0] + 2.0 * p[1] + spread[0, 0]


def of_squares(v):
    found = optimize.least_squares(lambda x: np.array([x[0] - v[0], x[0] * x[1] - v[1], x[1] ** 2]), [1, 1])
    return np.sum(found["x"]) + found.cost


SOLUTIONS = {
    "fsolve, a number": lambda v: optimize.fsolve(lambda x, a, b: x**3 + x * a - b, 1.0, args=(v[0], v[1]))[0],
    "root": lambda v: optimize.root(bent(v), [0.0, 0.0]).x[1],
    "root_scalar": lambda v: optimize.root_scalar(lambda x: x**3 - v[0], bracket=[0.0, 3.0]).root,
    "minimize": lowest,
    "curve_fit": fitted,
    "least_squares": of_squares,
}
INTEGRALS = {
    "limits": lambda v: integrate.quad(lambda t: np.exp(-v[0] * t * t) * np.cos(v[1] * t), v[2], v[3])[0],
    "arguments": lambda v: integrate.quad(lambda t, a: a * t**3, 0.0, v[1], args=(v[0],))[0],
    "both infinite": lambda v: integrate.quad(lambda t: np.exp(-v[0] * t * t + v[1] * t), -np.inf, np.inf)[0],
    "from minus infinity": lambda v: integrate.quad(lambda t: v[2] * np.exp(v[0] * t), -np.inf, v[1])[0],
    "oscillating": lambda v: integrate.quad(lambda t: np.sin(30.0 * v[3] * t) * np.exp(-t * v[0]), 0.0, 2.0)[0],
}


@pytest.mark.parametrize("name", SOLUTIONS)
def test_solutions(name):
    f = SOLUTIONS[name]
    assert value_and_grad(f)(V)[0] == pytest.approx(f(V), rel=1e-4)  # minimize stops at slopes of 1e-5
    found = grad(f)(V)
    h = 1e-4 * np.eye(4)
    values = [[value_and_grad(f)(V + s * e)[0] for e in h] for s in (1.0, -1.0)]
    np.testing.assert_allclose(found, np.subtract(*values) / 2e-4, rtol=1e-6, atol=1e-7)  # of exact ones


@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals(name):
    f = INTEGRALS[name]
    assert value_and_grad(f)(V)[0] == pytest.approx(f(V), rel=1e-9, abs=1e-9)
    check_grads(f, (V,), order=1)


def test_second_derivatives():
    a, b = 0.7, 1.3
    curve = hessian(lambda p: integrate.quad(lambda t: np.exp(p[0] * t), 0.0, p[1])[0])(np.array([a, b]))
    e = np.exp(a * b)
    by_rate = (e * (a * a * b * b - 2 * a * b + 2) - 2) / a**3
    np.testing.assert_allclose(curve, [[by_rate, b * e], [b * e, a * e]], rtol=1e-9)
    root = hessian(lambda p: optimize.fsolve(lambda x: x**3 - p[0], 1.0)[0])(np.array([2.3]))
    np.testing.assert_allclose(root, [[-2 / 9 * 2.3 ** (-5 / 3)]], rtol=1e-9)


def test_an_integrand_that_jumps():
    """The end tells the derivative by the end, not how the points move."""
    slope = grad(lambda b: integrate.quad(lambda t: 2.0 if t > 0.7 else np.sin(t), 0.5, b)[0])(1.4)
    assert slope == pytest.approx(2.0, rel=1e-12)


def test_compiled():
    f = INTEGRALS["limits"]
    np.testing.assert_allclose(accelerate(grad(f), target="cpu")(V), grad(f)(V), rtol=1e-9)


def test_where_there_is_nothing_to_find():
    with pytest.raises(RuntimeError, match="Newton"):
        grad(lambda a: optimize.fsolve(lambda x: x * x + a, 1.0)[0])(2.0)
    with pytest.raises(untraced.UnsupportedError, match="bounds"):
        grad(lambda a: optimize.minimize(lambda x: (x[0] - a) ** 2, [0.0], bounds=[(0, 1)]).x[0])(2.0)
    with pytest.raises(untraced.UnsupportedError, match="fewer than 100 turns"):
        grad(lambda a: optimize.brentq(lambda x: x**3 - a, 0.0, 5.0, maxiter=3))(2.0)
    with pytest.raises(ValueError, match="infinite limits"):
        grad(lambda b: integrate.quad(lambda t: np.exp(-t), 0.0, b)[0])(np.inf)


def test_points_of_a_fit_in_a_list():
    slope = grad(lambda s: optimize.curve_fit(lambda t, a: a * t * t, [0, 1, 2], s * V[:3], p0=[1.0])[0][0])(2.0)
    assert slope == pytest.approx((V[1] + 4.0 * V[2]) / 17.0, rel=1e-12)
