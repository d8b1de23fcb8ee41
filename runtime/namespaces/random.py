"""The namespace `untraced.random`: JAX's random numbers, the same for the same keys.

Each is NumPy source that runs under CPython as it stands; inside an accelerated or transformed function it is read, and
its bits are made where they are used. Keys are numbers of dtype uint64. `translator/precision` says what dtype=None is.
Where an `Array` is among the arguments, the call is compiled, and gives Arrays; else `hosted` says what it gives.

`shape` is the shape of the result: () by default, or, where None is the default, that to which a distribution's
parameters broadcast; they broadcast to `shape`, else ValueError. `dtype` is one of floats, for counts and choices of
integers, too, else ValueError. A key of another dtype or shape than keys have is a TypeError.
"""

from __future__ import annotations

from ...translator.library.random_choices import bernoulli, categorical, choice, permutation, rademacher, randint
from ...translator.library.random_counts import binomial, geometric, multinomial, poisson
from ...translator.library.random_draws import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    multivariate_normal,
    normal,
    orthogonal,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    uniform,
    wald,
    weibull_min,
)
from ...translator.library.random_gamma import (
    ball,
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    generalized_normal,
    loggamma,
    t,
)
from ...translator.library.random_keys import (
    PRNGKey,
    bits,
    clone,
    fold_in,
    key,
    key_data,
    key_impl,
    split,
    wrap_key_data,
)
from ...translator.library.random_sources import CALLED
from ...translator.ops.implicit import gamma_draw, loggamma_draw
from ...translator.ops.random import normal_root, threefry2x32, threefry_bits32
from ..arrays.hosted import offer

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "gamma_draw",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_impl",
    "laplace",
    "loggamma",
    "loggamma_draw",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "normal_root",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "threefry2x32",
    "threefry_bits32",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]

offer(globals(), (function.__name__ for function in CALLED), "untraced.random", compiled=True)
