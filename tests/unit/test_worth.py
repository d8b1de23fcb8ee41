"""When a region of a cut function is compiled, on a clock that only the calls move."""

from __future__ import annotations

import ast
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate
from untraced.runtime.calls import regions, worth
from untraced.runtime.calls.accelerated import Accelerated
from untraced.runtime.calls.arguments import open_arguments
from untraced.runtime.calls.worth import PLAINLY, SHORT_CALL, Ledger, size_of


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def taking(self, seconds: float) -> Callable[[], None]:
        def run() -> None:
            self.now += seconds

        return run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(worth, "perf_counter", lambda: clock.now)
    return clock


def test_what_is_plainly_worth_it_is_compiled_at_once_but_not_for_ever(clock: Clock) -> None:
    ledger = Ledger(10, 2)
    assert not ledger.allows(PLAINLY // 10 - 1)
    for _ in range(2):
        assert ledger.allows(PLAINLY // 10)
        ledger.translate(5, clock.taking(0.25))
    assert not ledger.allows(PLAINLY)


def test_a_translation_is_saved_up(clock: Clock) -> None:
    ledger = Ledger(1, 2)
    calls = 0
    while not ledger.allows(5):
        ledger.run(5, clock.taking(0.03), (), {})
        calls += 1
    assert calls == 4  # 0.1 s, what a translation is taken to cost
    ledger.translate(5, clock.taking(0.5))
    while not ledger.allows(5):
        ledger.run(5, clock.taking(0.03), (), {})
        calls += 1
    assert calls == 4 + 17  # 0.5 s, what the last one did cost


def test_calls_of_other_sizes_pay_for_nothing(clock: Clock) -> None:
    """As of an array that shrinks in every turn: each size would be translated for one turn of a call."""
    ledger = Ledger(1, 0)
    for _ in range(3):
        for size in range(80):
            assert not ledger.allows(size)
            ledger.run(size, clock.taking(0.03), (), {})
    ledger.run(5, clock.taking(0.03), (), {})
    assert ledger.allows(5) and not ledger.allows(6)


@pytest.mark.parametrize(("seconds", "slower"), [(0.02, False), (0.04, True)])
def test_what_is_slower_goes_back_to_numpy(clock: Clock, seconds: float, slower: bool) -> None:
    ledger = Ledger(1, 2)
    while not ledger.allows(5):
        ledger.run(5, clock.taking(0.03), (), {})
    ledger.translate(5, clock.taking(0.01))
    assert not ledger.on_trial(6)  # of which NumPy's time is not known
    calls = 0
    while ledger.on_trial(5):
        assert not ledger.is_slower(5)
        ledger.try_out(5, clock.taking(seconds))
        calls += 1
    assert calls == 10 and ledger.is_slower(5) is slower
    ledger.run(5, clock.taking(1.0), (), {})
    assert ledger.allows(5) is not slower


def test_what_was_compiled_at_once_is_compared_too(clock: Clock) -> None:
    ledger = Ledger(10, 2, math.inf)
    ledger.translate(5, clock.taking(0.25))
    while ledger.asks_numpy(5):
        ledger.run(5, clock.taking(0.03), (), {})
    assert clock.now == pytest.approx(0.25 + 2 * 0.03) and ledger.on_trial(5)
    assert not Ledger(10, 2).asks_numpy(5)


@pytest.mark.parametrize(("seconds", "asked"), [(SHORT_CALL / 2, 2), (SHORT_CALL * 2, 0)])
def test_loops_of_python_are_asked_for_where_they_cannot_be_long(clock: Clock, seconds: float, asked: int) -> None:
    ledger = Ledger(1000, 2, SHORT_CALL)
    ledger.translate(5, clock.taking(0.25))
    numpy = 0
    while ledger.on_trial(5):
        if ledger.asks_numpy(5):
            ledger.run(5, clock.taking(1e-5), (), {})
            numpy += 1
        else:
            ledger.try_out(5, clock.taking(seconds))
    assert numpy == asked and ledger.is_slower(5) is bool(asked)


def test_what_takes_less_than_the_call_of_a_region_is_little(clock: Clock) -> None:
    for seconds, little in ((1e-6, True), (1e-4, False)):
        ledger = Ledger(5, 2)
        for _ in range(100):
            assert not ledger.is_little()
            ledger.run(5, clock.taking(seconds), (), {})
        assert ledger.is_little() is little and not ledger.is_little()


def test_little_regions_are_part_of_the_driver_for_small_arguments() -> None:
    def walk(x: np.ndarray, steps: int) -> tuple[float, list[tuple[int, float]]]:
        seen, place, total = [(0, 0.0)], 0, x.sum() * 0.0
        for _ in range(steps):
            place = (place + 7) % len(x)
            total = total + abs(x[place]) * 0.5
            if total > len(seen):
                seen.append((place, float(total)))
        return float(total), seen

    f = accelerate(walk, target="cpu")
    small, large = np.linspace(-1.0, 1.0, 10), np.linspace(-1.0, 1.0, 100_000)
    for x in (small, small, large, small):
        assert f(x, 300) == walk(x, 300)
    (driver,) = f._drivers.values()
    assert "_region_" in ast.unparse(driver.of_size(large.size * 2).partition.node)
    assert "place = (place + 7) % len(x)" in ast.unparse(driver.of_size(small.size).partition.node)


def test_ever_new_shapes_cost_no_more_than_numpy() -> None:
    f = accelerate(lambda x: np.sum(x * x))
    for n in range(1, 60):
        assert f(np.ones(n)) == n
    told = f.explain_recompiles()
    assert "was translated 32 times" in told and "arguments of ever new kinds" in told
    assert accelerate(f, target="numpy")(np.ones(3)) == 3.0


def test_sizes_of_other_things_count_for_nothing() -> None:
    class Image:
        size = (640, 480)

    assert size_of([np.ones((2, 3)), Image(), Image, np.float64, 2.0]) == 6 + 4


def test_where_no_call_meets_a_translation_nobody_looks_for_one(clock: Clock) -> None:
    ledger = Ledger(1, 2)
    ledger.translate(5, clock.taking(0.2))
    for _ in range(10):
        assert ledger.looks(5)
        ledger.missed()
    for calls in (4, 40):  # the second translation is the first that is known to have been in vain
        for _ in range(calls):
            assert not ledger.looks(5)
            ledger.run(5, clock.taking(0.051), (), {})
        assert ledger.looks(5)
        ledger.missed()
        ledger.translate(5, clock.taking(0.2))
    ledger.met()
    assert ledger.looks(5)


def test_a_list_that_grows_is_not_opened_at_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def grown(x: np.ndarray, n: int) -> list[np.floating]:
        out = [x.max()]
        for k in range(n):
            if np.unique(x[: k % 3]).size > 5:
                continue
            y = np.sin(x) * k + np.cos(x) * out[-1]
            out.append(y.sum())
        return out

    opened = []

    def counting(args: list, kwargs: dict) -> tuple:
        opened.append(len(args))
        return open_arguments(args, kwargs)

    monkeypatch.setattr(worth, "PLAINLY", 1)
    monkeypatch.setattr(regions, "open_arguments", counting)
    x = np.linspace(0.0, 1.0, 100)
    np.testing.assert_allclose(accelerate(grown)(x, 60), grown(x, 60), rtol=1e-9)
    assert 0 < len(opened) < 40


def test_calls_within_calls_and_their_translations_count_once(clock: Clock) -> None:
    outer, inner = Ledger(1, 0), Ledger(1, 1)

    def around() -> None:
        inner.translate(1, clock.taking(5.0))
        inner.run(1, clock.taking(3.0), (), {})
        clock.taking(0.05)()

    outer.run(1, around, (), {})
    assert not outer.allows(1), "its own 0.05 s do not pay for a translation"
    assert not inner.allows(1), "3 s do not pay for one of 5"
    inner.run(1, clock.taking(2.5), (), {})
    assert inner.allows(1)
    outer.run(1, clock.taking(0.06), (), {})
    assert outer.allows(1)


def test_calls_in_another_thread_meanwhile_count_for_both(clock: Clock) -> None:
    ledger, others = Ledger(1, 0), Ledger(1, 0)

    def beside() -> None:
        thread = threading.Thread(target=others.run, args=(1, clock.taking(0.06), (), {}))
        thread.start()
        thread.join()

    ledger.run(1, beside, (), {})
    ledger.run(1, beside, (), {})
    assert ledger.allows(1)
    assert others.allows(1)


def test_objects_of_a_class_share_what_pays(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        def __init__(self, x: float) -> None:
            self.x = x

        @accelerate(target="cpu")
        def moved(self, by: float) -> float:
            self.x += by
            return self.x

        @accelerate(target="cpu")
        def apart(self, other: Point) -> float:
            return abs(self.x - other.x)

    made = []
    specialise = Accelerated._specialise

    def translated(*given: Any) -> Any:
        made.append(given)
        clock.taking(5.0)()
        return specialise(*given)

    monkeypatch.setattr(Accelerated, "_specialise", translated)
    points = [Point(float(k)) for k in range(60)]
    assert [p.moved(1.0) for p in points] == [k + 1.0 for k in range(60)]
    assert sum(p.apart(q) for p in points[:12] for q in points[12:24]) == 12 * 12 * 12.0
    assert len(made) <= 2 * 8
