"""Further distributions of scipy.stats, in standard form, after the formulas of SciPy's documentation of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.bessel import i0e
from ..ops.beta import betaln
from ..ops.gamma import gammaln
from ..ops.normal import log_ndtr, ndtr
from ..ops.special import erf, erfc
from .distribution_forms import (
    LOG_ROOT_TWO_PI,
    ON_THE_RIGHT,
    UNIT,
    Family,
    half,
    half_turn,
    log1p_ratio,
    minus_half_turn,
    minus_one,
    normal,
    not_negative,
    one,
    positive,
    zero,
)
from .incomplete import betainc, betaincc, gammainc, gammaincc
from .special import xlog1py, xlogy

# ---- without shapes ------------------------------------------------------------------------------


def half_cauchy(z: Any) -> Any:
    return np.log(2.0 / np.pi) - np.log1p(z * z)


def half_cauchy_cdf(z: Any) -> Any:
    return 2.0 / np.pi * np.arctan(z)


def half_cauchy_sf(z: Any) -> Any:
    return 2.0 / np.pi * np.arctan2(1.0, z)


def hyperbolic_secant(z: Any) -> Any:
    return np.log(2.0 / np.pi) - np.logaddexp(z, -z)


def hyperbolic_secant_cdf(z: Any) -> Any:
    return 2.0 / np.pi * np.arctan(np.exp(z))


def hyperbolic_secant_sf(z: Any) -> Any:
    return 2.0 / np.pi * np.arctan(np.exp(-z))


def half_logistic(z: Any) -> Any:
    return np.log(2.0) - z - 2.0 * np.log1p(np.exp(-z))


def half_logistic_cdf(z: Any) -> Any:
    return np.tanh(0.5 * z)


def half_logistic_sf(z: Any) -> Any:
    return 2.0 * np.exp(-z) / (1.0 + np.exp(-z))


def levy(z: Any) -> Any:
    return -LOG_ROOT_TWO_PI - 1.5 * np.log(z) - 0.5 / z


def levy_cdf(z: Any) -> Any:
    return erfc(np.sqrt(0.5 / z))


def levy_sf(z: Any) -> Any:
    return erf(np.sqrt(0.5 / z))


def moyal(z: Any) -> Any:
    return -0.5 * (z + np.exp(-z)) - LOG_ROOT_TWO_PI


def moyal_cdf(z: Any) -> Any:
    return erfc(np.exp(-0.5 * z) / np.sqrt(2.0))


def moyal_sf(z: Any) -> Any:
    return erf(np.exp(-0.5 * z) / np.sqrt(2.0))


def arcsine(z: Any) -> Any:
    return -np.log(np.pi) - 0.5 * np.log(z * (1.0 - z))


def arcsine_cdf(z: Any) -> Any:
    return 2.0 / np.pi * np.arcsin(np.sqrt(z))


def semicircular(z: Any) -> Any:
    return np.log(2.0 / np.pi) + 0.5 * np.log1p(-z * z)


def semicircular_cdf(z: Any) -> Any:
    return 0.5 + (z * np.sqrt(1.0 - z * z) + np.arcsin(z)) / np.pi


def raised_cosine(z: Any) -> Any:
    return np.log1p(np.cos(z)) - np.log(2.0 * np.pi)


# ---- powers and exponentials ---------------------------------------------------------------------


def power_law(z: Any, a: Any) -> Any:
    pole = (z == 0.0) & (a < 1.0)  # which SciPy leaves out
    z = np.where(pole, 1.0, z)
    return np.where(pole, -np.inf, np.log(a) + xlogy(a - 1.0, z))


def power_law_cdf(z: Any, a: Any) -> Any:
    return z**a


def lomax(z: Any, c: Any) -> Any:
    return np.log(c) - (c + 1.0) * np.log1p(z)


def lomax_cdf(z: Any, c: Any) -> Any:
    return -np.expm1(-c * np.log1p(z))


def lomax_sf(z: Any, c: Any) -> Any:
    return np.exp(-c * np.log1p(z))


def lomax_logsf(z: Any, c: Any) -> Any:
    return -c * np.log1p(z)


def log_logistic(z: Any, c: Any) -> Any:
    return np.log(c) + xlogy(c - 1.0, z) - 2.0 * np.log1p(z**c)


def log_logistic_cdf(z: Any, c: Any) -> Any:
    return 1.0 / (1.0 + z ** (-c))


def log_logistic_sf(z: Any, c: Any) -> Any:
    return 1.0 / (1.0 + z**c)


def burr(z: Any, c: Any, d: Any) -> Any:
    return np.log(c * d) + xlogy(c * d - 1.0, z) - (d + 1.0) * np.logaddexp(0.0, c * np.log(z))


def burr_cdf(z: Any, c: Any, d: Any) -> Any:
    return (1.0 + z ** (-c)) ** (-d)


def burr12(z: Any, c: Any, d: Any) -> Any:
    return np.log(c * d) + xlogy(c - 1.0, z) + xlog1py(-d - 1.0, z**c)


def burr12_cdf(z: Any, c: Any, d: Any) -> Any:
    return -np.expm1(-d * np.log1p(z**c))


def burr12_sf(z: Any, c: Any, d: Any) -> Any:
    return np.exp(-d * np.log1p(z**c))


def burr12_logsf(z: Any, c: Any, d: Any) -> Any:
    return -d * np.log1p(z**c)


def weibull_max(z: Any, c: Any) -> Any:
    return np.log(c) + xlogy(c - 1.0, -z) - (-z) ** c


def weibull_max_cdf(z: Any, c: Any) -> Any:
    return np.exp(-((-z) ** c))


def weibull_max_sf(z: Any, c: Any) -> Any:
    return -np.expm1(-((-z) ** c))


def weibull_max_logcdf(z: Any, c: Any) -> Any:
    return -((-z) ** c)


def gompertz(z: Any, c: Any) -> Any:
    return np.log(c) + z - c * np.expm1(z)


def gompertz_cdf(z: Any, c: Any) -> Any:
    return -np.expm1(-c * np.expm1(z))


def gompertz_sf(z: Any, c: Any) -> Any:
    return np.exp(-c * np.expm1(z))


def gompertz_logsf(z: Any, c: Any) -> Any:
    return -c * np.expm1(z)


def generalised_extreme(z: Any, c: Any) -> Any:
    """Of c > 0 bounded above, of c < 0 below; of c = 0 Gumbel's."""
    end = c * z == 1.0
    z = np.where(end, 0.0, z)
    log = -z * log1p_ratio(-c * z)
    return np.where(end, np.where(c == 1.0, 0.0, -np.inf), log - np.exp(log) - np.log1p(-c * z))


