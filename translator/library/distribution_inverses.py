"""ppf and isf of scipy.stats' distributions, where the distribution function has an inverse in closed form, or one that
scipy.special has: a row (ops/foreign.py), of which the values are SciPy's and a slope is the density's reciprocal.

Formulas are those of SciPy's documentation of each distribution, for loc 0 and scale 1; those of beta, F and Student's
t have no derivative by the shapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.foreign import betaincinv, gammainccinv, gammaincinv, stdtrit
from .distribution_forms import Form
from .distributions import arguments
from .special import ndtri


def ppf(family: Any, inverse: Any, q: Any, *args: Any, **kwds: Any) -> Any:
    """The value below which the probability is `q`."""
    return _moved(family, inverse, False, q, args, kwds)


def isf(family: Any, inverse: Any, q: Any, *args: Any, **kwds: Any) -> Any:
    """The value above which the probability is `q`."""
    return _moved(family, inverse, True, q, args, kwds)


def _moved(family: Any, inverse: Any, turned: bool, q: Any, args: Any, keywords: Any) -> Any:
    given = arguments(family, args, keywords)
    shapes = tuple([np.asarray(given[name]) for name in family.shapes])
    loc, scale, q = np.asarray(given["loc"]), np.asarray(given["scale"]), np.asarray(q)
    valid = (scale > 0) & (q >= 0) & (q <= 1)
    if family.valid is not None:
        valid = valid & family.valid(*shapes)
    inside = valid & (q > 0) & (q < 1)
    low = -np.inf if family.low is None else family.low(*shapes)
    high = np.inf if family.high is None else family.high(*shapes)
    end = np.where((q <= 0) != turned, low, high)
    z = np.where(inside, inverse(np.where(inside, q, 0.5), *shapes), end)
    return np.where(valid, z * scale + loc, np.nan)[()]


def _minus_ndtri(q: Any) -> Any:
    return -ndtri(q)


def _exponential(q: Any) -> Any:
    return -np.log1p(-q)


def _exponential_above(q: Any) -> Any:
    return -np.log(q)


def _itself(q: Any) -> Any:
    return q


def _the_rest(q: Any) -> Any:
    return 1.0 - q


def _laplace(q: Any) -> Any:
    return np.where(q > 0.5, -np.log(2.0 * (1.0 - q)), np.log(2.0 * q))


def _laplace_above(q: Any) -> Any:
    return -_laplace(q)


def _logistic(q: Any) -> Any:
    return np.log(q) - np.log1p(-q)


def _logistic_above(q: Any) -> Any:
    return np.log1p(-q) - np.log(q)


def _cauchy(q: Any) -> Any:
    return np.tan(np.pi * q - np.pi / 2.0)


def _cauchy_above(q: Any) -> Any:
    return np.tan(np.pi / 2.0 - np.pi * q)


def _lognormal(q: Any, s: Any) -> Any:
    return np.exp(s * ndtri(q))


def _lognormal_above(q: Any, s: Any) -> Any:
    return np.exp(-s * ndtri(q))


def _pareto(q: Any, b: Any) -> Any:
    return (1.0 - q) ** (-1.0 / b)


def _pareto_above(q: Any, b: Any) -> Any:
    return q ** (-1.0 / b)


def _weibull(q: Any, c: Any) -> Any:
    return (-np.log1p(-q)) ** (1.0 / c)


def _weibull_above(q: Any, c: Any) -> Any:
    return (-np.log(q)) ** (1.0 / c)


def _gumbel(q: Any) -> Any:
    return -np.log(-np.log(q))


def _gumbel_above(q: Any) -> Any:
    return -np.log(-np.log1p(-q))


def _half_normal(q: Any) -> Any:
    return ndtri((1.0 + q) / 2.0)


def _half_normal_above(q: Any) -> Any:
    return -ndtri(q / 2.0)


def _rayleigh(q: Any) -> Any:
    return np.sqrt(-2.0 * np.log1p(-q))


def _rayleigh_above(q: Any) -> Any:
    return np.sqrt(-2.0 * np.log(q))


def _student(q: Any, df: Any) -> Any:
    return stdtrit(df, q)


def _student_above(q: Any, df: Any) -> Any:
    return -stdtrit(df, q)


def _gamma(q: Any, a: Any) -> Any:
    return gammaincinv(a, q)


def _gamma_above(q: Any, a: Any) -> Any:
    return gammainccinv(a, q)


def _chi2(q: Any, df: Any) -> Any:
    return 2.0 * gammaincinv(0.5 * df, q)


def _chi2_above(q: Any, df: Any) -> Any:
    return 2.0 * gammainccinv(0.5 * df, q)


def _beta(q: Any, a: Any, b: Any) -> Any:
    return betaincinv(a, b, q)


def _beta_above(q: Any, a: Any, b: Any) -> Any:
    rest = betaincinv(b, a, q)
    return np.where(rest < 0.5, 1.0 - rest, betaincinv(a, b, 1.0 - q))  # nothing cancels


def _fisher(q: Any, dfn: Any, dfd: Any) -> Any:
    part, rest = _beta(q, 0.5 * dfn, 0.5 * dfd), _beta_above(q, 0.5 * dfd, 0.5 * dfn)
    return dfd * part / (dfn * rest)


def _fisher_above(q: Any, dfn: Any, dfd: Any) -> Any:
    return 1.0 / _fisher(q, dfd, dfn)


INVERSES: dict[str, tuple[Form, Form]] = {
    "norm": (ndtri, _minus_ndtri),
    "expon": (_exponential, _exponential_above),
    "uniform": (_itself, _the_rest),
    "laplace": (_laplace, _laplace_above),
    "logistic": (_logistic, _logistic_above),
    "cauchy": (_cauchy, _cauchy_above),
    "lognorm": (_lognormal, _lognormal_above),
    "pareto": (_pareto, _pareto_above),
    "weibull_min": (_weibull, _weibull_above),
    "gumbel_r": (_gumbel, _gumbel_above),
    "halfnorm": (_half_normal, _half_normal_above),
    "rayleigh": (_rayleigh, _rayleigh_above),
}
BY_ROWS: dict[str, tuple[Form, Form]] = {  # for derivatives and batches: CPython runs the programs that have rows
    "t": (_student, _student_above),
    "gamma": (_gamma, _gamma_above),
    "chi2": (_chi2, _chi2_above),
    "beta": (_beta, _beta_above),
    "f": (_fisher, _fisher_above),
}
