"""The host source of GPU programs: what it says, and that it runs on arrays of any strides."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from drawn import Drawn
from host_cuda import HostCuda
from test_cuda_executor import OneByOne

from untraced import accelerate, grad
from untraced.kernels.launching.executor import NUMBER, GpuExecutor, driver_of
from untraced.kernels.launching.graphs import Graph
from untraced.kernels.launching.turns import Recorder, turning
from untraced.translator.errors import RaisedError, UnsupportedError
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves


def network(w1: Any, b1: Any, w2: Any, x: Any, y: Any) -> Any:
    h = np.tanh(x @ w1 + b1)
    z = h @ w2
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p = p / p.sum(axis=1, keepdims=True)
    return -np.mean(np.sum(y * np.log(p), axis=1))


def heat(u: Any, n: Any) -> Any:
    v = u.copy()
    for i in range(n):
        v[1:-1, 1:-1] += 0.1 * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4 * v[1:-1, 1:-1])
        v[0] = v[-2] * (i + 1)
    return v


def settled(a: Any, b: Any, tol: Any) -> Any:
    x, err, k = np.zeros_like(b), 1.0, 0
    while err > tol and k < 100:
        new = b - a * np.roll(x, 1)
        err, x, k = np.max(np.abs(new - x)), new, k + 1
    return x, k


def swapped(a: Any, b: Any, n: Any) -> Any:
    old, new = a.copy(), b.copy()
    for i in range(n):
        new[i:] = old[i:] * 2 + new[i]
        old, new = new, old + 0.0
    return old, new


def chosen(x: Any, flip: Any) -> Any:
    y = x.T if flip > 0 else x * 2
    y = np.sort(y, axis=0)
    z = y[::-1]
    y = y.copy()
    y[0] = 7
    return np.exp(y) + z, y.sum()


rng = Drawn(3)
_NETWORK = [rng.normal(size=s).astype("f4") for s in ((8, 16), (16,), (16, 10), (32, 8), (32, 10))]
PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "network": (network, _NETWORK),
    "network_grad": (grad(network, argnums=(0, 1, 2)), _NETWORK),
    "heat": (heat, [rng.normal(size=(9, 12)), 5]),
    "settled": (settled, [np.full(600, 0.4), np.arange(600.0) / 100, 1e-6]),
    "swapped": (swapped, [np.arange(6.0), np.ones(6), 5]),
    "chosen": (chosen, [rng.normal(size=(5, 5)), 1.0]),
}


def executor_of(fun: Callable[..., Any], args: list[Any], backend: Any) -> tuple[GpuExecutor, list[Any]]:
    signature, leaves = abstract_with_leaves(fun, args, {})
    translation = translate(fun, signature, target="triton")
    given = [x for i, x in enumerate(leaves) if i not in translation.statics]
    return GpuExecutor(translation.function, backend), given


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> OneByOne:
    def refuse(fused: Any, language: str) -> Any:
        raise UnsupportedError("no kernels here")

    monkeypatch.setattr("untraced.kernels.launching.steps.decompose", refuse)
    return OneByOne()


@pytest.mark.parametrize("name", PROGRAMS)
def test_runs_on_arrays_of_any_strides(name: str, one_by_one: OneByOne) -> None:
    same_for_all_strides(name, one_by_one)


@pytest.mark.parametrize("name", ["heat", "chosen"])
def test_kernels_read_arrays_of_any_strides(name: str) -> None:
    same_for_all_strides(name, HostCuda())


def same_for_all_strides(name: str, backend: Any) -> None:
    fun, args = PROGRAMS[name]
    executor, given = executor_of(fun, args, backend)
    expected = executor(given)
    want = fun(*[np.array(a) if isinstance(a, np.ndarray) else a for a in args])
    for got, w in zip(expected, want if isinstance(want, tuple) else (want,), strict=False):
        np.testing.assert_allclose(got, w, rtol=1e-5 if name.startswith("network") else 1e-12, atol=1e-6)
    turned = [np.asfortranarray(a)[::-1][::-1] if isinstance(a, np.ndarray) else a for a in given]
    strided = [np.repeat(a, 2, axis=-1)[..., ::2] if isinstance(a, np.ndarray) else a for a in given]
    before = [np.array(a) for a in given]
    for other in (turned, strided):
        for got, w in zip(executor(other), expected, strict=True):
            np.testing.assert_array_equal(got, w)
        for a, b in zip(other, before, strict=True):
            np.testing.assert_array_equal(a, b)


def test_python_s_names_stay_python_s() -> None:
    """What a program asks of the device is `bool(t)`: NumPy's bool would refuse CuPy's arrays."""

    def f(x: Any) -> Any:
        small = x < 0.5
        return (x * 2 if small.any() else x), small

    driver = accelerate(f, target="cuda").inspect(np.ones(5), compile=False).driver
    assert "if bool(" in driver and "empty((5,), bool_)" in driver


def test_an_array_of_a_number_may_have_its_name() -> None:
    def f(x: Any, n: Any) -> Any:
        m = n % 5
        m = np.full(4, m)
        return m, x

    given = [np.ones(3), 7]
    translation = translate(f, abstract_with_leaves(f, tuple(given), {})[0], target="cuda")
    got = GpuExecutor(translation.function, HostCuda())(given)
    np.testing.assert_array_equal(got[0], [2, 2, 2, 2])


def elements_outlive_stores(a: Any, b: Any, c: Any, n: Any) -> Any:
    q = a * 2.0
    b[n % 6] += b[0]
    c[::2] *= np.min(a)
    for x in (q, b, c):
        x[::2] *= b[n % 6]  # the last time by what the second has left there
    last = c[n % 6]
    c[n % 6] = 7.0
    return q, b, c, last


def one_path_rebinds(a: Any, b: Any, c: Any, n: Any) -> Any:
    if c[3] < 0.25 or np.any(b > float(n)):
        c[3] *= 0.5
        w = c[...]
        w[:] = np.cumsum(c * w)
    b[1:] += c[:-1]
    return np.sum(b)


def a_number_or_an_element(a: Any, b: Any, c: Any, n: Any) -> Any:
    limit = 0.25
    if a[5] > c[1]:
        limit = n + c[1]
    steps = 0
    while steps < 6 and n % 3 == 1:
        steps += 1
        if limit > 0.5 * limit:
            b[:] = np.roll(b, -2) + b[n % 6]
    return b, steps


@pytest.mark.parametrize("function", [elements_outlive_stores, one_path_rebinds, a_number_or_an_element])
@pytest.mark.parametrize("n", [1, 4, -9])
def test_what_lies_in_memory_and_what_is_a_number(function: Callable[..., Any], n: int) -> None:
    for sign in (1.0, -1.0):
        given = [np.arange(6.0) * sign, np.arange(6.0) + 1, np.arange(6.0) - 3 * sign, n]
        translation = translate(function, abstract_with_leaves(function, tuple(given), {})[0], target="cuda")
        got = GpuExecutor(translation.function, HostCuda())(list(given))
        want = function(*(np.copy(x) if isinstance(x, np.ndarray) else x for x in given))
        for g, w in zip(got, want if isinstance(want, tuple) else (want,), strict=False):
            np.testing.assert_allclose(g, w, rtol=1e-12)


def test_numbers_may_lie_on_the_device(one_by_one: OneByOne) -> None:
    executor, (u, n) = executor_of(heat, [rng.normal(size=(9, 12)), 5], one_by_one)
    np.testing.assert_array_equal(executor([u, np.array(n)])[0], executor([u, n])[0])


@pytest.mark.parametrize("target", ["triton", "cuda"])
@pytest.mark.parametrize("name", ["network_grad", "heat", "settled"])
def test_golden_host_source(name: str, target: str, golden: Callable[[str, str], None]) -> None:
    fun, args = PROGRAMS[name]
    r = accelerate(fun, target=target).inspect(*args, compile=False)
    assert r.driver is not None
    golden(f"host/{name}.{target}.py", r.driver)


def windows(x: Any, i: Any, n: Any) -> Any:
    y = np.zeros(4)
    for k in range(n):
        y += x[i + k : i + k + 4]
        x[i + k : i + k + 4] = y
    return y


@pytest.mark.parametrize("first", [0, 3, 5])
def test_slices_that_may_reach_outside_are_checked(first: int, one_by_one: OneByOne) -> None:
    """A slice that shrinks would have other strides and fewer elements than its kernel reads."""
    executor, (x, i, n) = executor_of(windows, [np.arange(10.0), 1, 4], one_by_one)
    if first + n - 1 + 4 > len(x):
        with pytest.raises(RaisedError, match="IndexError"):
            executor([x, first, n])
    else:
        np.testing.assert_array_equal(executor([x, first, n])[0], windows(x.copy(), first, n))


# ---- loops -----------------------------------------------------------------------------------------


def waves(u: Any, n: Any) -> Any:
    a, b = u, u
    for _ in range(n):
        c = 2 * a - b
        c[1:-1] = np.sort(a[2:] + a[:-2]) - c[1:-1]
        a, b = c, a
    return a


def test_what_a_kernel_makes_in_a_turn_is_stored_into_without_a_copy(one_by_one: OneByOne) -> None:
    """The array of the turn before is another one, although both come from the same statement."""
    executor, given = executor_of(waves, [np.arange(7.0) ** 2, 3], one_by_one)
    np.testing.assert_array_equal(executor(given)[0], waves(*given))
    assert "copy" not in executor.driver([executor.orders[0], NUMBER]).text


class Asked(OneByOne):
    """Counts what the device is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = 0

    def fetched(self, x: Any) -> Any:
        self.answers += 1
        return super().fetched(x)


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 30, 100])
def test_while_asks_after_several_turns(limit: int) -> None:
    backend = Asked()
    turns = 0

    def going(x: Any, n: Any) -> Any:
        return np.array(n < limit)

    def turn(x: Any, n: Any) -> Any:
        nonlocal turns
        turns += 1
        return x * 2, n + 1

    x, n = turning(backend)(going, turn, np.ones(3), np.array(0))
    assert n == limit and x[0] == 2.0**limit
    assert limit <= turns <= limit * 5 / 4 + 1
    assert limit < 30 or backend.answers <= limit / 2


