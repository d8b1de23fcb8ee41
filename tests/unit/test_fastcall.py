"""The generated call of NumPy arrays: what it accepts, what it leaves to the general path, what it returns."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, device_put
from untraced.runtime.calls.accelerated import Accelerated

X = np.arange(4.0)
FACTOR = 1.0
STRIDED = np.arange(8.0)[::2]
OTHERS = (X.astype("f4"), X.astype(">f8"), X[:3], X.reshape(2, 2), STRIDED, np.arange(4), 2.0, np.float64(2))


def scaled(x: Any) -> Any:
    return x * FACTOR


def several(p: Any, x: Any, n: Any) -> Any:
    return {"a": p[0] * x + p[1], "b": np.sum(x), "c": n + 1}


class TestSmallArrays:
    def test_a_call_of_the_same_kind_takes_the_generated_path(self) -> None:
        f = accelerate(lambda x, y: x * y + 1, target="cpu")
        f(X, X)
        assert type(f) is not Accelerated
        np.testing.assert_array_equal(f(X, X), X * X + 1)
        np.testing.assert_array_equal(f(X, 2.0), X * 2 + 1)

    def test_results_are_fresh_and_writable(self) -> None:
        f = accelerate(lambda x: (x.copy(), x + 1), target="cpu")
        f(X)
        first, second = f(X)
        first[:] = 7
        assert second.flags.writeable and first.flags.owndata
        np.testing.assert_array_equal(X, np.arange(4.0))
        np.testing.assert_array_equal(f(X)[0], X)

    def test_trees_scalars_and_python_numbers(self) -> None:
        f = accelerate(several, target="cpu")
        for _ in range(3):
            got = f((X, 2 * X), X, 3)
            np.testing.assert_array_equal(got["a"], X * X + 2 * X)
            assert type(got["b"]) is np.float64 and got["b"] == 6
            assert type(got["c"]) is int and got["c"] == 4

    @pytest.mark.parametrize("other", OTHERS, ids=lambda x: f"{np.asarray(x).dtype.str}{np.shape(x)}")
    def test_other_kinds(self, other: Any) -> None:
        f = accelerate(lambda x: x * 2 + 1, target="cpu")
        f(X)
        got, expected = f(other), other * 2 + 1
        assert np.asarray(got).dtype.newbyteorder("=") == np.asarray(expected).dtype.newbyteorder("=")
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(f(X), X * 2 + 1)

    def test_writes_still_reach_the_caller(self) -> None:
        def fill(x: Any) -> None:
            x[1:] = 5.0

        f = accelerate(fill, target="cpu")
        for _ in range(2):
            x = X.copy()
            f(x)
            np.testing.assert_array_equal(x, [0, 5, 5, 5])

    def test_globals_are_guarded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        f = accelerate(scaled, target="cpu")
        for factor in (2.0, 3.0, 4.0):
            monkeypatch.setitem(globals(), "FACTOR", factor)
            np.testing.assert_array_equal(f(X), X * factor)

    def test_numbers_alone(self) -> None:
        f = accelerate(lambda a, b: (a * b + a, a < b), target="cpu")
        f(1.5, 2.5)
        assert type(f) is not Accelerated
        calls: list[tuple[Any, Any]] = [(1.5, 3.5), (1, 2), (True, 2.5), (np.float32(2), 1.5), (10**30, 2), (2**62, 4)]
        for a, b in [*calls, (np.nan, 1.0)]:
            for got, expected in zip(f(a, b), (a * b + a, a < b), strict=True):
                assert type(got) is type(expected)
                np.testing.assert_array_equal(got, expected)

    def test_checked_programs(self) -> None:
        f = accelerate(lambda x, i: (x[i], x * 2), target="cpu")
        f(X, 1)
        assert type(f) is not Accelerated
        for i in (3, -4, 0):
            assert f(X, i)[0] == X[i]
        for i in (4, -5):
            with pytest.raises(IndexError, match=f"index {i} is out of bounds"):
                f(X, i)
        np.testing.assert_array_equal(f(X, np.array([0, -1]))[0], X[[0, -1]])

    @pytest.mark.parametrize("target", ["cpu", "auto", "numpy"])
    def test_numbers_of_numpy_that_the_program_is_made_for(self, target: str) -> None:
        f = accelerate(lambda x, k: (x[int(k) :] + 1, f"{k}"), target=target)
        for k in (np.int64(1), np.int64(2), np.float64(2.0), np.float64(0.0), np.float64(-0.0), np.int8(3)):
            got, text = f(X, k)
            np.testing.assert_array_equal(got, X[int(k) :] + 1)
            assert text == f"{k}"

    def test_numbers_where_numpy_makes_arrays_of_them(self) -> None:
        f = accelerate(lambda x: (np.sinc(x), np.where(x > 0, x, 2.0)))
        g = accelerate(lambda x: np.sinc(x))
        for x in (1.0, -1.0, 2.5):
            assert type(g(x)) is type(f(x)[0]) is np.float64
            assert type(f(x)[1]) is np.ndarray

    def test_mistakes_are_reported(self) -> None:
        f = accelerate(lambda x, y: x * y, target="cpu")
        f(X, X)
        with pytest.raises(TypeError):
            f(X)
        with pytest.raises(TypeError):
            f(X, X, X)
        np.testing.assert_array_equal(f(X, y=X), X * X)


def test_beside_a_jax_of_32_bits() -> None:
    """float64 arguments and Python numbers stay what they are."""
    pytest.importorskip("jax")
    code = """
