"""The distributions of scipy.stats used most, in standard form, after the formulas of SciPy's documentation of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.bessel import i0e
from ..ops.beta import betaln
from ..ops.gamma import digamma, gammaln
from ..ops.implicit import sloped
from ..ops.normal import log_ndtr, ndtr
from ..ops.selection import stop_gradient
from .distribution_forms import (
    LOG_ROOT_TWO_PI,
    ON_THE_RIGHT,
    UNIT,
    Family,
    normal,
    not_negative,
    one,
    positive,
    zero,
)
from .incomplete import beta_slopes, betainc, betaincc, gammainc, gammaincc
from .special import log_expit, xlog1py, xlogy


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
    return normal(log / s) - np.log(s) - log


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
    return normal(z) + np.log(2.0)


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


COMMON: dict[str, Family] = {
    "norm": Family((), normal, ndtr, _minus_ndtr, log_ndtr, _minus_log_ndtr),
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
}  # fmt: skip
