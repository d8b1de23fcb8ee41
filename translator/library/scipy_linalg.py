"""scipy.linalg's solvers, factorisations and structured matrices, as NumPy source.

Functions that SciPy has and this file has not (LU factors, matrix logarithms, ...) run as they are, between compiled
regions; so do the options refused here.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..ops.selection import stop_gradient
from .linalg import norm as _numpys_norm
from .support import known, only_plain


def solve(
    a: Any,
    b: Any,
    lower: Any = False,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
    assume_a: Any = None,
    transposed: Any = False,
) -> Any:
    """For symmetric and Hermitian matrices one triangle is read."""
    a = _of_kind(np.asarray(a), known(assume_a), lower, "scipy.linalg.solve")
    return np.linalg.solve(a.mT if known(transposed) else a, b)


def _of_kind(a: Any, kind: Any, lower: Any, name: str) -> Any:
    """The whole matrix, of which LAPACK reads one triangle where it is told a kind."""
    if kind in ("sym", "symmetric", "her", "hermitian", "pos", "positive definite"):
        t = np.tril(a) if known(lower) else np.triu(a)
        mirrored = t.mT if kind in ("sym", "symmetric") else np.conj(t).mT
        return np.where(np.eye(a.shape[-1], dtype=bool), a, t + mirrored)
    if kind in ("lower triangular", "upper triangular"):
        return np.tril(a) if kind == "lower triangular" else np.triu(a)
    only_plain(name, kind is None or kind in ("gen", "general"))
    return a


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: Any = False,
    unit_diagonal: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
) -> Any:
    """The solution x of a x = b, or with `trans` of the transposed (1, "T") or adjoint (2, "C") matrix.

    One triangle of a is read.
    """
    a, trans = np.asarray(a), known(trans)
    t = np.tril(a) if known(lower) else np.triu(a)
    if known(unit_diagonal):
        t = np.where(np.eye(a.shape[-1], dtype=bool), a.dtype.type(1), t)
    if trans == 1 or trans == "T":
        t = t.mT
    elif trans == 2 or trans == "C":
        t = np.conj(t).mT
    return np.linalg.solve(t, b)


def cholesky(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    """The triangular factor of a: u with u^H u = a, or with `lower` l with l l^H = a."""
    a = np.asarray(a)
    return np.linalg.cholesky(a) if known(lower) else np.conj(np.linalg.cholesky(np.conj(a).mT)).mT


def cho_factor(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    """The factor and whether it is the lower one; in the other triangle stays what `a` has there."""
    a = np.asarray(a)
    c = cholesky(a, lower)
    rest = np.triu(a, 1) if lower else np.tril(a, -1)
    return c + rest.astype(c.dtype), known(lower)


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: Any = False, check_finite: Any = True) -> Any:
    """The solution x of a x = b, by the factor of a and `lower` as `cho_factor` returns them."""
    c, lower = c_and_lower
    first = solve_triangular(c, b, 0 if lower else 2, lower)
    return solve_triangular(c, first, 2 if lower else 0, lower)


def inv(
    a: Any, overwrite_a: Any = False, check_finite: Any = True, *, assume_a: Any = None, lower: Any = False
) -> Any:
    """The inverse; LinAlgError where the matrix is singular. For symmetric matrices one triangle is read."""
    return np.linalg.inv(_of_kind(np.asarray(a), known(assume_a), lower, "scipy.linalg.inv"))


def det(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    """The determinant."""
    return np.linalg.det(a)


def pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: Any = False, check_finite: Any = True) -> Any:
    """The Moore-Penrose inverse: singular values up to rtol times the largest count as 0."""
    a = np.asarray(a)
    only_plain("scipy.linalg.pinv", atol is None and not known(return_rank))
    cut = max(a.shape[-2:]) * np.finfo(np.result_type(a, np.float32)).eps if rtol is None else rtol
    return np.linalg.pinv(a, cut)


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: Any = False, check_finite: Any = True) -> Any:
    """As np.linalg.norm."""
    return _numpys_norm(a, ord, axis, keepdims)


def svd(
    a: Any,
    full_matrices: Any = True,
    compute_uv: Any = True,
    overwrite_a: Any = False,
    check_finite: Any = True,
    lapack_driver: Any = "gesdd",
) -> Any:
    """u, s, vh with u @ diag(s) @ vh = a; without `compute_uv` s alone."""
    if not known(compute_uv):
        return np.linalg.svd(a, compute_uv=False)
    u, s, vh = np.linalg.svd(a, full_matrices)
    return u, s, vh


def svdvals(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    """The singular values, the largest first."""
    return np.linalg.svd(a, compute_uv=False)


def qr(
    a: Any,
    overwrite_a: Any = False,
    lwork: Any = None,
    mode: Any = "full",
    pivoting: Any = False,
    check_finite: Any = True,
) -> Any:
    """q, r with q @ r = a; with mode "r" (r,). Of several matrices too, where SciPy 1.17 gives a list, or r itself."""
    mode = known(mode)
    only_plain("scipy.linalg.qr", not known(pivoting) and mode in ("full", "economic", "r"))
    q, r = np.linalg.qr(a, "reduced" if mode == "economic" else "complete")
    return (r,) if mode == "r" else (q, r)


# B. Higham, "The scaling and squaring method for the matrix exponential revisited" (2005)
_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_LARGEST_NORM = 5.371920351148152


def expm(A: Any, *, upper_triangular: Any = False, max_squarings: Any = None) -> Any:
    """The exponential of a matrix, by a rational approximation of degree 13 and repeated squaring.

    As in JAX `upper_triangular` promises that the matrix is, and the result is NaN where more than `max_squarings`
    would be needed.
    """
    a = np.asarray(A)
    if a.ndim == 0:
        return np.exp(np.reshape(a, (1, 1)))
    a = a.astype(np.result_type(a, np.float32))
    if 0 in a.shape:
        return a
    size = np.max(np.sum(np.absolute(a), axis=-2))
    count = np.ceil(np.log2(np.maximum(stop_gradient(size) / _LARGEST_NORM, 1.0)))
    a = a * (0.5**count).astype(np.real(a).dtype)
    unit = np.eye(a.shape[-1], dtype=a.dtype)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a2 @ a4
    c = _PADE
    odd = a6 @ (c[13] * a6 + c[11] * a4 + c[9] * a2) + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * unit
    even = a6 @ (c[12] * a6 + c[10] * a4 + c[8] * a2) + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * unit
    odd = a @ odd
    y = np.linalg.solve(even - odd, even + odd)
    for _ in range(int(count)):
        y = y @ y
    return y if max_squarings is None else np.where(count > max_squarings, np.nan, y).astype(y.dtype)


# ---- structured matrices -------------------------------------------------------------------------


def toeplitz(c: Any, r: Any = None) -> Any:
    """Constant diagonals: the first columns, and the first rows, whose first elements do not count."""
    c = np.atleast_1d(np.asarray(c))
    r = np.conj(c) if r is None else np.atleast_1d(np.asarray(r))
    m, n = c.shape[-1], r.shape[-1]
    parts = r[..., :0:-1], c
    batch = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    line = np.concatenate([np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts], axis=-1)
    return line[..., np.arange(m)[:, None] - np.arange(n)[None, :] + (n - 1)]


def circulant(c: Any) -> Any:
    """The matrix whose columns are c, each rotated by one more."""
    c = np.atleast_1d(np.asarray(c))
    n = c.shape[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)[None, :]) % n]


def hankel(c: Any, r: Any = None) -> Any:
    """Constant antidiagonals: the first column, and the last row, whose first element does not count."""
    c = np.ravel(np.asarray(c))
    r = np.zeros_like(c) if r is None else np.ravel(np.asarray(r))
    line = np.concatenate([c, r[1:]])
    return line[np.arange(c.shape[0])[:, None] + np.arange(r.shape[0])[None, :]]


def block_diag(*arrs: Any) -> Any:
    """The matrix with these along its diagonal, 0 elsewhere."""
    parts = [np.atleast_2d(a) for a in arrs]
    rows, columns = sum([p.shape[0] for p in parts]), sum([p.shape[1] for p in parts])
    whole = np.zeros((rows, columns), dtype=np.result_type(*parts))
    i, j = 0, 0
    for p in parts:
        m, n = p.shape
        whole[i : i + m, j : j + n] = p
        i, j = i + m, j + n
    return whole


def khatri_rao(a: Any, b: Any) -> Any:
    """Kronecker's product column by column: shape (..., m n, k) of (..., m, k) and (..., n, k)."""
    a, b = np.asarray(a), np.asarray(b)
    product = a[..., :, None, :] * b[..., None, :, :]
    return np.reshape(product, (*product.shape[:-3], product.shape[-3] * product.shape[-2], product.shape[-1]))