def generalised_extreme_cdf(z: Any, c: Any) -> Any:
    return np.exp(-np.exp(-z * log1p_ratio(-c * z)))


def generalised_extreme_sf(z: Any, c: Any) -> Any:
    return -np.expm1(-np.exp(-z * log1p_ratio(-c * z)))


def generalised_extreme_logcdf(z: Any, c: Any) -> Any:
    return -np.exp(-z * log1p_ratio(-c * z))


def lowest_extreme(c: Any) -> Any:
    return np.where(c < 0, 1.0 / np.where(c < 0, c, 1.0), -np.inf)


def highest_extreme(c: Any) -> Any:
    return np.where(c > 0, 1.0 / np.where(c > 0, c, 1.0), np.inf)


def generalised_pareto(z: Any, c: Any) -> Any:
    return -(c + 1.0) * z * log1p_ratio(c * z)


def generalised_pareto_cdf(z: Any, c: Any) -> Any:
    return -np.expm1(-z * log1p_ratio(c * z))


def generalised_pareto_sf(z: Any, c: Any) -> Any:
    return np.exp(-z * log1p_ratio(c * z))


def generalised_pareto_logsf(z: Any, c: Any) -> Any:
    return -z * log1p_ratio(c * z)


def highest_pareto(c: Any) -> Any:
    return np.where(c < 0, -1.0 / np.where(c < 0, c, 1.0), np.inf)


def any_shape(c: Any) -> Any:
    return c == c


# ---- of gamma functions --------------------------------------------------------------------------


def chi(z: Any, df: Any) -> Any:
    return np.log(2.0) - 0.5 * np.log(2.0) * df - gammaln(0.5 * df) + xlogy(df - 1.0, z) - 0.5 * z * z


def chi_cdf(z: Any, df: Any) -> Any:
    return gammainc(0.5 * df, 0.5 * z * z)


