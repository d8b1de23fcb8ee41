"""Distributions of scipy.stats as NumPy source: logpdf, pdf, cdf and their kin, in standard form and moved and scaled.

A `Family` (`distribution_forms`) says what a distribution is for loc 0 and scale 1; the functions here are what SciPy's
methods are for all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..records import dataclass
from .distribution_forms import Family, Form
from .distributions_common import COMMON
from .distributions_further import FURTHER


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


# ---- by name -----------------------------------------------------------------------------------------

FAMILIES: dict[str, Family] = {**COMMON, **FURTHER}
CONTINUOUS: dict[str, Form] = {
    "logpdf": logpdf, "pdf": pdf, "cdf": cdf, "sf": sf, "logcdf": logcdf, "logsf": logsf
}  # fmt: skip
DISCRETE: dict[str, Form] = {
    "logpmf": logpmf, "pmf": pmf, "cdf": cdf, "sf": sf, "logcdf": logcdf, "logsf": logsf
}  # fmt: skip
