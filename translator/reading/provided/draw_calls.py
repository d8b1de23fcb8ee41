"""Draws of np.random in terms of standard draws: moved and scaled ones, and elements at places that are drawn.

    rng.normal(mu, sigma)                mu + sigma * rng.standard_normal(...)
    rng.choice(x, 5, p=p)                x[rng.choice(len(x), 5, p=p)]
    rng.shuffle(x)                       x[...] = x[rng.permutation(len(x))]

NumPy computes them so, of the same bits; what the run decides then is arithmetic, and has a derivative.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from ...library import numpy_draws
from ..core.context import Context
from ..core.values import Ref, Value, leaves_in
from ..facts.contents import known_arrays
from ..uses.stores import store

_MOVED = {
    "normal": ("loc", "scale"),
    "uniform": ("low", "high"),
    "laplace": ("loc", "scale"),
    "logistic": ("loc", "scale"),
    "gumbel": ("loc", "scale"),
    "lognormal": ("mean", "sigma"),
    "exponential": ("scale",),
    "rayleigh": ("scale",),
}
_STANDARD: dict[str, tuple[str, Any]] = {
    "normal": ("standard_normal", None),
    "exponential": ("standard_exponential", None),
    "uniform": ("random", numpy_draws.between),
    "lognormal": ("standard_normal", numpy_draws.exponentiated),
}  # the standard draw, where it is another function's, and what is made of it
_START = {"low": 0.0, "high": 1.0, "loc": 0.0, "scale": 1.0, "mean": 0.0, "sigma": 1.0}


def _decided_by_the_run(ctx: Context, values: list[Value]) -> bool:
    found = [v for x in values for v in leaves_in(x)]
    refs = [ctx.read(v) for v in found if type(v) is Ref]
    return any(not isinstance(v, Ref) and hasattr(v, "aval") for v in found) or known_arrays(ctx, refs) is None


def moved(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A draw whose place and width the run decides; NotImplemented for others."""
    names = _MOVED.get(f.__name__)
    if names is None:
        return NotImplemented
    given = dict(zip((*names, "size"), args, strict=False)) | kwargs
    size = given.pop("size", None)
    if not given.keys() <= set(names) or not _decided_by_the_run(ctx, list(given.values())):
        return NotImplemented
    call = _caller(ctx, node)
    numbers = [given.get(k, _START[k]) for k in names]
    numbers = [call(np.asarray, x) if isinstance(x, list | tuple) else x for x in numbers]
    shape = size
    if size is None:
        shape = np.broadcast_shapes(*(ctx.atom(x).aval.shape for x in numbers)) or None
    legacy = isinstance(f.__self__, np.random.RandomState)
    name, made_of = _STANDARD.get(f.__name__, (f.__name__, None))
    standard = getattr(f.__self__, "random_sample" if legacy and name == "random" else name)
    made_of = made_of or (numpy_draws.stretched if len(names) == 1 else numpy_draws.moved)
    if made_of is numpy_draws.between and legacy:
        made_of = numpy_draws.between_any
    return call(made_of, *numbers, call(standard, size=shape))


def picked(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A draw among the elements of an array; NotImplemented for others."""
    if f.__name__ not in ("choice", "permutation", "shuffle"):
        return NotImplemented
    bound = dict(zip(_PARAMETERS[f.__name__, isinstance(f.__self__, np.random.Generator)], args, strict=False)) | kwargs
    x = bound.pop("a" if "a" in bound else "x", None)
    if isinstance(x, list | tuple) and f.__name__ != "shuffle":
        x = ctx.wrap(ctx.array(x))
    if type(x) is not Ref or not x.aval.shape:
        return NotImplemented
    axis = bound.get("axis", 0)
    if not isinstance(axis, int) or not -len(x.aval.shape) <= axis < len(x.aval.shape):
        return NotImplemented
    call = _caller(ctx, node)
    count = x.aval.shape[axis]
    if f.__name__ == "choice":
        bound.pop("axis", None)
        return call(np.take, x, call(f, count, **bound), axis=axis)
    mixed = call(np.take, x, call(f.__self__.permutation, count), axis=axis)
    if f.__name__ == "permutation":
        return mixed
    store(ctx, x, Ellipsis, mixed, node)
    return None


_PARAMETERS = {
    ("choice", True): ("a", "size", "replace", "p", "axis", "shuffle"),
    ("choice", False): ("a", "size", "replace", "p"),
    ("permutation", True): ("x", "axis"),
    ("permutation", False): ("x",),
    ("shuffle", True): ("x", "axis"),
    ("shuffle", False): ("x",),
}


def _caller(ctx: Context, node: ast.AST) -> Callable[..., Value]:
    def call(f: Any, *args: Value, **kwargs: Value) -> Value:
        return ctx.call(f, list(args), kwargs, node)

    return call