def test_what_the_host_knows_ends_a_loop_at_once() -> None:
    turns = []

    def turn(n: int) -> Any:
        turns.append(n)
        return (n + 1,)

    assert turning(Asked())(lambda n: n < 9, turn, 0) == (9,)
    assert turns == list(range(9))


class Recording(OneByOne):
    """Records as a device does: addresses and numbers are kept, values are not. `wrong` records another loop."""

    def __init__(self, wrong: bool = False) -> None:
        super().__init__()
        self.recorded, self.replayed, self.wrong = 0, 0, wrong

    def record(self, loop: Any, values: Any) -> Any:
        self.recorded += 1
        mine = [np.array(x) if isinstance(x, np.ndarray) else x for x in values]

        def replay(values: Any) -> Any:
            self.replayed += 1
            for own, x in zip(mine, values, strict=True):
                if isinstance(own, np.ndarray):
                    own[...] = x
            return tuple(np.array(x) + self.wrong for x in loop(*mine))

        return replay


@pytest.mark.parametrize("wrong", [False, True])
def test_loops_that_come_again_are_recorded(wrong: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostCuda, "record", Recording.record, raising=False)
    backend = HostCuda()
    backend.recorded, backend.replayed, backend.wrong = 0, 0, wrong  # type: ignore[attr-defined]
    executor, _ = executor_of(heat, [rng.normal(size=(9, 12)), 5], backend)
    for n in (8, 9):
        for _ in range(4):
            u = rng.normal(size=(9, 12))
            before = u.copy()
            np.testing.assert_allclose(executor([u, n])[0], heat(u, n), rtol=1e-13)
            np.testing.assert_array_equal(u, before)
    assert backend.recorded == 2  # type: ignore[attr-defined]
    assert backend.replayed == (2 if wrong else 6)  # type: ignore[attr-defined]


