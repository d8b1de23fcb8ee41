"""The namespace `untraced.numpy.linalg`: NumPy's, with the arguments that jax.numpy.linalg has besides.

`symmetrize_input=True` takes the mean of a matrix and its adjoint; by default, as in NumPy, one triangle is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.hosted import offer, offered
from .unp_arguments import matmul as matmul
from .unp_arguments import of_numpy
from .unp_arguments import tensordot as tensordot
from .unp_arguments import vecdot as vecdot

_FACE = "untraced.numpy.linalg"


def _of_symmetric(a: Any, symmetrize_input: bool | None) -> Any:
    return (a + np.conj(np.swapaxes(a, -1, -2))) / 2 if symmetrize_input else a


def cholesky(a: Any, /, *, upper: bool = False, symmetrize_input: bool | None = None) -> Any:
    """np.linalg.cholesky."""
    return np.linalg.cholesky(_of_symmetric(a, symmetrize_input), upper=upper)


def eigh(a: Any, UPLO: Any = "L", symmetrize_input: bool | None = None) -> Any:
    """np.linalg.eigh."""
    return np.linalg.eigh(_of_symmetric(a, symmetrize_input), UPLO or "L")


def eigvalsh(a: Any, UPLO: Any = "L", *, symmetrize_input: bool | None = None) -> Any:
    """np.linalg.eigvalsh."""
    return np.linalg.eigvalsh(_of_symmetric(a, symmetrize_input), UPLO or "L")


def multi_dot(arrays: Any, *, precision: Any = None) -> Any:
    """np.linalg.multi_dot."""
    return np.linalg.multi_dot(arrays)


def lstsq(a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False) -> Any:
    """np.linalg.lstsq."""
    return np.linalg.lstsq(a, b, rcond)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """np.linalg.norm; that of bfloat16, which NumPy takes for no float, is bfloat16, as in JAX."""
    found = np.linalg.norm(x, ord, axis, keepdims)
    dtype = getattr(x, "dtype", found.dtype)
    return found.astype(dtype) if dtype.name == "bfloat16" else found


def slogdet(a: Any, *, method: str | None = None) -> Any:
    """np.linalg.slogdet; the method is chosen by the target. ValueError for an unknown one."""
    if method not in (None, "lu", "qr"):
        raise ValueError(f"slogdet: method must be None, 'lu' or 'qr', not {method!r}")
    return np.linalg.slogdet(a)


NAMES = ("cholesky", "eigh", "eigvalsh", "lstsq", "matmul", "multi_dot", "norm", "slogdet", "tensordot", "vecdot")


offer(globals(), NAMES, _FACE)


def __getattr__(name: str) -> Any:
    found = globals()[name] = offered(of_numpy(np.linalg, name, __name__), _FACE, name)
    return found


def __dir__() -> list[str]:
    return sorted({*dir(np.linalg), *NAMES})