def of_finite(function: Any, operands: Any, place: int, *args: Any, **options: Any) -> Any:
    """SciPy's function of JAX's, `operands` its matrices by place and name: ValueError where one holds NaN or infinity.

    `place` is that of `check_finite` among the arguments.
    """
    if known(args[place] if place < len(args) else options.get("check_finite", True)):
        for i, name in operands:
            x = args[i] if i < len(args) else options.get(name)
            for part in x if isinstance(x, tuple) else (x,):
                if part is not None and np.asarray(part).dtype.kind in "fc" and not np.all(np.isfinite(part)):
                    raise ValueError("array must not contain infs or NaNs")
    return function(*args, **options)


def norm_as_number(a: Any, ord: Any = None, axis: Any = None, keepdims: Any = False, check_finite: Any = True) -> Any:
    """A Python number where SciPy asks BLAS or LAPACK: 2-norms of vectors, 1- and inf-norms of whole matrices."""
    a, found = np.asarray(a), _numpys_norm(a, ord, axis, keepdims)
    if a.size == 0 or a.dtype.char not in "fdFD" or axis is not None or known(keepdims):
        return found
    by_blas = a.ndim == 1 and known(ord) in (None, 2)
    by_lapack = a.ndim == 2 and min(a.shape) > 1 and known(ord) in (1, np.inf)
    return float(found) if by_blas or by_lapack else found


def finite_operands(functions: Mapping[Any, str]) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """The functions as SciPy has them: by name, with what stands before the arguments."""
    made = {}
    for function, operands in functions.items():
        names = list(inspect.signature(function).parameters)
        places = tuple([(names.index(operand), operand) for operand in operands.split()])
        last = names.index("check_finite") if "check_finite" in names else len(names)
        name = "norm" if function is norm_as_number else function.__name__
        made[name] = (of_finite, (function, places, last))
    return made


NAMES = {f.__name__: f for f in (expm, toeplitz, circulant, hankel, block_diag, khatri_rao)} | finite_operands(
    {
        solve: "a b",
        solve_triangular: "a b",
        cholesky: "a",
        cho_factor: "a",
        cho_solve: "c_and_lower b",
        inv: "a",
        det: "a",
        pinv: "a",
        norm_as_number: "a",
        svd: "a",
        svdvals: "a",
        qr: "a",
    }
)
