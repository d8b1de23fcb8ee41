"""What np.linalg makes of solutions and factorisations, norms and products, as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rearranging import trace
from .support import axes_of, float_of, known, product, require_precision, require_square, require_system


def _magnitudes(x: Any) -> Any:
    """|x| squared, as real numbers."""
    return np.real(x * np.conjugate(x)) if x.dtype.kind == "c" else x * x


def _root(s: Any) -> Any:
    """sqrt(s) with derivative 0 at 0, where a norm has a corner."""
    return np.where(s == 0, 0.0, np.sqrt(np.where(s == 0, 1.0, s))).astype(s.dtype)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    x, ord, axis = _inexact(np.asarray(x)), known(ord), known(axis)
    if axis is None and (ord is None or (ord in ("f", "fro") and x.ndim == 2)):
        n = _root(np.sum(_magnitudes(x)))
        return np.reshape(n, (1,) * x.ndim) if keepdims else n
    axes = axes_of(axis, x.ndim)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        return vector_norm(x, axis=axes, ord=2 if ord is None else ord, keepdims=keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    return _matrix_norm(x, ord, axes, keepdims)


def _inexact(x: Any) -> Any:
    return x if x.dtype.kind in "fc" else x.astype(np.float64)  # bfloat16, too, is none of those


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Any:
    x, ord = _inexact(np.asarray(x)), known(ord)
    if ord is None or ord == 2:
        return _root(np.sum(_magnitudes(x), axis=axis, keepdims=keepdims))
    if ord == np.inf:
        return np.max(np.absolute(x), axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return np.min(np.absolute(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(x != 0, axis=axis, keepdims=keepdims).astype(np.real(x).dtype)
    if ord == 1:
        return np.sum(np.absolute(x), axis=axis, keepdims=keepdims)
    s = np.sum(np.absolute(x) ** ord, axis=axis, keepdims=keepdims)
    if ord < 0:
        return s ** (1.0 / ord)
    return np.where(s == 0, 0.0, np.where(s == 0, 1.0, s) ** (1.0 / ord)).astype(s.dtype)


def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Any:
    x = _inexact(np.asarray(x))
    return _matrix_norm(x, known(ord), axes_of((-2, -1), x.ndim), keepdims)


def _matrix_norm(x: Any, ord: Any, axes: Any, keepdims: Any) -> Any:
    rows, columns = axes
    if ord is None or ord == "fro" or ord == "f":
        return _root(np.sum(_magnitudes(x), axis=(rows, columns), keepdims=keepdims))
    if ord == 2 or ord == -2 or ord == "nuc":
        s = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False)
        n = np.sum(s, axis=-1) if ord == "nuc" else np.max(s, axis=-1, initial=0) if ord == 2 else np.min(s, axis=-1)
        return np.expand_dims(n, axes) if keepdims else n
    a = np.absolute(x)
    if ord == 1:
        n = np.max(np.sum(a, axis=rows, keepdims=True), axis=columns, keepdims=True, initial=0)
    elif ord == -1:
        n = np.min(np.sum(a, axis=rows, keepdims=True), axis=columns, keepdims=True)
    elif ord == np.inf:
        n = np.max(np.sum(a, axis=columns, keepdims=True), axis=rows, keepdims=True, initial=0)
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
    if not isinstance(n, int | np.integer):
        raise TypeError("exponent must be an integer")
    require_square(a.shape)
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
    require_square(a.shape)
    return np.linalg.solve(a, np.eye(a.shape[-1], dtype=a.dtype))


def cond(x: Any, p: Any = None) -> Any:
    """Infinite for a singular matrix; NaN only where the matrix has one."""
    x, p = _inexact(np.asarray(x)), known(p)
    if 0 in x.shape[-2:] and x.size == 0:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p is None or p == 2 or p == -2:
        s = np.linalg.svd(x, compute_uv=False)
        large, small = s[..., 0], s[..., -1]
        c = small / large if p == -2 else large / small
    else:
        require_square(x.shape)
        singular = np.linalg.slogdet(x).sign == 0
        regular = np.where(np.expand_dims(singular, (-2, -1)), np.eye(x.shape[-1], dtype=x.dtype), x)
        axes = axes_of((-2, -1), x.ndim)
        c = _matrix_norm(x, p, axes, False) * _matrix_norm(inv(regular), p, axes, False)
        c = np.where(singular, np.nan, c).astype(c.dtype)[()]
    unknown = np.isnan(c) & ~np.any(np.isnan(x), axis=(-2, -1))
    return np.where(unknown, np.inf, c).astype(c.dtype)[()]


def svd_of_hermitian(a: Any) -> Any:
    """The singular values of a Hermitian matrix are the sizes of its eigenvalues; its lower triangle is read."""
    w, v = np.linalg.eigh(a)
    s = np.absolute(w)
    order = np.argsort(s, axis=-1, kind="stable")[..., ::-1]
    s = np.take_along_axis(s, order, axis=-1)
    sign = np.take_along_axis(np.sign(w), order, axis=-1)
    u = np.take_along_axis(v, order[..., None, :], axis=-1)
    return u, s, np.conjugate(u * sign[..., None, :]).mT


def pinv_of_hermitian(a: Any, rcond: Any) -> Any:
    u, s, vh = svd_of_hermitian(a)
    kept = s > np.expand_dims(rcond, -1) * np.max(s, axis=-1, keepdims=True)
    inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
    return np.conjugate(vh).mT @ (inverse[..., :, None] * np.conjugate(u).mT)


def matrix_rank(A: Any, tol: Any = None, hermitian: Any = False, *, rtol: Any = None) -> Any:
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    x = np.asarray(A)
    if x.ndim < 2:
        return int(np.any(x != 0))
    if known(hermitian):
        s = np.absolute(np.linalg.eigvalsh(x))
    else:
        s = np.linalg.svd(x, compute_uv=False)
    if tol is None:
        relative = max(x.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else np.expand_dims(rtol, -1)
        least = np.max(s, axis=-1, keepdims=True, initial=0) * relative
    else:
        least = np.expand_dims(tol, -1)
    return np.sum(s > least, axis=-1)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """By the singular values of a, or of R where a = Q R is tall: R of [a b] holds Q* b beside that of a."""
    a, b = _system(np.asarray(a), np.asarray(b))
    (m, n), columns = a.shape, b if b.ndim > 1 else b[:, None]
    if n == 0 or m < 2 * n or columns.shape[1] > 1 + n // 4:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        along = np.conjugate(u).T @ b
    else:
        r: Any = np.linalg.qr(np.concatenate([a, columns], axis=1), mode="r")
        u, s, vh = np.linalg.svd(r[:n, :n])
        along = np.conjugate(u).T @ (r[:n, n:] if b.ndim > 1 else r[:n, n])
    kept = s > _least_ratio(rcond, a) * np.max(s, initial=0)
    inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
    x = np.conjugate(vh).T @ ((inverse if b.ndim == 1 else inverse[:, None]) * along)
    return _with_residuals(a, b, rcond, x, s)


def lstsq_by_pinv(a: Any, b: Any, rcond: Any = None) -> Any:
    """For derivatives: those of the pseudo-inverse exist where singular values are equal, too."""
    a, b = _system(np.asarray(a), np.asarray(b))
    x = np.linalg.pinv(a, _least_ratio(rcond, a)) @ b
    s = np.linalg.svd(a, compute_uv=False)  # behind pinv, whose factorisation has them
    return _with_residuals(a, b, rcond, x, s)


def _system(a: Any, b: Any) -> tuple[Any, Any]:
    require_system(a.shape, b.shape)
    require_precision(a.dtype, b.dtype)
    dtype = np.result_type(float_of(a.dtype), float_of(b.dtype))
    return a.astype(dtype), b.astype(dtype)


def _least_ratio(rcond: Any, a: Any) -> Any:
    """Singular values below this ratio to the largest one are taken for zero."""
    if rcond is None or rcond == -1:
        return np.finfo(a.dtype).eps * (max(a.shape) if rcond is None else 1)
    return rcond


def _with_residuals(a: Any, b: Any, rcond: Any, x: Any, s: Any) -> Any:
    """Residuals exist for matrices of full column rank only: where others ask for them OverflowError calls CPython."""
    m, n = a.shape
    rank = np.sum(s > _least_ratio(rcond, a) * np.max(s, initial=0)).astype(np.int32)
    if m <= n:
        return x, np.zeros((0,), dtype=s.dtype), rank, s
    if rank != n:
        raise OverflowError("np.linalg.lstsq gives no residuals where the rank is not full")
    missed = np.sum(_magnitudes(b - a @ x), axis=0).astype(s.dtype)
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
TRANSFORMED: dict[str, Any] = {"linalg.lstsq": lstsq_by_pinv}