def chi_sf(z: Any, df: Any) -> Any:
    return gammaincc(0.5 * df, 0.5 * z * z)


def nakagami(z: Any, nu: Any) -> Any:
    return np.log(2.0) + xlogy(nu, nu) - gammaln(nu) + xlogy(2.0 * nu - 1.0, z) - nu * z * z


def nakagami_cdf(z: Any, nu: Any) -> Any:
    return gammainc(nu, nu * z * z)


def nakagami_sf(z: Any, nu: Any) -> Any:
    return gammaincc(nu, nu * z * z)


def log_gamma(z: Any, c: Any) -> Any:
    return c * z - np.exp(z) - gammaln(c)


def log_gamma_cdf(z: Any, c: Any) -> Any:
    return gammainc(c, np.exp(z))


def log_gamma_sf(z: Any, c: Any) -> Any:
    return gammaincc(c, np.exp(z))


def generalised_normal(z: Any, beta: Any) -> Any:
    return np.log(0.5 * beta) - gammaln(1.0 / beta) - np.absolute(z) ** beta


def generalised_normal_cdf(z: Any, beta: Any) -> Any:
    half = 0.5 * gammaincc(1.0 / beta, np.absolute(z) ** beta)
    return np.where(z < 0, half, 1.0 - half)


def generalised_normal_sf(z: Any, beta: Any) -> Any:
    return generalised_normal_cdf(-z, beta)


def beta_prime(z: Any, a: Any, b: Any) -> Any:
    return xlogy(a - 1.0, z) - xlog1py(a + b, z) - betaln(a, b)


def beta_prime_cdf(z: Any, a: Any, b: Any) -> Any:
    return betainc(a, b, z / (1.0 + z))


def beta_prime_sf(z: Any, a: Any, b: Any) -> Any:
    return betaincc(a, b, z / (1.0 + z))


# ---- of the normal distribution ------------------------------------------------------------------


def inverse_gaussian(z: Any, mu: Any) -> Any:
    return -LOG_ROOT_TWO_PI - 1.5 * np.log(z) - 0.5 * ((z - mu) / mu) ** 2 / z


def inverse_gaussian_cdf(z: Any, mu: Any) -> Any:
    root = 1.0 / np.sqrt(z)
    return ndtr(root * (z / mu - 1.0)) + np.exp(2.0 / mu + log_ndtr(-root * (z / mu + 1.0)))


def inverse_gaussian_sf(z: Any, mu: Any) -> Any:
    root = 1.0 / np.sqrt(z)
    return ndtr(-root * (z / mu - 1.0)) - np.exp(2.0 / mu + log_ndtr(-root * (z / mu + 1.0)))


def modified_normal(z: Any, k: Any) -> Any:
    """The sum of a normal and an exponential variable of mean k."""
    return (0.5 / k - z) / k + log_ndtr(z - 1.0 / k) - np.log(k)


def modified_normal_cdf(z: Any, k: Any) -> Any:
    return ndtr(z) - np.exp((0.5 / k - z) / k + log_ndtr(z - 1.0 / k))


def modified_normal_sf(z: Any, k: Any) -> Any:
    return ndtr(-z) + np.exp((0.5 / k - z) / k + log_ndtr(z - 1.0 / k))


def skew_normal(z: Any, a: Any) -> Any:
    return np.log(2.0) + normal(z) + log_ndtr(a * z)


def folded_normal(z: Any, c: Any) -> Any:
    return np.logaddexp(normal(z - c), normal(z + c))


def folded_normal_cdf(z: Any, c: Any) -> Any:
    return 0.5 * (erf((z - c) / np.sqrt(2.0)) + erf((z + c) / np.sqrt(2.0)))


def folded_normal_sf(z: Any, c: Any) -> Any:
    return ndtr(c - z) + ndtr(-z - c)


def rice(z: Any, b: Any) -> Any:
    return np.log(z) - 0.5 * (z - b) ** 2 + np.log(i0e(z * b))


def unbounded_johnson(z: Any, a: Any, b: Any) -> Any:
    return np.log(b) - 0.5 * np.log1p(z * z) + normal(a + b * np.arcsinh(z))


def unbounded_johnson_cdf(z: Any, a: Any, b: Any) -> Any:
    return ndtr(a + b * np.arcsinh(z))


