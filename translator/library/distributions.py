"""Distributions of scipy.stats as NumPy source: logpdf, pdf, cdf and their kin, in standard form and moved and scaled.

A `Family` (distribution_forms.py) says what a distribution is for loc 0 and scale 1; the functions here are what
SciPy's methods are for all of them. Formulas are those of SciPy's documentation of each distribution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.bessel import i0e
from ..ops.beta import betaln
from ..ops.gamma import digamma, gammaln
from ..ops.implicit import sloped
from ..ops.normal import log_ndtr, ndtr
from ..ops.selection import stop_gradient
from ..records import dataclass
from . import distribution_forms as forms
from .distribution_forms import (
    LOG_ROOT_TWO_PI,
    ON_THE_RIGHT,
    UNIT,
    Family,
    Form,
    not_negative,
    one,
    positive,
    zero,
)
from .incomplete import beta_slopes, betainc, betaincc, gammainc, gammaincc
from .special import log_expit, xlog1py, xlogy


def arguments(family: Any, args: Any, keywords: Any) -> Any:
    """Shapes, loc and scale, as the methods of scipy.stats take them. Raises TypeError as they do."""
    names = (*family.shapes, "loc") if family.discrete else (*family.shapes, "loc", "scale")
    if len(args) > len(names):
        raise TypeError(f"too many arguments: {names} are wanted")
    given = {"loc": 0.0, "scale": 1.0}
    given.update(keywords)
    given.update(zip(names, args))
    for name in family.shapes:
        if name not in given:
            raise TypeError(f"missing the argument {name!r}")
    for name in keywords:
        if name not in names:
            raise TypeError(f"got an unexpected keyword argument {name!r}")
    return given


def standard(family: Any, x: Any, args: Any, keywords: Any) -> Any:
    """The standardised value, harmless where it is outside; whether it is below, above; scale, shapes, validity.

    None of the last that is never or always so. Where a family has neither ends nor shapes, NaN stays NaN by itself.
    """
    given = arguments(family, args, keywords)
    shapes = tuple([np.asarray(given[name]) for name in family.shapes])
    loc, scale = np.asarray(given["loc"]), np.asarray(given["scale"])
    x = np.asarray(x)
    z = (x - loc).astype(np.float64) if family.discrete else (x - loc) / scale
    below = None if family.low is None else z <= family.low(*shapes) if family.open else z < family.low(*shapes)
    above = None if family.high is None else z >= family.high(*shapes) if family.open else z > family.high(*shapes)
    scaled = "scale" in keywords or len(args) > len(family.shapes) + 1
    valid = _all(scale > 0 if scaled else None, None if family.valid is None else family.valid(*shapes))
    if below is not None or above is not None or family.valid is not None:
        valid = _all(valid, ~np.isnan(z))
    if family.inside is not None:
        z = np.where(_any(_any(below, above), ~valid), family.inside(*shapes), z)
    return z, below, above, scale, shapes, valid


def _any(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else x | y


def _all(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else x & y


def _finished(value: Any, valid: Any) -> Any:
    return (value if valid is None else np.where(valid, value, np.nan))[()]


def _within(value: Any, below: Any, at_below: Any, above: Any, at_above: Any) -> Any:
    """`value`, but for what is below the support and above it."""
    value = value if above is None else np.where(above, at_above, value)
    return value if below is None else np.where(below, at_below, value)


def _inside(value: Any, out: Any, otherwise: Any) -> Any:
    return value if out is None else np.where(out, otherwise, value)


def logpdf(family: Any, x: Any, *args: Any, **kwds: Any) -> Any:
    z, below, above, scale, shapes, valid = standard(family, x, args, kwds)
    return _finished(_inside(family.logpdf(z, *shapes) - np.log(scale), _any(below, above), -np.inf), valid)


def pdf(family: Any, x: Any, *args: Any, **kwds: Any) -> Any:
    z, below, above, scale, shapes, valid = standard(family, x, args, kwds)
    return _finished(_inside(np.exp(family.logpdf(z, *shapes)) / scale, _any(below, above), 0.0), valid)


def logpmf(family: Any, k: Any, *args: Any, **kwds: Any) -> Any:
    z, below, above, _, shapes, valid = standard(family, k, args, kwds)
    out = _any(_any(below, above), np.floor(z) != z)
    return _finished(np.where(out, -np.inf, family.logpdf(z, *shapes)), valid)


def pmf(family: Any, k: Any, *args: Any, **kwds: Any) -> Any:
    z, below, above, _, shapes, valid = standard(family, k, args, kwds)
    out = _any(_any(below, above), np.floor(z) != z)
    return _finished(np.where(out, 0.0, np.exp(family.logpdf(z, *shapes))), valid)


def cdf(family: Any, x: Any, *args: Any, **kwds: Any) -> Any:
    z, below, above, _, shapes, valid = standard(family, x, args, kwds)
    z = np.floor(z) if family.discrete else z
    return _finished(_within(family.cdf(z, *shapes), below, 0.0, above, 1.0), valid)


def sf(family: Any, x: Any, *args: Any, **kwds: Any) -> Any:
    z, below, above, _, shapes, valid = standard(family, x, args, kwds)
    z = np.floor(z) if family.discrete else z
    value = 1.0 - family.cdf(z, *shapes) if family.sf is None else family.sf(z, *shapes)
    return _finished(_within(value, below, 1.0, above, 0.0), valid)


def logcdf(family: Any, x: Any, *args: Any, **kwds: Any) -> Any:
    z, below, above, _, shapes, valid = standard(family, x, args, kwds)
    z = np.floor(z) if family.discrete else z
    value = np.log(family.cdf(z, *shapes)) if family.logcdf is None else family.logcdf(z, *shapes)
    return _finished(_within(value, below, -np.inf, above, 0.0), valid)


def logsf(family: Any, x: Any, *args: Any, **kwds: Any) -> Any:
    z, below, above, _, shapes, valid = standard(family, x, args, kwds)
    z = np.floor(z) if family.discrete else z
    if family.logsf is not None:
        value = family.logsf(z, *shapes)
    else:
        value = np.log1p(-family.cdf(z, *shapes)) if family.sf is None else np.log(family.sf(z, *shapes))
    return _finished(_within(value, below, 0.0, above, -np.inf), valid)


@dataclass(frozen=True)
class Frozen:
    """A distribution of SciPy's with its parameters, for derivatives and batches."""

    dist: Any
    args: Any
    kwds: Any

    def logpdf(self, x: Any) -> Any:
        return self.dist.logpdf(x, *self.args, **self.kwds)

    def pdf(self, x: Any) -> Any:
        return self.dist.pdf(x, *self.args, **self.kwds)

    def logpmf(self, k: Any) -> Any:
        return self.dist.logpmf(k, *self.args, **self.kwds)

    def pmf(self, k: Any) -> Any:
        return self.dist.pmf(k, *self.args, **self.kwds)

    def cdf(self, x: Any) -> Any:
        return self.dist.cdf(x, *self.args, **self.kwds)

    def sf(self, x: Any) -> Any:
        return self.dist.sf(x, *self.args, **self.kwds)

    def logcdf(self, x: Any) -> Any:
        return self.dist.logcdf(x, *self.args, **self.kwds)

    def logsf(self, x: Any) -> Any:
        return self.dist.logsf(x, *self.args, **self.kwds)

    def ppf(self, q: Any) -> Any:
        return self.dist.ppf(q, *self.args, **self.kwds)

    def isf(self, q: Any) -> Any:
        return self.dist.isf(q, *self.args, **self.kwds)

    def mean(self) -> Any:
        return self.dist.mean(*self.args, **self.kwds)

    def var(self) -> Any:
        return self.dist.var(*self.args, **self.kwds)

    def std(self) -> Any:
        return self.dist.std(*self.args, **self.kwds)

    def entropy(self) -> Any:
        return self.dist.entropy(*self.args, **self.kwds)