def test_only_loops_over_arrays_in_order_are_recorded() -> None:
    """A graph's own arrays are in C order, and its kernels go by the strides that they were planned for."""
    backend = Recording()
    strided, twice = np.ones((4, 6))[:, ::2], Recorder(backend, launches=1)
    for _ in range(4):
        twice(range(10), lambda x: (x + 1,), strided)
    assert backend.recorded == 0
    turned = Recorder(backend, launches=1)
    for _ in range(4):
        assert turned(range(10), lambda x: (x.T,), np.ones((4, 6)))[0].shape == (6, 4)
    assert backend.recorded == 1 and turned.known == dict.fromkeys(turned.known)


def test_short_loops_and_ever_other_numbers_are_not_recorded() -> None:
    backend = Recording()
    recorder = Recorder(backend, launches=1)
    for n in range(300):
        assert recorder(range(10), lambda x, n: (x + n,), np.ones(1), n)[0] == n + 1
        assert recorder(range(2), lambda x: (x,), np.ones(1))[0] == 1
    assert backend.recorded == 0 and len(recorder.seen) < 100


def test_a_graph_is_captured_after_one_run_and_has_arrays_of_its_own() -> None:
    enqueued: list[Callable[[], Any]] = []
    log: list[str] = []
    capturing = False

    def enqueue(work: Callable[[], Any]) -> None:
        enqueued.append(work) if capturing else work()

    class Stream:
        def __init__(self, non_blocking: bool = False) -> None:
            pass

        def __enter__(self) -> None:
            log.append("enter")

        def __exit__(self, *_: Any) -> None:
            log.append("exit")

        def record(self) -> str:
            return "event"

        def wait_event(self, event: str) -> None:
            assert event == "event"

        def synchronize(self) -> None:
            log.append("synchronize")

        def begin_capture(self) -> None:
            nonlocal capturing
            capturing = True

        def end_capture(self) -> Any:
            nonlocal capturing
            capturing = False
            return SimpleNamespace(launch=lambda stream: [work() for work in enqueued])

    pool = SimpleNamespace(malloc=None)
    cuda = SimpleNamespace(
        MemoryPool=lambda: pool,
        Stream=Stream,
        get_current_stream=Stream,
        using_allocator=lambda malloc: contextlib.nullcontext(),
    )
    cupy = SimpleNamespace(cuda=cuda, array=np.array)

    def loop(x: Any, n: int) -> Any:
        for _ in range(n):
            enqueue(lambda: np.multiply(x, 2, out=x))
        return (x,)

    graph = Graph(cupy, loop, [np.ones(2), 3])
    assert log == ["enter", "synchronize", "exit"] and len(enqueued) == 3
    x = np.array([1.0, 5.0])
    (first,) = graph([x, 3])
    (second,) = graph([x + 1, 3])
    np.testing.assert_array_equal([first, second], [[8.0, 40.0], [16.0, 48.0]])
    np.testing.assert_array_equal(x, [1.0, 5.0])


