"""scipy.optimize's solutions and minima and scipy.integrate.quad, for derivatives and batches: implicit functions.

    f(x, p) = 0              dx = -(df/dx)^-1 (df/dp) dp         fsolve, root
    grad f(x, p) = 0         the same of the gradient            minimize, least_squares, curve_fit
    I = int_a^b f(t, p) dt   dI = int df/dp dp dt + f(b) db - f(a) da

What is found is what Newton's method with halved steps (Nocedal and Wright, Numerical Optimization, 2006, algorithm
11.4), BFGS or Levenberg's and Marquardt's method (algorithm 10.2) finds from the same start: SciPy's result to within
its tolerances, where that is the solution nearby. RuntimeError where none is found. Starts have no derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...translator.library.support import known, only_plain
from ...translator.ops.selection import stop_gradient
from ...translator.records import dataclass
from ..transforms.implicit import custom_root
from ..transforms.transforms import grad, jacfwd
from .optimize import minimize as by_bfgs

Fun = Callable[..., Any]
_TURNS = 200


@dataclass
class Found:
    """What SciPy's OptimizeResult has of a solution, as far as it does not tell of the search."""

    x: Any
    fun: Any
    jac: Any
    success: Any = True
    status: Any = 0

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


@dataclass
class Fitted(Found):
    """The result of least squares: `cost` is half the sum of squares."""

    cost: Any = None


def _given(args: Any) -> Any:
    return args if isinstance(args, tuple) else (args,)


def _vector(f: Fun, args: Any) -> Fun:
    return lambda x: np.ravel(np.asarray(f(x, *args))).astype(np.float64)


def _start(x0: Any) -> Any:
    return stop_gradient(np.ravel(np.asarray(x0)).astype(np.float64))


def _solved(f: Fun, x0: Any) -> Any:
    return custom_root(f, x0, newton, lambda g, y: np.linalg.solve(jacfwd(g)(y), y))


def newton(f: Fun, x: Any) -> Any:
    """A vector at which f is zero, by steps that are halved until |f| falls; RuntimeError where it stops falling."""
    residual = f(x)
    size = np.sqrt(np.sum(residual * residual))
    left, done = _TURNS, size == 0
    while not done and left > 0:
        left = left - 1
        step = np.linalg.solve(jacfwd(f)(x), residual)
        share = 1.0
        new = f(x - step)
        new_size = np.sqrt(np.sum(new * new))
        while not new_size < (1.0 - 1e-4 * share) * size and share > 1e-9:
            share = 0.5 * share
            new = f(x - share * step)
            new_size = np.sqrt(np.sum(new * new))
        close = np.sqrt(np.sum(step * step)) <= 1e-8 * (np.sqrt(np.sum(x * x)) + 1e-8)
        if new_size < size:
            x, residual, size = x - share * step, new, new_size
        done = close or size == 0
        if not done and share <= 1e-9:
            left = 0
    if not done:
        raise RuntimeError("no solution was found: the steps of Newton's method make the residual no smaller")
    return x


def fsolve(
    func: Fun, x0: Any, args: Any = (), fprime: Any = None, full_output: Any = 0, col_deriv: Any = 0, xtol: Any = 0,
    maxfev: Any = 0, band: Any = None, epsfcn: Any = None, factor: Any = 100, diag: Any = None,
) -> Any:  # fmt: skip
    only_plain("scipy.optimize.fsolve", not known(full_output), "with full_output")
    return _solved(_vector(func, _given(args)), _start(x0))


def root(
    fun: Fun, x0: Any, args: Any = (), method: Any = "hybr", jac: Any = None, tol: Any = None, callback: Any = None,
    options: Any = None,
) -> Any:  # fmt: skip
    only_plain("scipy.optimize.root", callback is None, "with a callback")
    pair = jac is True
    f = _vector((lambda x, *rest: fun(x, *rest)[0]) if pair else fun, _given(args))
    x = _solved(f, _start(x0))
    return Found(x, f(x), jacfwd(f)(x))


def _minimum(f: Fun, x0: Any) -> Any:
    """Where the gradient is zero, near where BFGS has made it small."""
    near = stop_gradient(by_bfgs(f, x0).x)
    return _solved(lambda x: grad(f)(x), near)


