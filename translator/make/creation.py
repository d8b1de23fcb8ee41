"""Arrays out of nothing, or of one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..builder import Builder
from ..errors import ShapeError
from ..fits import check_holds
from ..ir import Atom, Const, Shape
from ..ops.core import CreateAttrs
from .base import lift
from .casts import astype
from .shapes import broadcast_to


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
    return b.apply(ops.FULL, value, attrs=CreateAttrs(_sizes(shape), target))


def zeros(b: Builder, shape: Sequence[int], dtype: Any = np.float64) -> Atom:
    return full(b, shape, np.zeros((), dtype)[()], dtype)


def ones(b: Builder, shape: Sequence[int], dtype: Any = np.float64) -> Atom:
    return full(b, shape, np.ones((), dtype)[()], dtype)


def empty(b: Builder, shape: Sequence[int], dtype: Any = np.float64) -> Atom:
    """An array whose contents mean nothing until they are stored."""
    return b.apply(ops.EMPTY, attrs=CreateAttrs(_sizes(shape), np.dtype(dtype)))


def iota(b: Builder, n: int, dtype: Any = np.int64) -> Atom:
    """0, 1, ... n-1."""
    return b.apply(ops.IOTA, attrs=CreateAttrs(_sizes((n,)), np.dtype(dtype)))


def _sizes(shape: Sequence[int]) -> Shape:
    sizes = tuple(int(n) for n in shape)
    if any(n < 0 for n in sizes):
        raise ShapeError("negative dimensions are not allowed")
    return sizes
