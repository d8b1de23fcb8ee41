"""Derivatives of linear algebra, as NumPy source: `t_` of tangents, `c_` of cotangents.

They are after M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008); of cholesky after I. Murray, "Differentiation of the Cholesky decomposition" (2016); of pinv
after G. H. Golub and V. Pereyra (1973). For complex arrays the steps are the same on G = conj(cotangent), whose inner
product with a tangent T is Re tr(G^H T).

Where a factorisation does not depend smoothly on its operand, neither does what is computed here. eigh, svd: between
equal eigenvalues (singular values) the choice of the vectors is arbitrary, and how it turns counts as zero: right for
every function that does not depend on the choice. Beside a singular value of zero the part of its vectors outside the
others' space counts as zero too. Complex vectors of eigh and svd are fixed only up to phases: derivatives are those of
functions that do not depend on them. eig: of matrices with distinct eigenvalues. qr: of matrices of full column rank.
det, slogdet: of regular matrices, else np.linalg.LinAlgError. pinv: where the rank stays the same. cholesky and eigh
read the lower triangle only, so the derivative stands there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# ---- parts of rules, NumPy source ----------------------------------------------------------------


def _adjoint(x: Any) -> Any:
    return np.conj(x).mT


def _from_lower(t: Any) -> Any:
    """The Hermitian matrix whose lower triangle is that of t."""
    low = np.tril(t, -1)
    return low + _adjoint(low) + np.real(np.tril(np.triu(t)))


def _half_lower(x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    return np.tril(x) * (1.0 - 0.5 * np.eye(x.shape[-1], dtype=np.real(x).dtype))


def _to_lower(s: Any) -> Any:
    """The transpose of `_from_lower`."""
    return _half_lower(s + _adjoint(s))


def _diagonal(x: Any) -> Any:
    return np.diagonal(x, axis1=-2, axis2=-1)


def _as_matrix(x: Any) -> Any:
    """A number for each matrix, with axes to multiply matrices by."""
    return np.expand_dims(x, (-2, -1))


def _reciprocal(x: Any) -> Any:
    """1 / x, and 0 for 0."""
    return np.where(x == 0, 0.0, 1.0 / np.where(x == 0, 1.0, x))


def _gaps(w: Any) -> Any:
    """1 / (w[j] - w[i]); 0 where the two are equal."""
    return _reciprocal(w[..., None, :] - w[..., :, None])


def _imaginary_diagonal(x: Any) -> Any:
    """The diagonal matrix of 1j times the imaginary part of x's diagonal."""
    d = np.tril(np.triu(x))
    return 0.5 * (d - np.conj(d))


# ---- rules ---------------------------------------------------------------------------------------


def t_cholesky(t: Any, a: Any, y: Any) -> Any:
    return y @ _half_lower(np.linalg.solve(y, _adjoint(np.linalg.solve(y, _from_lower(t)))))


def c_cholesky(ct: Any, a: Any, y: Any) -> Any:
    up = _adjoint(y)
    p = np.linalg.solve(up, _half_lower(up @ np.tril(np.conj(ct))))
    return np.conj(_to_lower(_adjoint(np.linalg.solve(up, _adjoint(p)))))


def t_solve_a(t: Any, a: Any, b: Any, y: Any) -> Any:
    return -np.linalg.solve(a, t @ y)


def t_solve_b(t: Any, a: Any, b: Any, y: Any) -> Any:
    return np.linalg.solve(a, t)


def c_solve_a(ct: Any, a: Any, b: Any, y: Any) -> Any:
    s = np.linalg.solve(a.mT, ct)
    return -np.outer(s, y) if y.ndim == 1 else -(s @ y.mT)


def c_solve_b(ct: Any, a: Any, b: Any, y: Any) -> Any:
    return np.linalg.solve(a.mT, ct)


def _cofactors(a: Any, y: Any) -> Any:
    """The derivative of det(a) = y, of singular matrices too: the product of the other rows, where there are few."""
    n = a.shape[-1]
    if n < 2:
        return np.ones_like(a)
    if n == 2:
        return a[..., ::-1, ::-1] * np.array([[1.0, -1.0], [-1.0, 1.0]], a.real.dtype)
    if n == 3:
        return np.cross(a[..., [1, 2, 0], :], a[..., [2, 0, 1], :])
    if np.all(y != 0):
        return _as_matrix(y) * np.linalg.inv(a).mT
    singular = _as_matrix(y == 0)
    return np.where(singular, _adjugate(a), _as_matrix(y) * np.linalg.inv(np.where(singular, np.eye(n), a))).mT


