"""Creation: arrays of zeros, ones or one number, and ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..builder import Builder
from ..fits import check_holds
from ..ir import Atom, Const
from ..ops.core import CreateAttrs
from .base import lift
from .casts import astype, number_dtype
from .shapes import broadcast_to, checked_shape


def full(b: Builder, shape: Sequence[int], value: object, dtype: Any = None) -> Atom:
    """An array of one repeated scalar, of the scalar's own dtype for None."""
    value = lift(value)
    target = value.aval.dtype if dtype is None else np.dtype(dtype)
    check_holds(target, value)
    if value.aval.shape != ():
        return broadcast_to(b, astype(b, value, target), shape)
    if not tuple(shape):
        return astype(b, value, target)
    if isinstance(value, Const):
        value = astype(b, value, target)
    return b.apply(ops.FULL, value, attrs=CreateAttrs(checked_shape(shape, target), target, dtype is None))


def zeros(b: Builder, shape: Sequence[int], dtype: Any = np.float64) -> Atom:
    return full(b, shape, np.zeros((), dtype)[()], dtype)


def ones(b: Builder, shape: Sequence[int], dtype: Any = np.float64) -> Atom:
    return full(b, shape, np.ones((), dtype)[()], dtype)


def empty(b: Builder, shape: Sequence[int], dtype: Any = np.float64) -> Atom:
    """An array whose contents mean nothing until they are stored."""
    target = number_dtype(dtype)
    return b.apply(ops.EMPTY, attrs=CreateAttrs(checked_shape(shape, target), target))


def iota(b: Builder, n: int, dtype: Any = np.int64) -> Atom:
    """0, 1, ... n-1."""
    target = np.dtype(dtype)
    return b.apply(ops.IOTA, attrs=CreateAttrs(checked_shape((n,), target), target))
