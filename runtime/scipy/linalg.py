"""The namespace `untraced.scipy.linalg`: solvers, factors and structured matrices, as NumPy source.

Other names (schur, hilbert, eigh_tridiagonal) are SciPy's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...translator.library.scipy_linalg import (
    block_diag,
    cho_factor,
    cho_solve,
    cholesky,
    circulant,
    det,
    expm,
    hankel,
    inv,
    khatri_rao,
    norm,
    pinv,
    qr,
    solve,
    solve_triangular,
    svd,
    svdvals,
    toeplitz,
)
from ...translator.library.scipy_matrices import (
    eigvalsh,
    expm_frechet,
    logm,
    lu,
    lu_factor,
    lu_solve,
    polar,
    solve_banded,
    solve_continuous_lyapunov,
    solve_discrete_lyapunov,
    solve_sylvester,
    solve_toeplitz,
    solveh_banded,
    sqrtm,
)
from .theirs import ours_first, scipys_own


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """The eigenvalues, ascending, and the vectors, in columns, of a symmetric or Hermitian matrix, or of the problem
    a x = w b x, whose vectors have x^H b x = 1. Signs are those of np.linalg.eigh. NotImplementedError for another
    `type` of problem or a part of the values.
    """
    if type != 1 or eigvals is not None:
        raise NotImplementedError("eigh: only type=1 and eigvals=None are implemented")
    if eigvals_only:
        return eigvalsh(a, b, lower=lower)
    if b is None:
        return np.linalg.eigh(a, "L" if lower else "U")
    factor = np.linalg.cholesky(b, upper=not lower)
    factor = factor if lower else np.conj(np.swapaxes(factor, -1, -2))
    t = np.tril(a) if lower else np.triu(a)
    whole = np.where(np.eye(t.shape[-1], dtype=bool), np.real(t), t + np.conj(np.swapaxes(t, -1, -2)))
    half = np.linalg.solve(factor, whole)
    turned = np.linalg.solve(factor, np.conj(np.swapaxes(half, -1, -2)))
    values, vectors = np.linalg.eigh(turned)
    return values, np.linalg.solve(np.conj(np.swapaxes(factor, -1, -2)), vectors)


__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "det",
    "eigh",
    "eigvalsh",
    "expm",
    "expm_frechet",
    "hankel",
    "inv",
    "khatri_rao",
    "logm",
    "lu",
    "lu_factor",
    "lu_solve",
    "norm",
    "pinv",
    "polar",
    "qr",
    "solve",
    "solve_banded",
    "solve_continuous_lyapunov",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "solve_toeplitz",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "toeplitz",
]

globals().update({_name: ours_first(globals()[_name], "linalg", _name) for _name in __all__})
__getattr__ = scipys_own("linalg")