def unbounded_johnson_sf(z: Any, a: Any, b: Any) -> Any:
    return ndtr(-a - b * np.arcsinh(z))


def second_positive(a: Any, b: Any) -> Any:
    return (b > 0) & (a == a)


def truncated_normal(z: Any, a: Any, b: Any) -> Any:
    return normal(z) - _log_mass(a, b)


def truncated_normal_logcdf(z: Any, a: Any, b: Any) -> Any:
    return _log_mass(a, z) - _log_mass(a, b)


def truncated_normal_logsf(z: Any, a: Any, b: Any) -> Any:
    return _log_mass(z, b) - _log_mass(a, b)


def truncated_normal_cdf(z: Any, a: Any, b: Any) -> Any:
    return np.exp(truncated_normal_logcdf(z, a, b))


def truncated_normal_sf(z: Any, a: Any, b: Any) -> Any:
    return np.exp(truncated_normal_logsf(z, a, b))


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the normal distribution's mass between a and b, on the side of zero where nothing cancels."""
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    one_side = high <= 0
    far = log_ndtr(np.where(one_side, high, 0.0))
    side = far + np.log1p(-np.exp(log_ndtr(np.where(one_side, low, -1.0)) - far))
    return np.where(one_side, side, np.log1p(-ndtr(low) - ndtr(-np.where(one_side, 1.0, high))))


def lower_end(a: Any, b: Any) -> Any:
    return a


def upper_end(a: Any, b: Any) -> Any:
    return b


def between_ends(a: Any, b: Any) -> Any:
    return np.where(a > 0, a, np.where(b < 0, b, 0.0))


def ordered_ends(a: Any, b: Any) -> Any:
    return a < b


# ---- in pieces, and around a circle ----------------------------------------------------------------


def skewed_laplace(z: Any, kappa: Any) -> Any:
    return np.where(z >= 0, -kappa, 1.0 / kappa) * z - np.log(kappa + 1.0 / kappa)


def skewed_laplace_cdf(z: Any, kappa: Any) -> Any:
    below = np.exp(np.where(z < 0, z, 0.0) / kappa) * kappa * kappa / (1.0 + kappa * kappa)
    return np.where(z < 0, below, 1.0 - np.exp(-np.where(z < 0, 0.0, z) * kappa) / (1.0 + kappa * kappa))


def skewed_laplace_sf(z: Any, kappa: Any) -> Any:
    return skewed_laplace_cdf(-z, 1.0 / kappa)


def wrapped_cauchy(z: Any, c: Any) -> Any:
    return np.log((1.0 - c * c) / (2.0 * np.pi)) - np.log(1.0 + c * c - 2.0 * c * np.cos(z))


def wrapped_cauchy_cdf(z: Any, c: Any) -> Any:
    ratio = (1.0 + c) / (1.0 - c)
    return np.arctan2(ratio * np.sin(0.5 * z), np.cos(0.5 * z)) / np.pi


def once_around(*shapes: Any) -> Any:
    return 2.0 * np.pi


def within_one(c: Any) -> Any:
    return (c > 0) & (c < 1)


# ---- discrete --------------------------------------------------------------------------------------


def beta_binomial(k: Any, n: Any, a: Any, b: Any) -> Any:
    return betaln(k + a, n - k + b) - betaln(a, b) - np.log(n + 1.0) - betaln(n - k + 1.0, k + 1.0)


def beta_binomial_valid(n: Any, a: Any, b: Any) -> Any:
    return (n >= 0) & (np.floor(n) == n) & (a > 0) & (b > 0)


def beta_binomial_trials(n: Any, a: Any, b: Any) -> Any:
    return n


