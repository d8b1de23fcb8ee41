"""Test functions with published minima: values, gradients that vanish there, and Jacobians by both modes.

J. J. Moré, B. S. Garbow, K. E. Hillstrom, "Testing unconstrained optimization software" (1981).
"""

from __future__ import annotations

import numpy as np
import pytest

from untraced import accelerate, grad, hessian, jacfwd, jacrev

BARD = (0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39)


def beale(x):
    return np.array([y - x[0] * (1.0 - x[1] ** i) for i, y in enumerate((1.5, 2.25, 2.625), 1)])


def helical_valley(x):
    f = np.zeros(3)
    turn = np.arctan(x[1] / x[0]) / (2.0 * np.pi)
    if x[0] < 0:
        turn += 0.5
    f[0] = 10.0 * (x[2] - 10.0 * turn)
    f[1] = 10.0 * (np.sqrt(x[0] ** 2 + x[1] ** 2) - 1.0)
    f[2] = x[2]
    return f


def bard(x):
    f = []
    for u, y in enumerate(BARD, 1):
        v = 16 - u
        f.append(y - (x[0] + u / (v * x[1] + min(u, v) * x[2])))
    return np.array(f)


def watson(x):
    f = np.zeros(31)
    for i in range(29):
        t = (i + 1) / 29
        slope, value = 0.0, 0.0
        for j in range(1, len(x)):
            slope += j * x[j] * t ** (j - 1)
        for j in range(len(x)):
            value += x[j] * t**j
        f[i] = slope - value**2 - 1.0
    f[29] = x[0]
    f[30] = x[1] - x[0] ** 2 - 1.0
    return f


def extended_powell(x):
    f = np.zeros_like(x)
    k = 0
    while k < len(x):
        a, b, c, d = x[k : k + 4]
        f[k : k + 2] = a + 10.0 * b, np.sqrt(5.0) * (c - d)
        f[k + 2] = (b - 2.0 * c) ** 2
        f[k + 3] = np.sqrt(10.0) * (a - d) ** 2
        k += 4
    return f


def chebyquad(x):
    f = np.zeros(len(x))
    for v in x:
        before, now = 1.0, 2.0 * v - 1.0
        twice = 2.0 * now
        for i in range(len(f)):
            f[i] += now / len(x)
            before, now = now, twice * now - before
    for i in range(1, len(f), 2):
        f[i] += 1.0 / ((i + 1) ** 2 - 1)
    return f


def broyden_banded(x):
    f = x * (2.0 + 5.0 * x**2) + 1.0
    for i in range(len(x)):
        for j in range(max(0, i - 5), min(len(x), i + 2)):
            if j == i:
                continue
            f[i] -= x[j] * (1.0 + x[j])
    return f


CASES = [  # the residuals, a start, the minimiser if it is published, the least sum of squares
    (beale, [1.0, 1.0], [3.0, 0.5], 0.0),
    (helical_valley, [-1.0, 0.1, 0.2], [1.0, 0.0, 0.0], 0.0),
    (bard, [1.0, 1.0, 1.0], [0.08241056, 1.133036, 2.343695], 8.21487e-3),
    (watson, [0.1] * 6, [-0.015725, 1.012435, -0.232992, 1.260430, -1.513729, 0.992996], 2.28767e-3),
    (extended_powell, [3.0, -1.0, 0.5, 1.0] * 2, [0.0] * 8, 0.0),
    (
        chebyquad,
        [i / 9 for i in range(1, 9)],
        [0.043153, 0.193091, 0.266329, 0.5, 0.5, 0.733671, 0.806910, 0.956847],
        3.51687e-3,
    ),
    (broyden_banded, [-1.0, -0.5, 0.0, 0.3, -0.2, 0.4, 0.1], None, 0.0),
]


@pytest.mark.parametrize(("residuals", "start", "minimiser", "least"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_derivatives_and_the_published_minimum(residuals, start, minimiser, least):
    start = np.array(start)

    def squares(x):
        return np.sum(residuals(x) ** 2)

    jacobian = jacfwd(residuals)(start)
    np.testing.assert_allclose(jacrev(residuals)(start), jacobian, rtol=1e-12, atol=1e-12)
    h = 1e-6
    steps = [(residuals(start + h * e) - residuals(start - h * e)) / (2 * h) for e in np.eye(len(start))]
    np.testing.assert_allclose(jacobian, np.transpose(steps), rtol=1e-6, atol=1e-6)
    gradient = 2.0 * residuals(start) @ jacobian
    np.testing.assert_allclose(accelerate(grad(squares))(start), gradient, rtol=1e-10, atol=1e-10)
    steps = [(grad(squares)(start + h * e) - grad(squares)(start - h * e)) / (2 * h) for e in np.eye(len(start))]
    np.testing.assert_allclose(hessian(squares)(start), steps, rtol=1e-5, atol=1e-4)
    if minimiser is not None:
        at = np.array(minimiser)
        assert squares(at) == pytest.approx(least, rel=1e-5, abs=1e-15)
        assert np.max(np.abs(grad(squares)(at))) < 1e-3 * max(1.0, np.max(np.abs(gradient)))
