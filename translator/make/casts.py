"""Casts: arrays and numbers of another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..builder import Builder
from ..errors import CutError, Diagnostic, ObjectsError
from ..ir import Atom, Aval, Const
from ..ops import bits
from ..ops.core import CastAttrs
from .base import emit, lift


def astype(b: Builder, x: object, dtype: Any) -> Atom:
    """`x.astype(dtype)`: strong, even where `x` is a Python number of that dtype."""
    target = number_dtype(dtype)
    x = held(lift(x), target)
    if x.aval.dtype == target and not x.aval.weak:
        return x
    return emit(b, ops.ASTYPE, x, attrs=CastAttrs(target))


def held(x: Atom, dtype: np.dtype[Any]) -> Atom:
    """`x`; a Python int of over 64 bits that becomes a float, as one. Raises OverflowError where none is so large."""
    if type(x) is not Const or type(x.value) is not int or -(2**63) <= x.value < 2**64 or dtype.kind not in "fc":
        return x
    return lift(float(x.value))


def number_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of numbers or bool. Raises ObjectsError for objects, strings, dates and records."""
    target: np.dtype[Any] = np.dtype(dtype)
    if target.hasobject or target.kind not in "biufcV" or target.fields is not None:
        raise ObjectsError(f"arrays of dtype {target} are not in the language")
    return target


def view(b: Builder, x: object, dtype: Any) -> Atom:
    """`x.view(dtype)`: the same bits as numbers of another dtype of the same size. Raises DTypeError."""
    x, target = lift(x), np.dtype(dtype)
    if x.aval.dtype == target:
        return x
    if target not in bits.VIEWS:
        raise CutError(Diagnostic(f"an array of dtype {x.aval.dtype} viewed as {target}"))
    return emit(b, bits.VIEWS[target], x)


def number(b: Builder, x: object, dtype: Any) -> Atom:
    """A scalar as a Python number: int(x), float(x), complex(x), bool(x) for int64, float64, complex128, bool."""
    x, target = lift(x), np.dtype(dtype)
    if x.aval == Aval((), target, weak=True):
        return x
    return emit(b, ops.ASTYPE, x, attrs=CastAttrs(target, weak=True))


def fitted(b: Builder, a: Atom, aval: Aval) -> Atom:
    """`a` in the type `aval`, which differs at most in dtype and weakness."""
    if a.aval == aval:
        return a
    return number(b, a, aval.dtype) if aval.weak else astype(b, a, aval.dtype)
