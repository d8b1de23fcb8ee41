"""The namespace `untraced.numpy`: NumPy whose creation functions give `Array`s.

Functions to which jax.numpy gives further arguments take these (`unp_arguments`, `unp_sets`, `unp_linalg`), and give
Arrays where they are given one; reductions take where=None for no mask. Everything else is NumPy's own function, which
works on Arrays through NumPy's protocols (`unp.sin is np.sin`). Inside an accelerated function each means what its
attribute `__untraced_numpy__` says, a function of NumPy or NumPy source.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.array import Array as ndarray
from ..arrays.transfer import device_put
from ..trees.tree import map as tree_map
from . import unp_arguments, unp_linalg, unp_sets

__all__ = ["ndarray"]

_CREATION = (
    "arange", "array", "asarray", "copy", "empty", "empty_like", "eye", "full", "full_like", "geomspace", "identity",
    "linspace", "logspace",
    "ones", "ones_like", "tri", "zeros", "zeros_like",
)  # fmt: skip


def _creating(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def create(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        return result if isinstance(result, ndarray) else device_put(result)

    create.__untraced_numpy__ = function  # type: ignore[attr-defined]
    return create


def _from_tree(function: Callable[..., Any]) -> Callable[..., Any]:
    """array, asarray: an Array stays where it is unless its dtype changes."""
    host = _creating(function)

    @functools.wraps(function)
    def create(object: Any, dtype: Any = None, **options: Any) -> Any:
        if isinstance(object, ndarray):
            return object if dtype is None or object.dtype == dtype else object.astype(dtype)  # type: ignore[attr-defined]
        return host(object, dtype, **options)

    create.__untraced_numpy__ = function  # type: ignore[attr-defined]
    return create


def _reducing(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def reduce(*args: Any, **options: Any) -> Any:
        given = {name: x for name, x in options.items() if x is not None or name not in ("where", "initial")}
        return function(*args, **given)

    reduce.__untraced_numpy__ = function  # type: ignore[attr-defined]
    return reduce


def _of_either_kind(function: Callable[..., Any]) -> Callable[..., Any]:
    """What is NumPy source, and calls NumPy: its results are Arrays where an argument is."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        if any(isinstance(a, ndarray) for a in (*args, *options.values())):
            return tree_map(_lifted, result)
        return result

    call.__untraced_numpy__ = function  # type: ignore[attr-defined]
    return call


def _lifted(x: Any) -> Any:
    return device_put(x) if isinstance(x, np.ndarray | np.generic) else x


_REDUCTIONS = (
    "all", "amax", "amin", "any", "max", "mean", "min", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
    "nanvar", "prod", "std", "sum", "var",
)  # fmt: skip

for _module in (unp_arguments, unp_sets, unp_linalg):
    for _name in _module.NAMES:
        (vars(unp_linalg) if _module is unp_linalg else globals())[_name] = _of_either_kind(getattr(_module, _name))
for _name in _REDUCTIONS:
    globals()[_name] = _reducing(getattr(unp_arguments, _name, None) or getattr(np, _name))
linalg = unp_linalg
for _name in _CREATION:
    _function = getattr(np, _name)
    globals()[_name] = _from_tree(_function) if _name in ("array", "asarray") else _creating(_function)


_OF_DTYPES = ("bfloat16", "finfo", "issubdtype")  # NumPy knows no bfloat16


def __getattr__(name: str) -> Any:
    if name in _OF_DTYPES:
        from . import dtypes

        return getattr(dtypes, name)
    return unp_arguments.of_numpy(np, name, __name__)


def __dir__() -> list[str]:
    return sorted({*dir(np), *unp_arguments.NAMES, *unp_sets.NAMES, *_OF_DTYPES, "ndarray"})
