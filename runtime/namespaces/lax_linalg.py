"""The namespace `untraced.lax.linalg`: NumPy's factorisations and solvers under JAX's names and options."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from ...translator.library.scipy_matrices import lu_factor, permutation
from ..arrays.hosted import offer
from .lax_reflections import hessenberg, householder_product, ormqr, tridiagonal


class SvdAlgorithm(enum.Enum):
    """How singular values may be found. LAPACK finds them here, whatever is asked for."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


class EighImplementation(enum.Enum):
    """How eigenvalues of Hermitian matrices may be found. LAPACK finds them here, whatever is asked for."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class EigImplementation(enum.Enum):
    """Who may find eigenvalues of other matrices. LAPACK finds them here, whatever is asked for."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """The lower triangular factor L of x = L L^H."""
    return np.linalg.cholesky((x + _adjoint(x)) / 2 if symmetrize_input else x)


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The upper triangular factor of R^T R + w w^T, from the factor R (n, n) and w (n,): by rotations, n^2 steps."""
    r, w = np.array(r_matrix), np.array(w_vector)
    for k in range(r.shape[-1]):
        row = r[k].copy()
        size = np.hypot(row[k], w[k])
        c, s = row[k] / size, w[k] / size
        r[k] = c * row + s * w
        w = c * w - s * row
    return np.triu(r)


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: Any = None,
    use_magma: Any = None,
) -> list[Any]:
    """[eigenvalues, left eigenvectors, right eigenvectors], complex, the vectors in columns and as far as asked for.

    A column u of the left ones has u^H x = w u^H. Columns have length 1, and a real largest element where they are not
    real; signs may be other than LAPACK gives them.
    """
    if x.shape[-1] == 0 or not (compute_left_eigenvectors or compute_right_eigenvectors):
        empty = [_complex(x)] * (compute_left_eigenvectors + compute_right_eigenvectors)
        return [_complex(np.linalg.eigvals(x)), *empty]
    values, right = np.linalg.eig(x)
    found = [_complex(values)]
    if compute_left_eigenvectors:
        found.append(_as_lapack(_adjoint(np.linalg.inv(_complex(right)))))
    if compute_right_eigenvectors:
        found.append(_complex(right))
    return found


def _complex(x: Any) -> Any:
    return x.astype(np.result_type(x, np.complex64))


def _as_lapack(vectors: Any) -> Any:
    """Columns of length 1; those that no factor makes real turned until their largest element is."""
    sizes = np.abs(vectors)
    largest = np.take_along_axis(vectors, np.argmax(sizes, axis=-2, keepdims=True), axis=-2)
    turn = np.where(np.imag(largest) == 0, 1, np.conj(largest) / np.abs(largest))
    return vectors * turn / np.sqrt(np.sum(sizes * sizes, axis=-2, keepdims=True))


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: Any = None,
) -> tuple[Any, Any]:
    """(eigenvectors, eigenvalues) of a Hermitian matrix: the vectors first, unlike np.linalg.eigh.

    subset_by_index   (first, end) of the eigenvalues wanted, of all in ascending order
    """
    values, vectors = np.linalg.eigh((x + _adjoint(x)) / 2 if symmetrize_input else x, "L" if lower else "U")
    if subset_by_index is None:
        return vectors, values
    first, end = subset_by_index
    return vectors[..., first:end], values[..., first:end]


def lu(x: Any) -> tuple[Any, Any, Any]:
    """(factors, pivots, permutation) of matrices (..., m, n): L below the diagonal and U on and above it; the rows that
    were exchanged, one after another, (..., min(m, n)); and where that has brought them, (..., m): x[permutation] = L U
    of each matrix.
    """
    m, n = x.shape[-2:]
    if x.ndim == 2:
        factors, pivots = lu_factor(x)
        return factors, pivots, permutation(pivots, m).astype(np.int32)
    matrices = x.reshape(-1, m, n)
    count = matrices.shape[0]
    factors = np.empty((count, m, n), np.result_type(x, np.float32))
    pivots, order = np.empty((count, min(m, n)), np.int32), np.empty((count, m), np.int32)
    for i in range(count):
        factors[i], pivots[i] = lu_factor(matrices[i])
        order[i] = permutation(pivots[i], m)
    before = x.shape[:-2]
    return factors.reshape(x.shape), pivots.reshape(*before, -1), order.reshape(*before, m)


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """Where exchanges of rows, one after another as `lu` tells them (..., k), bring the rows 0, 1, ..., of which there
    are `permutation_size`: int32, (..., permutation_size). ValueError for fewer rows than exchanges.
    """
    count = pivots.shape[-1]
    if permutation_size < count:
        raise ValueError(f"lu_pivots_to_permutation: {count} exchanges among {permutation_size} rows")
    flat = pivots.reshape(-1, count)
    order = np.broadcast_to(np.arange(permutation_size, dtype=np.int32), (flat.shape[0], permutation_size)).copy()
    each = np.arange(flat.shape[0])
    for k in range(count):
        other = flat[:, k]
        at = order[each, other]
        order[each, other] = order[:, k]
        order[:, k] = at
    return order.reshape(*pivots.shape[:-1], permutation_size)


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: Any = None,
) -> tuple[Any, Any, Any, Any]:
    """(u, h, turns, converged): x = u h, u with orthonormal columns and h positive semidefinite, of a matrix (m, n),
    m >= n, by the dynamically weighted Halley iteration (Nakatsukasa, Bai and Gygi 2010).

    max_iterations   10 by default
    eps              the precision aimed at, of the dtype by default

    Raises ValueError for m < n, NotImplementedError for a dynamic_shape.
    """
    if dynamic_shape is not None:
        raise NotImplementedError("qdwh: matrices of which a part counts are not implemented; give that part")
    if x.shape[-2] < x.shape[-1]:
        raise ValueError(f"qdwh: a matrix must have as many rows as columns or more, not the shape {x.shape}")
    eps = float(np.finfo(x.dtype).eps) if eps is None else eps
    one = np.real(x[0, 0]) * 0 + 1  # in the precision of the matrix
    size = np.sqrt(np.max(np.sum(np.abs(x), 0)) * np.max(np.sum(np.abs(x), 1)))
    u, least, turns = x / np.where(size == 0, one, size), one * eps, 0
    change = one * np.inf
    limit = 10 if max_iterations is None else max_iterations
    while turns < limit and (change > np.cbrt(4 * eps) or np.abs(1 - least) > 5 * eps):
        before = u
        u, least = _halley(u, least)
        change = np.linalg.norm(u - before)
        turns = turns + 1
    u = 1.5 * u - 0.5 * u @ (_adjoint(u) @ u)
    h = _adjoint(u) @ x
    return u, (h + _adjoint(h)) / 2, turns, turns < limit