import jax, numpy as np
from untraced import accelerate, device_put
f = accelerate(np.multiply, target="cpu")
g = accelerate(np.multiply, target="cpu")
x = np.arange(4.0) + 1e-12
for c in (1.1, 1.3, 1.7):
    assert np.array_equal(f(x, c), x * c)
    assert np.array_equal(np.asarray(g(device_put(x), c)), x * c)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "MISMATCH" not in done.stderr.upper()


def test_trees_are_told_apart_by_the_keys_of_each_dict() -> None:
    @accelerate
    def f(p: Any, q: Any) -> Any:
        return sum(x * (k + 1.0) for k, x in enumerate(p.values())) + sum(q.values())

    one, two = device_put(np.ones(2)), device_put(np.full(2, 2.0))
    calls = [
        ({"a": one, "b": two, "c": {}}, {"z": one}),
        ({"b": two, "a": one, "c": {}}, {"z": one}),
        ({"a": one, "b": two}, {"z": one, "y": two}),
        ({"a": two}, {"a": one, "b": two, "c": one}),
    ]
    for p, q in [*calls, *calls]:
        p = {k: x for k, x in p.items() if k != "c"}
        wanted = sum(np.asarray(x) * (k + 1.0) for k, x in enumerate(p.values())) + sum(map(np.asarray, q.values()))
        np.testing.assert_array_equal(f(p, q), wanted)


class TestSeveralKinds:
    """Calls of a few kinds in turn each have generated code."""

    def test_each_kind_is_served_by_its_own_program(self, monkeypatch: pytest.MonkeyPatch) -> None:
        f = accelerate(lambda x, y: x * 2 + y, target="cpu")
        given = [(device_put(X[:k]), y) for k in (1, 2, 3) for y in (1.0, device_put(X[:k]))]
        for x, y in given:
            f(x, y)
        assert type(f).shortened == len(given)
        monkeypatch.setattr(Accelerated, "_general", lambda *_: pytest.fail("the general path"))
        for x, y in given:
            np.testing.assert_array_equal(np.asarray(f(x, y)), np.asarray(x) * 2 + np.asarray(y))

    def test_more_kinds_than_are_kept(self) -> None:
        f = accelerate(lambda x: x + 1, target="cpu")
        for k in [*range(1, 20), *range(1, 20)]:
            np.testing.assert_array_equal(np.asarray(f(device_put(np.ones(k)))), np.full(k, 2.0))
        assert 0 < type(f).shortened <= 6

    def test_values_types_and_slices_that_programs_are_made_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        f = accelerate(lambda x, axis, dtype, part: x[part].sum(axis).astype(dtype), target="cpu")
        a = np.arange(6.0).reshape(2, 3)
        given = [(0, np.float32, slice(1, None)), (1, np.float32, slice(None)), (0, np.int64, (slice(None), slice(2)))]
        for values in given:
            f(device_put(a), *values)
        monkeypatch.setattr(Accelerated, "_general", lambda *_: pytest.fail("the general path"))
        for axis, dtype, part in given:
            got, expected = np.asarray(f(device_put(a), axis, dtype, part)), a[part].sum(axis).astype(dtype)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)

    def test_a_truth_is_no_axis_that_was_seen_as_a_number(self) -> None:
        f = accelerate(lambda x, n: x * np.ones(n).sum(), target="cpu")
        assert f(X, 1).tolist() == X.tolist()
        assert f(X, 2).tolist() == (2 * X).tolist()
        with pytest.raises(TypeError):
            f(X, 1.0)

    def test_what_the_name_means_now(self, monkeypatch: pytest.MonkeyPatch) -> None:
        f = accelerate(scaled, target="cpu")
        for k in (2, 3):
            f(device_put(X[:k]))
        monkeypatch.setitem(globals(), "FACTOR", 3.0)
        for k in (2, 3):
            np.testing.assert_array_equal(np.asarray(f(device_put(X[:k]))), 3 * X[:k])

    def test_a_returned_list_is_the_callers(self) -> None:
        f = accelerate(lambda x, parts: parts, target="cpu")
        x, parts = device_put(X), [device_put(X), 1.0]
        for _ in range(3):
            assert f(x, parts) is parts


@pytest.mark.parametrize("index", [5, -6, (0, 3), (0, 0, 0)])
def test_indices_outside_an_array(index: Any) -> None:
    """Those that are known to lie inside are not checked again."""
    x = device_put(np.ones((5, 3)))
    assert np.asarray(x[4, -3]) == x[-5][2] == 1.0
    for _ in range(2):
        with pytest.raises(IndexError):
            x[index]
