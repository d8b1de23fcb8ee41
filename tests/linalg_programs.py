"""Functions of np.linalg with arguments for them, and what the tests of linear algebra compare them by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from untraced.translator.ir import Function
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract_with_leaves
from untraced.translator.tree import flatten
from untraced.translator.verdict import is_indefinite

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4))
S = A @ A.T + np.diag([1.0, 2.0, 4.0, 8.0])
Z = A + 1j * RNG.normal(size=(4, 4))
H = Z @ Z.conj().T + np.diag([1.0, 2.0, 4.0, 8.0])
T = RNG.normal(size=(5, 3))
W = RNG.normal(size=(3, 5))
B = RNG.normal(size=(2, 4, 4))
V = RNG.normal(size=4)
M = RNG.normal(size=(4, 2))
I = np.array([[2, 1], [1, 3]])

Case = tuple[Callable[..., Any], tuple[Any, ...]]

CASES: dict[str, Case] = {
    "solve a vector": (lambda a, b: np.linalg.solve(a, b), (A, V)),
    "solve a matrix": (lambda a, b: np.linalg.solve(a, b), (A, M)),
    "solve a batch": (lambda a, b: np.linalg.solve(a, b), (B, M)),
    "solve a batch for a vector": (lambda a, b: np.linalg.solve(a, b), (B, V)),
    "solve for a batch": (lambda a, b: np.linalg.solve(a, b), (A, RNG.normal(size=(3, 4, 2)))),
    "solve integers": (lambda a, b: np.linalg.solve(a, b), (I, np.array([1, 2]))),
    "solve complex": (lambda a, b: np.linalg.solve(a, b), (Z, M)),
    "inv": (lambda a: np.linalg.inv(a), (B,)),
    "det": (lambda a: np.linalg.det(a), (A,)),
    "det of a batch": (lambda a: np.linalg.det(a), (B,)),
    "slogdet": (lambda a: np.linalg.slogdet(a), (A,)),
    "slogdet complex": (lambda a: np.linalg.slogdet(a), (Z,)),
    "slogdet of a singular matrix": (lambda a: np.linalg.slogdet(a), (np.ones((3, 3)),)),
    "cholesky": (lambda a: np.linalg.cholesky(a), (S,)),
    "indefinite": (lambda a: np.where(is_indefinite(np.stack([a, -a])), 2.0, 1.0), (S,)),
    "indefinite, a branch": (lambda a: a if is_indefinite(a) else np.linalg.cholesky(a), (S,)),
    "cholesky, upper": (lambda a: np.linalg.cholesky(a, upper=True), (H,)),
    "qr": (lambda a: np.linalg.qr(a), (T,)),
    "qr, complete": (lambda a: np.linalg.qr(a, "complete"), (T,)),
    "qr of a wide matrix": (lambda a: np.linalg.qr(a), (W,)),
    "qr, r": (lambda a: np.linalg.qr(a, mode="r"), (T,)),
    "qr complex": (lambda a: np.linalg.qr(a), (Z,)),
    "svd": (lambda a: np.linalg.svd(a), (T,)),
    "svd of a wide matrix": (lambda a: np.linalg.svd(a), (W,)),
    "svd, thin": (lambda a: np.linalg.svd(a, False), (W,)),
    "svd of a batch": (lambda a: np.linalg.svd(a), (B,)),
    "singular values": (lambda a: np.linalg.svd(a, compute_uv=False), (B,)),
    "eigh": (lambda a: np.linalg.eigh(a), (S,)),
    "eigh, upper": (lambda a: np.linalg.eigh(a, "U"), (A,)),
    "eigh of a batch, upper": (lambda a: np.linalg.eigh(a, UPLO="U"), (B @ B.mT + np.triu(B @ B.mT),)),
    "eigvalsh, upper": (lambda a: np.linalg.eigvalsh(a, "U"), (H,)),
    "eig": (lambda a: np.linalg.eig(a), (Z,)),
    "eigvals": (lambda a: np.linalg.eigvals(a), (Z,)),
    "pinv": (lambda a: np.linalg.pinv(a), (T,)),
    "pinv of a batch": (lambda a: np.linalg.pinv(a, rcond=0.3), (B,)),
    "rank": (lambda a: np.linalg.matrix_rank(a), (np.ones((4, 3)),)),
    "cond": (lambda a: np.linalg.cond(a), (A,)),
    "cond, 1": (lambda a: np.linalg.cond(a, 1), (A,)),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b, rcond=None), (T, RNG.normal(size=5))),
    "lstsq of a wide matrix": (lambda a, b: np.linalg.lstsq(a, b, rcond=None), (W, RNG.normal(size=(3, 2)))),
    "norm 2": (lambda a: np.linalg.norm(a, 2), (T,)),
    "norm nuc": (lambda a: np.linalg.norm(a, "nuc", axis=(0, 2), keepdims=True), (B,)),
    "negative power": (lambda a: np.linalg.matrix_power(a, -3), (A,)),
    "multi_dot": (lambda a, b: np.linalg.multi_dot([b, a, a]), (A, M.T)),
    "tensorinv": (lambda a: np.linalg.tensorinv(a, 1), (RNG.normal(size=(6, 2, 3)),)),
    "tensorsolve": (lambda a, b: np.linalg.tensorsolve(a, b), (RNG.normal(size=(2, 3, 6)), RNG.normal(size=(2, 3)))),
    "a part by name": (lambda a: np.linalg.eigh(a).eigenvectors @ np.linalg.svd(a).S, (S,)),
}


def program_of(fun: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Function, list[Any]]:
    """The program of a call, and the leaves that it takes."""
    signature, leaves = abstract_with_leaves(fun, args, {})
    reading = read(fun, signature)
    return reading.function, [x for i, x in enumerate(leaves) if i not in reading.statics]


def assert_same(got: Any, want: Any, tolerance: float = 1e-9) -> None:
    """Equal structures, shapes and dtypes; values up to rounding."""
    got_leaves, got_tree = flatten(got)
    want_leaves, want_tree = flatten(want)
    assert got_tree == want_tree
    for g, w in zip(got_leaves, want_leaves, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)
