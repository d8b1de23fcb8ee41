"""The namespace `untraced.scipy.stats`: densities and probabilities of distributions, as NumPy source.

    from untraced.scipy.stats import norm              or  import untraced.scipy.stats.norm as norm
    norm.logpdf(x, loc, scale)

Each distribution is a module with SciPy's methods: logpdf, pdf, cdf, sf, logcdf and logsf; logpmf and pmf where it is
discrete; ppf and isf where they have a closed form. The arguments are SciPy's: the shape
parameters, then loc and scale. Other methods (entropy) and other names (gaussian_kde, rankdata, mode, sem) are SciPy's
own.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

from ..arrays.hosted import offered
from .theirs import scipys_own

FACE = "untraced.scipy.stats"
__path__: list[str] = []  # the distributions are its submodules
NAMES = [
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "f", "gamma", "gennorm", "geom",
    "gumbel_l", "gumbel_r", "halfnorm", "invgamma", "laplace", "logistic", "lognorm", "maxwell", "multinomial",
    "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "rayleigh", "t", "truncnorm", "uniform", "vonmises",
    "weibull_min", "wishart", "wrapcauchy",
]  # fmt: skip


class Distribution(types.ModuleType):
    """Its methods are made when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        distribution = self.__name__.rpartition(".")[2]
        found = None if name.startswith("__") else _methods(distribution).get(name)
        if found is None and not name.startswith("_"):
            found = getattr(_scipys(distribution), name, None)
        if found is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        setattr(self, name, offered(found, self.__name__, name))
        return getattr(self, name)


def _scipys(distribution: str) -> Any:
    """SciPy's own distribution, whose methods are more; None where SciPy is not installed."""
    try:
        return scipys_own("stats")(distribution)
    except AttributeError:
        return None


def _methods(name: str) -> dict[str, Any]:
    from ...translator.library.distribution_inverses import INVERSES, isf, ppf
    from ...translator.library.distributions import CONTINUOUS, DISCRETE, FAMILIES
    from ...translator.library.distributions_of_vectors import OF_EACH, OF_VECTORS

    if name in OF_VECTORS:
        return {**OF_VECTORS[name], **OF_EACH} if name == "multivariate_normal" else OF_VECTORS[name]
    family = FAMILIES[name]
    known = DISCRETE if family.discrete else CONTINUOUS
    methods = {k: functools.partial(m, family) for k, m in known.items() if family.cdf is not None or "p" in k}
    if name in INVERSES:
        below, above = INVERSES[name]
        methods.update(ppf=functools.partial(ppf, family, below), isf=functools.partial(isf, family, above))
    return methods


for _name in NAMES:
    globals()[_name] = sys.modules[f"{FACE}.{_name}"] = Distribution(f"{FACE}.{_name}")
__getattr__ = scipys_own("stats")
