"""NumPy's functions called from inside XLA's programs, and arguments that XLA reads where NumPy has put them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawn import Drawn

import untraced
from untraced import accelerate
from untraced.tpu import compiler
from untraced.tpu.client import executable as client
from untraced.tpu.client import host_calls, memory, placement, platform, shifted
from untraced.tpu.client.placement import MOST, Placements
from untraced.tpu.emit import reduce as emit_reduce
from untraced.translator.passes import dots

NDArray = np.ndarray[Any, Any]
pytestmark = pytest.mark.skipif(not host_calls.AVAILABLE, reason="host calls are for Linux")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Host calls and shifted arguments for arrays of any size."""
    monkeypatch.setattr(host_calls, "has_vectors", lambda: True)
    monkeypatch.setattr(host_calls, "TAKEN", (0.0, 0.0))
    for name in ("SMALLEST", "SMALLEST_PRODUCT", "LEAST_PRODUCTS", "MANY_COMPARED"):
        monkeypatch.setattr(host_calls, name, 1)
    for name in ("SHORTEST_LINE", "SHORTEST_SUM", "SHORTEST_DOT"):
        monkeypatch.setattr(host_calls, name, 1)
    monkeypatch.setattr(emit_reduce, "_MANY", 1)
    monkeypatch.setattr(dots, "LEAST", 1)
    monkeypatch.setattr(shifted, "SMALLEST", 1)
    monkeypatch.setattr(shifted, "NEGLIGIBLE", 0)
    monkeypatch.setattr(memory, "SMALLEST", 1)
    monkeypatch.setattr(memory, "is_advisable", lambda: host_calls.AVAILABLE)
    monkeypatch.setattr(client, "COPY_LIMIT", 0)
    yield
    host_calls.find.cache_clear()


