"""Solutions of equations, differentiated by the implicit function theorem: `lax.custom_root`, `custom_linear_solve`.

    f(x, p) = 0     dx = -(df/dx)^-1 (df/dp) dp         however the root was found
    A(p) x = b(p)   dx = A^-1 (db - dA x)

What the functions find outside themselves is differentiated like an argument (`closure_convert`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..trees.tree import map as tree_map
from .custom import LinearVjp, custom_jvp
from .custom_derivatives import closure_convert
from .stopping import stop_gradient
from .transforms import jvp, vjp

Fun = Callable[..., Any]


def custom_root(f: Fun, initial_guess: Any, solve: Fun, tangent_solve: Fun, has_aux: bool = False) -> Any:
    """The x with f(x) = 0 that `solve(f, initial_guess)` finds, differentiated by the implicit function theorem.

    f              of one tree, to one like it
    tangent_solve  tangent_solve(g, y) is the x with g(x) = y, for a linear g: `y / g(1.0)` for numbers,
                   `np.linalg.solve(jacobian(g)(y), y)` for vectors
    has_aux        `solve` returns (x, anything), and so does this; anything is a constant for derivatives

    The derivative is with respect to what f finds outside itself; none with respect to the guess.
    """
    found = solve(f, initial_guess)
    x, aux = found if has_aux else (found, None)
    g, consts = closure_convert(f, x)
    x = _root(g, tangent_solve, stop_gradient(x), *consts)
    return (x, stop_gradient(aux)) if has_aux else x


@functools.partial(custom_jvp, nondiff_argnums=(0, 1))
def _root(g: Fun, tangent_solve: Fun, x: Any, *consts: Any) -> Any:
    return x


def _root_jvp(g: Fun, tangent_solve: Fun, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    x = _root(g, tangent_solve, *primals)
    consts = primals[1:]
    if not consts:
        return x, tree_map(lambda t: 0.0 * t, tangents[0])
    moved = jvp(lambda *c: g(x, *c), consts, tangents[1:])[1]
    step = tangent_solve(lambda t: jvp(lambda v: g(v, *consts), (x,), (t,))[1], moved)
    return x, tree_map(lambda t: -t, step)


def custom_linear_solve(
    matvec: Fun, b: Any, solve: Fun, transpose_solve: Fun | None = None, symmetric: bool = False, has_aux: bool = False
) -> Any:
    """The x with matvec(x) = b that `solve(matvec, b)` finds; its derivatives are solutions, too.

    matvec           linear, of a tree like `b` to one like it
    transpose_solve  transpose_solve(vecmat, b): a solution with the transposed matrix, for reverse mode
    symmetric        the matrix is its own transpose, so `solve` serves
    has_aux          `solve` returns (x, anything), and so does this; anything is a constant for derivatives

    In reverse mode TypeError with neither of the two.
    """
    found = solve(matvec, b)
    x, aux = found if has_aux else (found, None)
    g, consts = closure_convert(matvec, x)
    x = _solution(g, (solve, transpose_solve, symmetric, has_aux), stop_gradient(x), b, *consts)
    return (x, stop_gradient(aux)) if has_aux else x


@functools.partial(custom_jvp, nondiff_argnums=(0, 1))
def _solution(g: Fun, how: Any, x: Any, b: Any, *consts: Any) -> Any:
    return x


def _solution_jvp(g: Fun, how: Any, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    x = _solution(g, how, *primals)
    consts, right = primals[2:], tangents[1]
    if consts:
        moved = jvp(lambda *c: g(x, *c), consts, tangents[2:])[1]
        right = tree_map(lambda t, m: t - m, right, moved)
    return x, _linear(g, how, right, *consts)


@functools.partial(LinearVjp, nondiff_argnums=(0, 1))
def _linear(g: Fun, how: Any, right: Any, *consts: Any) -> Any:
    """The solution again, of which reverse mode is the transpose: an iteration is not linear step by step."""
    solve, _, _, has_aux = how
    found = solve(lambda t: g(t, *consts), right)
    return found[0] if has_aux else found


def _linear_forward(g: Fun, how: Any, right: Any, *consts: Any) -> Any:
    y = _linear(g, how, right, *consts)
    return y, (y, consts)


def _linear_backward(g: Fun, how: Any, residuals: Any, ct: Any) -> Any:
    solve, transpose_solve, symmetric, has_aux = how
    y, consts = residuals
    if symmetric:
        w = custom_linear_solve(lambda t: g(t, *consts), ct, solve, None, True, has_aux)
    elif transpose_solve is None:
        raise TypeError("transpose_solve required for backwards mode automatic differentiation of custom_linear_solve")
    else:
        w = custom_linear_solve(
            lambda t: vjp(lambda v: g(v, *consts), y)[1](t)[0], ct, transpose_solve, solve, False, has_aux
        )
    w = w[0] if has_aux else w
    if not consts:
        return (w,)
    pulled = vjp(lambda *c: g(y, *c), *consts)[1](w)
    return (w, *tree_map(lambda p: -p, pulled))


_root.solves = _solution.solves = _linear.solves = True  # so the solvers may speak of what moves
_root.defjvp(_root_jvp)
_solution.defjvp(_solution_jvp)
_linear.defvjp(_linear_forward, _linear_backward)
