"""Programs for the cpu that NumPy runs as fast on its own arrays: which they are, and what they do."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import accelerate, device_put, tree
from untraced.runtime.calls import entries
from untraced.runtime.targets import programs
from untraced.tpu import by_numpy
from untraced.tpu.client import host_calls
from untraced.translator.checked import fails_half_way

pytestmark = pytest.mark.skipif(not host_calls.AVAILABLE, reason="XLA takes everything where it cannot call NumPy")
RANDOM = Drawn(0)


@pytest.fixture(autouse=True)
def as_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_numpy, "LEAST", 1 << 15)


def weighed(fun: Callable[..., Any], *args: Any) -> bool:
    """Whether NumPy takes it; nothing is run."""
    stages = accelerate(fun, target="cpu").inspect(*args, compile=False).stages
    return by_numpy.by_numpy(stages.functions["fuse"], (), stages.functions["simplify"])


def test_library_calls_on_large_arrays_are_numpys() -> None:
    square, line = np.ones((800, 800)), np.ones(2_000_000)
    assert weighed(lambda a, b, c: 1.5 * a @ b + 2.0 * c, square, square, square)
    assert weighed(lambda a: a @ a.T, square)
    assert weighed(lambda a: np.tensordot(a, a, ([0, 1], [0, 1])), np.ones((200, 60, 60)))
    assert weighed(lambda x: np.sort(x), line)
    assert weighed(lambda x: np.cumsum(x), line)
    assert weighed(lambda a: np.linalg.cholesky(a), square)
    assert weighed(lambda x: np.clip(x, 0.0, 0.5), line)
    assert weighed(lambda x: np.tile(x, 3), line)
    wide, narrow = np.ones((2000, 32, 32)), np.ones((30_000, 8, 8))
    assert weighed(lambda a: a @ a, wide) and not weighed(lambda a: a @ a, narrow)  # each is begun anew
    assert weighed(lambda a, b: np.tensordot(a, b, ([1], [0])), wide, wide[0])  # without the copy that NumPy's makes
    assert not weighed(lambda a: np.einsum("zij,zjk->ikz", a, a), wide)


def test_chains_functions_loops_and_small_arrays_are_compiled() -> None:
    line, small = np.ones(2_000_000), np.ones((8, 8))

    def loop(x: Any) -> Any:
        for _ in range(3):
            x = np.concatenate([x[1:], x[:1]])
        return x

    assert not weighed(lambda x: (x * 2 + 1) * x - 3 * x, line)
    assert not weighed(lambda x: np.tanh(x), line)
    assert not weighed(lambda x: np.repeat(x, 3), line)  # NumPy copies three elements at once
    assert not weighed(lambda a: a @ a, small)
    tall = np.ones((200, 60, 60))
    assert not weighed(lambda a: np.tensordot(a[:, ::-1], a, ([0, 1], [0, 1])), tall)  # copies come before it
    assert not weighed(lambda x, n: loop(x) * n, line, 2)
    assert not weighed(lambda x: float(np.sum(x)), line)


def test_a_few_passes_over_what_lies_in_caches_are_numpys() -> None:
    """The way to XLA takes as long as ten of them; of what is copied in passing it is short."""
    some, few = np.ones(10_000), np.ones(4_000)
    assert weighed(lambda a, b: a + b, some, some) and weighed(np.max, some) and weighed(np.pad, some, 3)
    assert weighed(lambda a, b: np.sum((a - b) ** 2), some, some)
    assert not weighed(lambda a, b: a + b, few, few) and not weighed(lambda a: np.sin(a), some)
    assert not weighed(lambda a: ((a * 2 + 1) * a - 3) * a / (a * a + 1) - a * 7 + a / 3, np.ones(100_000))


def test_halves_and_complex_numbers_are_numpys_where_it_has_vectors_for_them() -> None:
    half, complexes = np.ones(1_000_000, np.float16), np.ones(1_000_000, np.complex128)
    for vectorised in (np.square, np.abs, np.conj):
        assert weighed(lambda x: vectorised(x), complexes)  # noqa: B023
    assert weighed(lambda x: abs(x), half) and not weighed(lambda x: x * x, half)
    assert weighed(lambda x: np.exp(x), half) == host_calls.has_vectors()


def test_calls_of_numpys_programs_take_a_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    x, scale = RANDOM.normal(size=6_000), 2.0
    for fun in (lambda a, s: a * s, lambda a, s: np.max(a) * s, lambda a, s: a[::2], lambda a, s: a.reshape(2, -1).T):
        ours = accelerate(fun, target="cpu")
        for given in ((x, 3.0), (x, scale), (x[::-1], 2.0), (x, 2), (x.astype(np.float32), 2.0), (x[:10], 2.0)):
            found, want = ours(*given), fun(*given)
            assert type(found) is type(want) and found.dtype == want.dtype
            np.testing.assert_array_equal(found, want)
            shares = np.shares_memory(want, x)
            assert not isinstance(found, np.ndarray) or np.shares_memory(found, x) == shares
    plus = accelerate(lambda a, s: a * s, target="cpu")
    plus(x, 1.0)
    assert type(plus).shortened and type(plus(device_put(x), 1.0)).__name__ == "Array"
    with np.errstate(over="raise"), pytest.raises(FloatingPointError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plus(x * 1e300, 1e300)
    with pytest.raises(TypeError, match="NoneType"):
        plus(x, None)
    np.testing.assert_array_equal(accelerate(lambda a, s: a * s, target="cpu")(x, True), x)
    assert np.all(np.isinf(plus(np.full(6_000, 1e300), 1e300)))


def test_stores_into_arguments_are_numpys_where_a_copy_costs_more() -> None:
    """XLA copies an argument that is written, and its new contents back."""
    square, line = np.ones((2000, 2000)), np.ones(2_000_000)

    def boundary(x: Any) -> Any:
        x[:, 0] = 1.0
        x[-1] += 2.0

    def halved(x: Any) -> Any:
        x *= 0.5
        x += 1.0

    def waves(x: Any) -> Any:
        x[1:] += np.tanh(x[:-1]) * np.cos(x[1:]) + np.tanh(x[:-1])

    def filled(x: Any) -> Any:
        y = np.zeros(2_000_000)
        y[1:-1] = (x[2:] - x[:-2]) * x[1:-1] + x[2:] * x[:-2]
        return y

    def turned(x: Any) -> Any:
        x[:] = x[::-1]
        np.clip(x, -1.0, 1.0, out=x)

    assert weighed(boundary, square) and weighed(halved, line) and weighed(turned, line)
    assert not weighed(waves, line) and not weighed(filled, line)
    assert weighed(lambda x: x / x[0], np.ones(2_000_000, np.complex128))
    assert weighed(lambda x: x // 7, np.arange(2_000_000)) and not weighed(lambda x: x % 7, np.arange(2_000_000))


def test_powers_that_are_products_are_compiled() -> None:
    """NumPy's function of powers takes thirty times as long where the base is negative."""
    x = np.ones(1 << 18)
    assert not weighed(lambda x: x**3, x)
    assert not weighed(lambda x: x**-5, x)
    assert weighed(lambda x: x**2, x)


