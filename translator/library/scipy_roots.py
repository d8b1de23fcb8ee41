"""How scipy.optimize finds roots of functions of one number, as NumPy source, for derivatives and batches only.

The roots are SciPy's to within the tolerances, not to the digit; a bracket is halved until nothing lies between its
ends, which no method that SciPy has finds more exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .support import known

_number: Any = np.float64


def bracketed(f: Any, a: Any, b: Any) -> Any:
    """The root between a and b, at which f has different signs. Raises ValueError where it has not."""
    low, high = _number(a), _number(b)
    at_low, at_high = _number(f(low)), _number(f(high))
    if at_low * at_high > 0:
        raise ValueError("f(a) and f(b) must have different signs")
    if at_low == 0 or at_high == 0:
        low = np.where(at_low == 0, low, high)
        high = low
    middle = low + (high - low) / 2.0
    while middle != low and middle != high:
        value = _number(f(middle))
        below = (value < 0) == (at_low < 0)
        low, high = np.where(below, middle, low), np.where(below & (value != 0), high, middle)
        low = np.where(value == 0, middle, low)
        middle = low + (high - low) / 2.0
    return middle


def secant(f: Any, x0: Any, x1: Any, tol: Any, rtol: Any, most: Any) -> Any:
    """The secant method from x0, and from x1 or a point nearby."""
    p0 = _number(x0)
    p1 = np.where(p0 >= 0, p0 * (1 + 1e-4) + 1e-4, p0 * (1 + 1e-4) - 1e-4) if x1 is None else _number(x1)
    q0, q1 = _number(f(p0)), _number(f(p1))
    swap = np.abs(q1) < np.abs(q0)
    p0, p1 = np.where(swap, p1, p0), np.where(swap, p0, p1)
    q0, q1 = np.where(swap, q1, q0), np.where(swap, q0, q1)
    left, p = known(most), p1
    done: Any = False
    while not done and left > 0:
        left = left - 1
        if q1 == q0:
            if p1 != p0:
                raise RuntimeError("the secant method has come to two points with one value: no root was found")
            p, done = (p1 + p0) / 2.0, True
        else:
            steep = np.abs(q1) > np.abs(q0)
            over, under = np.where(steep, q0 / q1, q1 / q0), np.where(steep, p0 - p1 * (q0 / q1), p1 - p0 * (q1 / q0))
            p = under / (1.0 - over)
            done = _close(p, p1, tol, rtol)
            p0, q0, p1 = p1, q1, p
            q1 = _number(f(p1))
    if not done:
        raise RuntimeError("Failed to converge: no root was found in the given number of iterations")
    return p


def by_slopes(f: Any, slope: Any, bend: Any, x0: Any, tol: Any, rtol: Any, most: Any) -> Any:
    """Newton's method from x0, with the second derivative Halley's."""
    p0 = _number(x0)
    left, p = known(most), p0
    done: Any = False
    while not done and left > 0:
        left = left - 1
        value, by_x = _number(f(p0)), _number(slope(p0))
        if value == 0:
            p, done = p0, True
        else:
            if by_x == 0:
                raise RuntimeError("the derivative was zero: no root was found")
            step = value / by_x
            if bend is not None:
                turn = step * _number(bend(p0)) / (2.0 * by_x)
                step = np.where(np.abs(turn) < 1, step / (1.0 - turn), step)
            p = p0 - step
            done = _close(p, p0, tol, rtol)
            p0 = p
    if not done:
        raise RuntimeError("Failed to converge: no root was found in the given number of iterations")
    return p


def _close(x: Any, y: Any, tol: Any, rtol: Any) -> Any:
    return np.abs(x - y) <= tol + rtol * np.abs(y)