def placed(x: Any, elements: int) -> Any:
    """A copy that lies `elements` behind a multiple of 64 bytes."""
    x = np.asarray(x)
    raw = np.full(x.nbytes + 256, 0xFF, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64 + elements * x.itemsize
    own = raw[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    own[...] = x
    return own


RANDOM = Drawn(0)
TIES = RANDOM.integers(-3, 3, 60)
SPECIAL = np.array([2.0, np.nan, -0.0, 0.0, 5e-324, -5e-324, np.inf, -np.inf, np.nan, 1e-310, 0.0, -1.0] * 5)
TABLE = RANDOM.standard_normal((6, 10))
PLACES = RANDOM.integers(-7, 7, 60)
COMPLEX = TABLE + 1j * TABLE[::-1]


def counted_twos(places: Any) -> Any:
    total = np.arange(7, dtype=np.int16)
    np.add.at(total, places, 2)
    return total


def counted(places: Any, terms: Any) -> Any:
    total = np.zeros(7, terms.dtype)
    np.add.at(total, places, terms)
    return total


def counted_onto_negative_zeros(places: Any, terms: Any) -> Any:
    total = np.full(7, -0.0)
    np.add.at(total, places, terms)
    return np.signbit(total), total


def counted_in_a_table(table: Any, rows: Any, columns: Any) -> Any:
    total = table * 1.0
    np.add.at(total, (rows, columns), 1.5)
    return total, table


def stored(x: Any, places: Any, values: Any) -> Any:
    y = x * 1.0
    y[places] = values
    return y


def truths(x: Any) -> Any:
    return np.any(x > 9), np.any(x > 1), np.all(x < 9), np.all(x < 1), np.sum(x > 0), np.count_nonzero(x)


def sorted_in_loops(x: Any, n: Any) -> Any:
    for k in range(n):
        x = np.sort(x) * 1.5 - k
        while x[0] < -100.0:
            x = x[np.argsort(-x, kind="stable")] / 2.0
    return x
SYSTEM = RANDOM.random((40, 40)) + 10 * np.eye(40)
WALL = RANDOM.random((40, 3))


def differences(x: Any) -> Any:
    return x[2:] - x[:-2], x[1]


CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sort": (lambda x: np.sort(x), (SPECIAL,)),
    "sort float32": (lambda x: np.sort(x), (SPECIAL.astype(np.float32),)),
    "sort float16": (lambda x: np.sort(x), (TABLE.astype(np.float16),)),
    "sort columns": (lambda x: np.sort(x, axis=0), (TABLE,)),
    "sort complex": (lambda x: np.sort(x), (COMPLEX.round(),)),
    "sort uint64": (lambda x: np.sort(x), (TIES.astype(np.uint64),)),
    "order": (lambda x: np.argsort(x, kind="stable"), (SPECIAL,)),
    "order of ties": (lambda x: np.argsort(x, kind="stable"), (TIES,)),
    "order of columns": (lambda x: np.argsort(x, axis=0, kind="stable"), (TIES.reshape(6, 10),)),
    "order float32": (lambda x: np.argsort(x, kind="stable"), (SPECIAL.astype(np.float32),)),
    "order complex": (lambda x: np.argsort(x, kind="stable"), (COMPLEX.round(),)),
    "partition": (lambda x: (np.partition(x, 20), np.partition(x, (3, -2), axis=None)), (SPECIAL,)),
    "partition of columns": (lambda x: (np.partition(x, 2, axis=0), x.argpartition((1, 4), axis=0)), (TABLE,)),
    "order at places": (lambda x: np.argpartition(x, (-7, 20)), (SPECIAL,)),
    "order at places float32": (lambda x: np.argpartition(x, 8), (TABLE[0].astype(np.float32),)),
    "median": (lambda x: np.median(x, axis=1), (TABLE,)),
    "argmax": (lambda x: (np.argmax(x), np.argmin(x)), (SPECIAL,)),
    "argmin of rows": (lambda x: np.argmin(x, axis=1, keepdims=True), (TABLE,)),
    "running sums": (lambda x: (np.cumsum(x), np.cumprod(x)), (TABLE,)),
    "running sums of rows": (lambda x: np.cumsum(x, axis=1), (SPECIAL.reshape(6, 10),)),
    "functions": (lambda x, y: (np.cbrt(x), np.arctan2(x, y[0]), np.abs(x) ** y, np.arccos(x)), (TABLE, TABLE[::-1])),
    "functions float32": (lambda x: np.sinh(x) + np.float32(2.5) ** x, (TABLE.astype(np.float32),)),
    "functions of little": (lambda x: (np.tan(x), np.arctanh(x)), (SPECIAL,)),
    "running extremes": (lambda x: (np.maximum.accumulate(x), np.minimum.accumulate(x)), (SPECIAL,)),
    "running extremes of rows": (lambda x: np.maximum.accumulate(x, axis=1), (TIES.reshape(6, 10),)),
    "running sums of complex": (lambda x: np.cumprod(x), (COMPLEX,)),
    "running sums float16": (lambda x: np.cumsum(x), (TIES.astype(np.float16),)),
    "running sums int32": (lambda x: np.cumsum(x), (TIES.astype(np.int32),)),
    "running sums of truths": (lambda x: (np.cumsum(x), np.cumsum(~x.reshape(6, 10), axis=1)), (TIES > 0,)),
    "running sums, widened": (lambda x: np.cumsum(x, dtype=np.float64), (SPECIAL.astype(np.float32),)),
    "running sums, wrapped": (lambda x: np.cumsum(x, dtype=np.int8), (TIES * 50,)),
    "first truths": (lambda x: (np.argmax(x), np.argmin(x.reshape(6, 10), axis=1), np.argmax(x & ~x)), (TIES > 1,)),
    "add at": (counted, (PLACES, RANDOM.random(60))),
    "add at from the front": (counted, (np.abs(PLACES) % 7, SPECIAL)),
    "add at negative zeros": (counted_onto_negative_zeros, (PLACES % 3, -np.abs(TIES) * 0.0)),
    "add at int32": (counted, (PLACES.astype(np.int32), TIES.astype(np.int32))),
    "add at complex": (counted, (PLACES[:10], COMPLEX[0])),
    "add at subnormal": (counted, (PLACES, np.full(60, 5e-324))),
    "add at in a table": (counted_in_a_table, (TABLE, PLACES[:9] % 6, PLACES[9:18])),
    "stored": (stored, (RANDOM.random(60), np.arange(60)[::-3], TABLE[0, :].repeat(2))),
    "stored in a table": (stored, (TABLE, np.array([2, -1]), TABLE[:2] * 2)),
    "counted from the end": (counted_twos, (PLACES,)),
    "counted from the front": (counted_twos, (np.abs(PLACES) % 7,)),
    "bincount": (lambda x: np.bincount(x, minlength=10), (np.abs(PLACES),)),
    "complex product": (lambda x, y: x @ y, (COMPLEX, COMPLEX.T.copy())),
    "complex product, turned": (lambda x, y: x.T @ np.conj(y), (COMPLEX, COMPLEX)),
    "systems": (lambda a, b: (np.linalg.solve(a, b), np.linalg.inv(a), np.linalg.solve(a, b[:, 0])), (SYSTEM, WALL)),
    "systems of complex": (lambda a, b: np.linalg.solve(a + 1j * a.T, b + 1j), (SYSTEM, WALL)),
    "systems in a stack": (lambda a, b: np.linalg.solve(np.stack([a, 2 * a]), b), (SYSTEM, WALL)),
    "loops": (sorted_in_loops, (TABLE[0] * 60, 5)),
    "sums": (lambda x: (np.sum(x), np.sum(x, axis=0), np.sum(x, axis=1, keepdims=True)), (TABLE,)),
    "extremes": (lambda x: (np.max(x, axis=0), np.min(x)), (SPECIAL.reshape(6, 10),)),
    "bounds": (lambda x: (np.any(x > 2), np.any(x < -3), np.all(x <= 2), np.all(x >= -2)), (TIES,)),
    "truths": (truths, (TABLE,)),
    "truths, whole lines": (truths, (np.repeat(TABLE[:4, :8], 4),)),
    "matrix times vector": (lambda x, y: (x @ y, y @ x.T), (TABLE, TABLE[0])),
    "vector times vector": (lambda x, y: x @ y, (TABLE[0], TABLE[1])),
    "sums of products": (lambda x, y: (np.sum(x * y), np.mean(x**2, keepdims=True)), (TABLE, TABLE + 1)),
    "norm": (lambda x: np.linalg.norm(x), (TABLE,)),
    "products over two axes": (lambda x: np.tensordot(x, x, ([0, 1], [0, 1])), (TABLE.reshape(2, 3, 10),)),
    "products of stacks": (lambda x, y: np.einsum("ijk,kl->lij", x, y), (TABLE.reshape(2, 3, 10), TABLE.T)),
    "extremes of arguments": (lambda x: (np.max(x) - np.min(x, axis=1), np.max(x.T, axis=0) + 1), (TABLE,)),
    "extremes of NaN": (lambda x: (np.max(x, axis=1) + 1, np.min(x) * 2), (np.where(TABLE > 1, np.nan, TABLE),)),
    "products along rows": (lambda x, y: np.einsum("ij,ij->i", x, y), (TABLE, TABLE + 1)),
    "products along columns": (lambda x, y: np.einsum("ij,ji->j", x, y.T), (TABLE, TABLE + 1)),
    "products of complex": (lambda x, y: np.vecdot(x, y), (COMPLEX, TABLE + 1j)),
    "products of a stack": (lambda x, y: (x[:, None] @ y[:, :, None])[:, 0, 0], (TABLE, TABLE + 1)),
    "elementwise": (lambda x, y: np.where(x > 0, x, 2.0) * y[0], (TABLE, TABLE)),
    "differences": (differences, (TABLE,)),
    "itself": (lambda x: (x, np.reshape(x, (10, 6)), x.T), (TABLE,)),
}


def _sharing(x: Any, arguments: Any) -> list[bool]:
    return [np.shares_memory(x, a) for a in arguments if isinstance(a, np.ndarray)]


@pytest.mark.parametrize("elements", [0, 1])
@pytest.mark.parametrize("name", CALLS)
def test_as_numpy(name: str, elements: int) -> None:
    f, arguments = CALLS[name]
    with np.errstate(all="ignore"):
        expected = f(*arguments)
    own = [placed(a, elements) if isinstance(a, np.ndarray) else a for a in arguments]
    before = [np.copy(a) for a in own]
    fast = accelerate(f, target="cpu")
    for _ in range(2):
        found = fast(*own)
        for x, y in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected)), strict=True):
            check = np.testing.assert_allclose if "product" in name or "times" in name else _same_bits
            check(np.asarray(x), np.asarray(y), *((1e-14,) if check is not _same_bits else ()))
            assert _sharing(x, own) == _sharing(y, arguments)
    for a, b in zip(own, before, strict=True):
        np.testing.assert_array_equal(a, b)
    on_device = fast(*(untraced.device_put(a) if isinstance(a, np.ndarray) else a for a in own))
    first = on_device[0] if isinstance(on_device, tuple) else on_device
    np.testing.assert_allclose(np.asarray(first), expected[0] if isinstance(expected, tuple) else expected, 1e-14)


