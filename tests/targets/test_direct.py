"""Programs of native loops that Python calls: which they are, what is written in place, exceptions, Ctrl-C."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from untraced import Array, accelerate, device_put, grad, profiler
from untraced.runtime.arrays.hosted import HostArray
from untraced.runtime.targets.loops import LoopsProgram
from untraced.tpu import compiler

pytestmark = pytest.mark.skipif(not compiler.available(), reason="there is no C++ compiler")


@pytest.fixture(autouse=True)
def _all_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNTRACED_NATIVE_LOOPS", "all")


def is_direct(fast: Any) -> bool:
    ((entry, *_), *_) = fast._entries.values()
    return type(entry.program) is LoopsProgram


def agree(f: Callable[..., Any], *args: Any) -> Any:
    """Results, their kinds and the arguments afterwards are CPython's, twice in a row. The accelerated function."""
    fast = accelerate(f, target="cpu")
    for _ in range(2):
        ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
        made, expected = fast(*ours), f(*theirs)
        if not isinstance(expected, tuple):
            made, expected = (made,), (expected,)
        assert [type(x) for x in made] == [type(x) for x in expected]
        for x, y in zip((*made, *ours), (*expected, *theirs), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
            assert np.asarray(x).dtype == np.asarray(y).dtype
        for x in made:
            if isinstance(x, np.ndarray):
                assert x.flags.writeable
        shared = [
            [np.shares_memory(x, y) for x in results if isinstance(x, np.ndarray) for y in given]
            for results, given in ((made, ours), (expected, theirs))
        ]
        assert shared[0] == shared[1]
    return fast


# ---- which programs ------------------------------------------------------------------------------


def relax(a):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return a[1, 1], a.shape[0]


def running(x, decay):
    y = np.zeros_like(x)
    s, n = 0.0, 0
    for i in range(len(x)):
        s = decay * s + x[i]
        y[i] = s
        n += x[i] > 0.5
    return y, s, n


def prepared(x):
    k = np.array([0.25, 0.5, 0.25])[::-1]
    y = np.ones(len(x))
    for i in range(1, len(x) - 1):
        y[i] = k[0] * x[i - 1] + k[1] * y[i - 1] + k[2] * x[i + 1]
    return np.array([y[0], y[-1]]) * 2.0, y.reshape(2, -1)


def among_much(x):
    y = np.exp(x)
    s = 0.0
    for i in range(1, len(y)):
        s = 0.5 * s + y[i]
    return s


def test_loops_alone_are_called_directly() -> None:
    x = np.linspace(0.0, 1.0, 40)
    assert is_direct(agree(relax, np.outer(x, x)))
    assert is_direct(agree(running, x, 0.5))
    assert is_direct(agree(prepared, x))
    assert is_direct(agree(among_much, x))
    assert not is_direct(agree(among_much, np.linspace(0.0, 1.0, 4000)))
    assert "loops" in repr(accelerate(running).inspect(x, 0.5))


def test_kinds_of_arguments() -> None:
    x = np.linspace(0.0, 1.0, 40)
    fast = agree(running, x, 0.5)
    expected = running(x, 0.5)
    for given in (x[::-1][::-1], np.asfortranarray(x), x.astype(">f8"), np.repeat(x, 3)[1::3], list(x)):
        made = fast(given, np.float64(0.5)) if not isinstance(given, list) else fast(np.array(given), 0.5)
        np.testing.assert_allclose(made[0], expected[0], rtol=1e-12)
    for mixed in ((device_put(x), 0.5), (device_put(x), device_put(np.float64(0.5)))):
        made = fast(*mixed)
        assert type(made[0]) is Array
        np.testing.assert_allclose(np.asarray(made[0]), expected[0], rtol=1e-12)
    assert type(fast(x.view(HostArray), 0.5)[0]) is HostArray
    agree(running, np.zeros(0), 0.5)
    agree(running, np.ones(1, np.float32), 2)
    agree(running, np.full(5, np.nan), 0.5)


def test_numbers_have_cpythons_kinds() -> None:
    def counted(n, flag):
        k, s, z, is_odd = 0, 0.5, 1j, flag
        for i in range(n):
            k, s, z, is_odd = k + i, s * 1.5, z * 1j, not is_odd
        return k, s, z, is_odd, np.float32(s)

    assert is_direct(agree(counted, 7, True))
    agree(counted, 0, False)


# ---- what is written -----------------------------------------------------------------------------


def shifted(a, b):
    for i in range(1, len(a)):
        a[i] += a[i - 1]
        b[i - 1] = a[i]
    return a, b[0]


@pytest.mark.parametrize("place", [
    lambda x: x,
    lambda x: np.stack([x, x], 1)[:, 0],
    lambda x: x[::-1],
    lambda x: np.concatenate([x, x])[3 : 3 + len(x)],
    lambda x: np.frombuffer(bytearray(b" " + x.tobytes()), np.float64, offset=1),
    lambda x: x.astype(">f8"),
    lambda x: x.view(HostArray),
], ids=["rows", "column", "backwards", "inside", "unaligned", "swapped", "hosted"])  # fmt: skip
def test_arguments_are_written_wherever_they_lie(place: Callable[[Any], Any]) -> None:
    for _ in range(2):
        (a, b), (c, d) = ([place(np.arange(9.0)), place(np.ones(9))] for _ in range(2))
        fast = accelerate(shifted, target="cpu")
        ours, theirs = fast(a, b), shifted(c, d)
        assert ours[0] is a and ours[1] == theirs[1]
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, d)


