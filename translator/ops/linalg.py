"""Linear algebra: solutions, determinants, factorisations. The rules of derivatives are in `linalg_rules`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ShapeError, SquareError
from ..ir import Shape
from ..verdict import is_indefinite
from .core import Linalg
from .linalg_rules import (
    c_cholesky,
    c_det,
    c_eig_values,
    c_eig_vectors,
    c_eigenvalues,
    c_eigenvectors,
    c_eigenvectors_upper,
    c_logabsdet,
    c_pinv,
    c_qr_q,
    c_qr_r,
    c_sign,
    c_solve_a,
    c_solve_b,
    c_svd_s,
    c_svd_u,
    c_svd_vh,
    pinv_by_svd,
    t_cholesky,
    t_det,
    t_eig_values,
    t_eig_vectors,
    t_eigenvalues,
    t_eigenvectors,
    t_eigenvectors_upper,
    t_logabsdet,
    t_pinv,
    t_qr_q,
    t_qr_r,
    t_sign,
    t_solve_a,
    t_solve_b,
    t_svd_s,
    t_svd_u,
    t_svd_vh,
)

# ---- shapes --------------------------------------------------------------------------------------


def _square(cores: Sequence[Shape]) -> int:
    m, n = cores[0]
    if m != n:
        raise SquareError(f"the last two axes of the array must be equal, not {m} and {n}")
    return n


def square(cores: Sequence[Shape], full: bool) -> Shape:
    n = _square(cores)
    return (n, n)


def number(cores: Sequence[Shape], full: bool) -> Shape:
    _square(cores)
    return ()


def vector(cores: Sequence[Shape], full: bool) -> Shape:
    return (_square(cores),)


def solution(cores: Sequence[Shape], full: bool) -> Shape:
    if cores[1][:1] != (_square(cores),):
        raise ShapeError(f"np.linalg.solve: a matrix of shape {cores[0]} and a right side of shape {cores[1]}")
    return cores[1]


def left_factor(cores: Sequence[Shape], full: bool) -> Shape:
    m, n = cores[0]
    return (m, m if full else min(m, n))


def right_factor(cores: Sequence[Shape], full: bool) -> Shape:
    m, n = cores[0]
    return (n if full else min(m, n), n)


def diagonal(cores: Sequence[Shape], full: bool) -> Shape:
    return (min(cores[0]),)


def transposed(cores: Sequence[Shape], full: bool) -> Shape:
    return cores[0][::-1]


# ---- evaluation ----------------------------------------------------------------------------------


def _plain(name: str) -> Any:
    def evaluate(xp: Any, *args: Any, full: bool) -> Any:
        return getattr(xp.linalg, name)(*args)

    return evaluate


def _part(name: str, position: int) -> Any:
    def evaluate(xp: Any, a: Any, full: bool) -> Any:
        return getattr(xp.linalg, name)(a)[position]

    return evaluate


def _of_upper(xp: Any, a: Any, full: bool) -> Any:
    return xp.linalg.eigh(a, "U")[1]


def _complex(plain: Any) -> Any:
    """NumPy gives real arrays where all eigenvalues of a real matrix are real."""

    def evaluate(xp: Any, a: Any, full: bool) -> Any:
        return plain(xp, a, full=full).astype(np.result_type(a.dtype, np.complex64))

    return evaluate


def _qr_part(position: int) -> Any:
    def evaluate(xp: Any, a: Any, full: bool) -> Any:
        return xp.linalg.qr(a, "complete" if full else "reduced")[position]

    return evaluate


def _svd_part(position: int) -> Any:
    def evaluate(xp: Any, a: Any, full: bool) -> Any:
        return xp.linalg.svd(a, full_matrices=full)[position]

    return evaluate


def _singular_values(xp: Any, a: Any, full: bool) -> Any:
    return xp.linalg.svd(a, compute_uv=False)


def _indefinite(xp: Any, a: Any, full: bool) -> Any:
    return is_indefinite(a) if xp is np else xp.asarray(is_indefinite(xp.asnumpy(a)))


# ---- rows ----------------------------------------------------------------------------------------

SINGULAR = "Singular matrix"
UNSETTLED = "Eigenvalues did not converge"
UNSETTLED_SVD = "SVD did not converge"
REDUCED: tuple[dict[str, Any], dict[str, Any]] = ({}, {"mode": "complete"})
THIN: tuple[dict[str, Any], dict[str, Any]] = ({"full_matrices": False}, {})
NO_FULL = "the columns that complete an orthogonal basis are arbitrary"

CHOLESKY = Linalg(
    name="cholesky",
    numpy="np.linalg.cholesky",
    evaluate=_plain("cholesky"),
    shape=square,
    error="Matrix is not positive definite",
    jvps=(t_cholesky,),
    vjps=(c_cholesky,),
)
INDEFINITE = Linalg(
    name="indefinite",
    numpy="is_indefinite",  # which is printed beside it
    evaluate=_indefinite,
    shape=number,
    truth=True,
)
SOLVE = Linalg(
    name="solve",
    numpy="np.linalg.solve",
    evaluate=_plain("solve"),
    shape=solution,
    cores=(2, 2),
    error=SINGULAR,
    jvps=(t_solve_a, t_solve_b),
    vjps=(c_solve_a, c_solve_b),
)
DET = Linalg(
    name="det", numpy="np.linalg.det", evaluate=_plain("det"), shape=number, jvps=(t_det,), vjps=(c_det,)
)
SLOGDET_SIGN = Linalg(
    name="slogdet_sign",
    numpy="np.linalg.slogdet",
    field="sign",
    evaluate=_part("slogdet", 0),
    shape=number,
    jvps=(t_sign,),
    vjps=(c_sign,),
)
SLOGDET_LOG = Linalg(
    name="slogdet_log",
    numpy="np.linalg.slogdet",
    field="logabsdet",
    evaluate=_part("slogdet", 1),
    shape=number,
    real=True,
    jvps=(t_logabsdet,),
    vjps=(c_logabsdet,),
)
QR_Q = Linalg(
    name="qr_q",
    numpy="np.linalg.qr",
    field="Q",
    options=REDUCED,
    evaluate=_qr_part(0),
    shape=left_factor,
    jvps=(t_qr_q,),
    vjps=(c_qr_q,),
    refusal=NO_FULL,
)
QR_R = Linalg(
    name="qr_r",
    numpy="np.linalg.qr",
    field="R",
    options=REDUCED,
    evaluate=_qr_part(1),
    shape=right_factor,
    jvps=(t_qr_r,),
    vjps=(c_qr_r,),
)
EIGH_VALUES = Linalg(
    name="eigh_values",
    numpy="np.linalg.eigvalsh",
    evaluate=_plain("eigvalsh"),
    shape=vector,
    real=True,
    error=UNSETTLED,
    jvps=(t_eigenvalues,),
    vjps=(c_eigenvalues,),
)
EIGH_VECTORS = Linalg(
    name="eigh_vectors",
    numpy="np.linalg.eigh",
    field="eigenvectors",
    evaluate=_part("eigh", 1),
    shape=square,
    error=UNSETTLED,
    jvps=(t_eigenvectors,),
    vjps=(c_eigenvectors,),
)
EIGH_VECTORS_UPPER = Linalg(  # of which the upper triangle is read: LAPACK gives other signs than for its adjoint
    name="eigh_vectors_upper",
    numpy="np.linalg.eigh",
    field="eigenvectors",
    options=({"UPLO": "U"}, {"UPLO": "U"}),
    evaluate=_of_upper,
    shape=square,
    error=UNSETTLED,
    jvps=(t_eigenvectors_upper,),
    vjps=(c_eigenvectors_upper,),
)
EIG_VALUES = Linalg(
    name="eig_values",
    numpy="np.linalg.eigvals",
    evaluate=_complex(_plain("eigvals")),
    shape=vector,
    complex=True,
    error=UNSETTLED,
    jvps=(t_eig_values,),
    vjps=(c_eig_values,),
)
EIG_VECTORS = Linalg(
    name="eig_vectors",
    numpy="np.linalg.eig",
    field="eigenvectors",
    evaluate=_complex(_part("eig", 1)),
    shape=square,
    complex=True,
    error=UNSETTLED,
    jvps=(t_eig_vectors,),
    vjps=(c_eig_vectors,),
)
SVD_U = Linalg(
    name="svd_u",
    numpy="np.linalg.svd",
    field="U",
    options=THIN,
    evaluate=_svd_part(0),
    shape=left_factor,
    error=UNSETTLED_SVD,
    jvps=(t_svd_u,),
    vjps=(c_svd_u,),
    refusal=NO_FULL,
)
SVD_S = Linalg(
    name="svd_s",
    numpy="np.linalg.svd",
    options=({"compute_uv": False}, {"compute_uv": False}),
    evaluate=_singular_values,
    shape=diagonal,
    real=True,
    error=UNSETTLED_SVD,
    jvps=(t_svd_s,),
    vjps=(c_svd_s,),
)
SVD_VH = Linalg(
    name="svd_vh",
    numpy="np.linalg.svd",
    field="Vh",
    options=THIN,
    evaluate=_svd_part(2),
    shape=right_factor,
    error=UNSETTLED_SVD,
    jvps=(t_svd_vh,),
    vjps=(c_svd_vh,),
    refusal=NO_FULL,
)
PINV = Linalg(
    name="pinv",
    numpy="np.linalg.pinv",
    evaluate=_plain("pinv"),
    shape=transposed,
    cores=(2, 0),
    error=UNSETTLED_SVD,
    jvps=(t_pinv, None),
    vjps=(c_pinv, None),
    decompose=pinv_by_svd,
)
