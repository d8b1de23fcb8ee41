"""The two-buffer form of a loop computes what the loop does, for every trip count and direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from untraced.tpu.loops import ping_pong as pass_
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import For, Function, walk
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract
from untraced.translator.verify import verify


@pytest.fixture(autouse=True)
def every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pass_, "SMALLEST", 1)


def program(f: Any, *arguments: Any) -> Function:
    return translate(f, abstract(f, arguments, {})).source


def carried(function: Function) -> list[int]:
    return [len(s.inits) for s in walk(function.body) if isinstance(s, For)]


def smooth(u, steps):
    u = u.copy()
    for i in range(steps):
        u[1:-1] = 0.5 * (u[2:] + u[:-2]) + i
    return u


def backwards(u, steps):
    u = u.copy()
    for i in reversed(range(1, steps, 2)):
        u[1:-1] = 0.5 * (u[2:] + u[:-2]) + i
        u[0] = u[1]
    return u


def downwards(u, steps):
    total = 0.0
    u = u.copy()
    for i in range(steps, -2, -3):
        total = total + u[1] * i
        u[1:-1] = u[2:] - 0.1 * u[:-2]
    return u, total


def two_arrays(u, steps):
    u, v = u.copy(), u * 2.0
    for _ in range(steps):
        u[1:] -= 0.5 * (v[1:] - v[:-1]) + u[:-1]
        v[:-1] -= 0.5 * (u[1:] - u[:-1]) + v[1:]
    return u, v


@pytest.mark.parametrize("f", [smooth, backwards, downwards, two_arrays])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 8])
def test_equals_the_loop(f: Any, steps: int) -> None:
    u = np.random.default_rng(0).random(9)
    before = program(f, u, steps)
    after = pass_.ping_pong(before)
    verify(after)
    assert after is not before
    assert max(carried(after)) > max(carried(before))
    for ours, expected in zip(evaluate(after, [u, steps]), evaluate(before, [u, steps]), strict=True):
        np.testing.assert_array_equal(ours, expected)


def moving_store(u, steps):
    u = u.copy()
    for i in range(steps):
        u[i] = u[0] + 1.0
    return u


def no_other_read(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = 1.0
    return u


def rebuilt(u, steps):
    for _ in range(steps):
        u = 0.5 * u
    return u


@pytest.mark.parametrize("f", [moving_store, no_other_read, rebuilt])
def test_leaves_other_loops_alone(f: Any) -> None:
    before = program(f, np.zeros(9), 5)
    assert pass_.ping_pong(before) is before


def test_an_inner_loop_is_doubled_in_place() -> None:
    def nested(u, steps):
        u = u.copy()
        for _ in range(steps):
            for _ in range(3):
                u[1:-1] = 0.5 * (u[2:] + u[:-2])
            u[0] = u[-1]
        return u

    u = np.random.default_rng(0).random(9)
    after = pass_.ping_pong(program(nested, u, 4))
    verify(after)
    np.testing.assert_array_equal(evaluate(after, [u, 4])[0], nested(u, 4))


def around_a_loop(u, steps):
    """The inner loop does far more than a copy of `v` costs: compiling the outer body three times would not pay."""
    u, v = u.copy(), u * 2.0
    for _ in range(steps):
        for _ in range(30):
            u[1:-1] = 0.5 * (u[2:] + u[:-2])
        v[1:-1] = v[2:] - u[:-2]
    return u, v


def around_little(u, steps):
    u, total = u.copy(), np.float64(0.0)
    for _ in range(steps):
        for k in range(3):
            total = total + u[k]
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
    return u, total


@pytest.mark.parametrize(("f", "inits"), [(around_a_loop, [2, 2]), (around_little, [3, 1])])
def test_loops_around_loops_are_doubled_where_a_copy_would_count(f: Any, inits: list[int]) -> None:
    u = np.random.default_rng(0).random(100)
    before = program(f, u, 4)
    after = pass_.ping_pong(before)
    verify(after)
    assert carried(after)[: len(inits)] == inits
    for ours, expected in zip(evaluate(after, [u, 4]), evaluate(before, [u, 4]), strict=True):
        np.testing.assert_array_equal(ours, expected)


def read_between(u, steps):
    u, total = u.copy(), u * 0.0
    for i in range(steps):
        u[1:-1] *= 0.5
        total = total + u
        u[2:] = u[0] + i
    return u, total


def stored_between(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[2:-2] = 0.5 * (u[3:-1] + u[1:-3])
        u[0] = u[-1] * 0.5
        u[-1] = u[3]
        u[1] = u[0]
    return u


def copied_corners(u, steps):
    u = u.reshape(4, -1).copy()
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        u[0] = u[1]
        u[-1] = u[-2]
        u[:, 0] = u[:, 1]
        u[:, -1] = u[:, -2]
    return u


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize(("f", "doubled"), [(read_between, False), (stored_between, False), (copied_corners, True)])
def test_what_is_stored_later_is_not_read_before(f: Any, doubled: bool, steps: int) -> None:
    u = np.random.default_rng(0).random(32)
    before = program(f, u, steps)
    after = pass_.ping_pong(before)
    verify(after)
    assert (after is not before) == doubled
    for ours, expected in zip(evaluate(after, [u, steps]), evaluate(before, [u, steps]), strict=True):
        np.testing.assert_array_equal(ours, expected)
