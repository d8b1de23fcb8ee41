"""scipy.linalg's eigenvalue problems, functions of matrices and Riccati equations, for derivatives and batches alone.

SciPy's own are LAPACK's, several times as fast: what is only to be run is left to them. Signs of eigenvectors are those
of np.linalg.eigh, which are not always SciPy's: derivatives are right for what does not depend on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .scipy_linalg import expm, finite_operands, solve_triangular, toeplitz
from .scipy_matrices import eigvalsh, logm, standard_form
from .support import known, only_plain

# ---- eigenvalues -----------------------------------------------------------------------------------


def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: Any = True,
    eigvals_only: Any = False,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    type: Any = 1,
    check_finite: Any = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """Of a symmetric or Hermitian a, or of a v = w b v, by Cholesky's factor of b."""
    if known(eigvals_only):
        return eigvalsh(
            a, b, lower=lower, type=type, subset_by_index=subset_by_index, subset_by_value=subset_by_value
        )
    only_plain("scipy.linalg.eigh", subset_by_index is None and subset_by_value is None and known(type) == 1)
    if b is None:
        return _pair(np.linalg.eigh(a, "L" if known(lower) else "U"))
    reduced, c = standard_form(np.asarray(a), np.asarray(b), lower)
    w, v = np.linalg.eigh(reduced)
    return w, solve_triangular(np.conj(c).T, v, 0, False)


def _pair(found: Any) -> Any:
    return found[0], found[1]


def eigvals(
    a: Any, b: Any = None, overwrite_a: Any = False, check_finite: Any = True, homogeneous_eigvals: Any = False
) -> Any:
    only_plain("scipy.linalg.eigvals", b is None and not known(homogeneous_eigvals))
    return np.linalg.eigvals(np.asarray(a) + 0j)


def eig(
    a: Any,
    b: Any = None,
    left: Any = False,
    right: Any = True,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
    homogeneous_eigvals: Any = False,
) -> Any:
    only_plain("scipy.linalg.eig", b is None and not known(left) and not known(homogeneous_eigvals))
    if not known(right):
        return np.linalg.eigvals(np.asarray(a) + 0j)
    return _pair(np.linalg.eig(np.asarray(a) + 0j))


def _banded(a_band: Any, lower: Any) -> Any:
    """The symmetric matrix of which the bands on one side are given, row by row as SciPy has them."""
    band = np.asarray(a_band)
    below = band if known(lower) else np.conj(band[::-1])
    n = band.shape[1]
    whole = np.diag(np.real(below[0]) + 0 * below[0])
    for k in range(1, band.shape[0]):
        line = below[k, : n - k] if known(lower) else below[k, k:]
        whole = whole + np.diag(line, -k) + np.diag(np.conj(line), k)
    return whole


def eig_banded(
    a_band: Any,
    lower: Any = False,
    eigvals_only: Any = False,
    overwrite_a_band: Any = False,
    select: Any = "a",
    select_range: Any = None,
    max_ev: Any = 0,
    check_finite: Any = True,
) -> Any:
    only_plain("scipy.linalg.eig_banded", known(select) in ("a", "all", 0))
    whole = _banded(a_band, lower)
    return np.linalg.eigvalsh(whole) if known(eigvals_only) else _pair(np.linalg.eigh(whole))


def eigvals_banded(
    a_band: Any,
    lower: Any = False,
    overwrite_a_band: Any = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: Any = True,
) -> Any:
    only_plain("scipy.linalg.eigvals_banded", known(select) in ("a", "all", 0))
    return np.linalg.eigvalsh(_banded(a_band, lower))


def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: Any = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: Any = True,
    tol: Any = 0.0,
    lapack_driver: Any = "auto",
) -> Any:
    only_plain("scipy.linalg.eigh_tridiagonal", known(select) in ("a", "all", 0))
    whole = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    return np.linalg.eigvalsh(whole) if known(eigvals_only) else _pair(np.linalg.eigh(whole))


def eigvalsh_tridiagonal(
    d: Any,
    e: Any,
    select: Any = "a",
    select_range: Any = None,
    check_finite: Any = True,
    tol: Any = 0.0,
    lapack_driver: Any = "auto",
) -> Any:
    only_plain("scipy.linalg.eigvalsh_tridiagonal", known(select) in ("a", "all", 0))
    return np.linalg.eigvalsh(np.diag(d) + np.diag(e, 1) + np.diag(e, -1))


# ---- functions of matrices -------------------------------------------------------------------------


def _turned(a: Any) -> Any:
    """exp(i a) and exp(-i a)."""
    return expm(1j * a), expm(-1j * a)


def cosm(A: Any) -> Any:
    a = np.asarray(A)
    if a.dtype.kind != "c":
        return np.real(expm(1j * a))
    ahead, back = _turned(a)
    return 0.5 * (ahead + back)


