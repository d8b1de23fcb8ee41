"""Tapes of loops of unknown length, which are lists until they are compiled: laws, values, ends."""

from __future__ import annotations

import numpy as np
import pytest
from laws_helpers import check_l1, check_l2_l3_in_two_steps

import untraced
from untraced.translator.derive import reverse, trips
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import walk
from untraced.translator.ops.core import TAPE_AVAL
from untraced.translator.passes.simplify import simplify
from untraced.translator.passes.tapes import tapes
from untraced.translator.pipeline import translate
from untraced.translator.printing.printer import print_function
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract
from untraced.translator.tree import flatten
from untraced.translator.verify import verify

RNG = np.random.default_rng(0)
X = RNG.uniform(0.3, 1.0, 5)


def root(x):
    y = 1.0
    while abs(y * y - x) > 1e-12:
        y = 0.5 * (y + x / y)
    return y


def changed_in_place(u, k):
    v = u.copy()
    change = 1.0
    while change > 1e-3:
        old = v.copy()
        v[1:-1] = v[1:-1] + k * (v[2:] - 2 * v[1:-1] + v[:-2]) * v[1:-1]
        v[0] = v[1]
        v[-1] = 0.0
        change = np.sum((v - old) ** 2)
    return np.sum(v * v)


def changed_after_it_is_kept(x):
    y = x * 1.0
    while np.max(y) > 0.1:
        z = np.sin(y)
        y[0] = y[0] * 0.5
        y = y * z
    return np.sum(y**2)


def two_values(x, w):
    a, b = x, np.zeros_like(x)
    while np.max(a) > 0.1:
        b = np.tanh(w @ b + a)
        a = a * 0.8 * np.cos(b)
    return np.sum(b * a)


def inner_loop(x):
    s = 0.0
    for i in range(3):
        y = x + i
        while np.sum(y * y) > 1e-3:
            y = y * np.cos(y) * 0.5
        s = s + np.sum(y)
    return s


def loop_in_a_loop(x):
    y = x
    while np.max(y) > 0.2:
        z = y
        while np.max(z) > 0.1:
            z = z * 0.7 * np.cos(z)
        y = y * 0.8 + 0.01 * z
    return np.sum(y**2)


def in_a_branch(x):
    y = x
    if np.sum(x) > 0:
        while np.max(y) > 0.2:
            if y[0] > 0.5:
                y = y * 0.5
            else:
                y = np.sin(y) * 0.9
    return np.sum(y**2)


def upwards(x, m):
    y = x
    for i in range(2, int(np.max(m)), 3):
        y = np.sin(y) * i
    return np.sum(y)


def downwards(x, m):
    y = x
    for i in range(int(m[0]), -1, -2):
        y = np.sin(y) * i + y[i]
    return np.sum(y)


def turned_round(x, m):
    y = x
    for i in reversed(range(1, int(m[0]), 2)):
        y = np.sin(y) * i + y[i]
    return np.sum(y)


def with_break(x):
    s, y = 0.0, x
    while True:
        y = np.sin(y)
        if np.sum(y) < 0.9:
            break
        s = s + np.sum(y * y)
    return s


def never(x):
    y = x
    while np.sum(y) > 1e3:
        y = np.sin(y)
    return np.sum(y)


def _cubes(a, i):
    return a * a * a * (1 + i)


def _upwards(x, m):
    a, s = x, 0.0
    for i in range(2, int(m[0]), 3):
        s, a = s + _cubes(a, i), a * 0.5
    return s


def _downwards(x, m):
    a, s = x, 0.0
    for i in range(int(m[0]), -1, -2):
        s, a = s + _cubes(a, i), a * 0.5
    return s


def _while(x, m):
    a, s, i = x, 0.0, 0
    while i < m[0] * 1.5:
        s, a, i = s + _cubes(a, i), a * 0.5, i + 1
    return s