def minimize(
    fun: Fun, x0: Any, args: Any = (), method: Any = None, jac: Any = None, hess: Any = None, hessp: Any = None,
    bounds: Any = None, constraints: Any = (), tol: Any = None, callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    free = bounds is None and isinstance(constraints, tuple) and len(constraints) == 0
    only_plain("scipy.optimize.minimize", free and callback is None, "with bounds, constraints or a callback")
    pair, given = jac is True, _given(args)

    def f(x: Any) -> Any:
        value = fun(x, *given)[0] if pair else fun(x, *given)
        return np.sum(np.asarray(value).astype(np.float64))

    x = _minimum(f, _start(x0))
    return Found(x, f(x), grad(f)(x))


def _least(f: Fun, x: Any) -> Any:
    """A minimum of the sum of squares, by steps between Gauss's and Newton's and the gradient's."""
    residual = f(x)
    damping: Any = 1e-3
    cost = residual @ residual
    left, done = _TURNS, False
    while not done and left > 0:
        left = left - 1
        j = jacfwd(f)(x)
        slope, curve = j.T @ residual, j.T @ j
        step = np.linalg.solve(curve + damping * (np.diag(np.diagonal(curve)) + 1e-12 * np.eye(x.shape[0])), slope)
        new = f(x - step)
        falls = new @ new < cost
        if falls:
            x, residual, cost = x - step, new, new @ new
        done = np.sqrt(step @ step) <= 1e-7 * (np.sqrt(x @ x) + 1e-7)
        damping = np.where(falls, 0.2 * damping, 4.0 * damping)
    if not done:
        raise RuntimeError("no least squares were found in the given number of iterations")
    return x


def least_squares(
    fun: Fun, x0: Any, jac: Any = "2-point", bounds: Any = None, method: Any = "trf", ftol: Any = 1e-8,
    xtol: Any = 1e-8, gtol: Any = 1e-8, x_scale: Any = None, loss: Any = "linear", f_scale: Any = 1.0,
    diff_step: Any = None, tr_solver: Any = None, tr_options: Any = None, jac_sparsity: Any = None,
    max_nfev: Any = None, verbose: Any = 0, args: Any = (), kwargs: Any = None,
) -> Any:  # fmt: skip
    plain = bounds is None and known(loss) == "linear"
    only_plain("scipy.optimize.least_squares", plain, "with bounds or a loss of its own")
    given, named = _given(args), {} if kwargs is None else kwargs
    f = _vector(lambda x: fun(x, *given, **named), ())
    x = _fitted(f, x0)
    return Fitted(x, f(x), jacfwd(f)(x), cost=0.5 * np.sum(f(x) ** 2))


def _fitted(f: Fun, x0: Any) -> Any:
    near = stop_gradient(_least(f, _start(x0)))
    return _solved(lambda x: grad(lambda v: 0.5 * np.sum(f(v) ** 2))(x), near)


def curve_fit(
    f: Fun, xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None, absolute_sigma: Any = False,
    check_finite: Any = None, bounds: Any = None, method: Any = None, jac: Any = None, *, full_output: Any = False,
    nan_policy: Any = None, **search: Any,
) -> Any:  # fmt: skip
    plain = bounds is None and p0 is not None and (sigma is None or np.ndim(sigma) < 2) and not known(full_output)
    only_plain("scipy.optimize.curve_fit", plain, "with bounds, without p0 or with a matrix for sigma")
    y, xdata = np.ravel(np.asarray(ydata)), np.asarray(xdata) if isinstance(xdata, list | tuple) else xdata
    weight = 1.0 if sigma is None else 1.0 / np.asarray(sigma)
    residuals = _vector(lambda p: (f(xdata, *[p[i] for i in range(p.shape[0])]) - y) * weight, ())
    p = _fitted(residuals, p0)
    j, rest = jacfwd(residuals)(p), residuals(p)
    spread = 1.0 if known(absolute_sigma) else np.sum(rest**2) / (rest.shape[0] - p.shape[0])
    return p, np.linalg.inv(j.T @ j) * spread


NAMES: dict[str, Fun] = {
    "fsolve": fsolve,
    "root": root,
    "minimize": minimize,
    "least_squares": least_squares,
    "curve_fit": curve_fit,
}
