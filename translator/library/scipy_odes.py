"""scipy.integrate.odeint and solve_ivp, for derivatives and batches only: other calls are SciPy's own.

The steps are those of J. Dormand and P. Prince, "A family of embedded Runge-Kutta formulae" (1980), of order 5, with
the error estimated at order 4 held below the tolerances; derivatives go through the steps, whose lengths count as
given. So values are SciPy's to within the tolerances, not to the digit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.selection import stop_gradient
from ..records import dataclass
from .support import known, only_plain

_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
)
_FIFTH = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
_ODEINT_TOLERANCE = 1.49012e-8


def _combined(weights: Any, slopes: Any) -> Any:
    total = weights[0] * slopes[0]
    for w, k in zip(weights[1:], slopes[1:]):
        total = total + w * k
    return total


def _rates(rate: Any, first: Any, y: Any, t: Any, args: Any) -> Any:
    return np.asarray(rate(t, y, *args) if first else rate(y, t, *args)).astype(y.dtype)


def integrated(rate: Any, first: bool, y: Any, t: Any, args: Any, rtol: Any, atol: Any, longest: Any) -> Any:
    """The states at the times `t`, the first of which is the start; steps end at each of them."""
    states = np.zeros((t.shape[0], y.shape[0]), dtype=y.dtype)
    states[0] = y
    slope = _rates(rate, first, y, t[0], args)
    size = np.sqrt(np.mean((stop_gradient(y) / (atol + rtol * np.abs(stop_gradient(y)))) ** 2))
    speed = np.sqrt(np.mean((stop_gradient(slope) / (atol + rtol * np.abs(stop_gradient(y)))) ** 2))
    h = np.minimum(np.where(speed > 0.0, 0.01 * (size + 1e-5) / np.where(speed > 0.0, speed, 1.0), 1e-3), longest)
    for i in range(1, t.shape[0]):
        now, end = t[i - 1], t[i]
        while now != end:
            left = end - now
            ends = np.abs(stop_gradient(left)) <= h
            step = left if ends else np.sign(stop_gradient(left)) * h
            if not np.abs(step) > 1e-14 * np.maximum(np.abs(now), np.abs(end)):
                raise ArithmeticError("the steps of the integration become too small: the solution may not exist")
            slopes = [slope]
            for c, weights in zip(_TIMES, _STAGES):
                slopes = [*slopes, _rates(rate, first, y + step * _combined(weights, slopes), now + c * step, args)]
            new = y + step * _combined(_FIFTH, slopes)
            after = _rates(rate, first, new, now + step, args)
            scale = atol + rtol * np.maximum(np.abs(y), np.abs(new))
            error = stop_gradient(np.sqrt(np.mean((step * _combined(_ERROR, [*slopes, after]) / scale) ** 2)))
            taken = np.abs(stop_gradient(step))
            if error <= 1.0:
                now = end if ends else now + step
                y, slope = new, after
                grown = np.where(error > 0.0, 0.9 * np.where(error > 0.0, error, 1.0) ** -0.2, 5.0)
                next_one = taken * np.minimum(grown, 5.0)
                h = np.minimum(np.where(ends, np.maximum(h, next_one), next_one), longest)
            else:
                h = taken * np.where(error < np.inf, np.maximum(0.9 * error**-0.2, 0.2), 0.2)
        states[i] = y
    return states


def odeint(
    func: Any,
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,
    col_deriv: Any = 0,
    full_output: Any = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: Any = 0.0,
    hmax: Any = 0.0,
    hmin: Any = 0.0,
    ixpr: Any = 0,
    mxstep: Any = 0,
    mxhnil: Any = 0,
    mxordn: Any = 12,
    mxords: Any = 5,
    printmessg: Any = 0,
    tfirst: Any = False,
) -> Any:
    only_plain("scipy.integrate.odeint", not known(full_output) and tcrit is None)
    y = np.atleast_1d(y0).astype(np.float64)
    times = np.asarray(t).astype(np.float64)
    args = args if isinstance(args, tuple) else (args,)
    rtol, atol = (_ODEINT_TOLERANCE if tol is None else tol for tol in (rtol, atol))
    longest = np.inf if known(hmax) == 0 else hmax
    return integrated(func, known(tfirst), y, times, args, rtol, atol, longest)


@dataclass
class Solution:
    """What solve_ivp returns, of which the times are known."""

    t: Any
    y: Any
    status: Any
    success: Any


def solve_ivp(
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: Any = False,
    events: Any = None,
    vectorized: Any = False,
    args: Any = None,
    *,
    rtol: Any = 1e-3,
    atol: Any = 1e-6,
    max_step: Any = np.inf,
    first_step: Any = None,
    jac: Any = None,
) -> Any:
    only_plain("scipy.integrate.solve_ivp", t_eval is not None and events is None, "without t_eval or with events")
    only_plain("scipy.integrate.solve_ivp", not known(dense_output))
    y, wanted = np.asarray(y0).astype(np.float64), np.asarray(t_eval).astype(np.float64)
    times = np.concatenate([np.reshape(np.asarray(t_span[0]).astype(np.float64), (1,)), wanted])
    states = integrated(fun, True, y, times, () if args is None else tuple(args), rtol, atol, max_step)
    return Solution(wanted, states[1:].T, 0, True)


TRANSFORMED: dict[str, Callable[..., Any]] = {"odeint": odeint, "solve_ivp": solve_ivp}