FURTHER: dict[str, Family] = {
    "halfcauchy": Family((), half_cauchy, half_cauchy_cdf, half_cauchy_sf, **ON_THE_RIGHT),
    "hypsecant": Family((), hyperbolic_secant, hyperbolic_secant_cdf, hyperbolic_secant_sf),
    "halflogistic": Family((), half_logistic, half_logistic_cdf, half_logistic_sf, **ON_THE_RIGHT),
    "levy": Family((), levy, levy_cdf, levy_sf, **ON_THE_RIGHT, open=True),
    "moyal": Family((), moyal, moyal_cdf, moyal_sf),
    "arcsine": Family((), arcsine, arcsine_cdf, **UNIT),
    "semicircular": Family((), semicircular, semicircular_cdf, low=minus_one, high=one, inside=half),
    "cosine": Family((), raised_cosine, low=minus_half_turn, high=half_turn, inside=half),
    "powerlaw": Family(("a",), power_law, power_law_cdf, valid=positive, **UNIT),
    "lomax": Family(
        ("c",), lomax, lomax_cdf, lomax_sf, logsf=lomax_logsf, valid=positive, **ON_THE_RIGHT
    ),
    "fisk": Family(
        ("c",), log_logistic, log_logistic_cdf, log_logistic_sf, valid=positive, **ON_THE_RIGHT
    ),
    "burr": Family(("c", "d"), burr, burr_cdf, valid=positive, **ON_THE_RIGHT),
    "burr12": Family(
        ("c", "d"), burr12, burr12_cdf, burr12_sf, logsf=burr12_logsf, valid=positive,
        **ON_THE_RIGHT,
    ),
    "weibull_max": Family(
        ("c",), weibull_max, weibull_max_cdf, weibull_max_sf, weibull_max_logcdf,
        valid=positive, high=zero, inside=minus_one,
    ),
    "gompertz": Family(
        ("c",), gompertz, gompertz_cdf, gompertz_sf, logsf=gompertz_logsf, valid=positive,
        **ON_THE_RIGHT,
    ),
    "genextreme": Family(
        ("c",), generalised_extreme, generalised_extreme_cdf, generalised_extreme_sf,
        generalised_extreme_logcdf, low=lowest_extreme, high=highest_extreme, inside=zero,
        valid=any_shape,
    ),
    "genpareto": Family(
        ("c",), generalised_pareto, generalised_pareto_cdf, generalised_pareto_sf,
        logsf=generalised_pareto_logsf, low=zero, high=highest_pareto, inside=zero,
        valid=any_shape,
    ),
    "chi": Family(("df",), chi, chi_cdf, chi_sf, valid=positive, **ON_THE_RIGHT),
    "nakagami": Family(
        ("nu",), nakagami, nakagami_cdf, nakagami_sf, valid=positive, **ON_THE_RIGHT
    ),
    "loggamma": Family(("c",), log_gamma, log_gamma_cdf, log_gamma_sf, valid=positive),
    "gennorm": Family(
        ("beta",), generalised_normal, generalised_normal_cdf, generalised_normal_sf, valid=positive
    ),
    "betaprime": Family(
        ("a", "b"), beta_prime, beta_prime_cdf, beta_prime_sf, valid=positive, **ON_THE_RIGHT, open=True
    ),
    "invgauss": Family(
        ("mu",), inverse_gaussian, inverse_gaussian_cdf, inverse_gaussian_sf, valid=positive,
        **ON_THE_RIGHT, open=True,
    ),
    "exponnorm": Family(
        ("K",), modified_normal, modified_normal_cdf, modified_normal_sf, valid=positive
    ),
    "skewnorm": Family(("a",), skew_normal, valid=any_shape),
    "foldnorm": Family(
        ("c",), folded_normal, folded_normal_cdf, folded_normal_sf, valid=not_negative,
        **ON_THE_RIGHT,
    ),
    "rice": Family(("b",), rice, valid=not_negative, **ON_THE_RIGHT),
    "johnsonsu": Family(
        ("a", "b"), unbounded_johnson, unbounded_johnson_cdf, unbounded_johnson_sf,
        valid=second_positive,
    ),
    "truncnorm": Family(
        ("a", "b"), truncated_normal, truncated_normal_cdf, truncated_normal_sf,
        truncated_normal_logcdf, truncated_normal_logsf, lower_end, upper_end,
        between_ends, ordered_ends,
    ),
    "laplace_asymmetric": Family(
        ("kappa",), skewed_laplace, skewed_laplace_cdf, skewed_laplace_sf, valid=positive
    ),
    "wrapcauchy": Family(
        ("c",), wrapped_cauchy, wrapped_cauchy_cdf, low=zero, high=once_around, inside=one,
        valid=within_one,
    ),
    "betabinom": Family(
        ("n", "a", "b"), beta_binomial, low=zero, high=beta_binomial_trials, inside=zero,
        valid=beta_binomial_valid, discrete=True,
    ),
}  # fmt: skip
