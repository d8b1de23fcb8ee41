"""Derivatives of batches in lockstep: what lanes would come to in branches and loops that they do not take is not felt.

Each program is one that a lane outside the branch would run to infinity, or to a matrix that is singular.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from test_random_programs import CAREFUL, block, compiled

from untraced import accelerate, grad, jvp, vmap


def turns_of_all(x):
    y = x
    if x < 1.0:
        for _ in range(12):
            y = y * y * 1.1
    return y


def sums(x):
    s = 0.0
    if x < 1.0:
        y = x
        for _ in range(12):
            y = y * y * 1.3
            s = s + np.sin(y)
        s = s * 2
    else:
        s = x * 3
    return s


def counted(x):
    y, n = x, 0
    if x < 1.0:
        while n < 12:
            y = y * y * 1.2
            n += 1
    return y


def stored(x):
    a = np.zeros(12)
    if x < 1.0:
        a[0] = x
        for i in range(11):
            a[i + 1] = a[i] * a[i] * 1.5
    return np.sum(a * a) + x


def inner_turns(x):
    """The loop around differs between lanes, too."""
    y, n = x, 0
    while n < 3 and y < 1.0:
        v = np.array([np.exp(y * y * 700.0), y])
        y = v @ np.array([1e-300, 0.5]) + 0.1
        for _ in range(3):
            y = y * y * 2.0
        n += 1
    return y * x


def product(x):
    if x < 1.0:
        return np.array([np.exp(x), 1.0]) @ np.array([x, np.exp(x * 2)])
    return x


def determinant(x):
    if x < 1.0:
        a = np.array([[x - 2.0, 0.0], [0.0, x - 2.0]])
        return np.linalg.slogdet(a)[1] + np.sum(np.linalg.inv(a))
    return x


def trips_of_a_loop(x):
    out = np.zeros(4)
    for i in range(4):
        if x * i < 1.0:
            y = x * i
            for _ in range(12):
                y = y * y * 1.1
            out[i] = y
        else:
            out[i] = x
    return np.sum(out)


PROGRAMS = [turns_of_all, sums, counted, stored, inner_turns, product, determinant, trips_of_a_loop]
X = np.array([0.3, 0.7, 2.0, 1e5, 0.5])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_lanes_do_not_take(f):
    total = lambda x: np.sum(vmap(f, lanes="lockstep")(x))
    slopes = lambda x: np.sum(vmap(grad(f), lanes="lockstep")(x))
    first, second = ([np.array(g(x)) for x in X] for g in (grad(f), grad(grad(f))))
    assert np.all(np.isfinite(first)) and np.all(np.isfinite(second))
    for target in ("numpy", "cpu"):
        np.testing.assert_allclose(accelerate(grad(total), target=target)(X), first, rtol=1e-12)
    np.testing.assert_allclose(grad(slopes)(X), second, rtol=1e-12)
    np.testing.assert_allclose(jvp(grad(total), (X,), (np.ones(5),))[1], second, rtol=1e-12)
    away = X + 5.0  # nobody takes the branch
    np.testing.assert_allclose(grad(total)(away), [grad(f)(x) for x in away], rtol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(CAREFUL, max_examples=12)
@given(block([], 2, 3))
def test_random_branches(lines):
    """A random program under a branch, of which lanes that do not take it would make infinities."""
    grown = ["if c < 1.0:", "    for _ in range(9):", "        s = s * s * 3.0", "    x = x * s"]
    program = compiled([*grown, *(f"    {line}" for line in lines)])
    x, a, c = np.linspace(-1, 1, 4), np.linspace(0.9, -0.7, 16).reshape(4, 4), np.array([0.4, 1e9, 0.1, 3e8])

    def one(x, c):
        u, b, s = program(x, a, c)
        return np.sum(u) + 0.3 * np.sum(b) + s

    found = grad(lambda x, c: np.sum(vmap(one, (None, 0), lanes="lockstep")(x, c)), (0, 1))(x, c)
    rows = [grad(one, (0, 1))(x, k) for k in c]
    want = [np.sum([row[0] for row in rows], 0), np.array([row[1] for row in rows])]
    for got, w in zip(found, want, strict=True):
        np.testing.assert_allclose(got, w, rtol=1e-9, atol=1e-11)