def freeze(distribution: Any, *args: Any, **kwds: Any) -> Any:
    return Frozen(distribution, args, kwds)


# ---- what the families are made of ---------------------------------------------------------------


def _normal(z: Any) -> Any:
    return -0.5 * z * z - LOG_ROOT_TWO_PI


def _minus_log_ndtr(z: Any) -> Any:
    return log_ndtr(-z)


def _minus_ndtr(z: Any) -> Any:
    return ndtr(-z)


def _student(z: Any, df: Any) -> Any:
    half = 0.5 * (df + 1.0)
    return gammaln(half) - gammaln(0.5 * df) - 0.5 * np.log(df * np.pi) - half * np.log1p(z * z / df)


def student_cdf(z: Any, df: Any) -> Any:
    """By the half of the incomplete beta function on the side where nothing cancels; its derivative is the density."""
    density = np.exp(_student(z, df))
    at = z * z
    s = np.where(z == 0, 1.0, at)
    near = at < df
    half, x = 0.5 * df, s / (df + s)
    inner, _, inner_by_b, inner_by_x = beta_slopes(0.5, half, np.where(near, x, 0.5), False)
    outer, outer_by_a, _, outer_by_x = beta_slopes(half, 0.5, np.where(near, 0.5, df / (df + s)), False)
    below = stop_gradient(np.where(z == 0, 0.5, np.where(near, 0.5 - 0.5 * inner, 0.5 * outer)))
    turn = s / ((df + s) * (df + s))
    by_df = np.where(near, 0.5 * inner_by_x * turn - 0.25 * inner_by_b, 0.25 * outer_by_a + 0.5 * outer_by_x * turn)
    value = sloped(np.where(z < 0, below, 1.0 - below), z, density)
    middle = sloped(np.zeros_like(density), z, density * _student_slope(z, df))  # no df moves the middle
    away = np.where(np.isinf(z), 0.0, np.where(z < 0, by_df, -by_df))
    return sloped(value, df, np.where(z == 0, middle, away))


