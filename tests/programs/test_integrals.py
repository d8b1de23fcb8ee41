"""Exponential and elliptic integrals, the dilogarithm, Kummer's function: SciPy's values, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

from untraced import accelerate, grad
from untraced.testing import check_grads

ALONG = np.concatenate([np.linspace(0.01, 3.0, 16), np.linspace(3.0, 60.0, 20), [700.0]])
INSIDE = np.concatenate([-np.logspace(-5, 4, 20), np.linspace(0.0, 0.99, 12), [1.0 - 1e-10]])
CASES: dict[str, tuple[np.ndarray, np.ndarray]] = {
    "exp1": (ALONG, np.array([0.2, 0.9, 1.1, 7.0])),
    "expi": (np.concatenate([-ALONG, ALONG[8:]]), np.array([-3.0, -0.2, 0.4, 9.0])),
    "spence": (np.concatenate([np.linspace(0.0, 0.9, 14), np.linspace(1.1, 5.0, 20), [1e-8, 1e6]]), ALONG[[2, 9, 18]]),
    "ellipk": (INSIDE, np.array([-3.0, 0.0, 0.3, 0.9])),
    "ellipkm1": (np.logspace(-300, 0.4, 20), np.array([0.01, 0.4, 1.0, 1.7])),
    "ellipe": (INSIDE, np.array([-3.0, 0.0, 0.3, 0.9])),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    function, (values, points) = getattr(scipy.special, name), CASES[name]
    np.testing.assert_allclose(accelerate(lambda x: function(x), target="numpy")(values), function(values), rtol=4e-14)
    check_grads(lambda x: function(x), (points,), order=2)


def test_their_ends() -> None:
    ends = np.array([0.0, 1.0, np.inf, -1.0, 1.5])
    for name in CASES:
        function: Any = getattr(scipy.special, name)
        np.testing.assert_allclose(accelerate(lambda x, f=function: f(x), target="numpy")(ends[:2]), function(ends[:2]))
    upper = accelerate(lambda x: scipy.special.exp1(x))
    np.testing.assert_array_equal(upper(ends[2:4]), [0.0, np.nan])
    assert np.isnan(accelerate(lambda x: scipy.special.ellipk(x))(1.5))
    assert grad(lambda x: scipy.special.spence(x))(1.0) == pytest.approx(-1.0)
    assert grad(lambda m: scipy.special.ellipe(m))(0.0) == pytest.approx(-np.pi / 8)


def test_kummers_function() -> None:
    a, b, x = np.array([[0.5], [1.0], [2.3]]), np.array([[1.0], [0.7], [3.3]]), np.linspace(-20.0, 20.0, 9)
    function = lambda a, b, x: scipy.special.hyp1f1(a, b, x)  # noqa: E731
    np.testing.assert_allclose(accelerate(function)(a, b, x), scipy.special.hyp1f1(a, b, x), rtol=5e-14)
    check_grads(lambda x: function(1.3, 2.1, x), (np.array([-4.0, 0.5, 3.0]),), order=2)
    check_grads(function, (1.3, 2.1, -0.7), order=1)


def test_the_printed_derivative_is_what_the_integral_shows() -> None:
    x = np.array([0.3, 2.0])
    assert grad(lambda x: np.sum(scipy.special.expi(x))).source(x).count("\n") <= 3
    assert grad(lambda x: np.sum(scipy.special.exp1(x))).source(x).count("\n") <= 3


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ellipk", (np.nan,)), ("ellipe", (np.nan,)), ("spence", (np.nan,)), ("expi", (np.inf,)),
        ("hyp1f1", (1.0, 2.0, -1000.0)), ("hyp1f1", (-30.5, 1.0, 20.0)), ("hyp1f1", (1.0, -1.0, 1.0)),
        ("hyp1f1", (np.nan, 2.0, 3.0)), ("hyp1f1", (1.0, 2.0, 800.0)),
    ],
)  # fmt: skip
def test_what_lies_at_the_ends(name, arguments):
    function = getattr(scipy.special, name)
    one = [lambda x: function(x), None, lambda a, b, x: function(a, b, x)][len(arguments) - 1]
    given = [np.array([x]) for x in arguments]
    np.testing.assert_allclose(accelerate(one)(*given), function(*given), rtol=1e-12)


def test_slopes_at_the_ends():
    assert grad(lambda m: scipy.special.ellipe(m))(1.0) == -np.inf
    assert np.isnan(grad(lambda x: scipy.special.exp1(x))(-1.0))
    assert grad(lambda x: scipy.special.gammainc(2.0, x))(np.inf) == 0