# ---- where it shows --------------------------------------------------------------------------------


def test_other_targets_have_no_host_source() -> None:
    assert accelerate(network, target="cpu").inspect(*_NETWORK, compile=False).driver is None


def test_tracebacks_show_the_host_source(one_by_one: OneByOne) -> None:
    executor, given = executor_of(network, _NETWORK, one_by_one)
    given[0] = np.ones((3, 3), "f4")
    with pytest.raises(ValueError, match="cannot reshape") as caught:
        executor(given)
    assert "contract(" in "".join(traceback.format_exception(caught.value))


def test_what_the_library_refuses_is_told_at_the_user_s_line(one_by_one: OneByOne) -> None:
    def f(x: Any, k: Any) -> Any:
        y = x * 2
        return y[k]

    executor, given = executor_of(f, (np.arange(5.0), 9), one_by_one)
    with pytest.raises(IndexError, match=r"out of bounds") as caught:
        executor(given)
    assert "return y[k]" in str(caught.value) and "^^^^" in str(caught.value)


def stopped(x: Any) -> Any:
    for _ in range(10):
        y = np.sort(x) * 0.5
        if np.allclose(y, x):
            break
        x = y
    return x


def test_a_loop_that_may_stop_is_told_by_its_first_line() -> None:
    x = np.arange(6.0)
    executor, leaves = executor_of(stopped, [x], HostCuda())
    np.testing.assert_allclose(executor(leaves)[0], stopped(x))
    told = [line for line in driver_of(executor.function, "cuda").text.splitlines() if "for _ in range(10)" in line]
    assert told and all(line.endswith("for _ in range(10)") for line in told)
