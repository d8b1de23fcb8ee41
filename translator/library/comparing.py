"""Comparisons of whole arrays, choices, and elementwise functions made of simpler ones, as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    a, b = np.asarray(a), np.asarray(b)
    close = (np.absolute(a - b) <= atol + rtol * np.absolute(b)) & np.isfinite(b) | (a == b)
    return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    return np.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> Any:
    a, b = np.asarray(a1), np.asarray(a2)
    if a.shape != b.shape:
        return False
    same = a == b
    return np.all(same | (np.isnan(a) & np.isnan(b)) if equal_nan else same)


def array_equiv(a1: Any, a2: Any) -> Any:
    return np.all(np.asarray(a1) == np.asarray(a2))


def isposinf(x: Any) -> Any:
    return np.asarray(x) == np.inf


def isneginf(x: Any) -> Any:
    return np.asarray(x) == -np.inf


def iscomplex(x: Any) -> Any:
    return np.imag(np.asarray(x)) != 0


def isreal(x: Any) -> Any:
    return np.imag(np.asarray(x)) == 0


def isin(element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False) -> Any:
    x, members = np.asarray(element), np.ravel(np.asarray(test_elements))
    found = np.any(x[..., None] == members, axis=-1)
    return ~found if invert else found


def nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    x = np.asarray(x)
    if x.dtype.kind in "biu":
        return x.copy()
    largest = np.finfo(x.dtype).max
    top = largest if posinf is None else posinf
    bottom = -largest if neginf is None else neginf
    if x.dtype.kind == "c":
        return _finite(np.real(x), nan, top, bottom) + 1j * _finite(np.imag(x), nan, top, bottom)
    return _finite(x, nan, top, bottom)


def _finite(x: Any, nan: Any, top: Any, bottom: Any) -> Any:
    y = np.where(np.isnan(x), x.dtype.type(nan), x)
    return np.where(x == np.inf, x.dtype.type(top), np.where(x == -np.inf, x.dtype.type(bottom), y))


def sinc(x: Any) -> Any:
    x = np.asarray(x)
    y = np.pi * np.where(x == 0, 1.0, x)
    return np.where(x == 0, 1.0, np.sin(y) / y)[()]


def angle(z: Any, deg: Any = False) -> Any:
    z = np.asarray(z)
    a = np.arctan2(np.imag(z), np.real(z))
    return a * (180 / np.pi) if deg else a


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    result = np.asarray(default)
    for condition, choice in tuple(zip(condlist, choicelist))[::-1]:
        result = np.where(condition, choice, result)
    return result


def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    """The product of vectors of three components."""
    x = np.moveaxis(np.asarray(a), axisa if axis is None else axis, -1)
    y = np.moveaxis(np.asarray(b), axisb if axis is None else axis, -1)
    p, q, r = x[..., 0], x[..., 1], x[..., 2]
    s, t, u = y[..., 0], y[..., 1], y[..., 2]
    product = np.stack([q * u - r * t, r * s - p * u, p * t - q * s], axis=-1)
    return np.moveaxis(product, -1, axisc if axis is None else axis)


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
} | {"linalg.cross": "cross"}
