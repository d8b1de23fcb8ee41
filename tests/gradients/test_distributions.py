"""The distributions of scipy.stats: SciPy's values, and their derivatives in the value and in every parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

from untraced import accelerate, grad, testing, vmap
from untraced.translator.errors import CutError, UnsupportedError
from untraced.translator.library.distribution_inverses import BY_ROWS, INVERSES
from untraced.translator.library.distributions import FAMILIES

X = np.array([-1.3, -0.005, 0.0, 0.3, 0.9, 1.0, 2.5, 7.0])
COUNTS = np.array([-1.0, 0.0, 1.0, 2.0, 2.5, 7.0])
SHAPES: dict[str, tuple[float, ...]] = {
    "t": (2.5,), "gamma": (1.7,), "chi2": (3.0,), "beta": (1.3, 2.2), "f": (3.0, 5.0), "lognorm": (0.7,),
    "pareto": (1.4,), "weibull_min": (1.7,), "invgamma": (2.2,), "vonmises": (1.2,), "poisson": (2.3,),
    "binom": (6.0, 0.3), "bernoulli": (0.4,), "geom": (0.3,), "nbinom": (3.5, 0.4),
    "powerlaw": (1.7,), "lomax": (1.4,), "fisk": (1.6,), "burr": (1.7, 0.8), "burr12": (1.7, 0.8),
    "weibull_max": (1.7,), "gompertz": (0.6,), "genextreme": (0.2,), "genpareto": (-0.1,), "erlang": (2.0,),
    "chi": (2.4,), "nakagami": (1.3,),
    "loggamma": (1.4,), "gennorm": (1.6,), "betaprime": (1.3, 2.2), "invgauss": (0.8,), "exponnorm": (1.3,),
    "skewnorm": (-1.2,), "foldnorm": (0.7,), "rice": (0.7,), "johnsonsu": (0.3, 1.2), "truncnorm": (-0.7, 2.2),
    "laplace_asymmetric": (1.4,), "wrapcauchy": (0.4,), "betabinom": (6, 1.3, 2.2),
}  # fmt: skip
LOOPS = (
    "t", "gamma", "chi2", "beta", "f", "invgamma", "poisson", "binom", "nbinom", "maxwell", "erlang", "chi", "nakagami",
    "loggamma", "gennorm", "betaprime",
)  # fmt: skip
"""Their cdf is an incomplete function."""


def methods(name: str) -> tuple[str, ...]:
    family = FAMILIES[name]
    density = ("logpmf", "pmf") if family.discrete else ("logpdf", "pdf")
    return density if family.cdf is None else (*density, "cdf", "sf", "logcdf", "logsf")


def places(name: str) -> Any:
    """Inside the support, if moved and scaled by a little."""
    low, high = FAMILIES[name].low, FAMILIES[name].high
    return np.array([0.3, 0.9]) if low and high else np.array([-0.7, -1.3] if high else [1.6, 1.2])


@pytest.mark.parametrize("name", FAMILIES)
def test_values_are_scipys(name: str) -> None:
    """Inside the support, outside of it, at its ends, with loc and scale, and where a parameter is not valid."""
    distribution, shapes = getattr(scipy.stats, name), SHAPES.get(name, ())
    discrete = FAMILIES[name].discrete
    keywords = {"loc": 1} if discrete else {"loc": 0.1, "scale": 1.7}

    def every(x: Any) -> Any:
        return [getattr(distribution, m)(x, *shapes, **keywords) for m in methods(name)]

    x = COUNTS if discrete else X
    found = vmap(lambda _: every(x))(np.zeros(1))  # a batch leaves nothing to SciPy
    for method, (got,), want in zip(methods(name), found, every(x), strict=True):
        # a probability near 1 is rounded before its logarithm is taken
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=3e-16, err_msg=method)


@pytest.mark.parametrize("name", FAMILIES)
def test_derivatives_of_densities(name: str) -> None:
    distribution, shapes = getattr(scipy.stats, name), SHAPES.get(name, ())
    if FAMILIES[name].discrete:
        moving = shapes[1:] if "n" in FAMILIES[name].shapes and name != "nbinom" else shapes
        fixed = shapes[: len(shapes) - len(moving)]
        testing.check_grads(lambda *ps: distribution.logpmf(COUNTS[2:3], *fixed, *ps), moving, order=1)
    else:
        inside = places(name)
        testing.check_grads(distribution.logpdf, (inside, *shapes, 0.05, 1.1), order=1)


@pytest.mark.parametrize("name", [n for n, f in FAMILIES.items() if n not in LOOPS and f.cdf and not f.discrete])
def test_derivatives_of_probabilities(name: str) -> None:
    distribution, shapes = getattr(scipy.stats, name), SHAPES.get(name, ())
    args = (places(name), *shapes, 0.05, 1.1)
    testing.check_grads(lambda *a: distribution.cdf(*a) + distribution.logsf(*a), args, order=1)


def test_the_derivative_of_a_probability_is_the_density() -> None:
    x = np.array([-2.0, -1e-3, 0.0, 0.4, 3.0])
    found = grad(lambda x: np.sum(scipy.stats.t.cdf(x, 3.5)))(x)
    np.testing.assert_allclose(found, scipy.stats.t.pdf(x, 3.5), rtol=1e-11)
    found = grad(lambda m: scipy.stats.poisson.cdf(3, m))(2.3)
    assert found == pytest.approx(-scipy.stats.poisson.pmf(3, 2.3), rel=1e-12)


@pytest.mark.parametrize("x", [5.0, 30.0, 50.0, 800.0])
def test_far_out_the_logarithms_have_both_derivatives(x: float) -> None:
    stats = scipy.stats
    slopes = [(stats.rayleigh, (), -x, -1.0), (stats.weibull_min, (2.0,), -2.0 * x, -2.0)]
    for family, shapes, first, second in slopes:
        slope = grad(lambda v, family=family, shapes=shapes: family.logsf(v, *shapes))
        assert (slope(x), grad(slope)(x)) == pytest.approx((first, second), rel=1e-12)
    normal = grad(lambda v: stats.norm.logcdf(v))
    density = stats.norm.pdf(x) / stats.norm.cdf(x)
    assert normal(x) == pytest.approx(density, rel=1e-11, abs=0.0)
    assert grad(normal)(x) == pytest.approx(-density * (x + density), rel=1e-11, abs=0.0)


def test_of_vectors() -> None:
    rng = np.random.default_rng(0)
    x, mean, root = rng.standard_normal((4, 3)), rng.standard_normal(3), rng.standard_normal((3, 3))
    cov = root @ root.T + np.eye(3)
    for singular in (False, True):

        def log_likelihood(x: Any, mean: Any, cov: Any, singular: bool = singular) -> Any:
            return scipy.stats.multivariate_normal.logpdf(x, mean, 0.5 * (cov + cov.T), allow_singular=singular)

        want = log_likelihood(x, mean, cov)
        np.testing.assert_allclose(accelerate(log_likelihood)(x, mean, cov), want, rtol=1e-12)
        testing.check_grads(log_likelihood, (x, mean, cov), order=1)
    p = np.array([0.2, 0.5, 0.3])
    dirichlet = scipy.stats.dirichlet
    np.testing.assert_allclose(accelerate(dirichlet.logpdf)(p, p * 4), dirichlet.logpdf(p, p * 4), rtol=1e-13)
    testing.check_grads(lambda a: dirichlet.logpdf(p, a), (p * 4,), order=1)


def test_counts_of_many_kinds() -> None:
    """The last probability is what is left where they do not sum to 1."""
    counts, p = np.array([[1, 0, 3], [2, 2, 0], [2, 2, 1]]), np.array([0.2, 0.3, 0.5])
    multinomial = scipy.stats.multinomial
    want = [multinomial.logpmf(counts, 4, p), multinomial.pmf(counts, 4, p)]
    found = vmap(lambda p: [multinomial.logpmf(counts, 4, p), multinomial.pmf(counts, 4, p)])(p[None])
    for got, w in zip(found, want, strict=True):
        np.testing.assert_allclose(got[0], w, rtol=1e-12)
    slope = grad(lambda p: multinomial.logpmf(counts[0], 4, p / np.sum(p)))(2.0 * p)
    np.testing.assert_allclose(slope, (counts[0] / p - 4.0) / 2.0, rtol=1e-12)
    slope = grad(lambda p: multinomial.logpmf(counts[0], 4, p))(0.9 * p)
    np.testing.assert_allclose(slope, [1.0 / 0.18 - 3.0 / 0.55, -3.0 / 0.55, 0.0], rtol=1e-12)


def test_distributions_with_their_parameters() -> None:
    stats = scipy.stats

    def f(m: Any, s: Any) -> Any:
        d = stats.norm(m, scale=s)
        counts = stats.poisson(s).logpmf(2) + stats.norm.freeze(m).ppf(0.3)
        return d.logpdf(0.3) * d.cdf(0.2) + stats.gamma(s).logsf(1.3) + counts

    testing.check_grads(f, (0.2, 1.3), order=2)
    np.testing.assert_allclose(accelerate(f)(0.2, 1.3), f(0.2, 1.3), rtol=1e-14)  # SciPy's objects
    with pytest.raises(CutError, match="mean cannot be differentiated"):
        grad(lambda m: stats.norm(m).mean())(1.0)


def test_what_is_left_to_scipy() -> None:
    with pytest.raises(CutError):
        grad(lambda x: scipy.stats.tukeylambda.logpdf(x, 1.3))(1.0)


@pytest.mark.parametrize("name", [*INVERSES, *BY_ROWS])
def test_quantiles(name: str) -> None:
    distribution, shapes = getattr(scipy.stats, name), SHAPES.get(name, ())
    q = np.array([-0.1, 0.0, 1e-5, 0.3, 0.5, 0.9, 1.0, 1.2, np.nan])
    every = lambda q: [  # noqa: E731
        f(q, *shapes, *moved) for f in (distribution.ppf, distribution.isf) for moved in ((), (0.3, 1.7), (0.0, -1.0))
    ]
    found = vmap(lambda _: every(q))(np.zeros(1))
    for (got,), want in zip(found, every(q), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-15)
    fixed = shapes if name in ("t", "beta", "f") else ()  # by these shapes the inverse has no derivative
    moving = (q[3:6], *shapes[len(fixed):], 0.05, 1.1)
    product = lambda q, *a: distribution.ppf(q, *fixed, *a) * distribution.isf(q, *fixed, *a)  # noqa: E731
    testing.check_grads(product, moving, order=1)


def test_quantiles_in_programs_of_users() -> None:
    f = lambda q: np.sin(q) * scipy.stats.gamma(2.0).ppf(q) + scipy.stats.f.ppf(q, 3.0, 5.0)  # noqa: E731
    assert accelerate(f)(0.3) == pytest.approx(f(0.3), rel=1e-14)
    slope = grad(lambda q: scipy.stats.t.ppf(q, 4.0))(np.array(0.975))
    assert slope == pytest.approx(1.0 / scipy.stats.t.pdf(scipy.stats.t.ppf(0.975, 4.0), 4.0), rel=1e-12)
    tiny = np.array([1e-9, 1.0 - 1e-9])
    (got,) = vmap(lambda q: [scipy.stats.f.ppf(q, 3.0, 5.0)])(tiny)
    np.testing.assert_allclose(got, scipy.stats.f.ppf(tiny, 3.0, 5.0), rtol=1e-11)
    with pytest.raises(UnsupportedError, match="betaincinv has no derivative by argument 1"):
        grad(lambda a: scipy.stats.beta.ppf(0.3, a, 2.0))(1.2)


@pytest.mark.parametrize("name", ["norm", "laplace", "logistic", "cauchy", "gumbel_r"])
def test_families_without_ends_have_no_masks(name: str) -> None:
    family = getattr(scipy.stats, name)
    x = np.array([0.3, np.nan, np.inf, -np.inf])
    for method in (family.logpdf, family.pdf, family.cdf, family.sf, family.logcdf, family.logsf):
        for args in ((), (0.5, 2.0), (0.5, -1.0)):
            f = accelerate(lambda x, method=method, args=args: method(x, *args), target="numpy")
            np.testing.assert_allclose(f(x), method(x, *args), rtol=1e-13)
    assert "np.where" not in grad(lambda x: scipy.stats.norm.cdf(x, loc=1.0) * scipy.stats.norm.pdf(x)).source(0.5)