def _adjugate(a: Any) -> Any:
    """adj(a) = det(a) inv(a) without quotients, in n products; U. Leverrier's recursion as D. K. Faddeev wrote it."""
    n = a.shape[-1]
    m = np.zeros_like(a) + np.eye(n, dtype=a.dtype)
    for k in range(1, n):
        p = a @ m
        m = p - _as_matrix(np.sum(_diagonal(p), axis=-1) / k) * np.eye(n, dtype=a.dtype)
    return m if n % 2 else -m


def t_det(t: Any, a: Any, y: Any) -> Any:
    return np.sum(_cofactors(a, y) * t, axis=(-2, -1))


def c_det(ct: Any, a: Any, y: Any) -> Any:
    return _as_matrix(ct) * _cofactors(a, y)


def t_sign(t: Any, a: Any, y: Any) -> Any:
    if a.dtype.kind != "c":
        return np.zeros_like(y)
    return y * (1j * np.imag(np.sum(_diagonal(np.linalg.solve(a, t)), axis=-1)))


def c_sign(ct: Any, a: Any, y: Any) -> Any:
    if a.dtype.kind != "c":
        return np.zeros_like(a)
    turn = -1j * np.real(ct * y * 1j)
    return _as_matrix(turn) * np.linalg.inv(a).mT


def t_logabsdet(t: Any, a: Any, y: Any) -> Any:
    return np.real(np.sum(_diagonal(np.linalg.solve(a, t)), axis=-1))


def c_logabsdet(ct: Any, a: Any, y: Any) -> Any:
    return _as_matrix(ct) * np.linalg.inv(a).mT


def _over_r(x: Any, r: Any) -> Any:
    """x @ inv(r)."""
    return np.linalg.solve(r.mT, x.mT).mT


def _turn(e: Any) -> Any:
    """The antihermitian matrix with e's lower triangle: how q turns."""
    low = np.tril(e, -1)
    turn = low - _adjoint(low)
    return turn + _imaginary_diagonal(e) if e.dtype.kind == "c" else turn


def _turn_transposed(h: Any) -> Any:
    low = np.tril(h - _adjoint(h), -1)
    return low + _imaginary_diagonal(h) if h.dtype.kind == "c" else low


def t_qr_q(t: Any, a: Any, y: Any) -> Any:
    x = _over_r(t, np.linalg.qr(a).R)
    e = _adjoint(y) @ x
    return x + y @ (_turn(e) - e)


def c_qr_q(ct: Any, a: Any, y: Any) -> Any:
    g, r = np.conj(ct), np.linalg.qr(a).R
    h = _adjoint(y) @ g
    return np.conj(_over_r(g + y @ (_turn_transposed(h) - h), _adjoint(r)))


def t_qr_r(t: Any, a: Any, y: Any) -> Any:
    e = _adjoint(np.linalg.qr(a).Q) @ _over_r(t, y)
    return (e - _turn(e)) @ y


def c_qr_r(ct: Any, a: Any, y: Any) -> Any:
    k = np.triu(np.conj(ct)) @ _adjoint(y)
    return np.conj(_over_r(np.linalg.qr(a).Q @ (k - _turn_transposed(k)), _adjoint(y)))


def t_eigenvalues(t: Any, a: Any, y: Any) -> Any:
    v = np.linalg.eigh(a).eigenvectors
    return np.real(np.sum(np.conj(v) * (_from_lower(t) @ v), axis=-2))


def c_eigenvalues(ct: Any, a: Any, y: Any) -> Any:
    v = np.linalg.eigh(a).eigenvectors
    return np.conj(_to_lower((v * ct[..., None, :]) @ _adjoint(v)))


def t_eigenvectors(t: Any, a: Any, y: Any) -> Any:
    gaps = _gaps(np.linalg.eigvalsh(a))
    return y @ (gaps * (_adjoint(y) @ _from_lower(t) @ y))


def c_eigenvectors(ct: Any, a: Any, y: Any) -> Any:
    gaps = _gaps(np.linalg.eigvalsh(a))
    return np.conj(_to_lower(y @ (gaps * (_adjoint(y) @ np.conj(ct))) @ _adjoint(y)))


def t_eigenvectors_upper(t: Any, a: Any, y: Any) -> Any:
    gaps = _gaps(np.linalg.eigvalsh(_adjoint(a)))
    return y @ (gaps * (_adjoint(y) @ _from_lower(_adjoint(t)) @ y))


def c_eigenvectors_upper(ct: Any, a: Any, y: Any) -> Any:
    gaps = _gaps(np.linalg.eigvalsh(_adjoint(a)))
    return _to_lower(y @ (gaps * (_adjoint(y) @ np.conj(ct))) @ _adjoint(y)).mT


def t_eig_values(t: Any, a: Any, y: Any) -> Any:
    v = np.linalg.eig(a).eigenvectors
    return _diagonal(np.linalg.solve(v, t @ v))


