"""The namespace `untraced.scipy.sparse.linalg`: Krylov solvers of A x = b, as NumPy source, named as in jax.scipy.

A is a matrix, or a linear function of a tree like b that gives one like it. x is a tree like b, and what is returned
is (x, None). They stop where the residual's norm is at most max(tol * norm(b), atol), or after `maxiter` steps.
x has floats at least, and the dtypes of A(b) where those are wider than b's. Derivatives are solutions, too
(`lax.custom_linear_solve`): nothing of the steps is kept, and x0 and M have none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.hosted import offer
from ..transforms.custom_derivatives import closure_convert
from ..transforms.implicit import custom_linear_solve
from ..transforms.stopping import stop_gradient
from ..trees.flatten_util import ravel_pytree
from ..trees.tree import map as tree_map

Fun = Callable[[Any], Any]
Solver = Callable[[Fun, Fun, Any, Any, Any, int], Any]  # matvec, preconditioner, b, x0, largest residual, steps


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """x with A x = b for a Hermitian positive definite A, by conjugate gradients (Hestenes and Stiefel, 1952).

    M is an approximation of A's inverse, Hermitian positive definite too. maxiter: 10 times the size of b by default.
    """
    return _solved(_conjugate_gradients, A, b, x0, (tol, atol, maxiter, M), True), None


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """x with A x = b by stabilised biconjugate gradients (van der Vorst, 1992), preconditioned from the right by M."""
    return _solved(_stabilised, A, b, x0, (tol, atol, maxiter, M), False), None


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, None]:
    """x with A x = b by generalised minimal residuals (Saad and Schultz, 1986), begun again after `restart` steps, at
    most `maxiter` times; preconditioned from the left by M.
    """

    def solver(matvec: Fun, precondition: Fun, right: Any, x: Any, bound: Any, steps: int) -> Any:
        return _minimal_residuals(matvec, precondition, right, x, bound, steps, min(restart, right.size))

    return _solved(solver, A, b, x0, (tol, atol, maxiter, M), False), None


def _solved(solver: Solver, A: Any, b: Any, x0: Any, options: tuple[Any, ...], symmetric: bool) -> Any:
    tol, atol, maxiter, M = options
    right, tree_of = ravel_pytree(_as_solved(A, b))
    start = np.zeros_like(right) if x0 is None else stop_gradient(ravel_pytree(x0)[0].astype(right.dtype))
    if start.shape != right.shape:
        raise ValueError(f"x0 has {start.size} elements and b has {right.size}")
    steps = 10 * right.size if maxiter is None else maxiter

    def on_vectors(f: Any) -> Fun:
        return (lambda v: ravel_pytree(f(tree_of(v)))[0]) if callable(f) else (lambda v: f @ v)

    precondition = (lambda v: v) if M is None else _held(on_vectors(M), right)

    def solve(matvec: Fun, rhs: Any) -> Any:
        bound = np.maximum(tol * np.linalg.norm(rhs), atol)
        return solver(matvec, precondition, rhs, start, bound, steps)

    def solve_anew(matvec: Fun, rhs: Any) -> Any:
        bound = np.maximum(tol * np.linalg.norm(rhs), atol)
        return solver(matvec, precondition, rhs, np.zeros_like(rhs), bound, steps)

    own_transpose = symmetric and right.dtype.kind == "f"  # a Hermitian matrix is, where it is real
    return tree_of(custom_linear_solve(on_vectors(A), right, solve, solve_anew, own_transpose))


def _as_solved(A: Any, b: Any) -> Any:
    """`b`, with floats for integers, and wide enough for A(b): solutions, and what they are made of, are so wide."""
    b = tree_map(lambda x: np.asarray(x) if np.result_type(x).kind in "fc" else np.asarray(x) * 1.0, b)
    if callable(A):
        return tree_map(lambda x, y: x.astype(np.result_type(x, y)), b, A(b))
    wide = (A @ ravel_pytree(b)[0]).dtype
    return tree_map(lambda x: x.astype(np.result_type(x, wide)), b)


def _held(f: Fun, v: Any) -> Fun:
    """`f`, of vectors like v, what it finds outside itself held fixed: how a solution is found has no derivative."""
    g, consts = closure_convert(f, v)
    fixed = stop_gradient(consts)
    return lambda v: g(v, *fixed)


def _conjugate_gradients(matvec: Fun, precondition: Fun, b: Any, x: Any, bound: Any, steps: int) -> Any:
    r = b - matvec(x)
    z = precondition(r)
    p = z
    gamma = np.real(np.vdot(r, z))
    k = 0
    while np.linalg.norm(r) > bound and k < steps:
        q = matvec(p)
        alpha = gamma / np.real(np.vdot(p, q))
        x = x + alpha * p
        r = r - alpha * q
        z = precondition(r)
        before = gamma
        gamma = np.real(np.vdot(r, z))
        p = z + gamma / before * p
        k += 1
    return x


def _stabilised(matvec: Fun, precondition: Fun, b: Any, x: Any, bound: Any, steps: int) -> Any:
    r = b - matvec(x)
    shadow = r
    p = np.zeros_like(r)
    q = np.zeros_like(r)
    one = np.vdot(r, r) * 0 + 1
    rho = one
    alpha = one
    omega = one
    k = 0
    while np.linalg.norm(r) > bound and k < steps:
        before = rho
        rho = np.vdot(shadow, r)
        if rho == 0 or omega == 0:  # broken down: no better x will be found
            k = steps
        else:
            p = r + rho / before * (alpha / omega) * (p - omega * q)
            direction = precondition(p)
            q = matvec(direction)
            alpha = rho / np.vdot(shadow, q)
            s = r - alpha * q
            x = x + alpha * direction
            if np.linalg.norm(s) <= bound:
                r = s
            else:
                correction = precondition(s)
                t = matvec(correction)
                omega = np.vdot(t, s) / np.vdot(t, t)
                x = x + omega * correction
                r = s - omega * t
            k += 1
    return x


def _minimal_residuals(
    matvec: Fun, precondition: Fun, b: Any, x: Any, bound: Any, steps: int, restart: int
) -> Any:
    r = precondition(b - matvec(x))
    limit = bound * np.linalg.norm(precondition(b)) / np.maximum(np.linalg.norm(b), np.finfo(b.dtype).tiny)
    k = 0
    while np.linalg.norm(r) > limit and k < steps:
        size = np.linalg.norm(r)
        basis = np.zeros((restart + 1, b.size), b.dtype)
        small = np.zeros((restart + 1, restart), b.dtype)
        basis[0] = r / size
        for j in range(restart):
            w = precondition(matvec(basis[j]))
            length = np.linalg.norm(w)
            h = np.conj(basis) @ w  # rows that are not made yet are 0
            w = w - h @ basis
            again = np.conj(basis) @ w  # twice is enough (Kahan, in Parlett, The Symmetric Eigenvalue Problem)
            w = w - again @ basis
            left = np.linalg.norm(w)
            new = left > np.finfo(b.dtype).eps * length  # else the space is complete, and x is exact
            small[:, j] = h + again
            small[j + 1, j] = np.where(new, left, 0.0)
            basis[j + 1] = np.where(new, w / np.where(new, left, 1.0), 0.0)
        first = np.zeros(restart + 1, b.dtype)
        first[0] = size
        x = x + (np.linalg.pinv(small) @ first) @ basis[:restart]
        r = precondition(b - matvec(x))
        k += 1
    return x


__all__ = ["bicgstab", "cg", "gmres"]

offer(globals(), __all__, "untraced.scipy.sparse.linalg")