def test_a_loop_works_where_the_array_lies() -> None:
    fast = accelerate(shifted, target="cpu")
    a, b = np.arange(9.0), np.ones(9)
    fast(a.copy(), b.copy())
    assert is_direct(fast)
    program = next(iter(fast._entries.values()))[0].program
    outs = program.host([a, b])
    assert outs[2] is a and outs[3] is b  # outs[0] stands for a, which is handed back


def test_what_is_read_only_is_refused() -> None:
    fast = accelerate(shifted, target="cpu")
    a = np.arange(9.0)
    a.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        fast(a, np.ones(9))
    with pytest.raises(TypeError, match="immutable"):
        fast(device_put(np.arange(9.0)), np.ones(9))


def test_arguments_that_change_places() -> None:
    def turns(a, b, n):
        x, y = a.copy(), b.copy()
        for _ in range(n):
            for i in range(len(x)):
                x[i] = 0.5 * y[i] + 1.0
            x, y = y, x
        a[:] = x
        b[:] = y
        return x

    for n in range(4):
        agree(turns, np.arange(5.0), np.ones(5), n)


def test_what_was_there_before_is_kept_for_who_asks() -> None:
    def both(a):
        before = a.copy()
        for i in range(1, len(a)):
            a[i] += a[i - 1]
        after = a.copy()
        for i in range(1, len(a)):
            a[i] *= a[i - 1]
        return before, after, a, a[2:4]

    assert is_direct(agree(both, np.arange(1.0, 7.0)))


def test_two_loops_that_are_the_same() -> None:
    def twice(a, b):
        for i in range(1, len(a)):
            a[i] += 0.5 * a[i - 1]
        total = a[-1] + b[0]
        for i in range(1, len(a)):
            a[i] += 0.5 * a[i - 1]
        return total

    assert is_direct(agree(twice, np.arange(6.0), np.ones(2)))


def test_results_have_memory_of_their_own() -> None:
    def parts(x):
        y = np.zeros(8)
        for i in range(1, 8):
            y[i] = y[i - 1] + x[i]
        return y, y, y.reshape(2, 4), x

    agree(parts, np.arange(8.0))


def test_a_copy_is_none_where_the_argument_is_returned_too() -> None:
    def summed(x):
        for i in range(1, len(x)):
            x[i] += x[i - 1]
        return x.copy(), x, np.array(x), {"copy": x.copy(), "x": x}

    fast = accelerate(summed, target="cpu")
    for _ in range(2):
        x = np.arange(6.0)
        before, same, after, named = fast(x)
        assert same is x and named["x"] is x
        assert not any(np.shares_memory(y, x) for y in (before, after, named["copy"]))
        np.testing.assert_array_equal(before, np.cumsum(np.arange(6.0)))
    assert is_direct(fast)


def test_arrays_and_numbers_on_the_shortest_path() -> None:
    def power_sum(x, by):
        s = 0.0
        for i in range(len(x)):
            s = s * by + x[i]
        return s

    fast = accelerate(power_sum, target="cpu")
    x = device_put(np.arange(4.0))
    for _ in range(3):
        made = fast(x, 2.0)
        assert type(made) is Array and float(made) == 11.0
    assert is_direct(fast)


def added(a, b, times, name=None):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1] * times + b[i]
    return b if name else a


def unaligned(x: Any) -> Any:
    made = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype)
    made[:] = x
    return made


UNFIT: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "reversed": lambda a, b: (a[::-1], b[::-1], 0.5),
    "unaligned": lambda a, b: (unaligned(a), unaligned(b), 0.5),
    "longer": lambda a, b: (np.append(a, 1.0), np.append(b, 1.0), 0.5),
    "float32": lambda a, b: (a.astype("f4"), b.astype("f4"), 0.5),
    "NumPy's number": lambda a, b: (a, b, np.float64(0.5)),
    "an int": lambda a, b: (a, b, 2),
    "neighbours": lambda a, b: (np.append(a, b)[:100], np.append(a, b)[100:], 0.5),
    "read-only": lambda a, b: (a, np.broadcast_to(b[:1], 100), 0.5),
}


