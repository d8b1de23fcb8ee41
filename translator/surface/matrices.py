"""Handlers of np.linalg that become operations of the family Linalg; the others are NumPy source in the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..errors import CutError, Diagnostic, DTypeError
from ..ir import Atom
from ..library.linalg import pinv_of_hermitian, svd_of_hermitian
from ..library.support import require_square
from ..ops.core import Linalg, Run
from . import above
from .arguments import MISSING, array, static, static_bool
from .elementwise import conjugate

Direct = Callable[..., Any]

_UNIT = np.eye(1)
QRResult: Any = type(np.linalg.qr(_UNIT))
SVDResult: Any = type(np.linalg.svd(_UNIT))
EighResult: Any = type(np.linalg.eigh(_UNIT))
EigResult: Any = type(np.linalg.eig(_UNIT))
SlogdetResult: Any = type(np.linalg.slogdet(_UNIT))


def plain(op: Linalg) -> Direct:
    """A function of one array with one result."""
    return lambda b, a: make.linalg(b, op, array(b, a))


def solve(b: Builder, a: Any, b_: Any) -> Atom:
    """A right side of one axis is a vector; else its last two axes are matrices, which broadcast as NumPy's do."""
    x, y = array(b, a), array(b, b_)
    if np.float16 in (x.aval.dtype, y.aval.dtype):
        raise DTypeError("array type float16 is unsupported in np.linalg.solve")
    if y.aval.ndim == 1 and x.aval.ndim > 2:
        column = make.linalg(b, ops.SOLVE, x, make.expand_dims(b, y, 1))
        return make.squeeze(b, column, column.aval.ndim - 1)
    return make.linalg(b, ops.SOLVE, x, y)


def slogdet(b: Builder, a: Any) -> Any:
    x = array(b, a)
    return SlogdetResult(make.linalg(b, ops.SLOGDET_SIGN, x), make.linalg(b, ops.SLOGDET_LOG, x))


def qr(b: Builder, a: Any, mode: Any = "reduced") -> Any:
    """Of a wide matrix q is that of its first columns; all columns of q for mode="complete"."""
    x, chosen = array(b, a), static(mode, "the mode of np.linalg.qr")
    if chosen not in ("reduced", "complete", "r"):
        raise CutError(
            Diagnostic(f"np.linalg.qr: the mode {chosen!r} is left to NumPy", instead="np.linalg.qr(a)")
        )
    if x.aval.ndim < 2:
        return make.linalg(b, ops.QR_Q, x)  # refused with NumPy's reason
    m, n = x.aval.shape[-2:]
    if m < n:
        return _wide_qr(b, x, chosen)
    r = make.linalg(b, ops.QR_R, x)
    if chosen == "r":
        return r
    if chosen == "reduced" or m == n:
        return QRResult(make.linalg(b, ops.QR_Q, x), r)
    below = make.full(b, (*r.aval.shape[:-2], m - n, n), 0.0, r.aval.dtype)
    tall = make.concatenate(b, [r, below], r.aval.ndim - 2)
    return QRResult(make.linalg(b, ops.QR_Q, x, full=True), tall)


def _wide_qr(b: Builder, x: Atom, mode: str) -> Any:
    ndim, m, n = x.aval.ndim, *x.aval.shape[-2:]
    outer = [Run(0, s) for s in x.aval.shape[:-1]]
    first = make.index(b, x, (*outer, Run(0, m)), ())
    rest = make.index(b, x, (*outer, Run(m, n - m)), ())
    q, r = make.linalg(b, ops.QR_Q, first), make.linalg(b, ops.QR_R, first)
    axes = (*range(ndim - 2), ndim - 1, ndim - 2)
    other = make.matmul(b, make.transpose(b, conjugate(b, q), axes), make.astype(b, rest, q.aval.dtype))
    whole = make.concatenate(b, [r, other], ndim - 1)
    return whole if mode == "r" else QRResult(q, whole)


def svd(b: Builder, a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False) -> Any:
    x, full = array(b, a), static_bool(full_matrices, "full_matrices")
    wanted = static_bool(compute_uv, "compute_uv")
    if static_bool(hermitian, "hermitian"):
        parts = _spliced(b, svd_of_hermitian, x)
        return SVDResult(*parts) if wanted else parts[1]
    if not wanted or x.aval.ndim < 2:
        return make.linalg(b, ops.SVD_S, x)
    m, n = x.aval.shape[-2:]
    made = {}
    for op, wide in sorted(((ops.SVD_U, m > n), (ops.SVD_VH, n > m)), key=lambda part: not part[1]):
        made[op] = make.linalg(b, op, x, full=full and wide)  # the one that is full first: it has the other one in it
    return SVDResult(made[ops.SVD_U], make.linalg(b, ops.SVD_S, x), made[ops.SVD_VH])