def test_single_passes_are_numpys() -> None:
    line, whole = np.ones(4_000_000), np.arange(4_000_000)
    for single in (np.sum, np.max, np.ptp, np.nanmax, np.nanmin, np.sign, np.count_nonzero):
        assert weighed(single, line), single
    for of_integers in (lambda k: np.dot(k, k), lambda k: k**2, lambda k: k << 3):
        assert weighed(of_integers, whole)
    assert not weighed(np.std, line) and not weighed(lambda x: np.sum(x * x + 1.0), line)


def test_short_rows_are_compiled() -> None:
    """NumPy begins each anew."""
    short, long = np.ones((1_000_000, 3)), np.ones((300, 10_000))

    def extremes(a: Any) -> Any:
        return np.max(np.sort(a, axis=0), axis=-1)

    assert weighed(extremes, long) and not weighed(extremes, short)
    assert not weighed(lambda x: np.isin(x, [3, 5, 7]), np.arange(1_000_000))


def test_inspection_says_who_runs_the_program() -> None:
    square = np.ones((800, 800))
    made = accelerate(lambda a: a @ a.T, target="cpu").inspect(square, compile=False)
    assert made.runner == "numpy" and "run by NumPy" in repr(made)
    assert accelerate(lambda x: np.tanh(x), target="cpu").inspect(square, compile=False).runner == "xla"
    cut = accelerate(lambda x: x[x > 0], target="cpu").inspect(square, compile=False)
    assert cut.runner == "numpy" and "run by NumPy" in repr(cut)
    assert "run by" not in repr(accelerate(lambda x: x + 1, target="numpy").inspect(square))
    assert accelerate(lambda x: x + 1, target="triton").inspect(square, compile=False).runner == "triton"


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_numpy, "LEAST", -1.0)
    monkeypatch.setattr(by_numpy, "SMALL", -1)
    monkeypatch.setattr(host_calls, "SMALLEST", 1)
    monkeypatch.setattr(host_calls, "SHORTEST_SUM", 1)