@pytest.mark.parametrize("name", [None, "b"])
@pytest.mark.parametrize("unfit", UNFIT)
def test_arguments_that_do_not_fit_the_shortest_path(unfit: str, name: str | None) -> None:
    a, b = np.random.default_rng(0).random((2, 100))
    fast = accelerate(added, target="cpu")
    for make in (lambda a, b: (a, b, 0.5), UNFIT[unfit], lambda a, b: (a, b, 0.5)):
        ours, theirs = make(a.copy(), b.copy()), make(a.copy(), b.copy())
        made, expected = fast(*ours, name), added(*theirs, name)
        assert type(fast).shortened
        assert made is ours[1 if name else 0]
        np.testing.assert_array_equal(made, expected)
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(fast(ours[0], name=name, times=0.5, b=ours[1]), added(*theirs[:2], 0.5, name))


def test_memory_that_is_written_is_nobody_elses_on_the_shortest_path() -> None:
    a = np.random.default_rng(0).random(300)
    fast = accelerate(added, target="cpu")
    fast(a[:100], a[100:200], 0.5)
    assert type(fast).shortened
    expected = a.copy()
    fast(a[:100], a[50:150], 0.5), added(expected[:100], expected[50:150], 0.5)
    np.testing.assert_array_equal(a, expected)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        fast(a[:100], a[100:200], 0.5)


def up_to(a, b, n, first=1):
    for i in range(first, n):
        for j in range(1, n):
            a[i, j] = a[i - 1, j] * 0.5 + b[i, j - first]
    return n


def test_loops_up_to_a_number_ask_for_it_once() -> None:
    a, b = np.random.default_rng(0).random((2, 40, 40))
    fast = accelerate(up_to, target="cpu")
    fast(a.copy(), b, 40)
    ((entry, *_), *_) = fast._entries.values()
    assert not any(s.native.failures for s in entry.program.direct([a, b, 40, 1]).steps)
    assert any(s.native.failures for s in entry.program.direct([a, b, 41, 1]).steps)
    assert not any(s.native.failures for s in entry.program.direct([a, b, 0, 1]).steps)
    for n in (40, 7, 1, 0, -3, 41, 40, 1 << 40):
        for first in (1, 0, -2, 41):
            ours, theirs, outcomes = a.copy(), a.copy(), []
            for f, x in ((fast, ours), (up_to, theirs)):
                try:
                    outcomes.append(f(x, b, n, first))
                except IndexError:
                    outcomes.append(IndexError)
            assert outcomes[0] == outcomes[1], (n, first)
            np.testing.assert_array_equal(ours, theirs)


def test_a_constant_that_is_carried_stays() -> None:
    table = np.arange(6.0)

    def summed(x):
        y = table.copy()
        for i in range(1, 6):
            y[i] += y[i - 1] * x
        return y

    agree(summed, 2.0)
    assert table[5] == 5.0


# ---- what fails ----------------------------------------------------------------------------------


def gathered(a, places):
    for i in range(len(places)):
        a[places[i]] += 1.0
    return a


def test_what_fails_after_a_store_is_as_in_cpython() -> None:
    fast = accelerate(gathered, target="cpu")
    fast(np.zeros(4), np.array([1, -1, 2]))
    assert is_direct(fast)
    for _ in range(2):
        a, b = np.zeros(4), np.zeros(4)
        with pytest.raises(IndexError, match="index 9 is out of bounds") as ours:
            fast(a, np.array([1, 9, 2]))
        with pytest.raises(IndexError) as theirs:
            gathered(b, np.array([1, 9, 2]))
        assert str(theirs.value) in str(ours.value)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, [0, 1, 0, 0])


@pytest.mark.parametrize("k", [1, 9])
def test_without_checks_stores_are_made_once(k: int) -> None:
    def counted(a, k):
        for i in range(len(a)):
            a[i] += 1.0
        return a[k]

    fast = accelerate(counted, target="cpu", checks=False)
    for _ in range(2):
        a = np.zeros(3)
        fast(a, k)
        np.testing.assert_array_equal(a, [1, 1, 1])


def test_without_memory_stores_are_made_once() -> None:
    def too_much(a):
        for i in range(len(a)):
            a[i] += 1.0
        b = np.zeros(1 << 46)
        for i in range(len(a)):
            b[i] = a[i]
        return b[1]

    fast = accelerate(too_much, target="cpu")
    for _ in range(2):
        a = np.zeros(3)
        with pytest.raises(MemoryError):
            fast(a)
        np.testing.assert_array_equal(a, [1, 1, 1])
    assert is_direct(fast)


