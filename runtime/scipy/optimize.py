"""The namespace `untraced.scipy.optimize`: minimising, as in `jax.scipy.optimize`, as NumPy source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..arrays.hosted import offer
from ..transforms.transforms import value_and_grad

ENOUGH, CURVED = 1e-4, 0.9  # Wolfe's conditions, as Nocedal and Wright (2006) choose them for BFGS


class OptimizeResults(NamedTuple):
    """`status`: 0 where the gradient has become small, 1 after the last iteration, 5 where no step was found."""

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str = "BFGS",
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """A minimum of `fun(x, *args)`, a number, over vectors x of shape (n,), near `x0`.

    method   "BFGS": Nocedal and Wright, Numerical Optimization (2006), algorithm 6.1, with the line search of Lewis and
             Overton, Nonsmooth optimization via quasi-Newton methods (2013), algorithm 2.6
    tol      the gradient that is small enough, by its norm; 1e-5
    options  gtol (as tol), norm (inf), maxiter (200 n), line_search_maxiter (30)

    ValueError for another method and for an x0 that is no vector.
    """
    if method.lower() != "bfgs":
        raise ValueError(f"untraced.scipy.optimize.minimize: the method is 'BFGS', not {method!r}")
    if np.ndim(x0) != 1:
        raise ValueError("untraced.scipy.optimize.minimize: x0 must be a vector")
    gtol = 1e-5 if tol is None else tol
    told: dict[str, Any] = {"gtol": gtol, "norm": np.inf, "maxiter": None, "line_search_maxiter": 30}
    told |= options or {}
    n = len(x0)
    most = 200 * n if told["maxiter"] is None else told["maxiter"]

    def objective(x: Any) -> Any:
        return fun(x, *args)

    at = value_and_grad(objective)
    x = np.asarray(x0) * 1.0
    f, g = at(x)
    unit = np.eye(n)
    inverse = unit
    turns, asked, found = 0, 1, True
    while turns < most and found and np.linalg.norm(g, told["norm"]) > told["gtol"]:
        found, s, new_f, new_g, tried = _line_search(at, x, f, g, -inverse @ g, told["line_search_maxiter"])
        asked += tried
        if found:
            y = new_g - g
            scale = 1.0 / (y @ s)
            left = unit - scale * np.outer(s, y)
            inverse = left @ inverse @ left.T + scale * np.outer(s, s)
            x, f, g = x + s, new_f, new_g
            turns += 1
    done = np.linalg.norm(g, told["norm"]) <= told["gtol"]
    status = np.where(done, 0, np.where(found, 1, 5))
    return OptimizeResults(x, done, status, f, g, inverse, asked, asked, turns)


def _line_search(
    at: Callable[[Any], tuple[Any, Any]], x: Any, f: Any, g: Any, p: Any, most: int
) -> tuple[bool, Any, Any, Any, int]:
    """A step from x along p that lowers the value f, of gradient g, enough: whether `most` tries have found one, the
    step, value and gradient behind it, and the number of tries.
    """
    slope = g @ p
    low, high, t = 0.0, np.inf, 1.0
    found, tried = False, 0
    new_f, new_g = f, g
    for _ in range(most):
        new_f, new_g = at(x + t * p)
        tried += 1
        if not new_f <= f + ENOUGH * t * slope:  # also a NaN
            high = t
        elif new_g @ p < CURVED * slope:
            low = t
        else:
            found = True
            break
        t = 2.0 * t if high == np.inf else 0.5 * (low + high)
    return found, t * p, new_f, new_g, tried


__all__ = ["OptimizeResults", "minimize"]

offer(globals(), __all__, "untraced.scipy.optimize")
