"""Slices whose ends come from loops: moved beside each other, turned round, summed in windows; and their stores."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

from untraced import accelerate
from untraced.translator.errors import UntracedError
from untraced.translator.reading.core import demand

Case = tuple[Callable[..., Any], tuple[Any, ...]]
X = np.random.default_rng(0).random(9)
Y = np.random.default_rng(1).random(12)
LONG = np.cumsum(np.random.default_rng(2).random(70) + 0.2)
CASES: list[Case] = []


def case(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((f, arguments))
        return f

    return add


@case(X, Y)
def shifted_by_one(x, y):
    for k in range(1, len(x)):
        y[1 : k + 1] -= 0.5 * x[:k]
        x[:k] += y[1 : k + 1] * y[2 : k + 2]
    return x, y


@case(X, Y)
def shifted_by_a_loop_index(x, y):
    total = 0.0
    for k in range(len(x) + 1):
        y[k : len(x)] = y[: len(x) - k] + x[k:]
        total += np.dot(y[: len(x) - k], x[k:])
    return total


@case(X, Y)
def another_length_of_axis(x, y):
    for i in range(4):
        for j in range(5):
            y[i + 3 : j + i + 3] += x[i : j + i] - y[i : i + j]
    return y


@case(X, np.outer(X, Y))
def rows_of_a_matrix(x, a):
    for k in range(2, 7):
        a[k, 1 : k + 1] = a[k - 1, :k] + a[1 : k + 1, k]
        a[1 : k + 1, :] -= a[0:k, :] * x[1 : k + 1, None]
    return a


@case(X)
def backwards(x):
    out = np.zeros_like(x)
    for k in range(len(x)):
        out[k] = np.dot(x[k::-1], x[: k + 1]) + np.sum(x[k:0:-1]) + np.sum(x[:k:-1])
        out[:k] += x[k:0:-1]
    return out


@case(LONG)
def lags(x):
    n = len(x)
    found = np.zeros(n)
    for k in range(1, n + 1):
        found[k - 1] = np.dot(x[:-k], x[k:]) + np.sum(x[-k : n - 1]) + np.sum(x[k - 1 : -1])
        found[k:] += x[:-k] - x[k - 1 : -1]
        found[:-k] -= x[k:]
    return found


@case(LONG)
def divided_differences(x):
    c = np.cos(x)
    for k in range(1, len(x)):
        c[k:] = (c[k:] - c[k - 1 : -1]) / (x[k:] - x[:-k])
    return c


@case(LONG)
def backs_that_may_leave_the_axis(x):
    total = 0.0
    for k in range(len(x) + 3):
        total += np.sum(x[:-k]) - 2 * np.sum(x[-k:]) + np.sum(x[-k:-2])
    return total


@case(np.outer(X, X) + np.eye(9))
def reflections(a):
    r = a.copy()
    for k in range(a.shape[1]):
        x = r[k:, k]
        e = np.zeros_like(x)
        e[0] = 1.0
        v = x + np.copysign(np.linalg.norm(x), x[0]) * e
        v /= np.linalg.norm(v)
        r[k:, :] -= 2.0 * np.outer(v, v @ r[k:, :])
    return r


@case(np.outer(X, Y), np.arange(12) % 7 - 2, np.arange(12) % 5)
def picked_by_two_masked_indices(a, i, j):
    good = (i >= 0) & (j < 4)
    out = np.zeros(12)
    out[good] = a[i[good], j[good]]
    return out


LINE = np.random.default_rng(2).normal(size=41)


@case(LINE)
def means_around(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        lo, hi = max(0, i - 2), min(len(x), i + 3)
        out[i] = x[lo:hi].mean() + len(x[lo:hi])
    return out


@case(LINE, X[:5])
def weighted_around(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        lo, hi = max(0, i - 2), min(len(x), i + 3)
        out[i] = x[lo:hi] @ w[lo - i + 2 : hi - i + 2]
    return out


@case(np.outer(LINE[:21], LINE[:19]))
def images_around(x):
    out = np.zeros_like(x)
    m, n = x.shape
    for i in range(m):
        for j in range(n):
            out[i, j] = x[max(0, i - 1) : min(m, i + 2), max(0, j - 2) : min(n, j + 3)].max()
    return out


@case(LINE)
def stores_around(x):
    out = x.copy()
    for i in range(len(x)):
        lo = 0 if i < 3 else i - 3
        hi = min(len(x), i + 4)
        out[lo:hi] += 0.1 * x[i]
        out[lo:hi] = out[lo:hi][::-1] * 0.5 + out[i]
    return out


@case(LINE)
def beyond_the_end(x):
    total = 0.0
    for i in range(len(x) + 5):
        total += x[i : i + 7].sum() * len(x[i : i + 7]) + x[min(i, 45) : i + 3].sum() + x[i : i - 3].sum()
    return total


@case(LINE)
def kept_inside(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        k = min(max(i - 2, 0), len(x) - 5)
        out[i] = np.sort(x[k : k + 5])[2]
    return out


@case(np.outer(LINE, X), LINE)
def batches(x, y):
    w = np.zeros(x.shape[1])
    for _ in range(3):
        for i in range(0, len(x), 10):
            rows = x[i : i + 10]
            w -= 0.1 * rows.T @ (rows @ w - y[i : i + 10]) / len(rows)
    return w


@case(LINE)
def chunks_by_while(x):
    i, total = 0, 0.0
    while i < len(x) and total < 1e9:
        total += x[i : i + 9].std() + len(x[i : i + 9])
        i += 4
    while i >= 3:
        i -= 3
        total -= x[i : i + 5].max() if i < len(x) else 1.0
    return total


@case(np.outer(LINE, X), np.random.default_rng(4).permutation(41))
def shuffled_batches(x, order):
    w = np.zeros(x.shape[1])
    for start in range(0, len(x), 10):
        rows = x[order[start : min(start + 10, len(x))]]
        w += rows.T @ np.tanh(rows @ w + 1.0)
    return w


@case(LINE)
def chunks_until(x):
    for i in range(0, len(x), 10):
        part = np.sort(x[i : i + 10])
        if part[0] > 5:
            break
    else:
        part = part * 2
    return part


@case(LINE)
def chunks_by_number(x):
    out = np.zeros_like(x)
    for b in range((len(x) + 9) // 10):
        out[b * 10 : (b + 1) * 10] = np.cumsum(x[b * 10 : (b + 1) * 10][::-1])
    return out


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("function, arguments", CASES, ids=[f.__name__ for f, _ in CASES])
def test_equals_numpy(function: Any, arguments: Any, target: str) -> None:
    plain, ours = copy.deepcopy(arguments), copy.deepcopy(arguments)
    expected = function(*plain)
    assert_same(accelerate(function, target=target)(*ours), expected, "result")
    assert_same(ours, plain, "arguments")


WHOLE = (
    picked_by_two_masked_indices,
    means_around,
    weighted_around,
    images_around,
    kept_inside,
    chunks_until,
    backs_that_may_leave_the_axis,
)


@pytest.mark.parametrize("function", [f for f, _ in CASES if f not in WHOLE])
def test_loops_stay_loops(function: Any) -> None:
    arguments = next(a for f, a in CASES if f is function)
    source = accelerate(function, target="numpy").inspect(*copy.deepcopy(arguments)).source
    assert "    for " in source or "    while " in source
    assert function is beyond_the_end or "stays with CPython" not in source


def test_what_is_known_to_be_short_is_taken_from_a_window():
    for function, size in ((means_around, 5), (weighted_around, 5), (images_around, 3), (stores_around, 7)):
        arguments = next(a for f, a in CASES if f is function)
        inspected = accelerate(function, target="numpy").inspect(*copy.deepcopy(arguments))
        assert f"np.arange({size})" in inspected.source
        assert "np.arange(41)[" not in inspected.source and "CPython" not in inspected.source


def banded_rows(a, below, above):
    n, out = a.shape[0], np.zeros(a.shape[0])
    for i in range(n):
        count = 1 + min(n - i - 1, above) + min(i, below)
        out[i] = a[i, :count] @ a[n - i - 1, 1 : count + 1]
    return out


def test_arguments_that_bound_a_slice_are_asked_for_before_the_loop_is_written_out() -> None:
    a = np.random.default_rng(0).random((20, 10))
    f = accelerate(banded_rows)
    assert_same(f(a, 2, 3), banded_rows(a, 2, 3), "result")
    assert f.inspect(a, 2, 3).source.count("a[") < 3  # not one line for each of the 20 turns


def overlaps_of_bands(a, b):
    n, out = a.shape[0], np.zeros(a.shape)
    for i in range(n):
        first, count = max(0, i - 3), 1 + min(n - i - 1, 4) + min(i, 3)
        for j in range(max(i - 5, 0), min(n, i + 6)):
            other, others = max(0, j - 2), 1 + min(n - j - 1, 3) + min(j, 2)
            ahead, behind = (first - other, 0) if first >= other else (0, other - first)
            both = min(count - behind, others - ahead)
            out[i, 0] += np.sum(a[i, behind : behind + both]) * np.sum(b[j, ahead : ahead + both])
    return out


def test_ranges_of_minima_of_minima_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_into = 0
    most = demand._most

    def counted(*args: Any) -> Any:
        nonlocal looked_into
        looked_into += 1
        return most(*args)

    monkeypatch.setattr(demand, "_most", counted)
    a, b = np.random.default_rng(0).random((2, 30, 12))
    assert_same(accelerate(overlaps_of_bands)(a, b), overlaps_of_bands(a, b), "result")
    assert looked_into < 5000  # each path through the minima and maxima by itself: hundreds of thousands


def test_only_the_last_batch_is_written_out():
    source = accelerate(batches, target="numpy").inspect(np.outer(LINE, X), LINE).source
    assert "for i in range(0, 40, 10):" in source and "x[40:]" in source and "x[30:" not in source
    source = accelerate(shuffled_batches, target="numpy").inspect(np.outer(LINE, X), np.arange(41)).source
    assert "in range(0, 40, 10):" in source and "order[40:]" in source and "order[30:" not in source
    assert "np.arange(9)" in accelerate(chunks_by_while, target="numpy").inspect(LINE).source


def test_lengths_that_differ_are_not_moved() -> None:
    def f(x: Any, y: Any) -> Any:
        for k in range(1, 4):
            y[1 : k + 2] += x[:k]
        return y

    with pytest.raises((ValueError, UntracedError)):
        accelerate(f, target="cpu")(X.copy(), Y.copy())


# ---- sums in windows -------------------------------------------------------------------------------


def rows(starts: Any, columns: Any, values: Any, x: Any) -> Any:
    y = np.empty(len(starts) - 1)
    for i in range(len(y)):
        y[i] = values[starts[i] : starts[i + 1]] @ x[columns[starts[i] : starts[i + 1]]]
    return y


def row_sums(starts: Any, columns: Any, values: Any, x: Any) -> Any:
    y = np.empty(len(starts) - 1)
    for i in range(len(y)):
        y[i] = np.sum(np.exp(values[starts[i] : starts[i + 1]])) + np.mean(columns[starts[i] : starts[i + 1]])
    return y


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("kind", [np.int64, np.uint32])
@pytest.mark.parametrize("function", [rows, row_sums])
def test_sums_of_slices_go_over_windows(function: Any, kind: Any, target: str) -> None:
    rng = np.random.default_rng(2)
    starts = np.array([0, 3, 4, 70, 170, 599, 600], kind)
    columns, values = rng.integers(0, 50, 600).astype(kind), rng.random(600)
    x = rng.random(50)
    ours = accelerate(function, target=target)
    np.testing.assert_allclose(ours(starts, columns, values, x), function(starts, columns, values, x), rtol=1e-13)
    assert ", 128):" in ours.inspect(starts, columns, values, x).source


def test_a_window_does_not_see_what_is_outside_of_the_slice() -> None:
    starts = np.array([0, 100, 600, 5990, 6000])
    values = np.ones(6000)
    values[99:101] = np.inf, np.nan
    expected = rows(starts, np.zeros(6000, np.int64), values, np.ones(2))
    ours = accelerate(rows, target="cpu")(starts, np.zeros(6000, np.int64), values, np.ones(2))
    np.testing.assert_array_equal(ours, expected)


SIGNS = [
    lambda x, k: x[k : k - 2],
    lambda x, k: x[k - 2 : k : -1],
    lambda x, k: x[k : k - 3 : -1],
    lambda x, k: x[k + 1 : k - 1 : -1],
    lambda x, k: x[k : k - 2 : 2],
]


@pytest.mark.parametrize("part", SIGNS)
def test_ends_that_turn_negative_count_from_the_back(part: Any) -> None:
    def f(x: Any) -> Any:
        out = np.zeros(9)
        for k in range(9):
            out[k] = np.sum(part(x, k))
        return out

    def g(x: Any, k: Any) -> Any:
        return np.sum(part(x, k))

    np.testing.assert_array_equal(accelerate(f, target="numpy")(X), f(X))
    for k in range(9):
        np.testing.assert_array_equal(accelerate(g, target="numpy")(X, k), g(X, k))


def smallest(x):
    total = 0.0
    for i in range(4):
        total += np.min(x[-i : -i + 3], initial=0.0)
    return total


def joined(x):
    total = 0
    for i in range(0, len(x), 2):
        total += np.min(np.append(x[-i : -i + 3], 1.0))
    return total


def sorted_rows(x):
    for i in range(4):
        x[i] = np.sum(np.sort(x[6 - i : 9 - i])) + np.sum(np.sort(x[i - 2 : i + 1]))
    return x


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("f", [smallest, joined, sorted_rows])
def test_slices_that_leave_their_axis_in_some_iterations(f: Any, target: str) -> None:
    mine, theirs = X - 0.5, X - 0.5
    assert_same(accelerate(f, target=target)(theirs), f(mine), "result")
    np.testing.assert_array_equal(theirs, mine)


def from_the_end(x, k):
    first = x[:5]
    for i in range(k):
        first[-i - 1] = i
    return first[-k], first[k - 1]


def from_the_end_of_rows(x, k):
    rows = x.reshape(-1, 3)[:2]
    for i in range(k):
        rows[-i - 1, -i] = rows[k - i - 1, i] + 1
    return rows[k - 2]


def windows_of_a_part(x, k):
    first, total = x[:5], 0.0
    for i in range(k + 2):
        total += np.min(first[i : i + 3], initial=0.0)
    return total, first[k : k + 3].copy()


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("f", [from_the_end, from_the_end_of_rows, windows_of_a_part])
def test_places_in_the_first_part_of_an_array(f: Any, target: str) -> None:
    """They count from the end of the part."""
    for k in (2, 1):
        mine, theirs = np.arange(12.0) - 6, np.arange(12.0) - 6
        assert_same(accelerate(f, target=target)(theirs, k), f(mine, k), "result")
        np.testing.assert_array_equal(theirs, mine)


def test_a_place_behind_the_first_part_of_an_array() -> None:
    def f(x: Any, k: Any) -> Any:
        return x[:5][k] * 2.0

    fast = accelerate(f, target="cpu")
    assert fast(X, 4) == f(X, 4)
    with pytest.raises(IndexError):
        fast(X, 5)


BETWEEN_ARGUMENTS = [
    lambda x, k: np.sum(x[k : k + 1]),
    lambda x, k: np.mean(x[k : k + 1]),
    lambda x, k: len(x[k : k + 3]),
    lambda x, k: np.ones(x[k : k + 2].shape),
    lambda x, k: np.zeros_like(x[k - 2 : k]),
    lambda x, k: np.trapezoid(x[k : k + 3]),
    lambda x, k: np.pad(x[k : k + 2], 1),
    lambda x, k: np.mean(x.reshape(3, 3)[:, k : k + 2], axis=1),
    lambda x, k: np.mean(x[k : k - 1 : -1]),
]


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("f", BETWEEN_ARGUMENTS)
def test_slices_between_arguments_are_shorter_where_they_leave_their_axis(f: Any, target: str) -> None:
    fast = accelerate(f, target=target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in (1, 2, -1, 8, -2, 9):
            assert_same(fast(X, k), f(X, k), f"from {k}")


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_stores_between_arguments(target: str) -> None:
    def f(x: Any, k: Any) -> Any:
        x[k : k + 1] += 7.0
        return x * 2.0

    fast = accelerate(f, target=target)
    for k in (1, -1):
        mine, theirs = X.copy(), X.copy()
        assert_same(fast(theirs, k), f(mine, k), f"from {k}")
        np.testing.assert_array_equal(theirs, mine)


def multiples_crossed_out(x: Any, n: Any) -> Any:
    """Every i-th element, by a slice of the loop and by a loop in it."""
    i = 2
    while i * i <= n:
        x[i * i :: i] = -i
        for j in range(i, n, 2 * i):
            if x[j] > 2.5:
                break
            x[j] += 0.5
        i += 1
    return x.sum()


def values_of_steps(x: Any, n: Any) -> Any:
    total = 0.0
    for i in range(2, 40):
        x[i - 20 :: i] *= x[0]
        for j in reversed(range(1, n, i)):
            total = 0.5 * total + x[j]
        for j in range(n - 1, 0, -i):
            total -= x[j] * len(range(i, n, i))
    return total


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("f", [multiples_crossed_out, values_of_steps])
def test_steps_that_loops_change(f: Any, target: str) -> None:
    """The loop around is not written out, and on a CPU only the chosen elements are stored."""
    x = np.random.default_rng(2).random(3000)
    fast = accelerate(f, target=target)
    mine, theirs = x.copy(), x.copy()
    assert_same(fast(theirs, 3000), f(mine, 3000), f.__name__)
    np.testing.assert_allclose(theirs, mine, rtol=1e-14)
    source = fast.inspect(x.copy(), 3000).source
    assert len(source.splitlines()) < 40 and "stays with CPython" not in source
