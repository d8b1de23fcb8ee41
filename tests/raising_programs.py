"""Functions that validate what they are given, or give up: some calls return, some raise.

Each comes with calls of both kinds; the derivatives are with respect to the first argument.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

X = np.linspace(0.2, 1.4, 6)


class NoConvergence(Exception):
    """With arguments of its own."""

    def __init__(self, steps, residual):
        super().__init__(f"after {steps} steps the residual is {residual:.3e}")
        self.steps = steps


@dataclass(frozen=True)
class Calls:
    """`good` are arguments of a call that returns, `bad` of calls that raise."""

    fun: Callable[..., Any]
    good: tuple[Any, ...]
    bad: tuple[tuple[Any, ...], ...]
    scalar: bool = True  # the result is one float

    def __repr__(self) -> str:
        return self.fun.__name__


def density(x, sigma):
    if sigma <= 0:
        raise ValueError(f"sigma must be positive, got {sigma}")
    if np.any(np.isnan(x)):
        raise ValueError("x has NaNs")
    return np.sum(np.exp(-((x / sigma) ** 2)))


def weighted(x, w):
    assert np.all(w >= 0), "negative weights"
    total = np.sum(w)
    assert total > 0
    return np.sum(x * w) / total


def chained(x, k):
    if k < 0:
        raise ValueError("negative", k)
    elif k == 3:
        raise KeyError("three")
    elif k > 100.5:
        raise IndexError
    else:
        y = x * k
    return np.sum(y)


def otherwise(x, k):
    if k > 0:
        y = np.sin(x)
        if k > 1:
            y = y * k
        else:
            raise ValueError("k is {:.2f} of {n}".format(k, n=x.size))
    else:
        raise RuntimeError("k is %.1f and x[0] %g" % (k, x[0]))
    return np.sum(y)


def both_ways(x, k):
    if k > 5:
        if x[0] > 1:
            raise ValueError("large x")
        raise RuntimeError("small x")
    return np.sum(x) * k


def element_loop(x, limit):
    total = 0.0
    for i in range(len(x)):
        if x[i] > limit:
            raise ValueError(f"x[{i}] = {x[i]:.3f} exceeds {limit!r}")
        total += np.sqrt(x[i])
    return total


def newton(x, tol):
    y = x
    for i in range(30):
        z = 0.5 * (y + x / y)
        if abs(z - y) < tol:
            return z
        y = z
    raise NoConvergence(30, abs(y * y - x))


def relaxed(x, tol):
    y = np.zeros_like(x)
    for i in range(40):
        new = np.cos(y) * x * 0.5
        change = np.max(np.abs(new - y))
        y = new
        if change < tol:
            break
    else:
        raise RuntimeError(f"no convergence, the last change was {change}")
    return np.sum(y)


def bisection(f0, high):
    low = 0.0
    steps = 0
    while high - low > 1e-9:
        steps += 1
        if steps > 60:
            raise NoConvergence(steps, residual=high - low)
        middle = 0.5 * (low + high)
        if middle * middle > f0:
            high = middle
        else:
            low = middle
    return high + 0.0 * f0


def endless_if_refused(x, step):
    if step <= 0:
        raise ValueError("the loop would not end")
    t = 0.0
    total = 0.0
    while t < 1.0:
        total += np.sum(np.sin(x * t)) * step
        t += step
    return total


def checked(v, name):
    if not np.all(np.isfinite(v)):
        raise ValueError(name + ": not finite, the largest is " + str(np.max(v)))
    return v


def helper(x, y):
    return np.sum(checked(x, "x") * checked(y, "y"))


def fail(v):
    raise ArithmeticError(f"{v} is below zero")


def in_an_expression(x, y):
    root = np.sqrt(y) if y >= 0 else fail(y)
    return np.sum(x) * root


def nested_loops(a, limit):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if i == j:
                continue
            if a[i, j] == limit:
                raise ZeroDivisionError(f"({i}, {j})")
            total += a[i, j] / (a[i, j] - limit)
    return total


def message_of_its_own_work(x, limit):
    if np.max(x) > limit:
        where = np.argmax(x)
        beyond = np.sum(x > limit)
        raise ValueError(f"{beyond} elements beyond {limit}, the largest at {where}: {x[where]:10.4f} {{}}\t'\"\\")
    return np.sum(x) * limit


def in_order(x, k):
    y = x * k
    if y[0] > 10:
        raise ValueError("first")
    if y[1] > 1:
        raise KeyError("second")
    assert y[2] < 1, ("third", 3)
    return np.sum(y)


def with_a_match(x, mode):
    match mode:
        case 0:
            y = x
        case 1:
            y = x * x
        case _:
            raise ValueError(f"unknown mode {mode}")
    return np.sum(y * np.sin(x))


def message_with_a_name(x, sigma):
    if np.min(x) < sigma:
        least = np.min(x)
        msg = "the least, {:.2f}, ".format(least) + f"is below {sigma}"
        raise ValueError(msg)
    if sigma < -5:
        msg = "sigma"
        raise ValueError(f"{msg} is too small")
    return np.sum(x) * sigma


_PAIR = (3, "x")


def styled(x, k):
    if k < -3:
        raise ValueError("%5.2f%% of %d, %s %r" % (k, x.size, x[0], "s"))
    if k < -2:
        raise ValueError("{0:.3f} {0!r} {name:>8} {{}}".format(k, name=x[1]))
    if k < -1:
        raise ValueError(f"{k=} {x[0]=:.3f} é\n'{k}' \"{x[:2]}\"", "%x of %s" % _PAIR, "a" "b" + str(k) + "c" + repr(x))
    return np.sum(x) * k


def in_many_ways(x, sigma):
    assert 0 < sigma < 10 and (x > 0).all(), f"sigma is {sigma}"
    if not np.isfinite(x).all() or sigma == 3:
        raise np.linalg.LinAlgError("not finite")
    if any(v > 5 for v in x):
        raise OverflowError(x.shape, x.size, "many")
    for i, v in enumerate(x):
        if v == 4:
            msg = f"element {i:02d} "
            raise ValueError(msg + "is four", i)
        assert v != 4.5
    return np.sum(x / sigma)


def stores_then_raises(x, limit):
    x[0] = 7.0
    x *= 2.0
    if np.sum(x) > limit:
        x[1] = -1.0
        raise ValueError("too large", limit)
    x[2] = 0.0
    return np.sum(x)


def in_a_late_branch(x, k):
    y = np.zeros_like(x)
    if k > 0:
        for i in range(len(x)):
            if x[i] > k:
                raise ValueError(f"element {i}")
            y[i] = x[i] * k
    return np.sum(y * y)


def in_every_iteration(x, k):
    y = np.sin(x) * k
    for i in range(len(x)):
        if y[i] > 0:
            return y[i] * np.sum(y)
        raise ValueError(f"{i}")
    return np.sum(y)


def never(x, k):
    if x.shape[0] > 1000:
        raise ValueError("too long")
    if k < -1e300:
        raise ValueError("too small")
    return np.sum(x) * k


def nan(*values):
    return np.array([*values, *([1.0] * (6 - len(values)))])


CALLS = [
    Calls(density, (X, 0.7), ((X, -0.7), (X, 0.0), (nan(np.nan), 0.7), (nan(np.nan), -1.0))),
    Calls(weighted, (X, X), ((X, -X), (X, 0 * X))),
    Calls(chained, (X, 2.0), ((X, -1.0), (X, 3.0), (X, 101.0))),
    Calls(otherwise, (X, 1.5), ((X, 0.5), (X, -2.0))),
    Calls(both_ways, (X, 2.0), ((X, 6.0), (X + 2, 6.0))),
    Calls(element_loop, (X, 2.0), ((X, 1.0), (X, 0.1), (X, -1.0))),
    Calls(newton, (2.0, 1e-9), ((2.0, -1.0),)),
    Calls(relaxed, (X, 1e-6), ((X, 0.0), (X, -1.0))),
    Calls(bisection, (2.0, 4.0), ((2.0, 1e16),)),
    Calls(endless_if_refused, (X, 0.25), ((X, 0.0), (X, -1.0))),
    Calls(helper, (X, X), ((nan(np.inf), X), (X, nan(2.0, np.nan)))),
    Calls(in_an_expression, (X, 2.0), ((X, -2.0),)),
    Calls(nested_loops, (np.outer(X, X), -1.0), ((np.outer(X, X), float(np.outer(X, X)[1, 2])),)),
    Calls(message_of_its_own_work, (X, 2.0), ((X, 1.0), (X, 0.3))),
    Calls(in_order, (X, 0.5), ((X, 60.0), (X, 5.0), (X, 2.0))),
    Calls(with_a_match, (X, 1), ((X, 5),)),
    Calls(message_with_a_name, (X, -2.0), ((X, 1.0), (X, -6.0))),
    Calls(styled, (X, 2.0), ((X, -1.5), (X, -2.5), (X, -3.5))),
    Calls(in_many_ways, (X, 2.0), ((X, 11.0), (X, 3.0), (-X, 1.0), (X + 4, 1.0), (nan(4.0), 1.0), (nan(4.5), 1.0))),
    Calls(stores_then_raises, (X, 100.0), ((X, 1.0),)),
    Calls(in_a_late_branch, (X, 2.0), ((X, 1.0),)),
    Calls(in_every_iteration, (X, 2.0), ((X, -1.0),)),
    Calls(never, (X, 2.0), ()),
]


# ---- left to CPython ------------------------------------------------------------------------------


def caused(x):
    y = np.sin(x) * 2.0
    if np.sum(y) < 0:
        raise ValueError("negative") from KeyError("cause")
    return np.sum(y * y)


def of_a_class_that_depends_on_data(x):
    y = np.sin(x) * 2.0
    if np.sum(y) < 0:
        errors = {True: ValueError, False: KeyError}
        raise errors[bool(y[0] < 0)]("negative")
    return np.sum(y * y)


def message_of_a_selection(x):
    y = np.sin(x) * 2.0
    if np.any(y < 0):
        raise ValueError(f"negative: {y[y < 0]}")
    return np.sum(y * y)


def in_a_try(x):
    y = np.sin(x) * 2.0
    try:
        if np.sum(y) < 0:
            raise ValueError("negative")
    except ValueError as error:
        y = y + len(str(error))
    return np.sum(y * y)


CUT = [caused, of_a_class_that_depends_on_data, message_of_a_selection, in_a_try]
