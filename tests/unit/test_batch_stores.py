"""Stores and counters where the elements of a batch go different ways: each lane has what its own Python loop gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, tree, vmap

X = np.random.default_rng(5).standard_normal((6, 5))
COUNTS = np.array([0, 3, 5, 1, 2, 4])
PLACES = np.array([0, 4, -1, 2, 2, 1])


def one_side(x: Any, n: Any) -> Any:
    y = np.zeros(5)
    for i in range(5):
        if x[i] > 0:
            y[i] = x[i]
            y[0] += 1.0
    return y


def both_sides(x: Any, n: Any) -> Any:
    y = x * 2
    z = x + 1
    if x[0] > 0:
        y[1] = 7.0
        y[2] = y[1] + y[0]
        z = z * y[2]
    else:
        y[3] = y[0] - 1
        z[1:3] = y[2:4]
    return y, z


def of_one_for_all(x: Any, n: Any) -> Any:
    y = np.arange(5.0)
    if n > 2:
        y[n - 1] = x[0]
    return y


def branch_in_branch(x: Any, n: Any) -> Any:
    y = np.ones(5)
    if x[0] > 0:
        y[0] = 2.0
        if x[1] > 0:
            y[1] = y[0] + x[1]
        else:
            y[1:] *= 3.0
    return y


def loop_in_branch(x: Any, n: Any) -> Any:
    y, s = x.copy(), 0.0
    if x[0] > 0:
        for i in range(n):
            y[i] = s
            s += x[i]
        k = 0
        while y[k] < 0.5 and k < 4:
            k += 1
            y[k] -= 1.0
    return y, s


def own_turns(x: Any, n: Any) -> Any:
    y, i = np.zeros(5), 0
    while i < n and x[i] < 1:
        y[i] = x[i] ** 2
        i += 1
    return y


def counter_read_later(x: Any, n: Any) -> Any:
    i = 0
    while i < n and x[i] < 0.5:
        i += 1
    return i


def left_early(x: Any, n: Any) -> Any:
    found = -1
    for i in range(5):
        if x[i] > 0.3:
            found = i * 2
            break
    return found


def at_its_place(x: Any, n: Any) -> Any:
    y = np.zeros(5, np.float32)
    if x[1] < 0:
        y[n] = x[1]
    return y


def loops_in_loops(x: Any, n: Any) -> Any:
    y = x.copy()
    for i in range(1, n):
        j = i
        while j > 0 and y[j - 1] > y[j]:
            y[j - 1], y[j] = y[j], y[j - 1]
            j -= 1
    return y


def whole_rows(x: Any, n: Any) -> Any:
    y = np.zeros((3, 5))
    for i in range(3):
        if x[i] > 0:
            y[i] = x
            y[:, i] -= 1.0
    return y


def own_range_in_own_range(x: Any, n: Any) -> Any:
    y, s = x.copy(), 1.0
    for i in range(n):
        for j in range(5 - n):
            s = np.tanh(s + y[j])
            y[:-1] += s
    return y, s


PROGRAMS = [
    own_range_in_own_range,
    one_side,
    both_sides,
    of_one_for_all,
    branch_in_branch,
    loop_in_branch,
    own_turns,
    counter_read_later,
    left_early,
    at_its_place,
    loops_in_loops,
    whole_rows,
]


def one_by_one(f: Callable[..., Any], n: Any) -> list[Any]:
    rows = [tree.leaves(f(x.copy(), k)) for x, k in zip(X, n, strict=True)]
    return [np.stack([np.asarray(a) for a in leaf]) for leaf in zip(*rows, strict=True)]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("lanes", ["lockstep", "loop"])
def test_each_element_stores_its_own(f: Callable[..., Any], lanes: str) -> None:
    n = PLACES if f is at_its_place else COUNTS
    many = vmap(f, lanes=lanes)
    for g in (many, accelerate(many, target="cpu")):
        for got, want in zip(tree.leaves(g(X, n)), one_by_one(f, n), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-14)


@pytest.mark.parametrize("f", [one_side, both_sides, branch_in_branch, loop_in_branch, own_turns, whole_rows])
def test_derivatives_of_what_each_stores(f: Callable[..., Any]) -> None:
    def total(x: Any, n: Any) -> Any:
        return sum(np.sum(np.sin(leaf)) for leaf in tree.leaves(f(x, n)))

    def of_all(x: Any) -> Any:
        return np.sum(vmap(total, lanes="lockstep")(x, COUNTS))

    want = np.stack([grad(total)(x.copy(), n) for x, n in zip(X, COUNTS, strict=True)])
    np.testing.assert_allclose(grad(of_all)(X), want, rtol=1e-12)
    np.testing.assert_allclose(vmap(grad(total), lanes="lockstep")(X, COUNTS), want, rtol=1e-12)


def test_no_array_is_copied_or_chosen_for_a_store() -> None:
    """A lane's sort stores two elements a turn; choosing between arrays would make it quadratic in their length."""
    source = vmap(loops_in_loops, lanes="lockstep").source(X, COUNTS)
    turns = source[source.index("while") :]
    assert "y = " not in turns and "[:, None]" not in turns, source


def test_a_counter_that_all_share_is_a_number() -> None:
    source = vmap(left_early, lanes="lockstep").source(X, COUNTS)
    assert "i = 0" in source and "x[:, i]" in source and "np.arange" not in source


def test_what_is_not_added_leaves_zeros_their_sign() -> None:
    def added(x: Any, i: Any, c: Any) -> Any:
        if c > 0:
            x[i] += 1.0
        return x

    x, places, c = np.full((2, 3), -0.0), np.array([1, 1]), np.array([1.0, -1.0])
    for g in (vmap(added), accelerate(vmap(added), target="cpu")):
        got = np.asarray(g(x.copy(), places, c))
        np.testing.assert_array_equal(np.signbit(got), [[True, False, True], [True] * 3])


def test_indices_that_an_element_never_comes_to_are_not_looked_up() -> None:
    def written(x: Any, n: Any) -> Any:
        if n < 3:
            x[n] = 1.0
        return x

    with pytest.raises(IndexError):
        vmap(written)(np.zeros((2, 3)), np.array([1, -9]))
    got = vmap(written)(np.zeros((2, 3)), np.array([1, 50]))
    np.testing.assert_array_equal(got, [[0, 1, 0], [0, 0, 0]])


def test_places_that_lanes_hand_on_store_their_own() -> None:
    """Enough lanes for `tpu/loops/refill`: each fills an array of its own until it is done."""

    def filled(x: Any) -> Any:
        y, k, s = np.zeros(3), 0, 0.0
        while s < x:
            s += 0.01
            k += 1
            if k % 2 == 0:
                y[0] = s
            y[1] += 1.0
        return y, s

    x = np.random.default_rng(1).uniform(0, 3, 2000)
    rows = [filled(a) for a in x]
    want = np.stack([y for y, _ in rows]), np.stack([s for _, s in rows])
    for got, w in zip(accelerate(vmap(filled), target="cpu")(x), want, strict=True):
        np.testing.assert_allclose(got, w, rtol=1e-12)


def test_zeros_of_both_signs_fill_no_array():
    def f(x):
        c = np.array([0.0, -0.0])
        for i in range(2):
            if x > i:
                c = c * 2.0
        return np.copysign(x, c)

    np.testing.assert_array_equal(vmap(f)(np.ones(4)), [[1.0, -1.0]] * 4)
