"""NumPy numbers that become elements of integer arrays: NumPy casts arrays, and makes Python's ints of numbers.

x[0] = y.sum()                               OverflowError, ValueError where x is of int8 and the sum 300, NaN
np.array([y[0], y[1]], dtype=np.int8)        likewise; np.array(y[:2], dtype=np.int8) wraps

Python's own ints are asked by `fits`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import make, ops
from ...builder import Builder
from ...ir import Atom, DType, Var
from ...surface.arguments import array
from .values import Value

_WRAPPED = "u" if np.array([np.int64(300)], np.uint8)[0] == 44 else ""
"""The kinds of integers to which NumPy casts a NumPy number, as it does with arrays."""
_FEW = 8  # numbers that are compared one by one


def check_numbers(b: Builder, dtype: np.dtype[Any], items: Value) -> None:
    """Raise at run time where a NumPy number, or Python's float, in nested lists is no integer of the dtype."""
    if dtype.kind not in "iu":
        return
    found: dict[DType, list[Var]] = {}
    for x in _numbers(items):
        if x.aval.dtype.kind in ("f" if x.aval.weak else "iufc"):
            found.setdefault(x.aval.dtype, []).append(x)
    for given, xs in found.items():
        joined: list[Atom] = [*xs] if len(xs) <= _FEW else [array(b, xs)]
        outside = [bad for x in joined for bad in _outside(b, dtype, x)]
        if outside:
            error = OverflowError if given.kind in "iu" else ValueError
            condition = functools.reduce(functools.partial(make.logical_or, b), outside)
            make.raise_if(b, condition, error, f"a number that is stored is out of bounds for {dtype}")


def _numbers(items: Value) -> Iterator[Var]:
    """The numbers of the run among nested lists; arrays of shape () are none."""
    if type(items) is Var:
        yield items
    elif isinstance(items, list | tuple):
        for x in items:
            yield from _numbers(x)


def _outside(b: Builder, dtype: DType, x: Atom) -> Iterator[Atom]:
    """The conditions under which x is outside the range of the dtype."""
    given = x.aval.dtype
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if given.kind in "iu":
        own = np.iinfo(given)
        if dtype.kind in _WRAPPED:
            return
        if own.min < low:
            yield make.less(b, x, low)
        if own.max > high:
            yield make.greater(b, x, high)
        return
    number = make.astype(b, make.elementwise(b, ops.REAL, x) if given.kind == "c" else x, np.dtype(np.float64))
    yield make.not_equal(b, number, number)
    yield make.less(b, number, low) if low == -(2**63) else make.less_equal(b, number, low - 1.0)
    yield make.greater_equal(b, number, high + 1.0)
