"""Memory that NumPy shares and a program does not: what cannot be as NumPy's is refused at the call, never wrong."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

from untraced import DTypeError, accelerate

A = np.arange(20.0).reshape(4, 5)


def write_through_reshape(x):
    y = x.reshape(-1)
    y[1] = 99.0
    return x


def write_behind_ravel(x):
    y = x.ravel()
    x[0, 1] = 50.0
    return y


def write_through_transposed_ravel(x):
    y = x.T.ravel()
    y[1] = 7.0
    return x


def written_before(x):
    x[1:3] *= 2
    return x.ravel() + x.reshape(-1)


def read_only_reshapes(x):
    return x.reshape(-1) + x.T.reshape(-1)


WRITERS = [write_through_reshape, write_behind_ravel, write_through_transposed_ravel]


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("function", [*WRITERS, written_before, read_only_reshapes])
def test_reshapes_in_c_order(function: Any, target: str) -> None:
    ours, theirs = copy.deepcopy(A), copy.deepcopy(A)
    expected = function(theirs)
    assert_same(accelerate(function, target=target)(ours), expected, "result")
    assert_same(ours, theirs, "the argument")


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("function", WRITERS)
def test_reshapes_of_other_layouts_are_left_to_cpython(function: Any, target: str) -> None:
    fast = accelerate(function, target=target)
    for make in (np.asfortranarray, np.copy, np.asfortranarray):
        ours, theirs = make(A), make(A)
        assert_same(fast(ours), function(theirs), "result")
        assert_same(ours, theirs, "the argument")


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("function", [written_before, read_only_reshapes])
def test_reshapes_that_nothing_depends_on(function: Any, target: str) -> None:
    expected = function(np.asfortranarray(A))
    assert_same(accelerate(function, target=target)(np.asfortranarray(A)), expected, "result")


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_arrays_without_axes_do_not_change_silently(target: str) -> None:
    def straight(x):
        x += 1
        return x * 2

    def in_a_loop(x):
        for i in range(3):
            x += i
        return x + 1

    for f in (straight, in_a_loop):
        fast = accelerate(f, target=target)
        ours, theirs = np.array(3.0), np.array(3.0)
        assert fast(ours) == f(theirs) and ours == theirs
        assert fast(np.float64(3.0)) == f(np.float64(3.0))


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_overlapping_arguments_are_left_to_cpython(target: str) -> None:
    def f(x, y):
        x[1:] = y[:-1]
        y[0] = 7.0
        return x

    for first in (0, 1):
        ours, theirs = np.arange(6.0), np.arange(6.0)
        found = accelerate(f, target=target)(ours[first:], ours[: 6 - first])
        assert_same(found, f(theirs[first:], theirs[: 6 - first]), "result")
        assert_same(ours, theirs, "the memory")


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("strides", [(0, 8), (8, 8), (24, 16)])
def test_an_argument_that_overlaps_itself_is_left_to_cpython(target: str, strides: tuple[int, int]) -> None:
    def f(x):
        x[1] = 7.0
        x *= 2.0
        return x.copy()

    fast = accelerate(f, target=target)
    ours, theirs = (np.lib.stride_tricks.as_strided(np.arange(16.0), (3, 3), strides) for _ in range(2))
    assert_same(fast(ours), f(theirs), "result")
    assert_same(ours, theirs, "the argument")


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_integers_out_of_range_are_refused_as_in_numpy(target: str) -> None:
    x = np.array([1, 200], np.uint8)
    with pytest.raises(OverflowError):
        accelerate(lambda x: x + 300, target=target)(x)
    assert_same(accelerate(lambda x: (x < 300, x == 256), target=target)(x), (x < 300, x == 256), "comparisons")


@pytest.mark.parametrize("dtype", ["b", "B", "H", "i", "L"])
def test_comparisons_with_ints_of_the_run_are_exact(dtype: str) -> None:
    def whole(x, n):
        return x < n, x <= n, x == n, x != n, n > x

    def one_by_one(x, n, out):
        for i in range(len(x)):
            out[i] = x[i] < n or x[i] == -n
        return out

    x = np.array([0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    long, places = np.tile(x, 5000), np.zeros(20_000, bool)
    compared, looped = accelerate(whole, target="cpu"), accelerate(one_by_one, target="cpu")
    for n in (1, -1, 300, -200, 2**40, -(2**40), 2**63 - 1):
        assert_same(compared(x, n), whole(x, n), f"{n}")
        assert_same(looped(long, n, places.copy()), np.tile(one_by_one(x, n, places[:4].copy()), 5000), f"{n}")


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("dtype", ["b", "B", "L"])
def test_comparisons_with_the_index_of_a_loop_are_exact(dtype: str, target: str) -> None:
    def f(x):
        s = 0
        for i in range(-100, 400, 7):
            s += (x < i).sum() + 3 * (i == x).sum()
        return s

    x = np.array([0, 5, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    assert_same(accelerate(f, target=target)(x), f(x), dtype)


def test_recursion_on_an_argument() -> None:
    def f(n):
        def fib(k):
            return k if k < 2 else fib(k - 1) + fib(k - 2)

        return fib(n) * np.ones(2)

    assert_same(accelerate(f, target="cpu")(10), f(10), "result")


def test_names_like_generated_ones() -> None:
    def f(x, t):
        a, b = t
        return x * a + b, t[1] - x

    assert_same(accelerate(f, target="cpu")(A, (1, 2.5)), f(A, (1, 2.5)), "result")


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("function", [lambda: np.full(1 << 62, 1), lambda: np.zeros((1 << 40, 64))])
def test_arrays_that_no_memory_can_hold(function: Any, target: str) -> None:
    with pytest.raises((ValueError, MemoryError)) as expected:
        function()
    with pytest.raises(expected.type):
        accelerate(function, target=target)()


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_records_are_left_to_cpython(target: str) -> None:
    def f(x):
        return np.empty_like(x, dtype=[("a", "i2"), ("b", "f4")]), x * 2

    made, doubled = accelerate(f, target=target)(np.ones(3))
    assert made.dtype == np.dtype([("a", "i2"), ("b", "f4")]) and made.shape == (3,)
    np.testing.assert_array_equal(doubled, [2.0, 2.0, 2.0])


def _fills_records(table, x):
    y = np.sin(x) * 2.0 + 1.0
    table["a"] += 1
    for i, row in enumerate(table):
        y[i] += row["b"]
    return y, table[table["a"] > 1], np.cos(y).mean(), isinstance(table, np.ndarray)


def _orders_names(names, x):
    order = np.argsort(names)
    z = np.exp(x) + 1.0
    return names[order], z[order] * 2.0, x[names == "a"], len(names), names


def _shifts_a_date(day, x):
    days = day + np.arange(len(x)) if isinstance(day, np.datetime64) else day
    return days, np.sin(x) * 2.0 + 1.0, str(day)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("alone", [np.datetime64("2020-03-01"), np.str_("ab"), np.timedelta64(3, "s"), np.bytes_(b"c")])
def test_one_date_or_string_of_numpys_is_left_to_cpython(alone: Any, target: str) -> None:
    fast = accelerate(_shifts_a_date, target=target)
    for found, expected in zip(fast(alone, np.arange(3.0)), _shifts_a_date(alone, np.arange(3.0)), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert type(found) is type(expected)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize(
    ("f", "array"),
    [
        (_fills_records, np.array([(1, 2.5), (0, 4.5), (3, 0.5)], [("a", "i2"), ("b", "f4")])),
        (_orders_names, np.array(["b", "a", "cc"])),
        (_orders_names, np.array(["b", "a", "cc"], object)),
        (_orders_names, np.array(["2020-03-01", "2020-01-01", "2019-05-05"], "datetime64[D]")),
    ],
    ids=["records", "strings", "objects", "dates"],
)
def test_arguments_of_no_numbers_are_left_to_cpython(f: Any, array: Any, target: str) -> None:
    fast = accelerate(f, target=target)
    mine, others = array.copy(), array.copy()
    for _ in range(2):
        for found, expected in zip(fast(others, np.arange(3.0)), f(mine, np.arange(3.0)), strict=True):
            np.testing.assert_array_equal(found, expected)
            assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
        np.testing.assert_array_equal(others, mine)
    with pytest.raises(DTypeError, match="cannot be an argument"):
        accelerate(lambda several: several[0] * 2, target=target)([array])


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_arrays_that_lie_as_asked_are_returned_themselves(target: str) -> None:
    for function in (lambda x: np.asfortranarray(x), lambda x: np.ascontiguousarray(x.T)):
        fast = accelerate(function, target=target)
        for x in (np.ones((2, 3), order="F"), np.ones((2, 3)), np.ones((2, 6))[:, ::2]):
            expected, found = function(x), fast(x)
            assert (found is x) is (expected is x)
            assert np.shares_memory(found, x) is np.shares_memory(expected, x)
