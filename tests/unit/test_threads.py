"""Calls from several threads: first calls at once, others that forget programs, globals that change meanwhile."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, device_put, grad, vmap

SCALE = 2.0


def helper(x: Any, k: Any) -> Any:
    return np.sin(x) * k


def whole(x: Any) -> Any:
    return np.sum(helper(x, SCALE))


def in_turns(x: Any) -> Any:
    y = x.copy()
    for i in range(1, x.size):
        y[i] = y[i - 1] * 0.5 + x[i]
    return y


def cut(x: Any) -> Any:
    return np.unique(np.round(x, 1)) + np.sum(x)


def writing(x: Any) -> Any:
    x[0] = 5.0
    return helper(x, 1.0)


def by_power(x: Any, n: int = 3) -> Any:
    return np.cumsum(x) ** n


class Layer:
    def __init__(self, k: float) -> None:
        self.k = k

    @accelerate
    def __call__(self, x: Any) -> Any:
        return helper(x, self.k) - 1.0


@pytest.fixture(autouse=True)
def threads_change_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(2e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(count: int, run: Callable[[int], None]) -> None:
    """All begin at once; the first error of any is raised."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def guarded(k: int) -> None:
        barrier.wait()
        try:
            run(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def test_first_calls_at_once() -> None:
    plain = (whole, in_turns, cut, writing, by_power)
    functions = [(f, accelerate(f, target="cpu")) for f in plain]
    slope, batch = accelerate(grad(whole), target="cpu"), accelerate(vmap(in_turns), target="cpu")

    def run(k: int) -> None:
        draw = random.Random(k)
        for _ in range(3):
            x = np.linspace(0.0, draw.random(), 3)
            f, fast = draw.choice(functions)
            ours, theirs = x.copy(), x.copy()
            np.testing.assert_allclose(fast(ours), f(theirs), rtol=1e-12)
            np.testing.assert_array_equal(ours, theirs)
            np.testing.assert_allclose(np.asarray(functions[0][1](device_put(x))), whole(x), rtol=1e-12)
            np.testing.assert_allclose(slope(x), np.cos(x) * SCALE, rtol=1e-12)
            np.testing.assert_allclose(batch(np.stack([x, -x]))[1], in_turns(-x), rtol=1e-12)
            np.testing.assert_allclose(Layer(SCALE)(x), helper(x, SCALE) - 1.0, rtol=1e-12)

    in_threads(4, run)


def test_programs_are_forgotten_while_others_call() -> None:
    fast, x = accelerate(whole, target="cpu"), np.ones(3)
    on_device = device_put(x)

    def run(k: int) -> None:
        for _ in range(8):
            if k:
                assert np.isclose(float(fast(on_device)), whole(x)) and np.isclose(fast(x), whole(x))
            else:
                fast.clear_cache()

    in_threads(4, run)


def test_a_global_that_a_thread_changes_is_the_old_or_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, x = accelerate(whole, target="cpu"), np.ones(3)
    possible = [float(np.sum(helper(x, k))) for k in (2.0, 3.0)]

    def run(k: int) -> None:
        for i in range(10):
            if k:
                assert min(abs(float(fast(x)) - p) for p in possible) < 1e-12
            else:
                monkeypatch.setitem(globals(), "SCALE", 2.0 + i % 2)

    in_threads(4, run)
    assert np.isclose(fast(x), whole(x))


def test_draws_in_loops_belong_to_their_call() -> None:
    """Two threads call one derivative, each with a generator of its own."""

    def loss(w: Any, rng: Any) -> Any:
        s = 0.0
        for _ in range(3):
            s = s + w * rng.normal()
            s = s + w * rng.uniform()
        return s

    slope = grad(loss)
    want = [slope(2.0, np.random.default_rng(k)) for k in (0, 1)]
    wrong: list[int] = []

    def call(k: int) -> None:
        wrong.extend(k for _ in range(150) if slope(2.0, np.random.default_rng(k)) != want[k])

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=call, args=(k,)) for k in (0, 1)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    assert wrong == []
