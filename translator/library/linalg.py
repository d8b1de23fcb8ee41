"""What np.linalg and scipy.linalg make of solutions and factorisations, norms and products, as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rearranging import trace
from .support import known, product


def _magnitudes(x: Any) -> Any:
    """|x| squared, as real numbers."""
    return np.real(x * np.conjugate(x)) if x.dtype.kind == "c" else x * x


def _root(s: Any) -> Any:
    """sqrt(s) with derivative 0 at 0, where a norm has a corner."""
    return np.where(s == 0, 0.0, np.sqrt(np.where(s == 0, 1.0, s))).astype(s.dtype)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    x, ord, axis = np.asarray(x), known(ord), known(axis)
    if x.dtype.kind in "biu":
        x = x.astype(np.float64)
    if axis is None and (ord is None or x.ndim == 1 or (x.ndim == 2 and ord == "fro")):
        if ord is None or ord == "fro" or ord == 2:
            n = _root(np.sum(_magnitudes(x)))
            return np.reshape(n, (1,) * x.ndim) if keepdims else n
        return vector_norm(x, axis=0, ord=ord, keepdims=keepdims)
    if axis is None and x.ndim == 2:
        return _matrix_norm(x, ord, (0, 1), keepdims)
    if isinstance(axis, int) or (axis is not None and len(axis) == 1):
        return vector_norm(x, axis=axis, ord=2 if ord is None else ord, keepdims=keepdims)
    if axis is None:
        raise ValueError("np.linalg.norm: an order needs an array of one or two axes")
    return _matrix_norm(x, ord, axis, keepdims)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Any:
    x, ord = np.asarray(x), known(ord)
    if x.dtype.kind in "biu":
        x = x.astype(np.float64)
    if ord is None or ord == 2:
        return _root(np.sum(_magnitudes(x), axis=axis, keepdims=keepdims))
    if ord == np.inf:
        return np.max(np.absolute(x), axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(np.absolute(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(x != 0, axis=axis, keepdims=keepdims).astype(np.real(x).dtype)
    if ord == 1:
        return np.sum(np.absolute(x), axis=axis, keepdims=keepdims)
    s = np.sum(np.absolute(x) ** ord, axis=axis, keepdims=keepdims)
    return np.where(s == 0, 0.0, np.where(s == 0, 1.0, s) ** (1.0 / ord)).astype(s.dtype)


def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Any:
    return _matrix_norm(np.asarray(x), ord, (-2, -1), keepdims)


def _matrix_norm(x: Any, ord: Any, axes: Any, keepdims: Any) -> Any:
    rows, columns = axes
    if ord is None or ord == "fro" or ord == "f":
        return _root(np.sum(_magnitudes(x), axis=(rows, columns), keepdims=keepdims))
    if ord == 2 or ord == -2 or ord == "nuc":
        s = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False)
        n = np.sum(s, axis=-1) if ord == "nuc" else np.max(s, axis=-1) if ord == 2 else np.min(s, axis=-1)
        return np.expand_dims(n, axes) if keepdims else n
    a = np.absolute(x)
    if ord == 1:
        n = np.max(np.sum(a, axis=rows, keepdims=True), axis=columns, keepdims=True)
    elif ord == -1:
        n = np.min(np.sum(a, axis=rows, keepdims=True), axis=columns, keepdims=True)
    elif ord == np.inf:
        n = np.max(np.sum(a, axis=columns, keepdims=True), axis=rows, keepdims=True)
    elif ord == -np.inf:
        n = np.min(np.sum(a, axis=columns, keepdims=True), axis=rows, keepdims=True)
    else:
        raise ValueError("Invalid norm order for matrices.")
    return n if keepdims else np.squeeze(n, axis=(rows, columns))[()]


def kron(a: Any, b: Any) -> Any:
    x, y = np.asarray(a), np.asarray(b)
    n = max(x.ndim, y.ndim)
    x = np.reshape(x, (1,) * (n - x.ndim) + x.shape)
    y = np.reshape(y, (1,) * (n - y.ndim) + y.shape)
    sizes = tuple(zip(x.shape, y.shape))
    left = np.reshape(x, tuple([m for p, q in sizes for m in (p, 1)]))
    right = np.reshape(y, tuple([m for p, q in sizes for m in (1, q)]))
    return np.reshape(left * right, tuple([p * q for p, q in sizes]))


def matrix_power(a: Any, n: Any) -> Any:
    """Powers that are known, by squaring."""
    a, n = np.asarray(a), known(n)
    if n < 0:
        return matrix_power(inv(a), -n)
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    if n == 1:
        return a
    half = matrix_power(a, n // 2)
    square = half @ half
    return square @ a if n % 2 else square


def matrix_trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


def inv(a: Any) -> Any:
    a = np.asarray(a)
    return np.linalg.solve(a, np.eye(a.shape[-1], dtype=a.dtype))


def cond(x: Any, p: Any = None) -> Any:
    """In norms other than 2 a singular matrix raises np.linalg.LinAlgError, where NumPy gives infinity."""
    x, p = np.asarray(x), known(p)
    if p is None or p == 2 or p == -2:
        s = np.linalg.svd(x, compute_uv=False)
        large, small = s[..., 0], s[..., -1]
        return small / large if p == -2 else large / small
    return _matrix_norm(x, p, (-2, -1), False) * _matrix_norm(inv(x), p, (-2, -1), False)


def matrix_rank(A: Any, tol: Any = None, hermitian: Any = False, *, rtol: Any = None) -> Any:
    x = np.asarray(A)
    if x.ndim < 2:
        return np.any(x != 0).astype(np.int64)
    if known(hermitian):
        s = np.absolute(np.linalg.eigvalsh(x))
    else:
        s = np.linalg.svd(x, compute_uv=False)
    if tol is None:
        relative = max(x.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else np.expand_dims(rtol, -1)
        least = np.max(s, axis=-1, keepdims=True) * relative
    else:
        least = np.expand_dims(tol, -1)
    return np.sum(s > least, axis=-1)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Residuals exist for matrices of full column rank only: NumPy returns none for others, here they are NaN."""
    a, b = np.asarray(a), np.asarray(b)
    m, n = a.shape
    s = np.linalg.svd(a, compute_uv=False)
    cut = np.finfo(s.dtype).eps * (1 if rcond is not None else max(m, n)) if rcond is None or rcond == -1 else rcond
    x = np.linalg.pinv(a, cut) @ b
    rank = np.sum(s > cut * np.max(s)).astype(np.int32)
    if m <= n:
        return x, np.zeros((0,), dtype=s.dtype), rank, s
    missed = np.sum(_magnitudes(b - a @ x), axis=0)
    missed = np.where(rank == n, missed, np.nan).astype(s.dtype)
    return x, np.reshape(missed, (1,)) if b.ndim == 1 else missed, rank, s


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b, axes = np.asarray(a), np.asarray(b), known(axes)
    if axes is not None:
        a = np.moveaxis(a, axes, tuple(range(a.ndim - len(axes), a.ndim)))
    shape = a.shape[b.ndim - a.ndim :] if a.ndim > b.ndim else ()
    return np.reshape(np.linalg.solve(np.reshape(a, (b.size, b.size)), np.ravel(b)), shape)