def test_singular_systems_raise() -> None:
    def solve(a, b):
        return np.linalg.solve(a, b)

    singular = np.ones((host_calls.SMALLEST_SYSTEM,) * 2)
    assert 'call = "solve"' in called(solve, singular, singular)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        accelerate(solve, target="cpu")(singular, singular)


def _same_bits(x: NDArray, y: NDArray) -> None:
    assert x.dtype == y.dtype and x.shape == y.shape
    np.testing.assert_allclose(x, y, rtol=1e-14)
    if x.dtype.kind == "f":
        np.testing.assert_array_equal(x == 0, y == 0)  # subnormal numbers are not zero


def called(f: Callable[..., Any], *arguments: Any) -> str:
    return str(accelerate(f, target="cpu").inspect(*arguments, compile=False).stablehlo)


def weights_of_rows(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def test_what_is_worth_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"sort": "sort 0", "order": "argsort 0", "order float32": "sort 0", "argmax": "argmax 0"}
    names |= {"add at": "add_at", "running sums": "cumsum 0"}
    sums = {"products along rows": "einsum 2 0 1 0 1 0", "products of a stack": "einsum 2 0 1 0 1 0"}
    for name, call in (names | sums).items():
        assert f'call = "{call}"' in called(CALLS[name][0], *CALLS[name][1])
    assert 'call = "max 0 1"' in called(lambda x: (x - np.max(x)) * 2, TABLE)
    assert host_calls.TARGET not in called(weights_of_rows, TABLE)  # NaN stays without it
    assert 'call = "argsort 0"' in called(CALLS["order"][0], np.zeros(60, np.uint8))  # by digits
    assert host_calls.TARGET not in called(CALLS["sort"][0], np.zeros(60).astype(ml_dtypes.bfloat16))
    assert host_calls.TARGET not in called(CALLS["complex product"][0], TABLE, TABLE.T)
    monkeypatch.setattr(host_calls, "SMALLEST", 61)
    monkeypatch.setattr(host_calls, "LEAST_PRODUCTS", 61)
    for name in names | sums:
        assert host_calls.TARGET not in called(CALLS[name][0], *CALLS[name][1])