def _student_slope(z: Any, df: Any) -> Any:
    """The derivative of the density's logarithm with respect to df."""
    s = z * z
    scale = digamma(0.5 * (df + 1.0)) - digamma(0.5 * df) - 1.0 / df
    return 0.5 * (scale - np.log1p(s / df) + (df + 1.0) * s / (df * (df + s)))


def _student_sf(z: Any, df: Any) -> Any:
    return student_cdf(-z, df)


def _gamma(z: Any, a: Any) -> Any:
    return xlogy(a - 1.0, z) - z - gammaln(a)


def _gamma_cdf(z: Any, a: Any) -> Any:
    return gammainc(a, z)


def _gamma_sf(z: Any, a: Any) -> Any:
    return gammaincc(a, z)


def _chi2(z: Any, df: Any) -> Any:
    return xlogy(0.5 * df - 1.0, z) - 0.5 * z - gammaln(0.5 * df) - 0.5 * np.log(2.0) * df


def _chi2_cdf(z: Any, df: Any) -> Any:
    return gammainc(0.5 * df, 0.5 * z)


def _chi2_sf(z: Any, df: Any) -> Any:
    return gammaincc(0.5 * df, 0.5 * z)


def _beta(z: Any, a: Any, b: Any) -> Any:
    return xlog1py(b - 1.0, -z) + xlogy(a - 1.0, z) - betaln(a, b)


def _beta_cdf(z: Any, a: Any, b: Any) -> Any:
    return betainc(a, b, z)


def _beta_sf(z: Any, a: Any, b: Any) -> Any:
    return betaincc(a, b, z)


def _fisher(z: Any, dfn: Any, dfd: Any) -> Any:
    ratio = 0.5 * dfd * np.log(dfd) + 0.5 * dfn * np.log(dfn) + xlogy(0.5 * dfn - 1.0, z)
    return ratio - 0.5 * (dfn + dfd) * np.log(dfd + dfn * z) - betaln(0.5 * dfn, 0.5 * dfd)


def _fisher_cdf(z: Any, dfn: Any, dfd: Any) -> Any:
    return betainc(0.5 * dfn, 0.5 * dfd, dfn * z / (dfd + dfn * z))