def tensorinv(a: Any, ind: Any = 2) -> Any:
    a, ind = np.asarray(a), known(ind)
    n = product(a.shape[ind:])
    return np.reshape(inv(np.reshape(a, (n, n))), a.shape[ind:] + a.shape[:ind])


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: Any = False,
    unit_diagonal: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
) -> Any:
    a, trans = np.asarray(a), known(trans)
    t = np.tril(a) if known(lower) else np.triu(a)
    if known(unit_diagonal):
        t = np.where(np.eye(a.shape[-1], dtype=bool), a.dtype.type(1), t)
    if trans == 1 or trans == "T":
        t = t.mT
    elif trans == 2 or trans == "C":
        t = np.conj(t).mT
    return np.linalg.solve(t, b)


def scipy_cholesky(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    a = np.asarray(a)
    return np.linalg.cholesky(a) if known(lower) else np.conj(np.linalg.cholesky(np.conj(a).mT)).mT


def cho_factor(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    """The other triangle is zero, where SciPy leaves what it finds there."""
    return scipy_cholesky(a, lower), known(lower)


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: Any = False, check_finite: Any = True) -> Any:
    c, lower = c_and_lower
    first = solve_triangular(c, b, 0 if lower else 2, lower)
    return solve_triangular(c, first, 2 if lower else 0, lower)


def scipy_inv(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    return inv(a)


def scipy_det(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    return np.linalg.det(a)


NUMPY_NAMES = {
    "linalg.inv": "inv",
    "linalg.cond": "cond",
    "linalg.matrix_rank": "matrix_rank",
    "linalg.lstsq": "lstsq",
    "linalg.tensorsolve": "tensorsolve",
    "linalg.tensorinv": "tensorinv",
    "linalg.norm": "norm",
    "linalg.vector_norm": "vector_norm",
    "linalg.matrix_norm": "matrix_norm",
    "linalg.matrix_power": "matrix_power",
    "linalg.trace": "matrix_trace",
    "kron": "kron",
}

SCIPY_NAMES = {
    "solve_triangular": "solve_triangular",
    "cholesky": "scipy_cholesky",
    "cho_factor": "cho_factor",
    "cho_solve": "cho_solve",
    "inv": "scipy_inv",
    "det": "scipy_det",
}