def test_places_outside() -> None:
    places = PLACES.copy()
    places[[3, 20]] = 9, 8
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 7"):
        accelerate(counted, target="cpu")(places, np.ones(60))
    places[3] = -8
    with pytest.raises(IndexError, match="index -8 is out of bounds for axis 0 with size 7"):
        accelerate(counted, target="cpu")(places, np.ones(60))
    found = accelerate(counted, target="cpu", checks=False)(places, np.ones(60))
    np.testing.assert_array_equal(found, counted(np.delete(places, [3, 20]), np.ones(58)))


def instead_of_sorting(monkeypatch: pytest.MonkeyPatch, function: Callable[[], None]) -> Callable[..., Any]:
    def sort(axis: int, results: Sequence[NDArray], args: Sequence[NDArray]) -> None:
        function()
        results[0][...] = args[0]

    monkeypatch.setitem(host_calls._FUNCTIONS, "sort", sort)
    host_calls.find.cache_clear()

    def f(x: Any) -> Any:
        return np.sort(x) + 1.0

    return accelerate(f, target="cpu")


@pytest.mark.parametrize("kind", [np.asarray, untraced.device_put])
def test_exceptions_reach_the_caller(monkeypatch: pytest.MonkeyPatch, kind: Callable[..., Any]) -> None:
    def fail() -> None:
        raise MemoryError("no room for 5 elements")

    f = instead_of_sorting(monkeypatch, fail)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="MemoryError: no room for 5 elements"):
            f(kind(np.arange(5.0)))