def _fisher_sf(z: Any, dfn: Any, dfd: Any) -> Any:
    return betaincc(0.5 * dfn, 0.5 * dfd, dfn * z / (dfd + dfn * z))


def _exponential(z: Any) -> Any:
    return -z


def _exponential_cdf(z: Any) -> Any:
    return -np.expm1(-z)


def _exponential_sf(z: Any) -> Any:
    return np.exp(-z)


def _flat(z: Any) -> Any:
    return np.zeros_like(z)


def _itself(z: Any) -> Any:
    return z


def _laplace(z: Any) -> Any:
    return -np.absolute(z) - np.log(2.0)


def _laplace_cdf(z: Any) -> Any:
    e = 0.5 * np.exp(np.where(z > 0, -z, z))
    return np.where(z > 0, 1.0 - e, e)


def _laplace_sf(z: Any) -> Any:
    return _laplace_cdf(-z)


def _logistic(z: Any) -> Any:
    return log_expit(z) + log_expit(-z)


def _logistic_cdf(z: Any) -> Any:
    return np.exp(log_expit(z))


def _logistic_sf(z: Any) -> Any:
    return np.exp(log_expit(-z))


def _minus_log_expit(z: Any) -> Any:
    return log_expit(-z)


def _cauchy(z: Any) -> Any:
    return -np.log(np.pi) - np.log1p(z * z)


def _cauchy_cdf(z: Any) -> Any:
    return np.arctan2(1.0, -z) / np.pi


def _cauchy_sf(z: Any) -> Any:
    return np.arctan2(1.0, z) / np.pi


def _lognormal(z: Any, s: Any) -> Any:
    log = np.log(z)
    return _normal(log / s) - np.log(s) - log


def _lognormal_cdf(z: Any, s: Any) -> Any:
    return ndtr(np.log(z) / s)


def _lognormal_sf(z: Any, s: Any) -> Any:
    return ndtr(-np.log(z) / s)


def _lognormal_logcdf(z: Any, s: Any) -> Any:
    return log_ndtr(np.log(z) / s)


def _lognormal_logsf(z: Any, s: Any) -> Any:
    return log_ndtr(-np.log(z) / s)


def _pareto(z: Any, b: Any) -> Any:
    return np.log(b) - (b + 1.0) * np.log(z)


def _pareto_sf(z: Any, b: Any) -> Any:
    return z ** (-b)


def _pareto_cdf(z: Any, b: Any) -> Any:
    return -np.expm1(-b * np.log(z))


def _weibull(z: Any, c: Any) -> Any:
    return np.log(c) + xlogy(c - 1.0, z) - z**c


def _weibull_cdf(z: Any, c: Any) -> Any:
    return -np.expm1(-(z**c))


def _weibull_sf(z: Any, c: Any) -> Any:
    return np.exp(-(z**c))


def _weibull_logsf(z: Any, c: Any) -> Any:
    return -(z**c)


def _gumbel(z: Any) -> Any:
    return -z - np.exp(-z)


def _gumbel_cdf(z: Any) -> Any:
    return np.exp(-np.exp(-z))


def _gumbel_sf(z: Any) -> Any:
    return -np.expm1(-np.exp(-z))


def _gumbel_logcdf(z: Any) -> Any:
    return -np.exp(-z)


def _left_gumbel(z: Any) -> Any:
    return _gumbel(-z)


def _left_gumbel_cdf(z: Any) -> Any:
    return _gumbel_sf(-z)


def _left_gumbel_sf(z: Any) -> Any:
    return _gumbel_cdf(-z)


def _left_gumbel_logsf(z: Any) -> Any:
    return _gumbel_logcdf(-z)


def _half_normal(z: Any) -> Any:
    return _normal(z) + np.log(2.0)


def _half_normal_cdf(z: Any) -> Any:
    return 2.0 * (ndtr(z) - 0.5)


def _half_normal_sf(z: Any) -> Any:
    return 2.0 * ndtr(-z)


