"""The namespace `untraced.numpy`: NumPy whose creation functions give `Array`s.

Functions to which jax.numpy gives further arguments take these (`unp_arguments`, `unp_sets`, `unp_linalg`); reductions
take where=None for no mask. Everything else does what NumPy's function does. All give Arrays where they are given one,
else arrays of the host with an Array's methods (`hosted`). Inside an accelerated function each means what its attribute
`__untraced_numpy__` says, a function of NumPy or NumPy source.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.array import Array as ndarray
from ..arrays.hosted import lifted, offer, offered, reduction_options
from ..arrays.transfer import device_get, device_put
from . import unp_arguments, unp_linalg, unp_sets
from .unp_mapped import vectorize as vectorize

__all__ = ["ndarray"]

_FACE = "untraced.numpy"

_CREATION = (
    "arange", "array", "asarray", "copy", "empty", "empty_like", "eye", "full", "full_like", "geomspace", "identity",
    "linspace", "logspace",
    "ones", "ones_like", "tri", "zeros", "zeros_like",
)  # fmt: skip


def _creating(function: Callable[..., Any]) -> Callable[..., Any]:
    """What `function` makes, as an Array on the `device` that is told, or that is the default."""

    @functools.wraps(function)
    def create(*args: Any, device: Any = None, **options: Any) -> Any:
        result = function(*args, **options)
        return result if type(result) is ndarray and device is None else device_put(result, device)

    create.__untraced_numpy__ = function  # type: ignore[attr-defined]
    return create


def _from_tree(function: Callable[..., Any]) -> Callable[..., Any]:
    """array, asarray: an Array stays on its device, with `asarray` as it is unless its dtype changes or it is told to
    copy; `array` copies unless it is told not to.
    """
    host, copies = _creating(function), function is np.array

    @functools.wraps(function)
    def create(object: Any, dtype: Any = None, **options: Any) -> Any:
        if type(object) is ndarray and options.get("device") is None:
            if dtype is not None and object.dtype != dtype:
                return object.astype(dtype)  # type: ignore[attr-defined]
            return object.copy() if options.get("copy", copies) else object
        if dtype is not None and isinstance(object, list | tuple) and np.dtype(dtype).kind == "V":
            object = device_get(object)  # bfloat16 reads numbers, not what has `__array__`
        return host(object, dtype, **options)

    create.__untraced_numpy__ = function  # type: ignore[attr-defined]
    return create


def _reducing(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def reduce(*args: Any, **options: Any) -> Any:
        if len(args) > 1 and type(args[1]) is list:
            args = (args[0], tuple(args[1]), *args[2:])
        return lifted(function(*args, **reduction_options(options)))

    reduce.__untraced_numpy__ = function  # type: ignore[attr-defined]
    reduce.__untraced_axes__ = True  # type: ignore[attr-defined]  # they may be a list
    return reduce


_REDUCTIONS = (
    "all", "amax", "amin", "any", "max", "mean", "min", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
    "nanvar", "prod", "std", "sum", "var",
)  # fmt: skip

for _module in (unp_arguments, unp_sets):
    globals().update({_name: getattr(_module, _name) for _name in _module.NAMES})
for _name in _REDUCTIONS:
    globals()[_name] = _reducing(globals().get(_name) or getattr(np, _name))
offer(globals(), (*unp_arguments.NAMES, *unp_sets.NAMES), _FACE)
for _name in _CREATION:
    _function = getattr(unp_arguments if _name in unp_arguments.LIKE else np, _name)
    globals()[_name] = _from_tree(_function) if _name in ("array", "asarray") else _creating(_function)


def load(*args: Any, **options: Any) -> Any:
    """np.load. bfloat16, which NumPy's files hold as two bytes without a meaning, is read as such."""
    found = np.load(*args, **options)
    return found.view("bfloat16") if isinstance(found, np.ndarray) and found.dtype == "V2" else found


linalg = unp_linalg
fft = types.ModuleType(f"{_FACE}.fft", "The namespace `untraced.numpy.fft`.")
vars(fft).update({_name: getattr(np.fft, _name) for _name in np.fft.__all__}, __all__=np.fft.__all__)
offer(vars(fft), np.fft.__all__, fft.__name__)


class _ScalarType(type):
    """The class of `untraced.numpy.float32` and its kin. Called, these give arrays where they are given some; for the
    rest they are NumPy's: as a dtype, in isinstance and issubclass, in comparisons and as keys.
    """

    __untraced_numpy__: type[np.generic]

    def __call__(cls, *args: Any) -> Any:
        if len(args) != 1:
            return cls.__untraced_numpy__(*args)
        (x,) = args
        if type(x) is ndarray:
            return x.astype(cls.__untraced_numpy__)  # type: ignore[attr-defined]
        made: Any = cls.__untraced_numpy__(x)
        return device_put(made) if isinstance(x, list | tuple) else lifted(made)

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, cls.__untraced_numpy__)

    def __subclasscheck__(cls, other: type) -> bool:
        return other is cls or issubclass(other, cls.__untraced_numpy__)

    def __eq__(cls, other: object) -> bool:
        return True if other is cls or other is cls.__untraced_numpy__ else NotImplemented  # a dtype knows

    def __hash__(cls) -> int:
        return hash(cls.__untraced_numpy__)


_SCALAR_TYPES = [np.dtype(code).type for code in "?" + np.typecodes["AllInteger"] + np.typecodes["AllFloat"]]
_SPELLED = {"float_": "float64", "complex_": "complex128"}  # names that NumPy has given up, and JAX has not
_OF_DTYPES = ("bfloat16", "finfo", "issubdtype")  # NumPy knows no bfloat16


def __getattr__(name: str) -> Any:
    if name in _OF_DTYPES:
        from . import dtypes

        return getattr(dtypes, name)
    if name in _SPELLED:
        return getattr(sys.modules[__name__], _SPELLED[name])
    found = unp_arguments.of_numpy(np, name, _FACE)
    if found in _SCALAR_TYPES:
        members = {"__module__": _FACE, "__doc__": found.__doc__, "__slots__": (), "__untraced_numpy__": found}
        found = _ScalarType(name, (found,), members)
    globals()[name] = offered(found, _FACE, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*dir(np), *unp_arguments.NAMES, *unp_sets.NAMES, *_OF_DTYPES, "ndarray"})
