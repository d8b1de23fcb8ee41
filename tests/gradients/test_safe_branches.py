"""Only the branch taken contributes: derivatives beside a singularity of the other one are finite, to second order."""

from __future__ import annotations

import numpy as np
import pytest

from untraced import accelerate, grad, hessian, jacfwd, jvp, linear_transpose, value_and_grad
from untraced.testing import check_grads


def _deviations(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i : min(i + 3, len(x))].std()
    return total


def _roots_asked_for(x):
    total = 0.0
    for i in (1, 0, 2):
        root = np.sqrt(x[i])
        if root > 0.5:
            total += root
        else:
            total = total * 2.0 + 3.0 * x[i]
    return total


def _turned(x):
    total = 0.0
    for i in range(3):
        w = x * ONES[0] * A[i]
        angle = np.sqrt(w @ w)
        if angle > 1e-8:
            p = A + np.cross(w / angle, A) * np.sin(angle)
        else:
            p = A + np.cross(w, A)
        total += p[0] * p[1] + p[2]
    return total


def _logs_asked_for(x):
    logs = np.log(x * ONES[0])
    if x > 0.5:
        return np.sum(logs)
    if not x > 0.0:
        return 3.0 * x
    return x * x


CASES = {
    "log": (lambda x: np.where(x > 0, np.log(x), 0.0), 0.0, 0.0, 0.0),
    "log, of a negative number": (lambda x: np.where(x > 0, np.log(x), 0.0), -1.0, 0.0, 0.0),
    "log, taken": (lambda x: np.where(x > 0, np.log(x), 0.0), 2.0, 0.5, -0.25),
    "the other way round": (lambda x: np.where(x <= 0, 0.0, np.log(x)), 0.0, 0.0, 0.0),
    "sqrt": (lambda x: np.where(x > 0, np.sqrt(x), 3.0 * x), 0.0, 3.0, 0.0),
    "quotient": (lambda x: np.where(x != 0, np.sin(x) / np.where(x != 0, x, 1.0), 1.0), 0.0, 0.0, 0.0),
    "used twice": (lambda x: np.where(x > 0, x * np.log(x), 0.0), 0.0, 0.0, 0.0),
    "chain": (lambda x: np.where(x > 0, np.exp(np.sqrt(np.log1p(x))), 1.0), 0.0, 0.0, 0.0),
    "nested": (lambda x: np.where(x > 0, np.where(x > 1, np.log(np.abs(x - 1)), x * x), 0.0), 1.0, 2.0, 2.0),
    "select": (lambda x: np.select([x > 0, x < 0], [np.log(x), np.sqrt(-x)], 0.0), 1.0, 1.0, -1.0),
    "arccos": (lambda x: np.where(np.abs(x) < 1, np.arccos(x), 0.0), 1.0, 0.0, 0.0),
    "overflow": (lambda x: np.where(x < 1, np.exp(x * 1000.0), x), 2.0, 1.0, 0.0),
    "sum of masked": (lambda x: np.sum(np.where(x * A > 0, np.log(x * A), 0.0)), 2.0, 0.5, -0.25),
    "sum": (lambda x: np.where(x > 0, np.sum(np.log(x * (A + 2.0))), 4.0 * x), 0.0, 4.0, 0.0),
    "sums of rows": (
        lambda x: np.sum(np.where(x * A > 0, np.sum(np.log(np.outer(x * A, A + 2.0)), axis=1), 1.0)), 2.0, 1.5, -0.75
    ),
    "sum of sums": (
        lambda x: np.where(x > 0, np.sum(np.sum(np.log(np.outer(x * (A + 2.0), A + 2.0)), axis=1)), 0.0), 0.0, 0.0, 0.0
    ),
    "sum of a cast sum": (
        lambda x: np.where(x > 0, np.sum(np.sum(np.log(x * ONES), axis=1).astype(np.complex128)).real, x), 0.0, 1.0, 0.0
    ),
    "mean": (lambda x: np.where(x > 0, np.mean(np.sqrt(x * (A + 2.0))), 0.0), 0.0, 0.0, 0.0),
    "branch taken by an if": (lambda x: np.log(x) if x > 0 else 2.0 * x, 0.0, 2.0, 0.0),
    "computed before an if in a loop": (lambda x: _roots_asked_for(-x * A), -4.0, 2.75, -0.03125),
    "turned vectors": (_turned, 0.0, 0.0, -8.0),
    "computed before a chain of ifs": (_logs_asked_for, 0.0, 3.0, 0.0),
    "norm at zero": (lambda x: np.linalg.norm(x * A), 0.0, 0.0, 0.0),
    "root of a sum of squares": (lambda x: np.sqrt(np.sum((x * A) ** 2)), 0.0, 0.0, 0.0),
    "root of a product with itself": (lambda x: np.sqrt((x * A) @ (x * A) / 4), 0.0, 0.0, 0.0),
    "root of a masked mean of squares": (lambda x: np.sqrt(np.mean((x * A)[x * A >= 0] ** 2)), 0.0, 0.0, 0.0),
    "deviation of short windows": (lambda x: _deviations(x * A), 0.0, 0.0, 0.0),
    "power of a mean of squares": (lambda x: np.mean((x * A) ** 2) ** 0.5, 0.0, 0.0, 0.0),
    "roots of rows": (lambda x: np.sum(np.sqrt(np.einsum("i,i->i", x * A, x * A)[1:])), 0.0, 0.0, 0.0),
    "a root with an infinite slope": (lambda x: np.sqrt(np.abs(x)), 4.0, 0.25, -0.03125),
    "sinc": (np.sinc, 0.0, 0.0, -(np.pi**2) / 3),
}
A = np.array([-1.0, 0.0, 1.0])
ONES = np.ones((2, 3))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_first_and_second_derivatives(name, kind):
    f, x, first, second = CASES[name]
    x = kind(x)
    assert grad(f)(x) == pytest.approx(first, rel=1e-12)
    assert jvp(f, (x,), (1.0,))[1] == pytest.approx(first, rel=1e-12)
    assert grad(grad(f))(x) == pytest.approx(second, rel=1e-12)
    assert accelerate(grad(f), target="cpu")(x) == pytest.approx(first, rel=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_arrays():
    x = np.array([0.0, -1.0, 2.0, 0.5])
    f = lambda x: np.sum(np.where(x > 0, np.sqrt(x) * x, x**2) * 2.0)
    want = np.where(x > 0, 3.0 * np.sqrt(np.abs(x)), 4.0 * x)
    np.testing.assert_allclose(grad(f)(x), want, rtol=1e-14)
    curved = np.where(x > 0, 1.5 / np.sqrt(np.where(x > 0, x, 1.0)), 4.0)
    np.testing.assert_allclose(hessian(f)(x), np.diag(curved), rtol=1e-14)
    np.testing.assert_array_equal(grad(lambda x: np.linalg.norm(x))(np.zeros(3)), np.zeros(3))


def test_the_choice_is_made_last():
    source = grad(lambda x: np.sum(np.where(x > 0, np.log(x), 0.0))).source(A)
    assert "np.where(x > 0, 1.0 / x, 0.0)" in source


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_value_that_broadcasts_beside_a_singularity():
    nodes, values = np.arange(4.0), np.array([0.3, -1.0, 0.5, 2.0])
    gaps = nodes[:, None] - nodes

    def lagrange(t):
        return values @ np.prod(np.where(gaps != 0, (t - nodes) / gaps, 1.0), axis=1)

    def raising(t):
        factors = (t - nodes) / gaps
        if np.any(np.isnan(t)):
            raise ValueError
        return values @ np.prod(np.where(gaps != 0, factors, 1.0), axis=1)

    cubic = np.polynomial.Polynomial.fit(nodes, values, 3)
    for f in (lagrange, raising):
        assert grad(f)(1.7) == pytest.approx(cubic.deriv()(1.7), rel=1e-10)
        assert grad(grad(f))(1.7) == pytest.approx(cubic.deriv(2)(1.7), rel=1e-10)


def test_shares_of_an_extreme_that_the_compiler_computes_twice() -> None:
    """XLA computes `b` once for its maximum and once to compare with it, with other roundings."""

    def f(x, y):
        b = np.sin(x) * y
        u = x[1] * y
        b[0] += np.sin(np.arctan(x[2]) - x[0])
        b[1] += np.sin((x[1] - x[0]) * np.sum(x[1:]) / (1.5 + ((x[2] - u) * (y * 0.5 + np.max(b))) ** 2))
        return np.sum(np.sin(b))

    derivative = grad(f)
    fast = accelerate(derivative, target="cpu")
    for seed in range(5008, 5018):
        x = np.random.default_rng(seed).uniform(0.1, 0.9, 4)
        np.testing.assert_allclose(fast(x, 0.7), derivative(x, 0.7), rtol=1e-12)
    ties = accelerate(grad(lambda x: np.max(x * np.array([2.0, 1.0, -np.inf]))), target="cpu")
    np.testing.assert_array_equal(ties(np.array([1.0, 2.0, 5.0]))[:2], [1.0, 0.5])


def pair_energy(pos):
    """The potential of bodies among which each is at distance 0 from itself."""
    d = pos[:, None] - pos
    inverse = np.sqrt(d[..., 0] ** 2 + d[..., 1] ** 2)
    inverse[inverse > 0] = 1.0 / inverse[inverse > 0]
    return np.sum(np.triu(inverse, 1))


def pair_energy_by_index(pos):
    i, j = np.triu_indices(len(pos), 1)
    d = pos[i] - pos[j]
    return np.sum(1.0 / np.sqrt(d[:, 0] ** 2 + d[:, 1] ** 2))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bodies_do_not_act_on_themselves():
    pos = np.array([[0.0, 0.1], [1.0, 0.3], [-0.4, 2.0]])
    v = np.cos(np.arange(6.0)).reshape(3, 2)
    want = grad(pair_energy_by_index)(pos)
    np.testing.assert_allclose(grad(pair_energy)(pos), want, rtol=1e-13)
    np.testing.assert_allclose(accelerate(grad(pair_energy), target="cpu")(pos), want, rtol=1e-13)
    assert jvp(pair_energy, (pos,), (v,))[1] == pytest.approx(np.sum(want * v), rel=1e-13)
    bent = jvp(grad(pair_energy_by_index), (pos,), (v,))[1]
    np.testing.assert_allclose(jvp(grad(pair_energy), (pos,), (v,))[1], bent, rtol=1e-12)
    twice = grad(lambda p: np.sum(grad(pair_energy)(p) * v))(pos)
    np.testing.assert_allclose(twice, bent, rtol=1e-12)


def test_the_slope_of_a_root_at_zero_stays_infinite():
    with np.errstate(divide="ignore"):
        assert grad(np.sqrt)(0.0) == np.inf
        assert grad(lambda x: (x * x) ** 0.25)(0.5) == pytest.approx(0.5**0.5, rel=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_forward_mode_differentiated_again_is_not_silently_constant():
    """A tangent of 0 at the point is a variable still: what is derived from it is right, or NaN, never 0 for -1."""

    fours = np.full(2, 4.0)

    def dome(x):
        return np.sqrt(np.maximum(1.0 - x * x, 0.0))

    bent = [
        jacfwd(jacfwd(dome))(0.0),
        grad(lambda x: jvp(dome, (x,), (1.0,))[1])(0.0),
        jvp(lambda x: jvp(dome, (x,), (1.0,))[1], (0.0,), (1.0,))[1],
    ]
    np.testing.assert_allclose(bent, -1.0, rtol=1e-12)
    slope = grad(lambda t: jvp(lambda v: np.sqrt(np.maximum(v, 0.0)), (4.0,), (t,))[1])
    np.testing.assert_allclose([slope(0.0), slope(1.0)], 0.25, rtol=1e-12)
    push = linear_transpose(lambda t: jvp(lambda v: np.log(np.maximum(v, 0.0)), (fours,), (t,))[1], np.zeros(2))
    np.testing.assert_allclose(push(np.ones(2))[0], 0.25, rtol=1e-12)


def stored(x):
    y, z = np.zeros(6), np.zeros(6)
    y[1:5], z[1:5] = np.log(x), x
    return np.where(z > 0, y, 0.0)


def several_sides(x):
    level = np.log(x)
    return np.sum(np.where(x[1:] > 0, level[1:], 0.0)) + np.sum(np.where(x > 1, level, 1.0))


PLACES = np.array([0, 2, 2])
def before_a_loop(x):
    """The backward pass goes through the loop while the choice is still to be made."""
    logs, s = np.log(x), np.cos(x)
    for _ in range(3):
        s = np.sin(s) * x
    return np.where(x > 0, logs, 0.0) * s


def before_a_branch(x):
    logs, s = np.log(x), x
    if x[1] > 1.0:
        s = s * x[2]
    return np.where(x > 0, 1.0 / logs, 0.0) * s


BEHIND = {
    "reshape": lambda x: np.where(x.reshape(2, 2) > 0, np.log(x).reshape(2, 2), 0.0),
    "transpose": lambda x: np.where(x.reshape(2, 2).T > 0, np.log(x.reshape(2, 2)).T, 0.0),
    "slice": lambda x: np.where(x[1:] > 0, np.log(x)[1:], 0.0),
    "gather": lambda x: np.where(x[PLACES] > 0, np.log(x)[PLACES], 0.0),
    "element": lambda x: np.where(x[1] > 0, np.log(x)[1], 0.0),
    "roll": lambda x: np.where(np.roll(x, 1) > 0, np.roll(np.log(x), 1), 0.0),
    "pad": lambda x: np.where(np.pad(x, 1) > 0, np.pad(np.log(x), 1), 0.0),
    "stack": lambda x: np.where(x > 0, np.stack([np.log(x), x]), 0.0),
    "store": stored,
    "broadcast": lambda x: np.where(x[:, None] > 0, np.log(x)[:, None] * np.arange(3.0), 1.0),
    "broadcast_to": lambda x: np.where(x[:, None] > 0, np.broadcast_to(np.sqrt(x)[:, None], (4, 3)), 0.0),
    "prod": lambda x: np.where(np.min(x[:2]) > 0, np.prod(np.log(x)), x),
    "var": lambda x: np.where(np.min(x.reshape(2, 2), axis=1) > 0, np.var(np.log(x.reshape(2, 2)), axis=1), 0.0),
    "max": lambda x: np.where(np.min(x[:2]) > 0, np.max(np.log(x)), x),
    "logaddexp": lambda x: np.where(np.min(x) > 0, np.logaddexp.reduce(np.log(x)), x),
    "cumsum": lambda x: np.where(np.min(x) > 0, np.cumsum(np.log(x)), x),
    "sort": lambda x: np.where(np.min(x) > 0, np.sort(np.log(x)), x),
    "product": lambda x: np.where(np.min(x.reshape(2, 2), axis=1) > 0, np.log(x.reshape(2, 2)) @ np.arange(2.0), 1.0),
    "solve": lambda x: np.where(np.min(x) > 0, np.linalg.solve(np.eye(4) + 1.0, np.log(x)), x),
    "fft": lambda x: np.where(np.min(x) > 0, np.abs(np.fft.fft(np.sqrt(x))), x),
    "norm": lambda x: np.where(np.min(x) > 0, np.linalg.norm(np.sqrt(x)), x),
    "several sides": several_sides,
    "power": lambda x: np.where(x > 0.5, np.where(x < 1.0, (x - 0.5) ** 1.5, np.log(x)), 0.0),
    "a loop": before_a_loop,
    "a branch": before_a_branch,
    "through itself": lambda x: np.where(x > 0, np.log(x), 2.0).reshape(2, 2)[:, ::-1] ** 2,
}


@pytest.mark.parametrize("name", BEHIND)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_stands_between_the_choice_and_the_singularity(name):
    """Forward mode, which chooses last by itself, says what the gradient is; beside it, finite differences do."""
    f = lambda x: np.sum(BEHIND[name](x))
    x, v = np.array([0.0, 1.3, 0.7, 2.5]), np.array([0.3, -0.2, 0.8, 0.5])
    found = grad(f)(x)
    assert np.all(np.isfinite(found))
    np.testing.assert_allclose(found, [jvp(f, (x,), (e,))[1] for e in np.eye(4)], rtol=1e-13)
    bent = jvp(grad(f), (x,), (v,))[1]
    assert np.all(np.isfinite(bent))
    np.testing.assert_allclose(grad(lambda x: grad(f)(x) @ v)(x), bent, rtol=1e-12, atol=1e-15)
    check_grads(f, (np.array([0.4, 1.3, 0.7, 2.5]),), order=1)


def missing(x, d):
    y = x * d
    return np.sum(np.where(np.isnan(d), 0.0, y)) + np.sum(np.where(d < 1.5, y, 1.0) ** 2)


def infinite_constants(x):
    y = x * np.array([1.0, np.nan, np.inf, 2.0])
    return np.sum(np.where(np.isfinite(y), y, 0.0)) + np.sum(np.where(y < 0.5, y, 1.0) ** 2)


def test_factors_that_are_not_finite_stay_mute_where_choices_meet():
    x = np.array([0.3, 0.8, 0.5, 0.7])
    found = grad(missing)(x, np.array([1.0, np.nan, 2.0, np.nan]))
    np.testing.assert_allclose(found, [1.6, 0.0, 2.0, 0.0])
    np.testing.assert_allclose(grad(infinite_constants)(x), [1.6, 0.0, 0.0, 2.0])


SILENT = {
    "np.maximum": lambda x: np.sum(np.sqrt(np.maximum(x, 0.0) * 3.0)),
    "np.where": lambda x: np.sum(np.where(x > 0, x, 0.0) ** 0.5),
    "np.clip": lambda x: np.sum(np.arccos(np.clip(x, -1.0, 1.0))),
    "two bounds": lambda x: np.sum(np.arcsin(np.minimum(np.maximum(x, -1.0), 1.0))),
    "a sum of two": lambda x: np.sum(np.cbrt(np.maximum(x, 0.0) + np.maximum(x, 0.0) ** 2)),
    "beside another factor": lambda x: np.sum(np.sin(x) * np.log1p(np.sqrt(np.minimum(-x, 0.0) * -1.0))),
    "in a loop": lambda x: truncated_walk(x),
    "beside what is stored": lambda x: np.sum(np.sqrt(np.diag(1.0 + x * x)) @ (np.arange(16.0).reshape(4, 4) + 1.0)),
}


def truncated_walk(x):
    v = x
    for _ in range(3):
        p = np.maximum(v, 0.0)
        v = v + 0.1 * (0.05 - p) + 0.3 * np.sqrt(p * 0.2)
    return np.sum(v)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SILENT)
def test_tangents_that_a_choice_has_silenced_stay_silent(name):
    """The slope behind the choice is infinite where nothing comes through: forward mode gives what reverse gives."""
    f, x, v = SILENT[name], np.array([0.4, -1.5, 1.5, -0.3]), np.array([1.0, -2.0, 0.5, 3.0])
    want = grad(f)(x) @ v
    assert np.isfinite(want)
    assert jvp(f, (x,), (v,))[1] == pytest.approx(want, rel=1e-12)
    np.testing.assert_allclose(jacfwd(f)(x), grad(f)(x), rtol=1e-12)
    compiled = accelerate(lambda x, v: jvp(f, (x,), (v,))[1], target="cpu")
    assert compiled(x, v) == pytest.approx(want, rel=1e-12)
    bent = grad(lambda x: grad(f)(x) @ v)(x)
    assert np.all(np.isfinite(bent))
    np.testing.assert_allclose(jvp(grad(f), (x,), (v,))[1], bent, rtol=1e-12)
    assert jvp(lambda x: jvp(f, (x,), (v,))[1], (x,), (v,))[1] == pytest.approx(bent @ v, rel=1e-12)


def test_a_safe_denominator_needs_no_silence():
    f = lambda x: np.sum(1.0 / np.where(x != 0, x, 1.0)) + np.sum(np.log(np.where(x > 0, x, 1.0)))
    source = jacfwd(f).source(np.array([0.0, 2.0]))
    assert source.count("np.where") == 4, source


def test_the_derivative_of_a_norm_needs_one_guard():
    """Factors of what is 0 are finite: no masks behind the corner, but where a root has an infinite slope there."""
    source = grad(lambda x, a: np.linalg.norm(np.sin(a * x) * a + 1.0)).source(A, A)
    assert source.count("np.where") == 1, source
    steep = lambda x: np.linalg.norm(np.sqrt(x))
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_array_equal(grad(steep)(np.zeros(2)), np.zeros(2))
        np.testing.assert_array_equal(grad(lambda x: np.linalg.norm(x) ** 2)(np.zeros(2)), np.zeros(2))
        np.testing.assert_array_equal(hessian(np.linalg.norm)(np.zeros(2)), np.zeros((2, 2)))
        np.testing.assert_array_equal(jacfwd(np.linalg.norm)(np.zeros(2)), np.zeros(2))


SQUARED = {
    "norm": lambda x: np.linalg.norm(x) ** 2,
    "root": lambda x: np.square(np.sqrt(np.sum(x * x) + np.sum(x[1:] ** 2))),
    "modulus": lambda x: np.sum(np.abs(x) ** 2),
    "complex modulus": lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2),
    "product": lambda x: np.exp(np.linalg.norm(x) * np.linalg.norm(x)),
}


