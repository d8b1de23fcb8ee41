"""Loops that draw from the generators of NumPy and Python: the very numbers, and the very states behind them."""

from __future__ import annotations

import copy
import random
import threading
from collections.abc import Callable
from typing import Any

import drawing_programs as programs
import numpy as np
import pytest

from untraced import Array, accelerate, device_put, grad, vmap
from untraced.runtime.targets.programs import randomness

NATIVE = randomness.loops_draw()
pytestmark = [
    pytest.mark.skipif(not NATIVE, reason="loops draw where a C++ compiler and NumPy's library are"),
    pytest.mark.filterwarnings("error"),  # no call is handed to CPython with a warning
]

Fun = Callable[..., Any]


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def spins() -> Any:
    return np.where(generator(0).random((16, 16)) < 0.5, 1, -1)


PROGRAMS: list[tuple[Fun, Callable[[], tuple[Any, ...]]]] = [
    (programs.area_of_circle, lambda: (5_000, generator())),
    (programs.walk, lambda: (500, generator())),
    (programs.walk_on_lattice, lambda: (500, generator())),
    (programs.ising, lambda: (spins(), 0.4, 5_000, generator())),
    (programs.ising_of_old, lambda: (spins(), 0.4, 5_000)),
    (programs.metropolis, lambda: (500, 0.7, generator())),
    (programs.annealing, lambda: (500, generator())),
    (programs.percolates, lambda: (20, 0.6, generator())),
    (programs.gibbs, lambda: (20, 10, generator())),
    (programs.first_passage, lambda: (20.0, generator())),
    (programs.waits, lambda: (0.99, generator())),
    (programs.leaves_early, lambda: (5_000, generator())),
    (programs.short_circuits, lambda: (500, generator())),
    (programs.around_loops, lambda: (500, generator())),
    (programs.vectors, lambda: (50, generator())),
    (programs.vectors_of_old, lambda: (50, 5)),
    (programs.in_products, lambda: (3, generator())),
    (programs.of_old, lambda: (1_001,)),
    (programs.of_python, lambda: (1_001,)),
    (programs.of_a_global, lambda: (500,)),
    (programs.of_many_kinds, lambda: (200, generator())),
    (programs.of_many_kinds, lambda: (200, np.random.Generator(np.random.MT19937(3)))),
    (programs.with_names_of_c, lambda: (0.5, 300, generator())),
    (programs.refused, lambda: (100, generator())),
    (programs.out_of_range, lambda: (np.zeros(20), generator())),
    (programs.raises, lambda: (100, generator())),
    (programs.of_two, lambda: (500, generator(1), generator(2))),
    (programs.twice, lambda: (500, generator())),
    (programs.simulated, lambda: (programs.Simulation(3), 500)),
]


def state_of(x: Any) -> Any:
    """What a generator will draw; other things are as they are."""
    if isinstance(x, np.random.Generator):
        return repr(x.bit_generator.state)
    if isinstance(x, np.random.RandomState):
        return repr(x.get_state(legacy=False))
    if isinstance(x, random.Random):
        return x.getstate()
    if isinstance(x, programs.Simulation):
        return state_of(x.rng)
    if isinstance(x, tuple):
        return tuple(map(state_of, x))
    return (x.dtype, x.tolist()) if isinstance(x, np.ndarray) else (type(x), x)


def outside() -> Any:
    return state_of((np.random.mtrand._rand, random._inst, programs.RNG))


def start() -> None:
    np.random.seed(12)
    random.seed(11)
    programs.RNG.bit_generator.state = generator(7).bit_generator.state


def tried(fun: Fun, args: tuple[Any, ...]) -> Any:
    try:
        return state_of(fun(*args))
    except (ValueError, IndexError) as error:
        return type(error), str(error).partition("\n")[0]


def check(fun: Fun, fast: Fun, args: Callable[[], tuple[Any, ...]], calls: int = 3) -> None:
    """Some calls one after the other give the same, and leave the same."""
    found = []
    for f in (fun, fast):
        start()
        given = args()
        found.append(([tried(f, given) for _ in range(calls)], state_of(given), outside()))
    assert found[0] == found[1]


