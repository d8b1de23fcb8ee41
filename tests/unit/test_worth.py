"""When a region of a cut function is compiled, on a clock that only the calls move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from untraced import accelerate
from untraced.runtime import worth
from untraced.runtime.worth import PLAINLY, Ledger, size_of


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
        ledger.translate(clock.taking(0.25))
    assert not ledger.allows(PLAINLY)


def test_a_translation_is_saved_up(clock: Clock) -> None:
    ledger = Ledger(1, 2)
    calls = 0
    while not ledger.allows(5):
        ledger.run(5, clock.taking(0.03), (), {})
        calls += 1
    assert calls == 4  # 0.1 s, what a translation is taken to cost
    ledger.translate(clock.taking(0.5))
    while not ledger.allows(5):
        ledger.run(5, clock.taking(0.03), (), {})
        calls += 1
    assert calls == 4 + 17  # 0.5 s, what the last one did cost


@pytest.mark.parametrize(("seconds", "slower"), [(0.02, False), (0.04, True)])
def test_what_is_slower_goes_back_to_numpy(clock: Clock, seconds: float, slower: bool) -> None:
    ledger = Ledger(1, 2)
    while not ledger.allows(5):
        ledger.run(5, clock.taking(0.03), (), {})
    ledger.translate(clock.taking(0.01))
    assert not ledger.on_trial(6)  # of which NumPy's time is not known
    calls = 0
    while ledger.on_trial(5):
        assert not ledger.is_slower(5)
        ledger.try_out(5, clock.taking(seconds))
        calls += 1
    assert calls == 10 and ledger.is_slower(5) is slower
    ledger.run(5, clock.taking(1.0), (), {})
    assert ledger.allows(5) is not slower


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
