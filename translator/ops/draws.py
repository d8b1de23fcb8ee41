"""Draws from generators of random numbers, one row a distribution: the numbers that NumPy, or Python, would draw.

A draw is a store: it changes the words that hold the state of the generator, and leaves the bits of what was drawn in
the first of them, where the rows of `LAST` read it. So the order of draws is the order of the states.

    x = rng.normal(0.0, s)          streams.normal(rng, 0.0, s)
                                    x = streams.last_float(rng)

`library/streams` says what the words are; its functions, of the names of the rows, draw for CPython. Native loops
call NumPy's own library of distributions.
"""

from __future__ import annotations

import numpy as np

from ..ir import Aval
from .core import Draw

FLOAT = Aval((), np.dtype(np.float64), weak=True)
INT = Aval((), np.dtype(np.int64), weak=True)
INT64 = Aval((), np.dtype(np.int64))

LAST_FLOAT = Draw(name="last_float", result=FLOAT)
LAST_INT = Draw(name="last_int", result=INT)
LAST_INT64 = Draw(name="last_int64", result=INT64)
LAST = (LAST_FLOAT, LAST_INT, LAST_INT64)

_POSITIVE = "{0} > 0"
_SCALE = "{0} >= 0 && !__builtin_signbit({0})"
_SHAPE = "{0} > 0 && {0} < 1e300"
_EXACT = "fabs({0}) < 9007199254740992.0"  # of ints, differences of floats are those of ints
_LOCATED = (_SCALE.replace("0}", "1}"),)
_FINITE = "({1} - {0}) - ({1} - {0}) == 0"
_BELOW = ("{0} < {1} && (unsigned long long){1} - (unsigned long long){0} <= 1ull << 62",)


def _row(
    name: str,
    parameters: str = "",
    valid: tuple[str, ...] = (),
    native: str = "",
    *,
    owner: str = "Generator",
    methods: str = "",
    drawn: Draw = LAST_FLOAT,
) -> Draw:
    """`parameters` are names with defaults, "loc=0.0 scale=1.0", as the `methods` of the `owner` have them."""
    split = [p.partition("=") for p in parameters.split()]
    return Draw(
        name=name,
        owner=owner,
        methods=tuple((methods or name).split()),
        parameters=tuple((p, float(default) if default else None) for p, _, default in split),
        integers=drawn is not LAST_FLOAT and "low" in parameters,
        valid=valid,
        native=native or f"random_{name}(&source" + "".join(f", {{{k}}}" for k in range(len(split))) + ")",
        drawn=drawn,
    )


_INTEGERS = "bounded(&source, {0}, {1}, %s)"

NUMPYS = (
    _row("random", native="source.next_double(source.state)"),
    _row("standard_normal"),
    _row("standard_exponential"),
    _row("normal", "loc=0.0 scale=1.0", _LOCATED),
    _row("uniform", "low=0.0 high=1.0", ("{1} >= {0}", _FINITE), "random_uniform(&source, {0}, {1} - {0})"),
    _row("exponential", "scale=1.0", (_SCALE,)),
    _row("integers", "low high", _BELOW, _INTEGERS % "false", drawn=LAST_INT64),
    _row("lognormal", "mean=0.0 sigma=1.0", _LOCATED),
    _row("laplace", "loc=0.0 scale=1.0", _LOCATED),
    _row("logistic", "loc=0.0 scale=1.0", _LOCATED),
    _row("gumbel", "loc=0.0 scale=1.0", _LOCATED),
    _row("rayleigh", "scale=1.0", (_SCALE,)),
    _row("standard_cauchy"),
    _row("standard_gamma", "shape", (_SHAPE,)),
    _row("gamma", "shape scale=1.0", (_SHAPE, "{1} > 0")),
    _row("beta", "a b", (_SHAPE, "{1} > 0 && {1} < 1e300")),
    _row("chisquare", "df", (_SHAPE,)),
    _row("standard_t", "df", (_SHAPE,)),
    _row("weibull", "a", (_POSITIVE,)),
    _row("pareto", "a", (_POSITIVE,)),
    _row("poisson", "lam=1.0", ("{0} >= 0 && {0} < 1e15",), drawn=LAST_INT),
    _row("geometric", "p", ("{0} > 1e-9 && {0} <= 1",), drawn=LAST_INT),
)
OF_RANDOM_STATE = (
    _row("legacy_random", owner="RandomState", methods="random random_sample rand",
         native="source.next_double(source.state)"),
    _row("legacy_normal", "loc=0.0 scale=1.0", _LOCATED, "{0} + {1} * polar(words)",
         owner="RandomState", methods="normal"),
    _row("legacy_standard_normal", owner="RandomState", methods="standard_normal randn", native="polar(words)"),
    _row("legacy_uniform", "low=0.0 high=1.0", (_FINITE,), "random_uniform(&source, {0}, {1} - {0})",
         owner="RandomState", methods="uniform"),
    _row("legacy_exponential", "scale=1.0", (_SCALE,), "{0} * inverted(words)",
         owner="RandomState", methods="exponential"),
    _row("legacy_standard_exponential", owner="RandomState", methods="standard_exponential", native="inverted(words)"),
    _row("legacy_integers", "low high", _BELOW, _INTEGERS % "true", owner="RandomState", methods="randint",
         drawn=LAST_INT),
)  # fmt: skip
OF_PYTHON = (
    _row("python_random", owner="Random", methods="random", native="source.next_double(source.state)"),
    _row("python_uniform", "a b", (_EXACT, _EXACT.replace("0}", "1}")),
         "{0} + ({1} - {0}) * source.next_double(source.state)", owner="Random", methods="uniform"),
    _row("python_gauss", "mu=0.0 sigma=1.0", (), "{0} + around(words) * {1}", owner="Random", methods="gauss"),
    _row("python_expovariate", "lambd", ("{0} != 0",), "inverted(words) / {0}",
         owner="Random", methods="expovariate"),
    _row("python_integers", "low high", _BELOW, "below(words, {0}, {1})", owner="Random", methods="randrange randint",
         drawn=LAST_INT),
)  # fmt: skip
DRAWS = (*NUMPYS, *OF_RANDOM_STATE, *OF_PYTHON)
BY_METHOD = {(row.owner, method): row for row in DRAWS for method in row.methods}
"""By class of the generator and method: what it draws when it is asked for one number."""
