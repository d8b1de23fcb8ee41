"""Derivatives of linear algebra: to order 2 in both modes against differences; degenerate cases as they are stated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn
from gradient_helpers import check_source

from untraced import accelerate, grad, value_and_grad
from untraced.runtime.transforms.testing import check_grads
from untraced.translator.errors import UnsupportedError

RNG = Drawn(0)
A = RNG.normal(size=(3, 3))
S = A @ A.T + np.diag([1.0, 2.0, 4.0])
Z = A + 1j * RNG.normal(size=(3, 3))
H = Z @ Z.conj().T + np.diag([1.0, 2.0, 4.0])
T = RNG.normal(size=(4, 2))
W = RNG.normal(size=(2, 4))
ZT, ZW = (x + 1j * RNG.normal(size=x.shape) for x in (T, W))
B = RNG.normal(size=(2, 3, 3))
V = RNG.normal(size=3)
M = RNG.normal(size=(3, 2))
C, D = RNG.normal(size=(3, 3)), RNG.normal(size=(4, 4))


def squares(x: Any) -> Any:
    """|x| squared: a phase does not show."""
    return np.real(x * np.conj(x))


def thin_svd(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u, s, vh


def svd_up_to_phases(a: Any, left: Any, right: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return squares(left @ u), s, squares(vh @ right), u @ vh


def both_of_qr(a: Any) -> Any:
    q, r = np.linalg.qr(a)
    return q, r


def both_of_eigh(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return w, v


def eigh_up_to_phases(a: Any, c: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return w, squares(c @ v)


def both_of_eig(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    return w, v


def both_of_slogdet(a: Any) -> Any:
    sign, log = np.linalg.slogdet(a)
    return sign, log


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "solve a vector": (lambda a, b: np.linalg.solve(a, b), (A, V)),
    "solve a matrix": (lambda a, b: np.linalg.solve(a, b), (A, M)),
    "solve a batch": (lambda a, b: np.linalg.solve(a, b), (B, M)),
    "solve a batch for a vector": (lambda a, b: np.linalg.solve(a, b), (B, V)),
    "solve for a batch": (lambda a, b: np.linalg.solve(a, b), (A, RNG.normal(size=(2, 3, 1)))),
    "solve complex": (lambda a, b: np.linalg.solve(a, b), (Z, V + 1j)),
    "inv": (lambda a: np.linalg.inv(a), (B,)),
    "det": (lambda a: np.linalg.det(a), (A,)),
    "det of a batch": (lambda a: np.linalg.det(a), (B,)),
    "det complex": (lambda a: np.linalg.det(a), (Z,)),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], (A,)),
    "slogdet of a batch": (lambda a: np.linalg.slogdet(a)[1], (B,)),
    "slogdet complex": (both_of_slogdet, (Z,)),
    "cholesky": (lambda a: np.linalg.cholesky(a), (S,)),
    "cholesky complex": (lambda a: np.linalg.cholesky(a), (H,)),
    "cholesky, upper": (lambda a: np.linalg.cholesky(a, upper=True), (S,)),
    "qr": (both_of_qr, (T,)),
    "qr complex": (both_of_qr, (ZT,)),
    "qr of a wide matrix": (both_of_qr, (W,)),
    "qr, complete r": (lambda a: np.linalg.qr(a, "complete")[1], (T,)),
    "svd of a tall matrix": (thin_svd, (T,)),
    "svd of a wide matrix": (thin_svd, (W,)),
    "svd of a batch": (thin_svd, (B,)),
    "svd complex, tall": (svd_up_to_phases, (ZT, D, C[:2, :2])),
    "svd complex, wide": (svd_up_to_phases, (ZW, C[:2, :2], D)),
    "eigh": (both_of_eigh, (S,)),
    "eigh, upper": (lambda a: tuple(np.linalg.eigh(a, "U")), (S + np.tril(S, -1),)),
    "eigh complex": (eigh_up_to_phases, (H, C)),
    "eigvalsh, upper": (lambda a: np.linalg.eigvalsh(a, "U"), (H,)),
    "eig": (both_of_eig, (Z,)),
    "pinv": (lambda a: np.linalg.pinv(a), (T,)),
    "pinv complex": (lambda a: np.linalg.pinv(a), (ZW,)),
    "norm nuc": (lambda a: np.linalg.norm(a, "nuc"), (T,)),
    "norm 2": (lambda a: np.linalg.norm(a, 2), (T,)),
    "cond": (lambda a: np.linalg.cond(a), (A,)),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], (T, RNG.normal(size=4))),
    "negative power": (lambda a: np.linalg.matrix_power(a, -2), (A,)),
}


@pytest.mark.parametrize("name", CASES)
def test_to_order_2(name: str) -> None:
    fun, args = CASES[name]
    check_source(fun, *args, order=2)


def likelihood(a: Any, b: Any) -> Any:
    return b @ np.linalg.solve(a, b) + 2 * np.sum(np.log(np.diag(np.linalg.cholesky(a))))


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (likelihood, (S, V)),
        (lambda a: np.linalg.slogdet(a)[1], (A,)),
        (lambda a: np.sum(np.linalg.svd(a, full_matrices=False)[0] ** 3), (T,)),
        (lambda a: np.sum(np.linalg.pinv(a) ** 2), (T,)),
    ],
)
def test_compiled_gradients(fun: Any, args: tuple[Any, ...]) -> None:
    def second(*xs: Any) -> Any:
        return np.sum(grad(fun)(*xs) ** 2)

    for d in (grad(fun), grad(second)):
        want = d(*args)
        np.testing.assert_allclose(accelerate(target="cpu")(d)(*args), want, rtol=1e-9, atol=1e-9 * np.abs(want).max())


def test_equal_eigenvalues() -> None:
    """The projection on the space of two equal eigenvalues depends smoothly on the matrix; each vector does not."""

    def projected(a: Any, c: Any) -> Any:
        v = np.linalg.eigh(a).eigenvectors[:, :2]
        return np.sum(c * (v @ v.T))

    a, h = np.diag([1.0, 1.0, 3.0]), 1e-6
    d = grad(projected)(a, C)
    step = np.tril(RNG.normal(size=(3, 3)))
    difference = (projected(a + h * step, C) - projected(a - h * step, C)) / (2 * h)
    np.testing.assert_allclose(np.sum(d * step), difference, rtol=1e-6)


def test_equal_singular_values() -> None:
    np.testing.assert_allclose(grad(lambda a: np.linalg.norm(a, "nuc"))(np.eye(3)), np.eye(3), atol=1e-14)
    polar = grad(lambda a: np.sum(np.linalg.svd(a)[0] @ np.linalg.svd(a)[2] * C))(np.eye(3))
    np.testing.assert_allclose(polar, (C - C.T) / 2, atol=1e-12)


def test_full_factors_are_refused() -> None:
    for fun in (lambda a: np.sum(np.linalg.svd(a)[0]), lambda a: np.sum(np.linalg.qr(a, "complete")[0])):
        with pytest.raises(UnsupportedError, match="arbitrary"):
            grad(fun)(T)


SINGULAR = [np.zeros((1, 1)), np.ones((2, 2)), np.diag([1.0, 0.0, 2.0]), np.diag([1.0, 0.0, 2.0, 3.0])]


@pytest.mark.parametrize("a", SINGULAR, ids=len)
def test_det_of_a_singular_matrix(a) -> None:
    check_grads(np.linalg.det, (a,))
    check_grads(np.linalg.det, (np.stack([a, a + np.eye(len(a))]),), order=1)


WEIGHTS = np.arange(1.0, 10.0).reshape(3, 3)
TURNING = np.array([[0.3, 2.0, 0.1], [-1.5, 0.2, 0.4], [0.3, -0.2, 1.7]])  # two complex eigenvalues
SPREAD = np.array([[2.0, 0.3, 0.1], [0.2, 1.0, 0.5], [0.7, 0.1, -1.0]])  # three real ones
OF_REAL_MATRICES = {
    "eigvals": lambda a: np.linalg.eigvals(a).real @ WEIGHTS[0] + np.abs(np.linalg.eigvals(a)) ** 2 @ WEIGHTS[1],
    "eig": lambda a: np.sum(np.linalg.eig(a)[1].real * WEIGHTS) + np.sum(np.linalg.eig(a).eigenvectors.imag),
    "roots": lambda a: np.abs(np.roots(a[0])) @ WEIGHTS[0, :2] + np.sum(np.roots(a[:, 1]).real ** 3),
    "polymul": lambda a: np.polyval(np.polymul(a[0], a[:, 1]), 0.7),
}


@pytest.mark.parametrize("a", [TURNING, SPREAD], ids=["complex", "real"])
@pytest.mark.parametrize("name", OF_REAL_MATRICES)
def test_eigenvalues_of_real_matrices_are_complex_under_derivatives(name, a):
    f = OF_REAL_MATRICES[name]
    value, slope = value_and_grad(f)(a)
    assert value == pytest.approx(f(a), rel=1e-12)  # in NumPy's order, with NumPy's phases
    check_grads(f, (a,), order=2 if name == "eigvals" else 1)
    np.testing.assert_allclose(accelerate(grad(f), target="cpu")(a), slope, rtol=1e-10)


def test_sums_of_complex_eigenvalues_are_refused():
    with pytest.raises(TypeError, match="complex128"):
        grad(lambda a: np.sum(np.linalg.eigvals(a)))(SPREAD)
    with pytest.raises(ValueError, match="coefficient is zero"):
        grad(lambda c: np.sum(np.abs(np.roots(c))))(np.array([0.0, 1.0, 2.0]))
