"""Krylov solvers, under CPython, compiled, batched and differentiated, against numpy.linalg.solve and JAX's."""

from __future__ import annotations

from typing import Any

import jax
import jax.scipy.sparse.linalg as theirs
import numpy as np
import pytest

import untraced.scipy.sparse.linalg as ours
from untraced import accelerate, grad, jvp, scipy, vmap

RNG = np.random.default_rng(0)
HALF = RNG.normal(size=(6, 6))
SYMMETRIC, GENERAL = HALF @ HALF.T + 3 * np.eye(6), HALF + 4 * np.eye(6)
B = RNG.normal(size=6)
SOLVERS = ["cg", "bicgstab", "gmres"]


def matrix_for(name: str) -> Any:
    return SYMMETRIC if name == "cg" else GENERAL


@pytest.mark.parametrize("name", SOLVERS)
def test_solutions(name: str) -> None:
    solver, a = getattr(ours, name), matrix_for(name)
    exact = np.linalg.solve(a, B)
    np.testing.assert_allclose(solver(a, B, tol=1e-10)[0], exact, rtol=1e-8)
    assert solver(a, B)[1] is None
    compiled = accelerate(lambda m, b: solver(lambda v: m @ v, b, tol=1e-10, M=lambda v: v / np.diag(m))[0])
    np.testing.assert_allclose(compiled(a, B), exact, rtol=1e-7)
    many = np.stack([B, -B, 0 * B])
    lanes = vmap(lambda b: solver(a, b, tol=1e-10)[0])(many)
    np.testing.assert_allclose(lanes, np.stack([exact, -exact, 0 * exact]), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(solver(a, B + 1j * B, tol=1e-10)[0], exact * (1 + 1j), rtol=1e-7)


@pytest.mark.parametrize("name", SOLVERS)
def test_stops_and_starts_as_in_jax(name: str) -> None:
    a, options = matrix_for(name), {"tol": 0.02, "maxiter": 2} | ({"restart": 2} if name == "gmres" else {})
    with jax.enable_x64(True):
        want = getattr(theirs, name)(a, B, x0=np.ones(6), **options)[0]
    np.testing.assert_allclose(getattr(ours, name)(a, B, x0=np.ones(6), **options)[0], want, rtol=1e-6)


@pytest.mark.parametrize("name", SOLVERS)
def test_derivatives_are_those_of_the_solution(name: str) -> None:
    solver, a = getattr(scipy.sparse.linalg, name), matrix_for(name)

    def f(s: Any, b: Any) -> Any:
        return np.sum(solver(lambda v: s * (a @ v), b, tol=1e-12)[0] ** 2)

    exact = np.linalg.solve(a, B)
    by_scale, by_right = grad(f, (0, 1))(2.0, B)
    np.testing.assert_allclose(by_scale, -(exact @ exact) / 4, rtol=1e-6)
    np.testing.assert_allclose(by_right, np.linalg.solve(a.T, exact) / 2, rtol=1e-6)
    if name == "cg":
        np.testing.assert_allclose(jvp(f, (2.0, B), (1.0, 0 * B))[1], by_scale, rtol=1e-6)


def test_trees_and_wrong_starts() -> None:
    tree = {"u": B[:2], "v": B[2:].reshape(2, 2)}
    got = ours.cg(lambda t: {"u": 2 * t["u"], "v": 4 * t["v"]}, tree, tol=1e-12)[0]
    np.testing.assert_allclose(got["u"], B[:2] / 2)
    np.testing.assert_allclose(got["v"], B[2:].reshape(2, 2) / 4)
    with pytest.raises(ValueError, match="x0 has 5 elements and b has 6"):
        ours.cg(SYMMETRIC, B, np.ones(5))


@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_are_as_wide_as_the_matrix(name: str) -> None:
    solver, whole = getattr(ours, name), np.arange(6)
    hermitian = SYMMETRIC + 1j * (HALF - HALF.T) / 4
    for a in (matrix_for(name), hermitian):
        want = np.linalg.solve(a, whole)
        got = solver(a, whole, tol=1e-10)[0]
        np.testing.assert_allclose(got, want, rtol=1e-7)
        assert got.dtype == want.dtype
        compiled = accelerate(lambda a, b: solver(lambda t: {"x": a @ t["x"]}, {"x": b}, tol=1e-10)[0]["x"])
        np.testing.assert_allclose(compiled(a, whole), want, rtol=1e-7)


def test_derivatives_by_a_hermitian_matrix() -> None:
    hermitian, weights = SYMMETRIC + 1j * (HALF - HALF.T) / 4, np.arange(6.0)

    def f(shift: Any) -> Any:
        return np.real(weights @ ours.cg(hermitian + shift * np.eye(6), B * (1 + 2j), tol=1e-12)[0])

    inverse = np.linalg.inv(hermitian + 0.3 * np.eye(6))
    want = -np.real(weights @ inverse @ inverse @ (B * (1 + 2j)))
    np.testing.assert_allclose(grad(f)(0.3), want, rtol=1e-6)


@pytest.mark.parametrize("called", [False, True])
def test_starts_and_preconditioners_have_no_derivatives(called: bool) -> None:
    weights = np.arange(6.0)

    def f(d: Any) -> Any:
        inverse = 1 / np.diag(SYMMETRIC * d)
        near = (lambda v: v * inverse) if called else np.diag(inverse)
        return weights @ ours.cg(SYMMETRIC * d, B, x0=d * B, M=near, tol=1e-12)[0]

    np.testing.assert_allclose(grad(f)(2.0), -(weights @ np.linalg.solve(SYMMETRIC, B)) / 4, rtol=1e-6)