def sinm(A: Any) -> Any:
    a = np.asarray(A)
    if a.dtype.kind != "c":
        return np.imag(expm(1j * a))
    ahead, back = _turned(a)
    return -0.5j * (ahead - back)


def tanm(A: Any) -> Any:
    return np.linalg.solve(cosm(A), sinm(A))


def coshm(A: Any) -> Any:
    a = np.asarray(A)
    return 0.5 * (expm(a) + expm(-a))


def sinhm(A: Any) -> Any:
    a = np.asarray(A)
    return 0.5 * (expm(a) - expm(-a))


def tanhm(A: Any) -> Any:
    return np.linalg.solve(coshm(A), sinhm(A))


def fractional_matrix_power(A: Any, t: Any) -> Any:
    """exp(t log(A)); for whole t the product."""
    a = np.asarray(A)
    if isinstance(t, int):
        return np.linalg.matrix_power(a, t)
    return expm(t * logm(a))


# ---- equations -------------------------------------------------------------------------------------


def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
    lapack_driver: Any = None,
) -> Any:
    """The solution of least norm, the sums of squared residuals, the rank, the singular values."""
    only_plain("scipy.linalg.lstsq", cond is None and known(lapack_driver) in (None, "gelsd", "gelss"))
    x, _, rank, s = np.linalg.lstsq(a, b, rcond=np.finfo(np.result_type(a, b, np.float32)).eps)
    rest = np.asarray(b) - np.asarray(a) @ x
    return x, np.sum(np.absolute(rest) ** 2, axis=0), rank, s


def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: Any = True) -> Any:
    """`a^H x + x a - x b r^-1 b^H x + q = 0`, from the stable vectors of the Hamiltonian matrix (A. Laub, "A Schur
    method for solving algebraic Riccati equations", 1979): its eigenvalues must be distinct for a derivative."""
    only_plain("scipy.linalg.solve_continuous_are", e is None and s is None)
    a, b, q, r = np.asarray(a), np.asarray(b), np.asarray(q), np.asarray(r)
    g = b @ np.linalg.solve(r, np.conj(b).T)
    w, v = np.linalg.eig(np.block([[a, -g], [-q, -np.conj(a).T]]) + 0j)
    return _of_vectors(v[:, np.argsort(np.real(w))[: a.shape[0]]], a, b, q, r)


def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: Any = True) -> Any:
    """`a^H x a - x - a^H x b (r + b^H x b)^-1 b^H x a + q = 0`, from the stable vectors of the symplectic matrix, for
    regular a (Laub, as above)."""
    only_plain("scipy.linalg.solve_discrete_are", e is None and s is None)
    a, b, q, r = np.asarray(a), np.asarray(b), np.asarray(q), np.asarray(r)
    g = b @ np.linalg.solve(r, np.conj(b).T)
    back = np.conj(np.linalg.inv(a)).T
    w, v = np.linalg.eig(np.block([[a + g @ back @ q, -g @ back], [-back @ q, back]]) + 0j)
    return _of_vectors(v[:, np.argsort(np.absolute(w))[: a.shape[0]]], a, b, q, r)


def _of_vectors(v: Any, *matrices: Any) -> Any:
    n = v.shape[1]
    x = np.linalg.solve(v[:n].T, v[n:].T).T
    x = 0.5 * (x + np.conj(x).T)
    return x if np.result_type(*matrices).kind == "c" else np.real(x)


def orthogonal_procrustes(A: Any, B: Any, check_finite: Any = True) -> Any:
    """The orthogonal matrix by which A comes closest to B, and the sum of the singular values of A^H B."""
    u, w, vt = np.linalg.svd((np.asarray(B).T @ np.conj(np.asarray(A))).T)
    return u @ vt, np.sum(w)


def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: Any = False, workers: Any = None) -> Any:
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return toeplitz(c, r) @ np.asarray(x)


def leslie(f: Any, s: Any) -> Any:
    """Fecundities in the first row, survivals below the diagonal."""
    f = np.asarray(f)
    return np.concatenate((f[None], np.eye(f.shape[0] - 1, f.shape[0]) * np.asarray(s)[:, None]))


TRANSFORMED: dict[str, Any] = {
    f.__name__: f
    for f in (
        cosm, sinm, tanm, coshm, sinhm, tanhm, fractional_matrix_power, solve_continuous_are, solve_discrete_are, leslie
    )
} | finite_operands(
    {
        eigh: "a b",
        eigvals: "a",
        eig: "a",
        eig_banded: "a_band",
        eigvals_banded: "a_band",
        eigh_tridiagonal: "d e",
        eigvalsh_tridiagonal: "d e",
        lstsq: "a b",
        orthogonal_procrustes: "A B",
        matmul_toeplitz: "c_or_cr x",
    }
)  # fmt: skip
