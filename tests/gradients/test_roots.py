"""scipy.optimize's roots of functions of one number: implicit functions of what the equation holds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import untraced
from untraced import accelerate, grad, value_and_grad
from untraced.testing import check_grads


def cube(x, a):
    return x * x * x - a


def kepler(x, mean, eccentricity):
    return x - eccentricity * np.sin(x) - mean


def several(v):
    total = 0.0
    for i in range(3):
        total = total + optimize.brentq(lambda x: np.exp(x) - 2.0 * v[i] - x * v[0], -1.0, 5.0) ** 2
    return total


def of_a_tree(p):
    first = optimize.ridder(lambda x: p["a"] * x**3 + x - p["b"], 0, 3)
    return first + optimize.toms748(lambda x: x**5 - p["a"], 0, 2)


CASES = {
    "brentq": (lambda a: optimize.brentq(lambda x: cube(x, a), 0.0, 5.0), (2.3,)),
    "bisect": (lambda a, b: optimize.bisect(lambda x, p, q: p * x - np.cos(q * x), 0.0, 5.0, (a, b)), (1.2, 0.7)),
    "secant": (lambda a: optimize.newton(cube, 1.0, args=(a,)), (np.float64(2.3),)),
    "newton": (lambda a: optimize.newton(lambda x: cube(x, a), 1.0, lambda x: 3 * x * x), (2.3,)),
    "halley": (
        lambda a: optimize.newton(lambda x: cube(x, a), 1.0, lambda x: 3 * x * x, fprime2=lambda x: 6 * x),
        (2.3,),
    ),
    "kepler": (lambda m, e: optimize.newton(kepler, m, args=(m, e)), (1.1, 0.3)),
    "several": (several, (np.array([1.0, 2.0, 1.5]),)),
    "tree": (of_a_tree, ({"a": 1.3, "b": 2.2},)),
}


@pytest.mark.parametrize("name", CASES)
def test_roots_are_implicit_functions(name):
    f, args = CASES[name]
    assert value_and_grad(f)(*args)[0] == pytest.approx(f(*args), rel=1e-10)
    check_grads(f, args, order=2 if name == "brentq" else 1)  # one rule serves all of them


def test_compiled():
    f, args = CASES["kepler"]
    found = accelerate(grad(f, (0, 1)), target="cpu")(*args)
    x = f(*args)
    slope = 1.0 - args[1] * np.cos(x)
    np.testing.assert_allclose(found, [1.0 / slope, np.sin(x) / slope], rtol=1e-10)


def test_where_there_is_no_root():
    with pytest.raises(ValueError, match="different signs"):
        grad(lambda a: optimize.brentq(lambda x: x * x + a, 0.0, 5.0))(2.0)
    with pytest.raises(RuntimeError, match="converge"):
        grad(lambda a: optimize.newton(lambda x: x * x + a, 1.0))(2.0)
    with pytest.raises(untraced.UnsupportedError, match="full_output"):
        grad(lambda a: optimize.newton(lambda x: x * x - a, 1.0, full_output=True)[0])(2.0)