CASES = [
    (root, (2.0,)),
    (changed_in_place, (X, 0.2)),
    (changed_after_it_is_kept, (X,)),
    (two_values, (X, RNG.normal(size=(5, 5)) * 0.3)),
    (inner_loop, (X[:2],)),
    (loop_in_a_loop, (X,)),
    (in_a_branch, (X,)),
    (upwards, (X[:2], np.array([3, 11]))),
    (downwards, (X, np.array([4]))),
    (turned_round, (X, np.array([5]))),
    (with_break, (X,)),
    (never, (X,)),
    (_upwards, (1.3, np.array([11]))),
    (_while, (1.3, np.array([11]))),
]


@pytest.mark.parametrize(("fun", "args"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_laws_and_values(fun, args):
    """Lists obey the laws, and give to the bit what windows of fixed length do."""
    gradient = untraced.grad(fun)
    translation = translate(gradient, abstract(fun, args, {}), target="numpy")
    assert ".append(" in print_function(translation.source)
    leaves = [x for i, x in enumerate(flatten(args)[0]) if i not in translation.statics]
    check_l1(translation.source, args, leaves)
    check_l2_l3_in_two_steps(translation.source, args)
    reading = read(fun, abstract(fun, args, {}))
    leaves = [x for i, x in enumerate(flatten(args)[0]) if i not in reading.statics]
    (want,) = evaluate(reverse.grad(reading.function, [0]), leaves)
    np.testing.assert_allclose(gradient(*args), want, rtol=1e-13)


@pytest.mark.parametrize(("fun", "args"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_derivatives_of_derivatives_keep_lists_until_they_are_compiled(fun, args, monkeypatch):
    """They obey the laws, and windows of any length give what lists do, in loops that go back and forth over them."""
    reading = read(fun, abstract(fun, args, {}))
    leaves = [x for i, x in enumerate(flatten(args)[0]) if i not in reading.statics]
    first = simplify(reverse.grad(reading.function, [0]))
    ct = np.ones_like(args[0]) if np.ndim(args[0]) else np.float64(1.0)
    with_lists = simplify(reverse.vjp(first, [0]))
    check_l1(with_lists, (*args, ct), (*leaves, ct))
    check_l2_l3_in_two_steps(with_lists, (*args, ct))
    want = evaluate(with_lists, (*leaves, ct))
    for size in (1024, 2):
        monkeypatch.setattr(trips, "WINDOW", size)
        compiled = tapes(with_lists)
        verify(compiled)
        assert not any(t.aval == TAPE_AVAL for s in walk(compiled.body) for t in s.targets)
        np.testing.assert_allclose(evaluate(compiled, (*leaves, ct))[0], want[0], rtol=1e-10, atol=1e-13)
    check_l1(simplify(compiled), (*args, ct), (*leaves, ct))


def test_compiled_and_batched_gradients_print_lists():
    gradient = untraced.grad(two_values)
    w = CASES[3][1][1]
    compiled = untraced.accelerate(gradient)
    assert ".append(" in compiled.source(X, w)
    assert "np.empty((1024, 5))" in compiled.inspect(X, w).stages["tapes"]
    np.testing.assert_allclose(compiled(X, w), gradient(X, w), rtol=1e-12)
    xs = np.stack([X, X * 0.7])
    for lanes in ("lockstep", "loop"):
        batched = untraced.accelerate(untraced.vmap(gradient, in_axes=(0, None), lanes=lanes))
        assert ".append(" in batched.source(xs, w)
        np.testing.assert_allclose(batched(xs, w), [gradient(x, w) for x in xs], rtol=1e-12)
    second = untraced.hessian(two_values)(X, w)
    np.testing.assert_allclose(second, second.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(second, untraced.jacrev(gradient)(X, w), rtol=1e-9, atol=1e-12)

    def of_all(xs):
        return np.sum(untraced.vmap(gradient, in_axes=(0, None))(xs, w))

    each = [np.sum(untraced.hessian(two_values)(x, w), axis=0) for x in xs]
    np.testing.assert_allclose(untraced.accelerate(untraced.grad(of_all))(xs), each, rtol=1e-9, atol=1e-12)


def test_the_second_derivative_is_as_long_as_a_person_would_write_it():
    second = untraced.accelerate(untraced.grad(untraced.grad(root)))
    assert len(second.source(2.0).splitlines()) < 45
    np.testing.assert_allclose(second(2.0), -0.25 * 2.0**-1.5, rtol=1e-9)
    third = untraced.accelerate(untraced.grad(untraced.grad(untraced.grad(root))))
    np.testing.assert_allclose(third(2.0), 0.375 * 2.0**-2.5, rtol=1e-8)


def test_lists_of_several_loops_have_windows_of_their_own():
    def two_loops(x):
        y = x
        while y > 0.5:
            y = y * np.cos(0.3 * y)
        z = np.array([y, 1.0]) * x
        while np.sum(z) > 0.1:
            z = np.sin(z) * 0.9
        return np.sum(z) * y

    def numeric(f, x, h):
        return (f(x + h) - f(x - h)) / (2 * h)

    gradient = untraced.accelerate(untraced.grad(two_loops))
    np.testing.assert_allclose(gradient(2.0), numeric(two_loops, 2.0, 1e-6), rtol=1e-7)
    second = untraced.accelerate(untraced.grad(untraced.grad(two_loops)))
    np.testing.assert_allclose(second(2.0), numeric(gradient, 2.0, 1e-6), rtol=1e-6)


@pytest.mark.parametrize("window", [1024, 3])
def test_a_loop_may_store_at_the_places_of_a_list_and_read_none(window, monkeypatch):
    """Its backward loop keeps its own cotangent for the second derivative, which the entries do not decide."""

    def taken_off_again(x):
        kept = []
        y = x
        while y < 40.0:
            kept.append(y)
            y = y * 1.5 + 0.1
        s = 0.0
        while kept:
            s = s * 0.7 + kept.pop() ** 2
        return s

    monkeypatch.setattr(trips, "WINDOW", window)
    second = untraced.grad(untraced.grad(taken_off_again))
    h = 1e-3  # of a polynomial of degree 2
    numeric = (taken_off_again(2.3 + h) - 2 * taken_off_again(2.3) + taken_off_again(2.3 - h)) / h**2
    np.testing.assert_allclose(second(2.3), numeric, rtol=1e-6)
    np.testing.assert_allclose(untraced.accelerate(second)(2.3), numeric, rtol=1e-6)


@pytest.mark.parametrize("fun", [_upwards, _downwards, _while])
def test_a_loop_that_needs_nothing_of_its_own_goes_over_the_places_of_its_list(fun):
    """a = 0.5 a keeps nothing: its backward loop reads, and then makes, entries of lists that others make."""
    m, derivative, x = np.array([11]), fun, 1.3
    for want in (3 * x**2, 6 * x, 6.0):
        derivative = untraced.grad(derivative)
        want *= fun(1.0, m)
        np.testing.assert_allclose(untraced.accelerate(derivative)(x, m), want, rtol=1e-12)
        batched = untraced.accelerate(untraced.vmap(derivative, in_axes=(0, None)), target="numpy")
        np.testing.assert_allclose(batched(np.array([x]), m), [want], rtol=1e-12)


def test_arrays_on_a_list_stay_what_they_are():
    assert "y_tape.append(y.copy())" in untraced.grad(changed_after_it_is_kept).source(X)


def test_a_list_of_the_users_own_is_cpythons_or_rows_of_an_array():
    def own(x):
        kept = []
        y = x
        while y > 0.1:
            kept.append(y)
            y = y * 0.5
        return sum(kept)

    assert untraced.accelerate(own, target="numpy")(1.0) == own(1.0)
    assert untraced.grad(own)(1.0) == sum(0.5**k for k in range(4))
