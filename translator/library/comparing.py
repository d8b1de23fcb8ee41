"""Comparisons of whole arrays, choices, and elementwise functions made of simpler ones, as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.selection import of_parts
from .binning import searchsorted
from .checks import require_real
from .support import known, spreads


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """Python's numbers take the dtype of the other array, as in any operator."""
    a, b, rtol, atol = _operand(a), _operand(b), _operand(rtol), _operand(atol)
    b = float(b) if isinstance(b, int) else b if isinstance(b, _NUMBERS) else b.astype(np.result_type(b, 1.0))
    close = np.less_equal(np.absolute(a - b), atol + rtol * np.absolute(b)) & np.isfinite(b) | (a == b)
    return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


_NUMBERS = (int, float, complex)


def _operand(x: Any) -> Any:
    return x if isinstance(x, _NUMBERS) else np.asarray(x)


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> Any:
    a, b = np.asarray(a1), np.asarray(a2)
    if a.shape != b.shape:
        return False
    same = a == b
    return bool(np.all(same | (np.isnan(a) & np.isnan(b)) if equal_nan else same))


def array_equiv(a1: Any, a2: Any) -> Any:
    a, b = np.asarray(a1), np.asarray(a2)
    return bool(np.all(a == b)) if spreads(a.shape, b.shape) else False


def isposinf(x: Any) -> Any:
    x = np.asarray(x)
    require_real(x.dtype)
    return x == np.inf


def isneginf(x: Any) -> Any:
    x = np.asarray(x)
    require_real(x.dtype)
    return x == -np.inf


def iscomplex(x: Any) -> Any:
    return np.imag(np.asarray(x)) != 0


def isreal(x: Any) -> Any:
    return np.imag(x) == 0


FEW = 16  # members that np.isin compares with all elements instead of sorting them
LOOKED_UP = 1 << 13  # elements for which it makes a table of bytes
TABLE = 1 << 18


def isin(
    element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False, *, kind: Any = None
) -> Any:
    """A few members are compared one with all; many are sorted and searched, whole numbers that lie close together are
    marked in a table, which many elements are looked up in.
    """
    x, members = np.asarray(element), np.ravel(np.asarray(test_elements))
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    n = members.shape[0]
    if n <= FEW:
        found = np.any(np.expand_dims(x, -1) == members, axis=-1)
    else:
        dtype = np.result_type(x, members)
        x, members = x.astype(dtype), members.astype(dtype)
        if dtype.kind in "iu" and x.size >= LOOKED_UP and known(kind) != "sort":
            low, high = np.min(members), np.max(members)
            span = high.astype(np.int64) - low.astype(np.int64)  # negative where it has no 64 bits
            found = _in_table(x, members, low, high) if 0 <= span < TABLE else _in_order(x, members)
        else:
            found = _in_order(x, members)
    return ~found if invert else found


def _in_table(x: Any, members: Any, low: Any, high: Any) -> Any:
    table = np.zeros(TABLE, dtype=np.bool_)
    table[np.clip(members.astype(np.int64) - low.astype(np.int64), 0, TABLE - 1)] = True
    inside = (low <= x) & (x <= high)
    return table[np.where(inside, x.astype(np.int64) - low.astype(np.int64), 0)] & inside


def _in_order(x: Any, members: Any) -> Any:
    ordered = np.sort(members)
    return ordered[np.minimum(searchsorted(ordered, x), members.shape[0] - 1)] == x


def nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if not copy and isinstance(x, np.ndarray):
        x[...] = _numbers(x, nan, posinf, neginf)
        return x
    if not copy:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return _numbers(np.asarray(x), nan, posinf, neginf)


def _numbers(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if x.dtype.kind not in "fc":  # bfloat16, too, is none of NumPy's inexact types
        return x.copy()
    largest = np.finfo(x.dtype).max
    top = largest if posinf is None else posinf
    bottom = -largest if neginf is None else neginf
    if x.dtype.kind == "c":
        return of_parts(*(_finite(part(x), nan, top, bottom) for part in (np.real, np.imag)))
    return _finite(x, nan, top, bottom)


def _finite(x: Any, nan: Any, top: Any, bottom: Any) -> Any:
    y = np.where(np.isnan(x), x.dtype.type(nan), x)
    return np.where(x == np.inf, x.dtype.type(top), np.where(x == -np.inf, x.dtype.type(bottom), y))


def sinc(x: Any) -> Any:
    x = np.asarray(x)
    y = np.pi * x
    small = np.absolute(y) < 0.03  # where the derivatives of the quotient would cancel
    s = y * y
    near = 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)))
    return np.where(small, near, np.sin(y) / np.where(small, 1.0, y))[()]


def angle(z: Any, deg: Any = False) -> Any:
    z = np.asarray(z)
    a = np.arctan2(np.imag(z), np.real(z)) if z.dtype.kind == "c" else np.arctan2(0, z)
    return a * (180 / np.pi) if deg else a


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    choices = [c if isinstance(c, int | float | complex) else np.asarray(c) for c in (*choicelist, default)]
    dtype = np.result_type(*choices)
    conditions = [np.asarray(c) for c in condlist]
    result = np.asarray(choices[-1]).astype(dtype)
    for i in tuple(range(len(conditions)))[::-1]:
        if conditions[i].dtype.kind != "b":
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
        result = np.where(conditions[i], np.asarray(choices[i]).astype(dtype), result)
    return result


CROSS_OF_PAIRS = np.lib.NumpyVersion(np.__version__) < "2.5.0"


def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    """The product of vectors of three components.

    Those of two get a third one of zero, and of two such there is only that component, where NumPy has it so (< 2.5).
    """
    x = np.moveaxis(np.asarray(a), axisa if axis is None else axis, -1)
    y = np.moveaxis(np.asarray(b), axisb if axis is None else axis, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if not CROSS_OF_PAIRS and (x.shape[-1] == 2 or y.shape[-1] == 2):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{x.shape[-1]} and {y.shape[-1]} dimensional instead."
        )
    if x.shape[-1] == 2 and y.shape[-1] == 2:
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    p, q, s, t = x[..., 0], x[..., 1], y[..., 0], y[..., 1]
    if x.shape[-1] == 2:
        first, second = q * y[..., 2], -(p * y[..., 2])
    elif y.shape[-1] == 2:
        first, second = -(x[..., 2] * t), x[..., 2] * s
    else:
        first, second = q * y[..., 2] - x[..., 2] * t, x[..., 2] * s - p * y[..., 2]
    product = np.stack([first, second, p * t - q * s], axis=-1)
    return np.moveaxis(product, -1, axisc if axis is None else axis)


def linalg_cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    x, y = np.asarray(x1), np.asarray(x2)
    if x.shape[axis] != 3 or y.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{x.shape[axis]} and {y.shape[axis]} dimensional instead."
        )
    return cross(x, y, axis=axis)


NUMPY_NAMES = {
    name: name
    for name in (
        "isclose",
        "allclose",
        "array_equal",
        "array_equiv",
        "isposinf",
        "isneginf",
        "iscomplex",
        "isreal",
        "isin",
        "nan_to_num",
        "sinc",
        "angle",
        "select",
        "cross",
    )
} | {"linalg.cross": "linalg_cross"}
