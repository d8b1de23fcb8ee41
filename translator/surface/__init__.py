"""Which of NumPy's, SciPy's and Python's callables, array methods and attributes the language knows.

A callable is looked up by the object itself, so aliases and `from numpy import sin` need nothing.
"""

from __future__ import annotations

import sys
from types import BuiltinMethodType
from typing import Any

import numpy as np

from ..library import grids, polynomials
from .tables import ATTRIBUTES, functions, methods, polynomial_classes, transformed, transformed_series, ufunc_method
from .tables import Handler as Handler


def handler_for(function: Any) -> Handler | None:
    """The handler of a callable; None for what is not NumPy's, Python's or SciPy's."""
    function = getattr(function, "__untraced_numpy__", function)  # untraced.numpy.zeros means np.zeros
    found = functions().get(id(function))
    if found is None and "numpy.polynomial" in sys.modules:
        found = polynomial_classes().get(id(function))
    if found is not None:
        return found[1]
    if isinstance(function, BuiltinMethodType) and isinstance(function.__self__, np.ufunc):
        return ufunc_method(function.__self__, function.__name__)
    if "scipy" not in sys.modules:
        return None
    from . import scipy

    return scipy.handler_for(function)


def takes_polynomials(function: Any) -> bool:
    """Whether its source for derivatives and batches makes a poly1d of a poly1d, which others take for an array."""
    found = transformed().get(id(function))
    return found is not None and found[1].function in polynomials.TRANSFORMED.values()


def transformed_handler_for(function: Any) -> Handler | None:
    """The handler of what CPython computes by itself, unless it is to be differentiated or batched."""
    if id(function) in transformed():
        return transformed()[id(function)][1]
    if "numpy.polynomial" in sys.modules and id(function) in transformed_series():
        return transformed_series()[id(function)][1]
    if "scipy" not in sys.modules:
        return None
    from . import scipy

    return scipy.transformed_handler_for(function)


def subscript_source(kind: type) -> Any:
    """NumPy source of `x[key]` for the helpers np.mgrid, np.ogrid, np.r_ and np.c_, by their type."""
    return grids.SUBSCRIPTS.get(kind)


def method_handler(name: str) -> Handler | None:
    """The handler of `x.name(...)` for an array `x`, which is its first argument."""
    return methods().get(name)


def attribute_handler(name: str) -> Handler | None:
    """The handler of `x.name` for an array `x`."""
    return ATTRIBUTES.get(name)