@pytest.mark.parametrize("name", SQUARED)
@pytest.mark.parametrize("x", [np.zeros(3), np.array([0.0, 0.3, -0.4])])
def test_squares_of_roots_are_smooth_at_zero(name, x):
    function = SQUARED[name]
    check_grads(function, (x,), order=2)
    value, slope = value_and_grad(function)(x)
    assert value == function(x)
    np.testing.assert_allclose(accelerate(hessian(function), target="cpu")(x), hessian(function)(x), rtol=1e-12)
    assert np.all(np.diag(hessian(function)(x)) >= 2.0)
    np.testing.assert_allclose(grad(function)(x), slope)


def test_the_slope_of_a_squared_norm_has_no_root():
    source = grad(lambda w: 0.1 * np.linalg.norm(w) ** 2).source(np.ones(3))
    assert "return w * 0.2 " in source
    assert np.isnan(grad(lambda x: np.sqrt(x) ** 2)(-1.0))  # a root of what may be negative is a root


@pytest.mark.parametrize("f", [lambda x: np.hypot(x, 0.0), lambda x: np.hypot(x, 2 * x), lambda x: np.abs(x + 1j * x)])
def test_a_length_of_zero_has_no_derivatives(f):
    """Neither the first nor the second, like np.abs and np.linalg.norm."""
    assert grad(f)(0.0) == grad(grad(f))(0.0) == 0.0
    assert accelerate(grad(grad(f)))(0.0) == 0.0