@pytest.mark.parametrize(("fun", "args"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_what_is_drawn_is_what_numpy_draws(fun: Fun, args: Callable[[], tuple[Any, ...]]) -> None:
    fast = accelerate(fun)
    check(fun, fast, args)
    if fun is not programs.simulated:  # which has a program for the object
        assert not fast._cut
        assert all(entry.streams for entries in fast._entries.values() for entry in entries)
        assert any(k.kind == "loops" for k in fast.inspect(*args()).kernels)


SOURCES: list[tuple[Fun, Callable[[int], Any]]] = [
    (programs.as_asked, generator),
    (programs.as_asked, lambda seed: np.random.Generator(np.random.MT19937(seed))),
    (programs.as_asked_of_old, np.random.RandomState),
    (programs.as_asked_of_python, random.Random),
]


@pytest.mark.parametrize(("fun", "make"), SOURCES)
def test_kinds_of_draws_may_follow_each_other_in_any_order(fun: Fun, make: Callable[[int], Any]) -> None:
    fast = accelerate(fun)
    for seed in range(30):
        kinds = np.random.default_rng(seed).integers(0, 5, 700)
        slow_rng, fast_rng = make(seed), make(seed)
        for part in (kinds, kinds[::-1].copy()):
            np.testing.assert_array_equal(fast(part, fast_rng), fun(part, slow_rng))
            assert state_of(fast_rng) == state_of(slow_rng)


@pytest.mark.parametrize(
    "bits", [np.random.Philox, np.random.SFC64, np.random.PCG64DXSM], ids=lambda bits: bits.__name__
)
def test_other_sources_of_bits_are_cpythons(bits: Any) -> None:
    fast = accelerate(programs.area_of_circle)
    check(programs.area_of_circle, fast, lambda: (500, np.random.Generator(bits(1))))
    assert fast._cut


def test_a_generator_of_a_class_of_ones_own_is_asked() -> None:
    class Same(np.random.Generator):
        def random(self) -> float:  # type: ignore[override]
            return 0.25

    assert accelerate(programs.area_of_circle)(100, Same(np.random.PCG64(1))) == 4.0


def test_pythons_generator_is_seeded_at_every_call() -> None:
    fast = accelerate(programs.seeded_in_python)
    check(programs.seeded_in_python, fast, lambda: (100,))


def test_a_generator_with_a_method_of_its_own_is_asked() -> None:
    rng = random.Random(1)
    rng.random = lambda: 0.25  # type: ignore[method-assign]
    assert accelerate(programs.area_of_circle)(100, rng) == 4.0


def test_a_default_and_keywords_may_be_generators() -> None:
    def total(n: Any, rng: Any = programs.RNG, *others: Any) -> Any:
        s = 0.0
        for _ in range(n):
            s += rng.random()
        return s

    fast = accelerate(total)
    check(total, fast, lambda: (100,))
    assert fast(n=100, rng=generator()) == total(100, generator())


def test_two_names_of_one_generator_share_its_numbers() -> None:
    def args() -> tuple[Any, ...]:
        rng = generator()
        return 300, rng, rng

    fast = accelerate(programs.of_two)
    check(programs.of_two, fast, lambda: (300, generator(1), generator(2)))
    check(programs.of_two, fast, args)


def test_a_generator_that_is_handed_back_is_the_very_one() -> None:
    rng = generator()
    fast = accelerate(programs.hands_back)
    assert fast(100, rng)[1] is rng
    assert fast(100, rng)[1] is rng


def test_a_global_generator_may_be_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = accelerate(programs.of_a_global)
    check(programs.of_a_global, fast, lambda: (300,))
    monkeypatch.setattr(programs, "RNG", generator(99))
    check(programs.of_a_global, fast, lambda: (300,))
    twins = [np.random.Generator(np.random.MT19937(99)) for _ in range(2)]
    found = []
    for f, rng in zip((programs.of_a_global, fast), twins, strict=True):
        monkeypatch.setattr(programs, "RNG", rng)
        found.append(f(300))
    assert found[0] == found[1]
    assert state_of(twins[0]) == state_of(twins[1])


def test_generators_are_made_in_the_function() -> None:
    def made(n: Any, seed: Any) -> Any:
        rng = np.random.default_rng(seed)
        s = 0.0
        for _ in range(n):
            s += rng.random()
        return s

    def seeded(n: Any, seed: Any) -> Any:
        np.random.seed(seed)
        s = 0.0
        for _ in range(n):
            s += np.random.rand()
        return s

    for fun in (made, seeded):
        check(fun, accelerate(fun), lambda: (300_000, 5), calls=4)


def test_draws_are_in_the_order_of_an_arrays_program() -> None:
    rng, x = generator(), device_put(np.arange(4.0))

    def moved(x: Any, rng: Any) -> Any:
        for _ in range(100):
            x = x + rng.normal()
        return x

    expected = moved(np.arange(4.0), generator())
    found = accelerate(moved)(x, rng)
    assert isinstance(found, Array)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_without_checks_numpy_refuses_all_the_same() -> None:
    check(programs.refused, accelerate(programs.refused, checks=False), lambda: (100, generator()))


def test_threads_that_share_a_generator_draw_different_numbers() -> None:
    fast, rng, found = accelerate(programs.walk), generator(), []
    fast(2_000, copy.deepcopy(rng))
    threads = [threading.Thread(target=lambda: found.append(fast(2_000, rng))) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    after = generator()
    expected = [programs.walk(2_000, after) for _ in range(6)]
    assert state_of(rng) == state_of(after)
    assert sorted(x[-1] for x in found) == sorted(x[-1] for x in expected)


def test_derivatives_and_batches_draw_as_before() -> None:
    def loss(w: Any) -> Any:
        s = 0.0
        for _ in range(3):
            s = s + (w * programs.RNG.normal()) ** 2
        return s

    start()
    expected = 2 * 1.5 * np.sum(generator(7).normal(size=3) ** 2)
    assert accelerate(grad(loss))(1.5) == pytest.approx(expected)
    with pytest.raises(Exception, match="cannot be compiled"):
        vmap(programs.area_of_circle)(np.arange(3), generator())


def test_no_compiler_no_native_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNTRACED_NATIVE_LOOPS", "0")
    fast = accelerate(programs.area_of_circle)
    check(programs.area_of_circle, fast, lambda: (300, generator()))
    assert fast._cut
    check(programs.area_of_circle, accelerate(programs.area_of_circle, target="numpy"), lambda: (300, generator()))


def test_the_source_says_what_is_drawn() -> None:
    inspection = accelerate(programs.walk).inspect(10, generator())
    assert "untraced.streams.normal(stream, 0.1, 2.0)" in inspection.source
    assert "random_normal(&source" in inspection.kernels[0].source
