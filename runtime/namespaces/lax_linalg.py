"""The namespace `untraced.lax.linalg`: NumPy's factorisations and solvers under JAX's names and options."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...translator.library.scipy_matrices import lu_factor, permutation
from ..arrays.hosted import offer


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """The lower triangular factor L of x = L L^H."""
    return np.linalg.cholesky((x + _adjoint(x)) / 2 if symmetrize_input else x)


def eigh(
    x: Any, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True
) -> tuple[Any, Any]:
    """(eigenvectors, eigenvalues) of a Hermitian matrix: the vectors first, unlike np.linalg.eigh."""
    values, vectors = np.linalg.eigh((x + _adjoint(x)) / 2 if symmetrize_input else x, "L" if lower else "U")
    return vectors, values


def lu(x: Any) -> tuple[Any, Any, Any]:
    """(factors, pivots, permutation) of one matrix: L below the diagonal and U on and above it; the rows that were
    exchanged, one after another; and where that has brought them: x[permutation] = L U.
    """
    factors, pivots = lu_factor(x)
    return factors, pivots, permutation(pivots, x.shape[0]).astype(np.int32)


def qr(x: Any, *, full_matrices: bool = True) -> tuple[Any, Any]:
    """(Q, R)."""
    q, r = np.linalg.qr(x, "complete" if full_matrices else "reduced")
    return q, r


def svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """(U, singular values, V^H), or the singular values alone."""
    if not compute_uv:
        return np.linalg.svd(x, compute_uv=False)
    u, s, vh = np.linalg.svd(x, full_matrices)
    return u, s, vh


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """x of op(a) x = b, or of x op(a) = b where not `left_side`; `a` is triangular, its other half is not looked at."""
    t = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        t = np.where(np.eye(a.shape[-1], dtype=np.bool_), 1, t)
    t = np.conj(t) if conjugate_a else t
    t = np.matrix_transpose(t) if transpose_a else t
    if left_side:
        return np.linalg.solve(t, b)
    return np.matrix_transpose(np.linalg.solve(np.matrix_transpose(t), np.matrix_transpose(b)))


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any) -> Any:
    """x of a tridiagonal system: `d` the diagonal, `dl` below it (its first element is not used), `du` above it (its
    last is not used), `b` (..., n, k). Elimination without pivoting: Thomas's algorithm.
    """
    n = d.shape[-1]
    x, c = np.array(b), np.array(du)
    c[..., :1] = du[..., :1] / d[..., :1]
    x[..., 0, :] = b[..., 0, :] / d[..., :1]
    for i in range(1, n):
        pivot = d[..., i : i + 1] - dl[..., i : i + 1] * c[..., i - 1 : i]
        c[..., i : i + 1] = du[..., i : i + 1] / pivot
        x[..., i, :] = (b[..., i, :] - dl[..., i : i + 1] * x[..., i - 1, :]) / pivot
    for i in range(n - 2, -1, -1):
        x[..., i, :] = x[..., i, :] - c[..., i : i + 1] * x[..., i + 1, :]
    return x


def _adjoint(x: Any) -> Any:
    return np.conj(np.matrix_transpose(x))


__all__ = ["cholesky", "eigh", "lu", "qr", "svd", "triangular_solve", "tridiagonal_solve"]

offer(globals(), __all__, "untraced.lax.linalg")
