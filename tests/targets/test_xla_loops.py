"""Loops on XLA: elements are stored last, arrays are not copied in every iteration, quotients are rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from untraced import accelerate
from untraced.tpu.client import executable as client
from untraced.tpu.emit.program import emit
from untraced.tpu.loops.branch_stores import branch_stores
from untraced.tpu.loops.element_stores import element_stores, place_of
from untraced.tpu.shaping.copy_guard import copied_in_loops
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Apply, Function, Var, walk
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract
from untraced.translator.verify import verify

A = np.random.default_rng(0).random((6, 6)) + 2 * np.eye(6)
X = np.random.default_rng(1).random(6)


def program(f: Any, *arguments: Any) -> Function:
    return translate(f, abstract(f, arguments, {})).source


def divided(a):
    for i in range(6):
        for j in range(i + 1):
            a[i, j] -= a[j, i]
            a[i, j] /= a[j, j]
    return a


def swapped(a):
    for i in range(5):
        a[i, 0], a[i + 1, 0] = a[i + 1, 0], a[i, 0]
        a[i, 0] = a[i, 0] + a[0, 0] * 2
    return a


def added(a):
    total = 0.0
    for i in range(6):
        a[i, i] += 3.0
        a[0, i] = a[i, 0] + a[i, i]
        if a[0, i] > 2:
            a[i, 1] = total
            a[i, 1] = a[i, 1] + a[0, 1]
        total += a[i, 1]
    return a, total


def from_the_back(a):
    for i in range(-6, 0):
        a[i, i] = a[-i - 1, 0]
        a[0, i] = a[i, -1] + a[5, 5]
    return a


def overwritten(a):
    for i in range(6):
        a[i, 2] = 1.0
        a[i, 2] = 2.0
        a[i, 2] = a[i, 2] * a[i, 3]
    return a


@pytest.mark.parametrize("f", [divided, swapped, added, from_the_back, overwritten])
def test_element_stores_keep_the_meaning(f: Any) -> None:
    before = program(f, A)
    after = element_stores(before)
    verify(after)
    for ours, expected in zip(evaluate(after, [A]), evaluate(before, [A]), strict=True):
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("f, stores", [(divided, 1), (overwritten, 1), (swapped, 3)])
def test_elements_are_read_from_the_array_before_the_stores(f: Any, stores: int) -> None:
    statements = [s for s in walk(element_stores(program(f, A)).body) if isinstance(s, Apply)]
    stored: set[Var] = {s.targets[0] for s in statements if place_of(s, 2) is not None}
    assert len(stored) == stores
    assert not any(s.args[0] in stored for s in statements if place_of(s, 1) is not None)


def tridiagonal(a, b, c, d):
    for i in range(1, len(d)):
        w = b[i] - a[i] * c[i - 1]
        c[i] = c[i] / w
        d[i] = (d[i] - a[i] * d[i - 1]) / w


def sweep(a, b, c, d):
    best = 0.0
    for i in range(1, len(d)):
        for _ in range(2):
            a[i] = max(a[i - 1] * 0.999, b[i] - c[i - 1], 0.0)
            best = max(a[i], best)
    d[0] = best


@pytest.mark.parametrize("f", [tridiagonal, sweep])
def test_arrays_are_not_copied_in_loops(f: Any) -> None:
    arguments = [np.random.default_rng(2).random(3000) + k for k in range(4)]
    plain = [x.copy() for x in arguments]
    f(*plain)
    ours = accelerate(f, target="cpu")
    executable = client.compile(emit(program(f, *arguments)))
    ours(*arguments)
    for x, y in zip(arguments, plain, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11)
    assert copied_in_loops(executable.loaded) < 3000


QUOTIENTS = [
    lambda x, y: x / 10.0,
    lambda x, y: x / np.max(x),
    lambda x, y: x / y[:, None],
    lambda x, y: x / np.sqrt(np.max(y)),
    lambda x, y: np.floor(x / np.float64(0.1)),
    lambda x, y: x / np.array([3.0, 7.0, 8.0, 9.0, 10.0]),
]


@pytest.mark.parametrize("f", QUOTIENTS)
def test_quotients_are_rounded_once(f: Any) -> None:
    x = np.random.default_rng(3).random((400, 5)) * 100
    y = np.random.default_rng(4).random(400) + 0.5
    np.testing.assert_array_equal(accelerate(f, target="cpu")(x, y), f(x, y))


# ---- stores in branches --------------------------------------------------------------------------


def both_store(a, x):
    for k in range(a.shape[1]):
        if k == 0:
            pivot = 1 + x[:, k]
            a[:, k] = x[:, k] / pivot
        else:
            pivot = 2 + x[:, k] * a[:, k - 1]
            a[:, k] = (x[:, k] + a[:, k - 1]) / pivot
    return a


def one_stores(a, x):
    for k in range(a.shape[1]):
        if x[0, k] > 0.5:
            a[:, k] = a[:, k - 1] * x[:, k]
        else:
            a[0, 0] += 1.0
    return a


def one_stores_beyond(a, x):
    for k in range(a.shape[1]):
        if k + 1 < a.shape[1]:
            a[:, k + 1] = a[:, k] * x[:, k]
    return a


def other_places(a, x):
    for k in range(a.shape[1]):
        if x[0, k] > 0.5:
            a[:, k] = 1.0
        else:
            a[:, k - 1] = x[:, k]
            a[:, k] = a[:, k - 1] + 1.0
    return a


IN_BRANCHES = [both_store, one_stores, one_stores_beyond, other_places]


@pytest.mark.parametrize("f", IN_BRANCHES, ids=lambda f: f.__name__)
def test_stores_in_branches_keep_the_meaning(f: Any) -> None:
    a, x = np.random.default_rng(2).random((2, 5, 8))
    expected = f(a.copy(), x)
    np.testing.assert_allclose(accelerate(f, target="cpu")(a.copy(), x), expected, rtol=1e-12)
    after = branch_stores(program(f, a, x))
    verify(after)
    np.testing.assert_allclose(evaluate(after, [a, x])[0], expected, rtol=1e-12)


@pytest.mark.parametrize("f", [both_store, one_stores], ids=lambda f: f.__name__)
def test_arrays_do_not_go_through_branches_that_store(f: Any) -> None:
    function = translate(f, abstract(f, (np.ones((300, 200)),) * 2, {})).function
    executable = client.compile(emit(function))
    assert copied_in_loops(executable.loaded) < 3000


def stores_outside(a, places):
    total = 0.0
    for i in range(5):
        total = total + a[i, 0]
        a[i, places[i]] = 0.0
    return total


def test_stores_that_nobody_reads_raise_all_the_same() -> None:
    def summed(a, places):
        return stores_outside(a.copy(), places)

    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 1 with size 5"):
        accelerate(summed, target="cpu")(np.ones((6, 5)), np.array([0, 1, 2, 3, 9]))
