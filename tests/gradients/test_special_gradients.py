"""Derivatives of special functions and matrix functions composed of operations; batching of them.

The rows among them (erfinv, gamma, i0, ...) are in `test_elementwise_rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats

from untraced import accelerate, grad, jacrev, random, testing, value_and_grad, vmap
from untraced.scipy import special as sp
from untraced.translator.errors import CutError, DTypeError

R = np.random.default_rng(1)
X, POSITIVE, UNIT = R.uniform(-2.5, 2.5, 5), R.uniform(0.3, 5, 5), R.uniform(0.05, 0.95, 5)
ABOVE_ONE = R.uniform(1.2, 4, 5)

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "erfinv": (sp.erfinv, (UNIT,)),  # the row itself, given to the transformations
    "logistic": (lambda x, u: sp.expit(x) + sp.log_expit(x) + sp.logit(u), (X, UNIT)),
    "normal": (lambda x, u: sp.ndtr(x) + sp.log_ndtr(2 * x) + sp.ndtri(u), (X, UNIT)),
    "entropies": (lambda p, q: sp.entr(p) + sp.rel_entr(p, q) + sp.kl_div(q, p), (POSITIVE, POSITIVE[::-1].copy())),
    "powers": (lambda p, x: sp.boxcox(p, x) + sp.exprel(x) + sp.pseudo_huber(p, x), (POSITIVE, X)),
    "beta": (lambda a, b: sp.beta(a, b) + sp.betaln(4 * a, 9 * b), (ABOVE_ONE, POSITIVE)),
    "zeta": (lambda s, q: sp.zeta(s + 1, q) + sp.polygamma(1, q), (ABOVE_ONE, POSITIVE)),
    "gammainc": (sp.gammainc, (ABOVE_ONE, POSITIVE)),
    "betainc": (sp.betainc, (ABOVE_ONE[:3], POSITIVE[:3], UNIT[:3])),
    "logsumexp": (lambda x, b: sp.logsumexp(x, b=b), (X, POSITIVE)),
    "orders of Bessel functions": (lambda x: scipy.special.jn(4, 3 * x) + scipy.special.yn(-3, x), (POSITIVE,)),
    "modified Bessel functions": (lambda v, x: sp.iv(v, x) + sp.ive(2, -x) + sp.kve(1.5, x), (POSITIVE, ABOVE_ONE)),
    "expm": (lambda a: scipy.linalg.expm(3.0 * a), (R.normal(size=(3, 3)),)),
    "polyfit": (lambda x, y: np.polyfit(x, y, 2), (X, POSITIVE)),
    "real_if_close": (lambda x: np.real_if_close(np.fft.ifft(np.fft.fft(x) ** 2)), (X,)),
    "einsum": (lambda a: np.einsum("ii,ij->j", a, a), (R.normal(size=(3, 3)),)),
    "svd of hermitian": (lambda a: np.linalg.svd(a + a.T, hermitian=True)[1], (R.normal(size=(3, 3)),)),
}


LONG = ("beta", "zeta", "gammainc", "betainc", "orders of Bessel functions", "modified Bessel functions")
"""Their second derivatives are long programs."""


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    function, args = CASES[name]
    testing.check_grads(function, args, order=1 if name in LONG else 2, modes=("rev",))


@pytest.mark.parametrize("name", ["erfinv", "gammainc", "beta", "zeta"])
def test_batches_are_loops(name: str) -> None:
    function, args = CASES[name]
    one_by_one = np.stack([function(*row) for row in zip(*args, strict=True)])
    np.testing.assert_allclose(vmap(function)(*args), one_by_one, rtol=1e-13)


EQUAL = np.array([0.5, 2.0, 14.0])
SMOOTH_THERE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "the middle of expit": (lambda x: sp.expit(x) + sp.log_expit(x) + sp.softplus(x), (0.0,)),
    "beta of equal numbers": (sp.betaln, (EQUAL, EQUAL.copy())),
    "log(y), times 0": (lambda x, y: sp.xlogy(x, y) + sp.xlog1py(x, y), (np.zeros(3), EQUAL)),
    "no residual": (sp.pseudo_huber, (EQUAL, np.zeros(3))),
    "the middle of ndtr": (lambda x: sp.ndtr(x) + sp.log_ndtr(x) + sp.erfcx(x), (np.array([0.0, 1.0, -1.0]),)),
    "Bessel functions": (lambda x: sp.i0(x) + sp.i1(x) + sp.j0(x) + sp.j1(x), (np.array([0.0, 8.0, -8.0]),)),
    "Bessel functions with a pole": (lambda x: sp.y0(x) * sp.y1(x), (np.array([8.0, 0.3]),)),
    "orders of Bessel functions": (lambda x: scipy.special.jv(3, x), (np.array([0.0, 3.0]),)),
    "removed singularities": (lambda x: sp.exprel(x) + np.sinc(x) + sp.cosm1(x), (np.array([0.0, 1e-9, 1e-4]),)),
    "sums of equal terms": (lambda x: np.logaddexp(x, x[::-1]) + sp.logsumexp(x) + sp.softmax(x), (np.ones(3),)),
    "binomials of whole numbers": (sp.binom, (np.array([4.0, 7.5]), np.array([2.0, 3.0]))),
    "no step": (sp.poch, (EQUAL, np.zeros(3))),
    "the power 0": (lambda x, p: sp.boxcox(x, p) + sp.inv_boxcox1p(x, p), (EQUAL, np.zeros(3))),
    "exponents of 0": (lambda x, p: x**p, (EQUAL, np.array([0.0, 1.0, 2.0]))),
    "equal sides": (lambda x, y: np.hypot(x, y) + np.arctan2(x, y), (EQUAL, EQUAL.copy())),
}


@pytest.mark.parametrize("name", SMOOTH_THERE)
def test_no_kinks_where_a_formula_has_its_seams(name: str) -> None:
    function, args = SMOOTH_THERE[name]
    testing.check_grads(function, args, order=1 if "binomials" in name or "orders" in name else 2, modes=("rev",))


def test_fractions_that_end_at_whole_numbers() -> None:
    """With respect to that number; the values are those of 30 digits of mpmath."""
    assert grad(sp.betainc, 1)(2.0, 2.0, 0.5) == pytest.approx(0.22157359027997265, rel=1e-12)
    assert grad(sp.gammainc)(2.0, 5.0) == pytest.approx(-0.05585989605253678, rel=1e-11)


@pytest.mark.parametrize("x", [0.3, 1.3, 5.0])
def test_values_of_numbers_under_a_derivative(x: float) -> None:
    """A choice between numbers is an array without axes: the series that begin there must not store into it."""
    for f in (scipy.special.expi, scipy.special.exp1, scipy.special.spence, scipy.special.dawsn):
        value, slope = value_and_grad(lambda x, f=f: f(x))(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-13)
        np.testing.assert_allclose(slope, (f(x + 1e-5) - f(x - 1e-5)) / 2e-5, rtol=1e-8)


def test_orders_behind_the_point_are_cut_off() -> None:
    with pytest.warns(RuntimeWarning, match="truncated"):
        expected = scipy.special.yn(2.7, 1.3)
    value, slope = value_and_grad(lambda x: scipy.special.yn(2.7, x))(1.3)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    np.testing.assert_allclose(slope, scipy.special.yvp(2, 1.3), rtol=1e-13)


def test_polygamma_and_zeta_left_of_the_origin() -> None:
    """The slope of each order is the next order; an order that is not known has no value there, and no slope."""
    x = np.array([-3.7, -1.2, -0.3, -1e-3, 0.2, 3.0])
    for n in (1, 2, 5):
        got = accelerate(lambda x, n=n: sp.polygamma(n, x))(x)
        np.testing.assert_allclose(got, scipy.special.polygamma(n, x), rtol=4e-15)
        slope = grad(lambda x, n=n: np.sum(sp.polygamma(n, x)))(x)
        np.testing.assert_allclose(slope, scipy.special.polygamma(n + 1, x), rtol=4e-15)
    q = -0.7
    assert grad(lambda q: sp.zeta(3.0, q))(q) == pytest.approx(-3.0 * scipy.special.zeta(4.0, q), rel=1e-14)
    assert np.isnan(grad(lambda s, q: sp.zeta(s, q), 1)(2.5, q))


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered in subtract")
def test_bessel_functions_have_scipys_values() -> None:
    x = np.array([1e-300, 1e-9, 0.03, 1.9, 7.99, 8.01, 31.0, 650.0])
    for name in ("j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e"):
        want = getattr(scipy.special, name)(x)
        # SciPy reduces large arguments less exactly: its phase is off by an ULP of x
        np.testing.assert_allclose(getattr(sp, name)(x), want, rtol=1e-13 if name[0] == "k" else 1e-12, err_msg=name)
    whole, real = (-3, 0, 2, 17), (-2, -2.7, 0.5, 31.4)
    for name, orders in (("jv", whole), ("yv", whole), ("iv", real), ("kve", real)):
        for order in orders:
            want, found = (getattr(module, name)(order, x[1:]) for module in (scipy.special, sp))
            scale = 0.1 / np.sqrt(x[1:]) if name in ("jv", "yv") else 1e-300  # beside their zeros
            near = (np.abs(found - want) <= 3e-13 * np.maximum(np.abs(want), scale)) | (found == want)
            assert np.all(near), (name, order, found, want)
    edges = np.array([0.0, -1.0, np.inf, np.nan])
    for name in ("j0", "j1", "y0", "y1", "k0", "k1e"):
        np.testing.assert_array_equal(np.isnan(getattr(sp, name)(edges)), np.isnan(getattr(scipy.special, name)(edges)))


def test_an_order_that_is_no_whole_number_is_left_to_scipy() -> None:
    with pytest.raises(CutError, match="an order that is no whole number"):
        grad(lambda x: scipy.special.eval_legendre(0.5, x))(0.3)


def test_the_slope_of_the_normal_distribution_is_its_density() -> None:
    x = np.array([-1e8, -1e3, -1.0, 0.0, 1.0, 40.0])
    slope = grad(lambda x: np.sum(sp.log_ndtr(x)))(x)
    np.testing.assert_allclose(slope[:2], [1e8, 1e3 + 1e-3], rtol=1e-8)  # -x - 1 / x for large -x
    density = np.exp(-0.5 * x[2:] ** 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(slope[2:], density / scipy.special.ndtr(x[2:]), rtol=1e-13)
    source = grad(lambda x: np.sum(scipy.special.ndtr(x))).inspect(x).source
    assert "0.3989422804014327 * np.exp(-0.5 * (x * x))" in source


def test_incomplete_functions_have_the_density_for_a_derivative() -> None:
    a, x = np.array([0.5, 1.0, 2.3, 30.0, 200.0]), np.array([0.3, 0.0, 2.0, 33.0, 190.0])
    b, u = np.array([0.7, 1.0, 2.0, 5.0, 9.0]), np.array([0.2, 0.0, 0.7, 1.0, 0.95])
    lower = grad(lambda x: np.sum(scipy.special.gammainc(a, x)))
    upper = grad(lambda x: np.sum(scipy.special.gammaincc(a, x)))
    beta = grad(lambda u: np.sum(scipy.special.betainc(a, b, u)))
    student = grad(lambda x: np.sum(scipy.stats.t.cdf(x, 4.0)))
    np.testing.assert_allclose(lower(x)[[0, 2, 3, 4]], scipy.stats.gamma.pdf(x, a)[[0, 2, 3, 4]], rtol=1e-13)
    np.testing.assert_allclose((lower(x)[1], upper(x)[1], beta(u)[1]), (1.0, -1.0, 1.0))
    np.testing.assert_allclose(upper(x), -lower(x), rtol=0)
    np.testing.assert_allclose(beta(u)[[0, 2, 4]], scipy.stats.beta.pdf(u, a, b)[[0, 2, 4]], rtol=1e-11)
    np.testing.assert_allclose(student(a - 1.0), scipy.stats.t.pdf(a - 1.0, 4.0), rtol=1e-13)
    for slope, at in ((lower, x), (beta, u), (student, x)):
        assert len(slope.source(at).splitlines()) < 16
    gamma = lambda x: scipy.special.gammainc(2.3, x)  # noqa: E731
    testing.check_grads(gamma, (x[[0, 2]],), order=2)
    testing.check_grads(lambda u: scipy.special.betainc(2.3, 1.7, u), (u[[0, 2, 4]],), order=2)


def test_densities_at_the_ends_of_their_range_and_outside():
    def slopes(f, points):
        first = [grad(f)(x) for x in points]
        with np.errstate(all="ignore"):
            return first, [grad(grad(f))(x) for x in points]

    for a, start, bent in ((0.5, np.inf, -np.inf), (1.0, 1.0, -1.0), (2.0, 0.0, 1.0), (3.0, 0.0, 0.0)):
        first, second = slopes(lambda x, a=a: scipy.special.gammainc(a, x), (0.0, -1.0))
        np.testing.assert_array_equal(first, [start, np.nan])
        np.testing.assert_array_equal(second, [bent, np.nan])
    for a, b, ends in ((0.5, 0.5, [np.inf, np.inf]), (1.0, 2.0, [2.0, 0.0]), (3.0, 1.0, [0.0, 3.0])):
        first, _ = slopes(lambda x, a=a, b=b: scipy.special.betainc(a, b, x), (0.0, 1.0, -0.5, 1.5))
        np.testing.assert_allclose(first, [*ends, np.nan, np.nan])
    assert np.isnan(grad(lambda x: scipy.special.gammainc(-1.0, x))(1.0))


exact = scipy.special
POINTS = np.array([-7.0, -2.0, -0.3, 0.2, 1.5, 4.0, 9.0])
ABOVE = np.array([0.01, 0.9, 1.3, 8.0])
DERIVED_ALONE = {
    "legendre": (lambda x: exact.eval_legendre(5, x) + exact.eval_chebyt(3, x) + exact.eval_chebyu(2, x), POINTS / 9),
    "laguerre": (lambda x: exact.eval_laguerre(3, x) * exact.eval_genlaguerre(2, 0.5, x), POINTS / 9),
    "jacobi": (lambda x: exact.eval_jacobi(3, 0.3, 0.6, x) + exact.eval_gegenbauer(4, 0.7, x), POINTS / 9),
    "hermite": (lambda x: exact.eval_hermite(3, x) + exact.eval_hermitenorm(4, x), POINTS / 9),
    "spherical": (lambda x: exact.spherical_jn(2, x) + exact.spherical_jn(1, x, True), POINTS),
    "expn": (lambda x: exact.expn(3, x) + exact.expn(0, x), ABOVE),
    "hyp2f1": (lambda x: exact.hyp2f1(0.5, 1.2, 2.1, x), np.array([-5.0, 0.3, 0.9, -0.4])),
    "dawsn": (lambda x: exact.dawsn(x), POINTS),
    "erfi": (lambda x: exact.erfi(x), POINTS / 9),
    "voigt": (lambda x: exact.voigt_profile(x[0], x[1], x[2]), np.array([0.3, 0.9, 0.5])),
}


@pytest.mark.parametrize("name", DERIVED_ALONE)
def test_functions_that_only_derivatives_compute(name):
    f, x = DERIVED_ALONE[name]
    g = lambda x: np.sum(f(x))
    assert value_and_grad(g)(x)[0] == pytest.approx(g(x), rel=1e-11)
    testing.check_grads(g, (x,), order=2)


def test_a_series_that_is_too_long():
    with pytest.raises(OverflowError, match="hyp2f1"):
        grad(lambda x: exact.hyp2f1(0.5, 1.2, 2.1, x))(0.99999)


COMPLEX = np.array([0.3 + 0.4j, 0.1 - 0.2j])


REAL_ALONE = {
    "dawsn": lambda z: exact.dawsn(z),
    "erfi": lambda z: exact.erfi(z),
    "legendre": lambda z: exact.eval_legendre(2, z),
    "spherical": lambda z: exact.spherical_jn(1, z),
    "hyp2f1": lambda z: exact.hyp2f1(0.3, 0.4, 0.5, z),
}


@pytest.mark.parametrize("name", REAL_ALONE)
def test_complex_numbers_are_refused_where_only_reals_are_known(name):
    with pytest.raises(DTypeError, match="real numbers"):
        vmap(REAL_ALONE[name])(COMPLEX)


def test_negative_degrees_are_refused():
    with pytest.raises(CutError, match="degree below 0"):
        grad(lambda x: exact.eval_legendre(-2, x))(0.3)


MIXED = {
    "gammainc": (exact.gammainc, [(1.3, 2.1), (2.0, 7.0), (25.0, 30.0)]),
    "gammaincc": (exact.gammaincc, [(1.3, 2.1), (3.0, 2.0)]),
    "betainc": (exact.betainc, [(1.3, 1.7, 0.4), (5.0, 2.0, 0.95), (1.0, 1.0, 0.5)]),
    "hyp1f1": (exact.hyp1f1, [(0.7, 1.2, -2.4), (0.7, 1.2, 0.0)]),
    "hyp2f1": (exact.hyp2f1, [(0.7, 1.2, 2.3, 0.4), (0.7, 1.2, 2.3, 0.0)]),
    "student": (lambda z, df: scipy.stats.t.cdf(z, df), [(0.7, 3.0), (-3.0, 2.5), (0.0, 3.0)]),
}


@pytest.mark.parametrize("name", MIXED)
def test_second_derivatives_by_parameters_and_arguments_agree(name):
    """By finite differences of the first, in both orders: the parameters' slopes move with the argument."""
    function, points = MIXED[name]
    h = 1e-5
    for point in points:
        args = np.array(point)
        whole = lambda v: function(*[v[i] for i in range(len(args))])  # noqa: E731, B023
        first = grad(whole)
        steps = h * np.eye(len(args))
        wanted = np.array([(first(args + s) - first(args - s)) / (2.0 * h) for s in steps])
        np.testing.assert_allclose(jacrev(first)(args), wanted, rtol=1e-6, atol=1e-6)
        values = [(whole(args + s) - whole(args - s)) / (2.0 * h) for s in steps]
        np.testing.assert_allclose(first(args), values, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("draw", [random.gamma, random.loggamma])
def test_a_gamma_draw_keeps_its_place_in_the_distribution_to_second_order(draw):
    key, a, h = random.PRNGKey(3), 2.3, 1e-3
    value = float(draw(key, a))
    logs = draw is random.loggamma
    p = exact.gammainc(a, np.exp(value) if logs else value)
    low, middle, high = (exact.gammaincinv(a + s, p) for s in (-h, 0.0, h))
    if logs:
        low, middle, high = np.log(low), np.log(middle), np.log(high)
    slope = grad(lambda v: draw(key, v))
    assert slope(a) == pytest.approx((high - low) / (2.0 * h), rel=1e-5)
    assert grad(slope)(a) == pytest.approx((high - 2.0 * middle + low) / (h * h), rel=1e-4)


def test_the_logit_has_one_slope_up_to_the_ends() -> None:
    slope = grad(lambda x: scipy.special.logit(x))
    x = np.array([1e-9, 0.3, 0.5, 0.8])
    np.testing.assert_allclose([slope(v) for v in x], 1.0 / (x * (1.0 - x)), rtol=1e-13)
    assert slope(0.0) == slope(1.0) == np.inf
    assert grad(slope)(0.3) == pytest.approx((2.0 * 0.3 - 1.0) / (0.3 * 0.7) ** 2, rel=1e-13)