def _inverse_gamma(z: Any, a: Any) -> Any:
    return -(a + 1.0) * np.log(z) - gammaln(a) - 1.0 / z


def _inverse_gamma_cdf(z: Any, a: Any) -> Any:
    return gammaincc(a, 1.0 / z)


def _inverse_gamma_sf(z: Any, a: Any) -> Any:
    return gammainc(a, 1.0 / z)


def _rayleigh(z: Any) -> Any:
    return np.log(z) - 0.5 * z * z


def _rayleigh_cdf(z: Any) -> Any:
    return -np.expm1(-0.5 * z * z)


def _rayleigh_sf(z: Any) -> Any:
    return np.exp(-0.5 * z * z)


def _rayleigh_logsf(z: Any) -> Any:
    return -0.5 * z * z


def _maxwell(z: Any) -> Any:
    return np.log(2.0) - LOG_ROOT_TWO_PI + 2.0 * np.log(z) - 0.5 * z * z


def _maxwell_cdf(z: Any) -> Any:
    return gammainc(1.5, 0.5 * z * z)


def _maxwell_sf(z: Any) -> Any:
    return gammaincc(1.5, 0.5 * z * z)


def _von_mises(z: Any, kappa: Any) -> Any:
    return kappa * (np.cos(z) - 1.0) - np.log(2.0 * np.pi * i0e(kappa))


def _poisson(k: Any, mu: Any) -> Any:
    return xlogy(k, mu) - gammaln(k + 1.0) - mu


def _poisson_cdf(k: Any, mu: Any) -> Any:
    return gammaincc(k + 1.0, mu)


def _poisson_sf(k: Any, mu: Any) -> Any:
    return gammainc(k + 1.0, mu)


def _binomial(k: Any, n: Any, p: Any) -> Any:
    ways = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return ways + xlogy(k, p) + xlog1py(n - k, -p)


def _binomial_cdf(k: Any, n: Any, p: Any) -> Any:
    last = k >= n
    return np.where(last, 1.0, betaincc(k + 1.0, np.where(last, 1.0, n - k), p))


def _binomial_sf(k: Any, n: Any, p: Any) -> Any:
    last = k >= n
    return np.where(last, 0.0, betainc(k + 1.0, np.where(last, 1.0, n - k), p))


def _trials(n: Any, p: Any) -> Any:
    return n


def _binomial_valid(n: Any, p: Any) -> Any:
    return (n >= 0) & (np.floor(n) == n) & (p >= 0) & (p <= 1)


def _bernoulli(k: Any, p: Any) -> Any:
    return xlogy(k, p) + xlog1py(1.0 - k, -p)


def _bernoulli_cdf(k: Any, p: Any) -> Any:
    return np.where(k >= 1, 1.0, 1.0 - p)