@pytest.mark.parametrize("error", [OverflowError, ValueError])
def test_what_a_handler_of_a_signal_raises_ends_the_call(error: type[Exception]) -> None:
    def counted(a, n):
        for _ in range(n):
            for i in range(len(a)):
                a[i] += 1.0
        return a[0]

    def stop(*_: Any) -> None:
        raise error("late")

    fast = accelerate(counted, target="cpu")
    fast(np.zeros(1000), 1)
    a, turns = np.zeros(1000), 10**7  # a second, or half of one
    before = signal.signal(signal.SIGUSR1, stop)  # which loops do not hear
    try:
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        with pytest.raises(error, match="late"):
            fast(a, turns)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert a[0] == turns


def test_an_exception_of_the_user() -> None:
    def limited(a, most):
        for i in range(1, len(a)):
            a[i] += a[i - 1]
            if a[i] > most:
                raise ValueError(f"{i}: too much")
        return a

    fast = accelerate(limited, target="cpu")
    fast(np.ones(5), 100.0)
    a = np.ones(5)
    with pytest.raises(ValueError, match="2: too much"):
        fast(a, 2.5)
    np.testing.assert_array_equal(a, [1, 2, 3, 1, 1])


def test_what_fails_on_the_shortest_path() -> None:
    def found(x, most):
        s = 0.0
        for i in range(len(x)):
            s = 0.5 * s + x[i]
            if s > most:
                raise KeyError(f"{i}: {x[i]}")
        return s

    fast = accelerate(found, target="cpu")
    for _ in range(3):
        assert fast(np.arange(5.0), 9.0) == 6.125
        with pytest.raises(KeyError, match="3: 3.0"):
            fast(np.arange(5.0), 4.0)
    assert is_direct(fast) and type(fast).shortened


def test_gradients_of_loops() -> None:
    def last(x):
        s = 0.0
        for i in range(len(x)):
            s = 0.5 * s + x[i] * x[i]
        return s

    x = np.arange(1.0, 5.0)
    made = accelerate(grad(last), target="cpu")(x)
    np.testing.assert_allclose(made, 2 * x * 0.5 ** np.arange(3, -1, -1))


def test_profiles_show_loops_as_operations() -> None:
    fast = accelerate(relax, target="cpu")
    fast(np.ones((20, 20)))
    with profiler.profile() as made:
        for _ in range(3):
            fast(np.ones((20, 20)))
    (program,), (operation,), (line,) = made.programs, made.operations, made.lines
    assert (program.name, program.calls, operation.calls, operation.kind) == ("relax", 3, 3, "loop")
    assert (line.file, line.line) == (relax.__code__.co_filename, relax.__code__.co_firstlineno + 1)
    assert "untraced: run relax" in [s.name for s in made.spans]


def test_several_threads() -> None:
    fast = accelerate(running, target="cpu")
    fast(np.ones(2000), 0.5)
    expected = [running(np.full(2000, float(k)), 0.5)[1] for k in range(8)]
    found: dict[int, list[float]] = {}

    def work(k: int) -> None:
        found[k] = [fast(np.full(2000, float(k)), 0.5)[1] for _ in range(50)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {k: [expected[k]] * 50 for k in range(8)}


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
from untraced import accelerate

signal.signal(signal.SIGINT, signal.default_int_handler)     # a shell's background jobs ignore it

def long(a, n):
    for k in range(n):
        for i in range(1, 1000):
            a[i] = a[i - 1] + 1.0
    return a

fast = accelerate(long, target="cpu")
a = np.zeros(1000)
assert fast(a, 2) is a
over = threading.Event()
def press():
    while not over.wait(0.1):
        os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
try:
    fast(a, 10**12)
except KeyboardInterrupt:
    over.set()
    print("ended", a[999])

come = []
signal.signal(signal.SIGINT, lambda *_: come.append(1))
b = np.zeros(1000)
threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
def grown(a, n):
    for k in range(n):
        for i in range(1000):
            a[i] += 1.0
    return a
print(accelerate(grown, target="cpu")(b, 1_000_000) is b, b[0], b[999], len(come))
"""


def test_ctrl_c(tmp_path: Path) -> None:
    """It ends a loop in the caller's array, as in CPython; where nobody raises, no turn is made twice."""
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    environment = {**os.environ, "UNTRACED_NATIVE_LOOPS": "all"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=240, env=environment)
    assert done.stdout.splitlines() == ["ended 999.0", "True 1000000.0 1000000.0 1"], done.stderr
