"""Functions of Python's cmath as NumPy source, for derivatives and batches: elsewhere they are of known numbers.
NumPy's `real_if_close` is here too, whose dtype would depend on the data.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np


def _row(function: Any, error: type[Exception], message: str) -> Callable[..., Any]:
    def value(z: Any) -> Any:
        z = np.asarray(z).astype(np.complex128)
        y = function(z)
        if np.isfinite(z) and not np.isfinite(y):
            raise error(message)
        return y.item()

    return value


def log(z: Any, base: Any = None) -> Any:
    if z == 0 or (base is not None and base == 0):
        raise ValueError("math domain error")
    y = np.log(np.asarray(z).astype(np.complex128))
    return y.item() if base is None else (y / np.log(np.asarray(base).astype(np.complex128))).item()


def phase(z: Any) -> Any:
    return np.angle(np.asarray(z).astype(np.complex128)).item()


def polar(z: Any) -> Any:
    z = np.asarray(z).astype(np.complex128)
    return np.absolute(z).item(), np.angle(z).item()


def rect(r: Any, phi: Any) -> Any:
    return complex(r * np.cos(phi), r * np.sin(phi))


def real_if_close(a: Any, tol: Any = 100) -> Any:
    """The real part. ValueError where NumPy would leave the number complex."""
    z = np.asarray(a)
    if z.dtype.kind != "c":
        return z
    near = tol * np.finfo(z.dtype).eps if tol > 1 else tol
    if np.any(np.absolute(np.imag(z)) >= near):
        raise ValueError("np.real_if_close has no derivative where imaginary parts are not close to zero")
    return np.real(z)


_RANGE, _DOMAIN = (OverflowError, "math range error"), (ValueError, "math domain error")
TRANSFORMED: dict[Any, Callable[..., Any]] = {
    cmath.exp: _row(np.exp, *_RANGE),
    cmath.sinh: _row(np.sinh, *_RANGE),
    cmath.cosh: _row(np.cosh, *_RANGE),
    cmath.sin: _row(np.sin, *_RANGE),
    cmath.cos: _row(np.cos, *_RANGE),
    cmath.tan: _row(np.tan, *_DOMAIN),
    cmath.tanh: _row(np.tanh, *_DOMAIN),
    cmath.log10: _row(np.log10, *_DOMAIN),
    cmath.sqrt: _row(np.sqrt, *_DOMAIN),
    cmath.asin: _row(np.arcsin, *_DOMAIN),
    cmath.acos: _row(np.arccos, *_DOMAIN),
    cmath.atan: _row(np.arctan, *_DOMAIN),
    cmath.asinh: _row(np.arcsinh, *_DOMAIN),
    cmath.acosh: _row(np.arccosh, *_DOMAIN),
    cmath.atanh: _row(np.arctanh, *_DOMAIN),
    cmath.log: log,
    np.real_if_close: real_if_close,
    cmath.phase: phase,
    cmath.polar: polar,
    cmath.rect: rect,
}