def _a_probability(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


def _geometric(k: Any, p: Any) -> Any:
    return xlog1py(k - 1.0, -p) + np.log(p)


def _geometric_cdf(k: Any, p: Any) -> Any:
    return -np.expm1(np.log1p(-p) * k)


def _geometric_sf(k: Any, p: Any) -> Any:
    return np.exp(np.log1p(-p) * k)


def _negative_binomial(k: Any, n: Any, p: Any) -> Any:
    return gammaln(n + k) - gammaln(k + 1.0) - gammaln(n) + n * np.log(p) + xlog1py(k, -p)


def _negative_binomial_cdf(k: Any, n: Any, p: Any) -> Any:
    return betainc(n, k + 1.0, p)


def _negative_binomial_sf(k: Any, n: Any, p: Any) -> Any:
    return betaincc(n, k + 1.0, p)


def _negative_binomial_valid(n: Any, p: Any) -> Any:
    return (n > 0) & (p > 0) & (p <= 1)


FAMILIES: dict[str, Family] = {
    "norm": Family((), _normal, ndtr, _minus_ndtr, log_ndtr, _minus_log_ndtr),
    "t": Family(("df",), _student, student_cdf, _student_sf, valid=positive),
    "gamma": Family(("a",), _gamma, _gamma_cdf, _gamma_sf, valid=positive, **ON_THE_RIGHT),
    "chi2": Family(("df",), _chi2, _chi2_cdf, _chi2_sf, valid=positive, **ON_THE_RIGHT),
    "beta": Family(("a", "b"), _beta, _beta_cdf, _beta_sf, valid=positive, **UNIT),
    "f": Family(("dfn", "dfd"), _fisher, _fisher_cdf, _fisher_sf, valid=positive, **ON_THE_RIGHT),
    "expon": Family((), _exponential, _exponential_cdf, _exponential_sf, logsf=_exponential, **ON_THE_RIGHT),
    "uniform": Family((), _flat, _itself, **UNIT),
    "laplace": Family((), _laplace, _laplace_cdf, _laplace_sf),
    "logistic": Family((), _logistic, _logistic_cdf, _logistic_sf, log_expit, _minus_log_expit),
    "cauchy": Family((), _cauchy, _cauchy_cdf, _cauchy_sf),
    "lognorm": Family(
        ("s",), _lognormal, _lognormal_cdf, _lognormal_sf, _lognormal_logcdf, _lognormal_logsf, valid=positive,
        **ON_THE_RIGHT, open=True,
    ),
    "pareto": Family(("b",), _pareto, _pareto_cdf, _pareto_sf, valid=positive, low=one, inside=one),
    "weibull_min": Family(
        ("c",), _weibull, _weibull_cdf, _weibull_sf, logsf=_weibull_logsf, valid=positive, **ON_THE_RIGHT
    ),
    "gumbel_r": Family((), _gumbel, _gumbel_cdf, _gumbel_sf, logcdf=_gumbel_logcdf),
    "gumbel_l": Family((), _left_gumbel, _left_gumbel_cdf, _left_gumbel_sf, logsf=_left_gumbel_logsf),
    "halfnorm": Family((), _half_normal, _half_normal_cdf, _half_normal_sf, **ON_THE_RIGHT),
    "invgamma": Family(
        ("a",), _inverse_gamma, _inverse_gamma_cdf, _inverse_gamma_sf, valid=positive, **ON_THE_RIGHT, open=True
    ),
    "rayleigh": Family((), _rayleigh, _rayleigh_cdf, _rayleigh_sf, logsf=_rayleigh_logsf, **ON_THE_RIGHT),
    "maxwell": Family((), _maxwell, _maxwell_cdf, _maxwell_sf, **ON_THE_RIGHT),
    "vonmises": Family(("kappa",), _von_mises, valid=positive),
    "poisson": Family(
        ("mu",), _poisson, _poisson_cdf, _poisson_sf, valid=not_negative, discrete=True, **ON_THE_RIGHT
    ),
    "binom": Family(
        ("n", "p"), _binomial, _binomial_cdf, _binomial_sf, low=zero, high=_trials, inside=zero,
        valid=_binomial_valid, discrete=True,
    ),
    "bernoulli": Family(
        ("p",), _bernoulli, _bernoulli_cdf, low=zero, high=one, inside=zero, valid=_a_probability, discrete=True
    ),
    "geom": Family(
        ("p",), _geometric, _geometric_cdf, _geometric_sf, low=one, inside=one, valid=_a_probability, discrete=True
    ),
    "nbinom": Family(
        ("n", "p"), _negative_binomial, _negative_binomial_cdf, _negative_binomial_sf, low=zero, inside=zero,
        valid=_negative_binomial_valid, discrete=True,
    ),
    "erlang": Family(("a",), _gamma, _gamma_cdf, _gamma_sf, valid=positive, **ON_THE_RIGHT),
    **forms.FURTHER,
}  # fmt: skip
CONTINUOUS: dict[str, Form] = {
    "logpdf": logpdf, "pdf": pdf, "cdf": cdf, "sf": sf, "logcdf": logcdf, "logsf": logsf
}  # fmt: skip
DISCRETE: dict[str, Form] = {
    "logpmf": logpmf, "pmf": pmf, "cdf": cdf, "sf": sf, "logcdf": logcdf, "logsf": logsf
}  # fmt: skip