def test_signals_wait_for_the_end_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def alarm(number: int, frame: Any) -> None:
        raise TimeoutError("it is late")

    done: list[bool] = []

    def ring() -> None:
        signal.raise_signal(signal.SIGALRM)
        done.append(True)

    f = instead_of_sorting(monkeypatch, ring)
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        with pytest.raises(TimeoutError, match="it is late"):
            f(np.arange(5.0))
        assert done == [True]
        assert signal.getsignal(signal.SIGALRM) is alarm
    finally:
        signal.signal(signal.SIGALRM, before)


def test_calls_with_numpy_arrays_run_in_the_calling_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with Arrays may run in one of XLA's: the call does not wait."""
    threads: list[int] = []
    f = instead_of_sorting(monkeypatch, lambda: threads.append(threading.get_ident()))
    x = RANDOM.random(2000)
    for _ in range(3):
        f(x)
    assert set(threads) == {threading.get_ident()}
    f(untraced.device_put(x)).block_until_ready()
    assert len(threads) == 4 and platform.platform(waits=True) is not platform.platform()


def test_from_many_threads_with_arrays_in_flight() -> None:
    def f(x: Any) -> Any:
        return np.sort(x)[::-1] + np.argmax(x)

    fast = accelerate(f, target="cpu")
    x = RANDOM.random(2000)
    failures: list[BaseException] = []

    def work(shift: int) -> None:
        try:
            value = untraced.device_put(x + shift)
            for k in range(40):
                np.testing.assert_array_equal(fast(x * k), f(x * k))
                value = fast(value) - np.float64(1999)
            assert np.asarray(value).shape == x.shape
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


# ---- arguments where they lie ---------------------------------------------------------------------

IN_PLACE = [
    "sort", "order", "partition", "argmax", "running sums", "add at", "stored", "bincount", "complex product", "sums",
    "running sums of truths", "first truths",
    "extremes", "bounds", "matrix times vector", "vector times vector", "elementwise", "differences", "truths",
    "sums of products", "norm", "products over two axes", "products of stacks",
]  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_nothing_is_copied(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, arguments = CALLS[name]
    own = [placed(a, 3) for a in arguments]
    monkeypatch.setattr(client, "_staging", None)
    accelerate(f, target="cpu")(*own)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x * x, axis=0),
        lambda x: np.cumsum(x, axis=0),
        lambda x: np.abs(np.linalg.qr(x)[1]),
        lambda x: (x + 1.0) @ x.T,
    ],
)
def test_what_xla_would_copy_is_copied_into_place(f: Callable[..., Any]) -> None:
    x = placed(TABLE + 3 * np.eye(6, 10), 3)
    fast = accelerate(f, target="cpu")
    np.testing.assert_allclose(fast(x), f(x), rtol=1e-9)
    entry = next(iter(fast._entries.values()))[0]
    assert entry.program._placements._made.keys() == {()}


def solved(lower: Any, b: Any) -> Any:
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def differences(flat: Any, b: Any) -> Any:
    rows, total = flat.reshape(6, 6) * 2.0, np.zeros(6)
    for i in range(6):
        for j in range(6):
            if flat[6 * i + j] > b[j]:
                total[i] += rows[i, j] - flat[6 * j + i]
    return total


def swept(table: Any, b: Any) -> Any:
    for i in range(1, 6):
        table[i] -= table[i - 1] * b[i]
    return table.sum()


def multiplied(x: Any, b: Any) -> Any:
    matrices = x.reshape(9, 2, 2)
    return np.einsum("zij,zkj->zik", matrices, matrices) + matrices @ matrices * b[0]


