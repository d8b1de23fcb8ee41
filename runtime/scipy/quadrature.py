"""scipy.integrate.quad for derivatives and batches: an adaptive sum that is differentiated as the integral is.

    I = int_a^b f(t, p) dt       dI = int (df/dp) dp dt + f(b) db - f(a) da

The intervals are halved where the rules of 10 and 21 points differ most, as in QUADPACK's QAG (R. Piessens et al.,
1983), until the difference is within epsabs or epsrel. Half-infinite ranges are mapped as there: t = a + (1 - s) / s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...translator.library.support import is_known, known, only_plain
from ...translator.ops.implicit import sloped
from ...translator.ops.selection import stop_gradient
from ..transforms.transforms import jvp

Fun = Callable[..., Any]
_COARSE, _FINE = (np.polynomial.legendre.leggauss(n) for n in (10, 21))
_NODES = np.concatenate([_FINE[0], _COARSE[0]])
_WEIGHTS = np.concatenate([_FINE[1], np.zeros(10)])
_DIFFERENCES = np.concatenate([_FINE[1], -_COARSE[1]])


def _divided(g: Fun, epsabs: Any, epsrel: Any, limit: int) -> tuple[Any, Any, Any, Any]:
    """Intervals of [0, 1], how many there are, and the difference of the rules on all of them."""
    low, high, part, gap = np.zeros(limit), np.ones(limit), np.zeros(limit), np.zeros(limit)
    gap[0] = np.inf  # of the whole, which the first turn computes
    count = 0
    while count < limit and np.sum(gap) > np.maximum(epsabs, epsrel * np.abs(np.sum(part))):
        worst = np.argmax(gap)
        if count > 0:
            middle = (low[worst] + high[worst]) / 2.0
            low[count], high[count], high[worst] = middle, high[worst], middle
        for side in range(2):
            place = np.where(side == 0, worst, count)
            half, mean = (high[place] - low[place]) / 2.0, (high[place] + low[place]) / 2.0
            total = difference = np.float64(0.0)
            for k in range(31):
                value = stop_gradient(g(mean + half * _NODES[k]))
                total, difference = total + _WEIGHTS[k] * value, difference + _DIFFERENCES[k] * value
            part[place], gap[place] = half * total, np.abs(half * difference)
        count = count + 1
    return low, high, count, np.sum(gap)


def _summed(g: Fun, low: Any, high: Any, count: Any) -> Any:
    total = np.float64(0.0)
    for i in range(count):
        half, middle = (high[i] - low[i]) / 2.0, (high[i] + low[i]) / 2.0
        for k in range(21):
            total = total + half * _FINE[1][k] * g(middle + half * _FINE[0][k])
    return total


def _infinite(end: Any) -> bool:
    return is_known(end) and bool(np.isinf(known(end)))


def _mapped(f: Fun, a: Any, b: Any, below: bool, above: bool) -> Fun:
    """f over [a, b] as a function over [0, 1]."""

    def out(s: Any) -> Any:
        return (1.0 - s) / s

    if below and above:
        return lambda s: (f(out(s)) + f(-out(s))) / (s * s)
    if above:
        return lambda s: f(a + out(s)) / (s * s)
    if below:
        return lambda s: f(b - out(s)) / (s * s)
    return lambda s: f(a + (b - a) * s) * (b - a)


def quad(
    func: Fun, a: Any, b: Any, args: Any = (), full_output: Any = 0, epsabs: Any = 1.49e-8, epsrel: Any = 1.49e-8,
    limit: Any = 50, points: Any = None, weight: Any = None, wvar: Any = None, wopts: Any = None, maxp1: Any = 50,
    limlst: Any = 50, complex_func: Any = False,
) -> Any:  # fmt: skip
    plain = not known(full_output) and points is None and weight is None and not known(complex_func)
    only_plain("scipy.integrate.quad", plain)
    below, above = _infinite(a), _infinite(b)
    turned = (below and known(a) > 0) or (above and known(b) < 0)
    only_plain("scipy.integrate.quad", not turned, "from infinity backwards")
    if (not below and np.isinf(a)) or (not above and np.isinf(b)):
        raise ValueError("scipy.integrate.quad has derivatives for infinite limits that are written in the function")
    given = args if isinstance(args, tuple) else (args,)

    def f(t: Any) -> Any:
        return np.float64(func(t, *given))

    low, high, count, gap = _divided(_mapped(f, a, b, below, above), epsabs, epsrel, known(limit))

    def integral(start: Any, end: Any) -> Any:
        return _summed(_mapped(f, start, end, below, above), low, high, count)

    total = integral(a, b)
    if not above:  # what the moved points tell of an integrand that jumps is not what its ends do
        end = np.float64(b)
        total = sloped(total, end, f(end) - jvp(lambda v: integral(a, v), (end,), (np.float64(1.0),))[1])
    if not below:
        start = np.float64(a)
        total = sloped(total, start, -f(start) - jvp(lambda v: integral(v, b), (start,), (np.float64(1.0),))[1])
    return total, gap


def _end(limit: Any, *at: Any) -> Any:
    return limit(*at) if callable(limit) else limit


def dblquad(
    func: Fun, a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (), epsabs: Any = 1.49e-8, epsrel: Any = 1.49e-8
) -> Any:
    """The integral of func(y, x) for y from gfun(x) to hfun(x) and x from a to b: an integral of integrals."""

    def inner(x: Any) -> Any:
        return quad(lambda y: func(y, x, *args), _end(gfun, x), _end(hfun, x), (), 0, epsabs, epsrel)[0]

    return quad(inner, a, b, (), 0, epsabs, epsrel)


NAMES: dict[str, Fun] = {"quad": quad, "dblquad": dblquad}
