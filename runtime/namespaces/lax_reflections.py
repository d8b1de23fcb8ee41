"""The functions of `untraced.lax.linalg` that work by reflections H = 1 - tau v v^H, packed as LAPACK packs them.

The v of a reflection begins with a 1, which is not stored; what follows lies in a column below the diagonal.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def hessenberg(a: Any) -> tuple[Any, Any]:
    """(h, taus) of square matrices (..., n, n): the Hessenberg form Q^H a Q on, above and one below the diagonal of
    `h`, and below that the reflections whose product is Q; taus (..., n - 1).
    """
    h, taus = _floating(a), []
    for k in range(a.shape[-1] - 1):
        v, tau, beta = _reflection(h[..., k + 1 :, k])
        rest = _reflected(v, np.conj(tau), h[..., k + 1 :, k + 1 :])
        above = _reflected_right(v, tau, h[..., : k + 1, k + 1 :])
        h[..., : k + 1, k + 1 :] = above
        h[..., k + 1 :, k + 1 :] = _reflected_right(v, tau, rest)
        h[..., k + 1, k] = beta
        h[..., k + 2 :, k] = v[..., 1:]
        taus.append(tau)
    return h, _stacked(taus, h)


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """(packed, d, e, taus) of Hermitian matrices (..., n, n): the real diagonal d and the one beside it, e, of the
    tridiagonal Q^H a Q, and in `packed` the reflections whose product is Q: below the diagonal where `lower`, else
    above it. Only that half of `a` is looked at.
    """
    if not lower:
        return _tridiagonal_above(a)
    n = a.shape[-1]
    t = _hermitian(_floating(a))
    packed, taus = t.copy(), []
    for k in range(n - 1):
        v, tau, beta = _reflection(t[..., k + 1 :, k])
        inner = _reflected_right(v, tau, _reflected(v, np.conj(tau), t[..., k + 1 :, k + 1 :]))
        t[..., k + 1 :, k + 1 :] = inner
        packed[..., k + 1 :, k + 1 :] = inner
        packed[..., k + 1, k] = beta
        packed[..., k + 2 :, k] = v[..., 1:]
        taus.append(tau)
    d = np.real(np.diagonal(packed, axis1=-2, axis2=-1))
    e = np.real(np.diagonal(packed, -1, -2, -1))
    return np.tril(packed) + np.triu(_floating(a), 1), d, e, _stacked(taus, t)


def _tridiagonal_above(a: Any) -> tuple[Any, Any, Any, Any]:
    """From the last row up, as LAPACK goes: the lower form of the matrix with its axes the other way round."""
    turned = tridiagonal(np.flip(a, (-2, -1)))
    packed, d, e, taus = turned
    return np.flip(packed, (-2, -1)), np.flip(d, -1), np.flip(e, -1), np.flip(taus, -1)


def householder_product(a: Any, taus: Any) -> Any:
    """The first columns, as many as `a` has, of the product of the reflections packed in the columns of `a`
    (..., m, n); taus (..., k), k <= n <= m. It is the Q of a packed QR.
    """
    q = np.broadcast_to(np.eye(a.shape[-2], a.shape[-1], dtype=a.dtype), a.shape).copy()
    for k in range(taus.shape[-1] - 1, -1, -1):
        q[..., k:, :] = _reflected(_packed(a, k), taus[..., k], q[..., k:, :])
    return q


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """Q c, or c Q where not `left`; Q^H for Q where `transpose`. Q is the product of all the reflections packed in `a`,
    as square as `c` asks for.
    """
    count = taus.shape[-1]
    out = np.array(c, np.result_type(a, c))
    for i in range(count):
        k = i if left == transpose else count - 1 - i
        tau = np.conj(taus[..., k]) if transpose else taus[..., k]
        if left:
            out[..., k:, :] = _reflected(_packed(a, k), tau, out[..., k:, :])
        else:
            out[..., k:] = _reflected_right(_packed(a, k), tau, out[..., k:])
    return out


# ---- one reflection ------------------------------------------------------------------------------


def _reflection(x: Any) -> tuple[Any, Any, Any]:
    """(v, tau, beta) with H^H x = beta e_1, beta real; no reflection, tau = 0, where x is that already."""
    first = x[..., 0]
    square = np.sum(np.square(np.real(x[..., 1:])) + np.square(np.imag(x[..., 1:])), axis=-1)
    done = (square == 0) & (np.imag(first) == 0)
    size = np.sqrt(np.where(done, 1.0, np.square(np.real(first)) + np.square(np.imag(first)) + square))
    beta = np.where(np.real(first) > 0, -size, size)
    tau = np.where(done, 0.0, (beta - first) / beta)
    below = x[..., 1:] / np.where(done, 1.0, first - beta)[..., None]
    v = np.concatenate([np.ones((*x.shape[:-1], 1), x.dtype), np.where(done[..., None], 0.0, below)], axis=-1)
    return v.astype(x.dtype), tau.astype(x.dtype), np.where(done, first, beta).astype(x.dtype)


def _reflected(v: Any, tau: Any, m: Any) -> Any:
    """(1 - tau v v^H) m."""
    return m - tau[..., None, None] * v[..., :, None] * (np.conj(v)[..., None, :] @ m)


def _reflected_right(v: Any, tau: Any, m: Any) -> Any:
    """m (1 - tau v v^H)."""
    return m - tau[..., None, None] * (m @ v[..., :, None]) * np.conj(v)[..., None, :]


def _packed(a: Any, k: int) -> Any:
    column = a[..., k + 1 :, k]
    return np.concatenate([np.ones((*column.shape[:-1], 1), a.dtype), column], axis=-1)


def _stacked(taus: list[Any], like: Any) -> Any:
    return np.stack(taus, axis=-1) if taus else np.zeros((*like.shape[:-2], 0), like.dtype)


def _floating(a: Any) -> Any:
    return np.array(a, np.result_type(a, np.float32))


def _hermitian(a: Any) -> Any:
    """The matrix that the lower half says."""
    strict = np.tril(a, -1)
    return strict + np.conj(np.matrix_transpose(strict)) + a * np.eye(a.shape[-1], dtype=a.dtype)