def scaled(a: Any, x: Any) -> Any:
    a *= 2.0
    return a @ x, {"sum": np.sum(x)}


@pytest.mark.usefixtures("any_size")
def test_arguments_results_and_their_memory_are_those_of_compiled_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "runs_in_numpy", lambda function, **_: True)
    a, x = RANDOM.normal(size=(5, 4)), RANDOM.normal(size=4)
    ours = accelerate(scaled, target="cpu")
    mine, theirs = a.copy(), a.copy()
    product, sums = ours(mine, x)
    want, want_sums = scaled(theirs, x)
    np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_allclose(product, want, rtol=1e-15)
    assert type(sums["sum"]) is np.float64 and np.isclose(sums["sum"], want_sums["sum"], rtol=1e-15)
    [entry] = [e for found in ours._entries.values() for e in found]
    assert isinstance(entry, entries.EitherEntry) and not entry.may_fail

    whole = accelerate(lambda x: np.append(x, x)[:2], target="cpu")(x)
    assert whole.flags.owndata


@pytest.mark.usefixtures("any_size")
def test_arrays_of_devices_are_computed_with_by_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "runs_in_numpy", lambda function, **_: True)
    x = RANDOM.normal(size=50)
    ours = accelerate(lambda x: np.cumsum(x), target="cpu")
    np.testing.assert_allclose(ours(x), np.cumsum(x), rtol=1e-15)
    on_device = ours(device_put(x))
    assert type(on_device).__name__ == "Array"
    np.testing.assert_allclose(np.asarray(on_device), np.cumsum(x), rtol=1e-12)


def test_warnings_of_arithmetic_do_not_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "runs_in_numpy", lambda function, **_: True)
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        found = accelerate(lambda x: 1.0 / x, target="cpu")(np.zeros(3))
    assert np.all(np.isinf(found))