def _halley(u: Any, least: Any) -> tuple[Any, Any]:
    """One turn: u, and a lower bound of its singular values."""
    square = least * least
    d = np.cbrt(4 * (1 - square) / (square * square))
    a = np.sqrt(1 + d) + np.sqrt(8 - 4 * d + 8 * (2 - square) / (square * np.sqrt(1 + d))) / 2
    b = (a - 1) ** 2 / 4
    c = a + b - 1
    eye = np.eye(u.shape[1], dtype=u.dtype)
    q, _ = np.linalg.qr(np.concatenate([np.sqrt(c) * u, eye]))
    top, below = q[: u.shape[0]], q[u.shape[0] :]
    turned = b / c * u + (a - b / c) / np.sqrt(c) * top @ _adjoint(below)
    return turned, np.minimum(least * (a + b * square) / (1 + c * square), 1)


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: Any = None) -> tuple[Any, Any]:
    """(Q, R). NotImplementedError for `pivoting`, which scipy.linalg.qr has."""
    if pivoting:
        raise NotImplementedError("qr: pivoting is not implemented; scipy.linalg.qr(x, pivoting=True) has it")
    q, r = np.linalg.qr(x, "complete" if full_matrices else "reduced")
    return q, r


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Any, ...]:
    """(T, Q) with x = Q T Q^H, of square matrices (..., n, n); without the vectors (T,). Those of a real matrix are
    real. SciPy computes it, in CPython; it has no derivative. NotImplementedError where eigenvalues are to be sorted.
    """
    from scipy.linalg import schur as of_one

    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("lax.linalg.schur: sorting is not implemented; scipy.linalg.schur has sort=")
    pairs = [of_one(m) for m in np.reshape(x, (-1, *x.shape[-2:]))]
    found = tuple([np.reshape(np.stack(parts), x.shape) for parts in zip(*pairs, strict=True)])
    return found if compute_schur_vectors else found[:1]


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: Any = None,
) -> Any:
    """(U, singular values, V^H), or the singular values alone.

    subset_by_index   (first, end) of the singular values wanted, of all in descending order; with full_matrices it is
                      a ValueError unless that is all of them
    """
    first, end = (0, min(x.shape[-2:])) if subset_by_index is None else subset_by_index
    if not compute_uv:
        return np.linalg.svd(x, compute_uv=False)[..., first:end]
    if full_matrices and (first, end) != (0, min(x.shape[-2:])):
        raise ValueError("svd: full_matrices and a part of the singular values cannot be combined")
    u, s, vh = np.linalg.svd(x, full_matrices)
    if full_matrices:
        return u, s, vh
    return u[..., first:end], s[..., first:end], vh[..., first:end, :]


def symmetric_product(
    a_matrix: Any, c_matrix: Any, *, alpha: float = 1.0, beta: float = 0.0, symmetrize_output: bool = False
) -> Any:
    """alpha a a^T + beta c, of symmetric `c`; whole, whatever `symmetrize_output`."""
    return alpha * (a_matrix @ np.matrix_transpose(a_matrix)) + beta * c_matrix


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
    if b.dtype.name in ("float16", "bfloat16"):  # LAPACK has no routines for half precision
        wide = triangular_solve(
            a.astype(np.float32),
            b.astype(np.float32),
            left_side=left_side,
            lower=lower,
            transpose_a=transpose_a,
            conjugate_a=conjugate_a,
            unit_diagonal=unit_diagonal,
        )
        return wide.astype(b.dtype)
    t = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        t = np.where(np.eye(a.shape[-1], dtype=np.bool_), 1, t)
    t = np.conj(t) if conjugate_a else t
    t = np.matrix_transpose(t) if transpose_a else t
    if left_side:
        return np.linalg.solve(t, b)
    return np.matrix_transpose(np.linalg.solve(np.matrix_transpose(t), np.matrix_transpose(b)))


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """x of a tridiagonal system: `d` the diagonal, `dl` below it (its first element is not used), `du` above it (its
    last is not used), `b` (..., n, k). Elimination without pivoting: Thomas's algorithm.
    NotImplementedError for `perturb_singular`.
    """
    if perturb_singular:
        raise NotImplementedError("tridiagonal_solve: perturb_singular is not implemented; add to the diagonal")
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


__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qdwh",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]

offer(globals(), __all__, "untraced.lax.linalg")