def _spliced(b: Builder, source: Callable[..., Any], *args: Atom) -> Any:
    """What NumPy source makes of a square matrix and others."""
    require_square(args[0].aval.shape)
    return above.splice(b, source, args)

def svdvals(b: Builder, x: Any, /) -> Any:
    return svd(b, x, compute_uv=False)


def _triangle(b: Builder, a: Any, uplo: Any) -> Atom:
    """The array whose lower triangle is read: for the upper one its adjoint."""
    x, which = array(b, a), str(static(uplo, "UPLO")).upper()
    if which not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    if which == "L" or x.aval.ndim < 2:
        return x
    ndim = x.aval.ndim
    return make.transpose(b, conjugate(b, x), (*range(ndim - 2), ndim - 1, ndim - 2))


def eigh(b: Builder, a: Any, UPLO: Any = "L") -> Any:
    x = _triangle(b, a, UPLO)
    of_lower = str(static(UPLO, "UPLO")).upper() == "L"
    vectors = make.linalg(b, ops.EIGH_VECTORS, x) if of_lower else make.linalg(b, ops.EIGH_VECTORS_UPPER, array(b, a))
    return EighResult(make.linalg(b, ops.EIGH_VALUES, x), vectors)


def eigvalsh(b: Builder, a: Any, UPLO: Any = "L") -> Any:
    return make.linalg(b, ops.EIGH_VALUES, _triangle(b, a, UPLO))


def _complex_matrix(b: Builder, a: Any, function: str) -> Atom:
    x = array(b, a)
    if x.aval.dtype.kind != "c":
        raise CutError(
            Diagnostic(
                f"{function} of real matrices is not in the language",
                why="whether its result is real or complex depends on the values, not on the types",
                instead=f"{function}(a.astype(complex)), or np.linalg.eigvalsh(a) where a is symmetric",
            )
        )
    return x


def complex_eig(b: Builder, a: Any) -> Any:
    """Of real matrices too, as complex numbers."""
    x = array(b, a)
    return EigResult(make.linalg(b, ops.EIG_VALUES, x), make.linalg(b, ops.EIG_VECTORS, x))


def complex_eigvals(b: Builder, a: Any) -> Any:
    return make.linalg(b, ops.EIG_VALUES, array(b, a))


def eig(b: Builder, a: Any) -> Any:
    x = _complex_matrix(b, a, "np.linalg.eig")
    vectors = make.linalg(b, ops.EIG_VECTORS, x)
    return EigResult(make.linalg(b, ops.EIG_VALUES, x), vectors)


def eigvals(b: Builder, a: Any) -> Any:
    return make.linalg(b, ops.EIG_VALUES, _complex_matrix(b, a, "np.linalg.eigvals"))


def cholesky(b: Builder, a: Any, /, *, upper: Any = False) -> Atom:
    """The upper factor is the adjoint of the lower one of the other triangle."""
    up = static_bool(upper, "upper")
    x = make.linalg(b, ops.CHOLESKY, _triangle(b, a, "U" if up else "L"))
    ndim = x.aval.ndim
    return make.transpose(b, conjugate(b, x), (*range(ndim - 2), ndim - 1, ndim - 2)) if up else x


def pinv(b: Builder, a: Any, rcond: Any = None, hermitian: Any = False, *, rtol: Any = MISSING) -> Atom:
    """`rcond`: 1e-15 by default, as in NumPy; for rtol=None what the arithmetic leaves."""
    if rcond is not None and rtol is not MISSING:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    x = array(b, a)
    if 0 in x.aval.shape[-2:]:
        *batch, m, n = x.aval.shape
        return make.zeros(b, (*batch, n, m), x.aval.dtype if x.aval.dtype.kind in "fc" else np.float64)
    if rtol is None:
        rtol = float(max(x.aval.shape[-2:]) * np.finfo(x.aval.dtype if x.aval.dtype.kind in "fc" else np.float64).eps)
    cutoff = rcond if rtol is MISSING else rtol
    least = array(b, 1e-15 if cutoff is None else cutoff)
    if static_bool(hermitian, "hermitian"):
        result: Atom = _spliced(b, pinv_of_hermitian, x, least)
        return result
    return make.linalg(b, ops.PINV, x, least)


HANDLERS: dict[str, Direct] = {
    "linalg.cholesky": cholesky,
    "linalg.solve": solve,
    "linalg.det": plain(ops.DET),
    "linalg.slogdet": slogdet,
    "linalg.qr": qr,
    "linalg.svd": svd,
    "linalg.svdvals": svdvals,
    "linalg.eigh": eigh,
    "linalg.eigvalsh": eigvalsh,
    "linalg.eig": eig,
    "linalg.eigvals": eigvals,
    "linalg.pinv": pinv,
}