def test_what_fails_after_it_has_written_leaves_the_arguments_to_cpython(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython runs the call again, from its start: one store is made, not two."""
    monkeypatch.setattr(entries, "runs_in_numpy", lambda function, **_: True)

    def stored(a: Any, i: Any) -> Any:
        a += 1.0
        return a[i]

    a = np.zeros(4)
    with pytest.raises(IndexError):
        accelerate(stored, target="cpu")(a, np.array([9]))
    np.testing.assert_array_equal(a, np.ones(4))


def test_arguments_are_copied_only_where_something_may_fail_behind_a_store() -> None:
    def half_way(fun: Callable[..., Any], *args: Any) -> bool:
        return fails_half_way(accelerate(fun, target="numpy").inspect(*args).function)

    def cleared(x: Any, i: Any) -> None:
        x[i] = 0.0

    def added(x: Any, i: Any) -> None:
        x[i] += x[i + 1]

    def twice(x: Any, i: Any) -> None:
        x[0] = 1.0
        x[i] = 0.0

    def behind(x: Any, i: Any) -> Any:
        x *= 2.0
        return x[i]

    x, i = np.arange(5.0), np.array([1, 7])
    assert not half_way(cleared, x, i) and not half_way(added, x, i)
    assert half_way(twice, x, i) and half_way(behind, x, i)
    for fun in (cleared, added):
        with pytest.raises(IndexError):
            accelerate(fun, target="numpy")(x, i)
        np.testing.assert_array_equal(x, np.arange(5.0))


def spread_out(x: Any) -> Any:
    """Statement by statement: the list is known when the function is read."""
    parts = [x[i] for i in range(6)]
    for i in range(5):
        parts[i + 1] = parts[i] * 0.5 - np.tanh(parts[i + 1])
    x[0] = parts[3]
    return np.array(parts)


def test_long_programs_on_few_elements_are_compiled_when_numpy_has_taken_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = []
    monkeypatch.setattr(by_numpy, "LONG", 10)
    monkeypatch.setattr(by_numpy, "COMPILED", 1e-7)
    monkeypatch.setattr(entries, "load", lambda *a, **k: compiled.append(a) or load(*a, **k))
    load = programs.load
    f = accelerate(spread_out, target="cpu")
    for call in range(3):
        x, y = RANDOM.standard_normal((2, 6))
        y[:] = x
        np.testing.assert_allclose(f(x), spread_out(y), rtol=1e-14)
        np.testing.assert_allclose(x, y, rtol=1e-14)
        assert len(compiled) == (call > 0)


def test_only_long_straight_programs_on_few_elements_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def price(fun: Callable[..., Any], *args: Any) -> float:
        stages = accelerate(fun, target="cpu").inspect(*args, compile=False).stages
        return by_numpy.seconds_of_compiling(stages.functions["fuse"])

    def iterate(x: Any, n: int) -> Any:
        x = spread_out(x)
        for _ in range(n):
            x = np.cos(x) + x[::-1]
        return x

    few, many = np.ones(6), np.ones((6, 5000))
    assert price(spread_out, few) == 0.0
    monkeypatch.setattr(by_numpy, "LONG", 10)
    assert 0.0 < price(spread_out, few) < 1.0
    assert price(spread_out, many) == 0.0
    assert price(iterate, few, 100_000) == 0.0


# ---- programs of few operations ------------------------------------------------------------------


def distance(x: Any, y: Any) -> Any:
    d = x - y
    return math.sqrt(d * d + 1.0) if d > 0 else d / (1.0 + abs(y))


def spread(p: Any, v: Any) -> Any:
    return {"sum": p[0] + p[1], "scaled": v * p[0]}


F64, F32 = np.float64, np.float32
V = np.array([1.0, 2.0, -3.0])
TINY = [
    (lambda x, y: x * y + 1, (2.0, 3.0)), (lambda x, y: x * y + 1, (2, 3)), (lambda x, y: x * y, (2.0, 3j)),
    (lambda x, y: x / y, (F32(2), 3.0)), (lambda x, y: x - y, (F64(2), np.int32(3))), (distance, (1.0, 2.5)),
    (distance, (3.5, 2.5)), (lambda v: v[0] * v[1] - v[2], (V,)), (lambda v: np.sqrt(v @ v), (V,)),
    (spread, ((1.0, 2), V)), (lambda x, y: (x > y, not x), (1.0, 2.0)), (lambda x: x**2, (3,)),
    (lambda d: d["a"] - d["b"][1], ({"a": 1.0, "b": [2.0, V]},)),
    (lambda v, up: v[::-1] if up else v + 0, (V, True)), (lambda v: v.T, (V,)), (lambda v: 2.0, (V,)),
]  # fmt: skip


@pytest.mark.parametrize(("f", "args"), TINY)
def test_cpython_runs_tiny_programs_with_the_results_of_plain_functions(f: Any, args: Any) -> None:
    ours = accelerate(f)
    for _ in range(3):
        got, want = ours(*args), f(*args)
        assert tree.structure(got) == tree.structure(want)
        for x, y in zip(tree.leaves(got), tree.leaves(want), strict=True):
            assert type(x) is type(y) and np.asarray(x).dtype == np.asarray(y).dtype
            np.testing.assert_array_equal(x, y)
    [entry] = [e for found in ours._entries.values() for e in found]
    assert isinstance(entry, entries.EitherEntry) and ours.inspect(*args).runner == "numpy"
    on_device = [device_put(a) if isinstance(a, np.ndarray) else a for a in args]
    for x, y in zip(tree.leaves(ours(*on_device)), tree.leaves(f(*args)), strict=True):
        np.testing.assert_allclose(np.asarray(x), y, rtol=1e-15)


def test_whoever_names_the_target_gets_it() -> None:
    assert accelerate(lambda x: x + 1, target="cpu").inspect(1.0).runner == "xla"
    assert accelerate(lambda v: np.sum(v * v) + np.max(v)).inspect(V).runner == "xla"
    assert accelerate(lambda v: v + 1).inspect(np.ones(100)).runner == "xla"


def test_tiny_programs_raise_what_python_raises_at_the_line() -> None:
    ours = accelerate(lambda x, y: x / y + x**2)
    assert ours(1.0, 2.0) == 1.5
    with pytest.raises(ZeroDivisionError, match="test_by_numpy.py"):
        ours(1.0, 0.0)
    with pytest.raises(OverflowError):
        ours(1e200, 1.0)
    assert accelerate(lambda n: n * n + 1)(2**62) == 2**124 + 1
    assert ours(np.float64(1.0), 0.0) == np.inf


def test_arguments_of_any_number_in_repeated_calls() -> None:
    """The program takes `*rest` as one tuple, so no call goes straight to it."""

    def all_of_them(*xs: Any) -> Any:
        return np.cos(xs[0]) - xs[0]

    def behind_one(x: Any, *rest: Any) -> Any:
        return np.cos(x) + 2.0 * rest[0]

    x = np.arange(6.0).reshape(2, 3)
    for fun, args in ((all_of_them, (x,)), (all_of_them, (x, x)), (behind_one, (x, x + 1.0))):
        compiled = accelerate(fun)
        for _ in range(3):
            np.testing.assert_allclose(compiled(*args), fun(*args), rtol=1e-14)