def looked_up(table: Any, b: Any) -> Any:
    places = (b * 5).astype(np.int64) % 6
    return table[places] * 2.0 + table[:, places] - table[places, -places]


@pytest.mark.skipif(not compiler.available(), reason="there is no C++ compiler")
@pytest.mark.parametrize(("f", "x", "in_place"), [
    (multiplied, TABLE[:, :6].ravel(), (0, 1)),
    (looked_up, TABLE[:, :6], (0, 1)),
    (solved, TABLE[:, :6] + 6 * np.eye(6), (0, 1)),
    (differences, TABLE[:, :6].ravel(), (0, 1)),
    (swept, TABLE[:, :6], (1,)),
])  # fmt: skip
def test_native_code_and_tables_read_arguments_where_they_lie(
    f: Callable[..., Any], x: Any, in_place: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNTRACED_NATIVE_LOOPS", "all")
    monkeypatch.setattr("untraced.tpu.loops.native.LEAST_RESULTS", 1)
    monkeypatch.setattr("untraced.runtime.targets.programs._loops_alone", lambda *_: None)  # as among larger work
    for places in ((2, 3), (0, 0), (1, 0), (0, 5)):
        fast = accelerate(f, target="cpu")
        mine, others = ([placed(x, places[0]), placed(TABLE[0, :6], places[1])] for _ in range(2))
        for ours, theirs in zip((fast(*mine), *mine), (f(*others), *others), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        entry = next(iter(fast._entries.values()))[0]
        assert entry.program._placements._made.keys() == {tuple(places[k] for k in in_place)}


def test_a_program_is_compiled_again_when_copies_have_cost_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[int, int]] = []

    def compile(shifts: Mapping[int, int]) -> Any:
        made.append(dict(shifts))
        return len(made)

    placements = Placements({1}, compile)
    arrays = [placed(np.zeros(50), k) for k in range(8)]
    assert [placements.executable([None, arrays[2]]) for _ in range(2)] == [1, 1]
    placements._seconds = 3 * 400 / 5e9
    assert [placements.executable([None, arrays[0]]) for _ in range(4)] == [1, 1, 2, 2]
    monkeypatch.setattr(placement, "COPIED_BYTES_A_SECOND", 1e-9)
    assert [placements.executable([None, a]) for a in arrays] == [2, 3, 1, 4, 4, 4, 4, 4]
    assert made == [{1: 2}, {}, {1: 1}, {1: 3}] and len(made) == MOST
    assert placements.executable([None, np.zeros((50, 2))[:, 0]]) == 2
    assert Placements({0}, lambda _: "aligned").executable([[0.0] * 50]) == "aligned"  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("count", [40_000, 1 << 21])
def test_truths_are_counted_as_numpy_does(count: int) -> None:
    def f(m: Any) -> Any:
        lines = m.reshape(-1, 200)
        counts = np.count_nonzero(m), np.sum(m), lines.sum(axis=0), lines.sum(axis=1, keepdims=True)
        return *counts, np.any(m), np.all(m), lines.any(axis=1), lines.all(axis=0), np.mean(m), np.sum(~m)

    m = np.random.default_rng(0).random(count - count % 200) < 0.97
    fast = accelerate(f, target="cpu")
    for given in (m, np.zeros_like(m), np.ones_like(m)):
        for found, expected in zip(fast(given), f(given), strict=True):
            np.testing.assert_array_equal(found, expected)
            assert type(found) is type(expected) and getattr(found, "dtype", None) == getattr(expected, "dtype", None)


def test_running_sums_of_half_precision_are_rounded_one_by_one() -> None:
    """Of 3000 ones NumPy's stop at 2048, the last integer that half precision counts up to."""

    def running(x: Any) -> Any:
        return np.cumsum(x), np.cumprod(1 + x[:40] / 64), np.cumsum(x.reshape(30, -1), axis=0), np.cumsum(x)[-1]

    for x in (np.ones(3000, np.float16), np.random.default_rng(0).random(3000).astype(np.float16)):
        for found, right in zip(accelerate(running, target="cpu")(x), running(x), strict=True):
            np.testing.assert_array_equal(found, right)
