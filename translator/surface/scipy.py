"""SciPy's functions, for the modules of SciPy that the user's program has imported."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from types import MethodType
from typing import Any

import numpy as np

from ..library import (
    distribution_inverses,
    distributions,
    distributions_of_vectors,
    ranks,
    scipy_eigen,
    scipy_fft,
    scipy_filters,
    scipy_images,
    scipy_interpolate,
    scipy_linalg,
    scipy_matrices,
    scipy_numerics,
    scipy_odes,
    scipy_signal,
    scipy_special,
    scipy_spectral,
    scipy_splines,
    special,
    special_transformed,
)
from ..library.distribution_forms import Form
from ..offered import TRANSFORMED
from .tables import Handler, Table, enter, functions

_NAMES: tuple[tuple[str, Mapping[str, Any]], ...] = (  # NumPy source, or that and what comes before the arguments
    ("scipy.linalg", scipy_linalg.NAMES),
    ("scipy.linalg", scipy_matrices.NAMES),
    ("scipy.fft", scipy_fft.NAMES),
    ("scipy.signal", scipy_signal.SIGNAL_NAMES),
    ("scipy.ndimage", scipy_signal.NDIMAGE_NAMES),
    ("scipy.integrate", scipy_numerics.INTEGRATE_NAMES),
    ("scipy.spatial.distance", scipy_numerics.DISTANCE_NAMES),
    ("scipy.optimize", scipy_numerics.OPTIMIZE_NAMES),
    ("scipy.stats", scipy_numerics.STATS_NAMES),
)

_OWN: dict[str, Mapping[str, Any]] = {
    "scipy.integrate": {**scipy_odes.TRANSFORMED, **scipy_numerics.TRANSFORMED},
    "scipy.interpolate": {**scipy_interpolate.TRANSFORMED, **scipy_splines.TRANSFORMED},
    "scipy.linalg": {**scipy_matrices.TRANSFORMED, **scipy_eigen.TRANSFORMED},
    "scipy.ndimage": {**scipy_signal.TRANSFORMED, **scipy_images.TRANSFORMED},
    "scipy.signal": {**scipy_spectral.TRANSFORMED, **scipy_filters.TRANSFORMED},
    "scipy.stats": {**scipy_splines.STATS, **ranks.TRANSFORMED},
    "scipy.special": {**scipy_special.TRANSFORMED, **special_transformed.TRANSFORMED},
}
"""What SciPy computes by itself, unless it is to be differentiated or batched."""


def handler_for(function: Any) -> Handler | None:
    """The handler of a callable; None for what is not SciPy's."""
    if isinstance(function, MethodType):
        return _distribution_method(function, distribution_inverses.INVERSES)
    found = _table("scipy.special" in sys.modules, tuple(module in sys.modules for module, _ in _NAMES))
    return found[id(function)][1] if id(function) in found else None


def transformed_handler_for(function: Any) -> Handler | None:
    """The handler of what SciPy computes by itself, unless it is to be differentiated or batched."""
    if _freezes(function):
        return Handler(distributions.freeze, inline=True)
    if isinstance(function, MethodType):
        return _distribution_method(function, distribution_inverses.BY_ROWS)
    found = _transformed_table(tuple(module for module in (*_OWN, *TRANSFORMED) if module in sys.modules))
    return found[id(function)][1] if id(function) in found else None


@cache
def _transformed_table(loaded: tuple[str, ...]) -> Table:
    """The functions of these modules that SciPy computes by itself; of two sources for one the first module's."""
    table: Table = {}
    for module in loaded:
        offered = TRANSFORMED[module]() if module in TRANSFORMED else {}
        for name, made in {**_OWN.get(module, {}), **offered}.items():
            function = getattr(sys.modules[module], name, None)
            if function is not None and id(function) not in table:  # an older SciPy lacks a few names
                source, first = made if isinstance(made, tuple) else (made, ())
                row = functions().get(id(source))
                enter(table, row[1] if row is not None else Handler(source, inline=True, first=first), [function])
    return table


@cache
def _table(special_too: bool, loaded: tuple[bool, ...]) -> Table:
    table = dict(_special()) if special_too else {}
    for (module, names), there in zip(_NAMES, loaded, strict=True):
        for name, made in names.items() if there else ():
            source, first = made if isinstance(made, tuple) else (made, ())
            function = getattr(sys.modules[module], name, None)
            if function is not None:  # an older SciPy lacks a few names
                enter(table, Handler(source, inline=True, first=first), [function])
    return table


def _freezes(function: Any) -> bool:
    """Whether this is what `scipy.stats.norm(mean, deviation)` calls."""
    stats = sys.modules.get("scipy.stats")
    return stats is not None and any(function is getattr(stats.rv_continuous, n) for n in ("__call__", "freeze"))


def _distribution_method(method: MethodType, inverses: Mapping[str, tuple[Form, Form]]) -> Handler | None:
    """`scipy.stats.norm.logpdf` and its kin, methods of the distributions that SciPy has made; `inverses`: what ppf and
    isf of some are."""
    stats = sys.modules.get("scipy.stats")
    if stats is None or type(method.__self__).__module__.partition(".")[0] != "scipy":
        return None
    for name, methods in distributions_of_vectors.OF_VECTORS.items():
        if method.__self__ is getattr(stats, name):
            source = methods.get(method.__name__)
            return None if source is None else Handler(source, inline=True)
    for name, family in distributions.FAMILIES.items():
        if method.__self__ is getattr(stats, name):
            if method.__name__ in ("ppf", "isf"):
                return _quantile(inverses.get(name), family, method.__name__)
            source = (distributions.DISCRETE if family.discrete else distributions.CONTINUOUS).get(method.__name__)
            known = source is not None and (family.cdf is not None or "p" in method.__name__)
            return Handler(source, inline=True, first=(family,)) if source is not None and known else None
    return None


def _quantile(inverses: tuple[Form, Form] | None, family: Any, method: str) -> Handler | None:
    if inverses is None:
        return None
    ppf, isf = inverses
    if method == "ppf":
        return Handler(distribution_inverses.ppf, inline=True, first=(family, ppf))
    return Handler(distribution_inverses.isf, inline=True, first=(family, isf))


@cache
def _special() -> Table:
    table: Table = {}
    theirs = sys.modules["scipy.special"]
    known = {name: Handler(own, inline=True) for name, own in special.SCIPY_NAMES.items()}
    known |= {name: functions()[id(own)][1] for name, own in special.ROWS.items()}
    known |= {name: functions()[id(getattr(np, own))][1] for name, own in special.NUMPY_TWINS.items()}
    for name, handler in known.items():
        function = getattr(theirs, name, None)
        if function is not None:  # an older SciPy lacks a few names
            enter(table, handler, [function])
    return table