def c_eig_values(ct: Any, a: Any, y: Any) -> Any:
    v = np.linalg.eig(a).eigenvectors.mT
    return np.linalg.solve(v, ct[..., :, None] * v)


def _largest(v: Any) -> Any:
    """Marks the largest element of each column, which LAPACK makes real."""
    return np.expand_dims(np.argmax(np.absolute(v), axis=-2), -2) == np.arange(v.shape[-2])[:, None]


def t_eig_vectors(t: Any, a: Any, y: Any) -> Any:
    d = y @ (_gaps(np.linalg.eigvals(a)) * np.linalg.solve(y, t @ y))
    d = d - y * np.real(np.sum(np.conj(y) * d, axis=-2, keepdims=True))
    turn = np.sum(np.where(_largest(y), d / y, 0.0), axis=-2, keepdims=True)
    return d - y * (1j * np.imag(turn))


def c_eig_vectors(ct: Any, a: Any, y: Any) -> Any:
    g = np.conj(ct)
    along = np.sum(np.conj(y) * g, axis=-2, keepdims=True)
    g = g - y * np.real(along) - np.where(_largest(y), 1j * np.imag(along) / np.conj(y), 0.0)
    up = _adjoint(y)
    return np.conj(np.linalg.solve(up, np.conj(_gaps(np.linalg.eigvals(a))) * (up @ g)) @ up)


def t_svd_s(t: Any, a: Any, y: Any) -> Any:
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.real(np.sum(np.conj(u) * (t @ _adjoint(vh)), axis=-2))


def c_svd_s(ct: Any, a: Any, y: Any) -> Any:
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.conj((u * ct[..., None, :]) @ vh)


def _sums(s: Any) -> Any:
    """1 / (s[j] + s[i]); 0 where both are zero."""
    return _reciprocal(s[..., None, :] + s[..., :, None])


def _turns(s: Any, p: Any, side: float) -> Any:
    """How the left (side 1.0) and right (side -1.0) singular vectors turn where u* da v = p.

    Their common turn divides by differences of singular values, their relative one by sums, so between equal singular
    values only the common one is arbitrary.
    """
    q = _adjoint(p)
    return 0.5 * (_gaps(s) * (p + q) + side * (_sums(s) * (p - q)))


def _turns_transposed(s: Any, q: Any, side: float) -> Any:
    x, y = _gaps(s) * q, _sums(s) * q
    return 0.5 * (x + _adjoint(x) + side * (y - _adjoint(y)))


def t_svd_u(t: Any, a: Any, y: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    w = t @ _adjoint(vh)
    p = _adjoint(u) @ w
    turned = u @ _turns(s, p, 1.0)
    if a.shape[-2] > a.shape[-1]:
        return turned + (w - u @ p) * _reciprocal(s)[..., None, :]
    return turned


def c_svd_u(ct: Any, a: Any, y: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    g = np.conj(ct)
    q = _adjoint(u) @ g
    x = u @ _turns_transposed(s, q, 1.0)
    if a.shape[-2] > a.shape[-1]:
        x = x + (g - u @ q) * _reciprocal(s)[..., None, :]
    return np.conj(x @ vh)


def t_svd_vh(t: Any, a: Any, y: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    w = _adjoint(u) @ t
    p = w @ _adjoint(vh)
    turned = _turns(s, p, -1.0) @ vh
    if a.shape[-1] > a.shape[-2]:
        return _reciprocal(s)[..., :, None] * (w - p @ vh) - turned
    return -turned


def c_svd_vh(ct: Any, a: Any, y: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    g = np.conj(ct)
    q = vh @ _adjoint(g)
    x = _turns_transposed(s, q, -1.0) @ vh
    if a.shape[-1] > a.shape[-2]:
        x = x + _reciprocal(s)[..., :, None] * (g - _adjoint(q) @ vh)
    return np.conj(u @ x)


def t_pinv(t: Any, a: Any, rcond: Any, y: Any) -> Any:
    d, z = _adjoint(t), _adjoint(y)
    yz = y @ z
    zy = z @ y
    return yz @ d - (yz @ d @ a) @ y + d @ zy - y @ (a @ d @ zy) - y @ t @ y


def c_pinv(ct: Any, a: Any, rcond: Any, y: Any) -> Any:
    g = _adjoint(np.conj(ct))
    z = _adjoint(y)
    yz, zy = y @ z, z @ y
    x = g @ yz - a @ (y @ (g @ yz)) + zy @ g - (zy @ g @ y) @ a - z @ _adjoint(g) @ z
    return np.conj(x)


def pinv_by_svd(a: Any, rcond: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    kept = s > np.expand_dims(rcond, -1) * np.max(s, axis=-1, keepdims=True)
    return _adjoint(vh) @ (np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)[..., :, None] * _adjoint(u))
