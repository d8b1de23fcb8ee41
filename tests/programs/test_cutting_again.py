"""Cut functions that are called again with arguments by which they go another way."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest
from comparing import assert_same

from untraced import accelerate
from untraced.runtime.calls import fallback, regions


def _loops_and_a_comprehension_of_one_name(steps, rows):
    for _ in range(steps):
        for row in rows:
            print(row.sum())
            row += 1.0
    return [row[:2] * 2.0 for row in rows], sum(row[0] * 3.0 - 1.0 for row in rows)


def _an_inner_function_of_one_name(steps, x):
    def total(y):
        last = y * 2.0
        return np.sum(last)

    for i in range(steps):
        last = i * 3.0
        print(last)
    return total(x) + total(x + 1.0)


unbound = [1.0, 2.0]  # what a local name of that spelling must never be


def _reads_what_another_branch_has_bound(steps, x):
    if steps > 0:
        unbound = [x, 1.0]
        if (x > 0.0).any():
            x[0] = 1.0
    else:
        x[1] -= len(unbound)
    return x


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_local_names_stay_local(target: str) -> None:
    fast = accelerate(_reads_what_another_branch_has_bound, target=target)
    for steps in (0, 1, 0):
        ours, theirs = np.arange(3.0), np.arange(3.0)
        if steps:
            assert_same(fast(steps, ours), _reads_what_another_branch_has_bound(steps, theirs), "result")
        else:
            with pytest.raises(UnboundLocalError):
                fast(steps, ours)
        assert_same(ours, theirs, "the argument")


def _reads_under_a_branch(steps, x):
    for i in range(steps):
        print(i)
        last = np.sum(x) * i
    if steps > 0:
        r = last * 2.0 + 1.0
    else:
        r = 2.0 - np.sum(x)
    return r * 3.0


def _bound_by_another_loop(steps, x):
    for i in range(steps):
        print(i)
    for i in range(steps, 4):
        y = np.sqrt(x + i) * 2.0
    return np.sum(np.tanh(x * i)) + np.sum(y)


def _returned_before(steps, x):
    for i in range(steps):
        print(i)
    if steps == 0:
        return np.sum(x) * 2.0 + np.sum(x * x)
    return np.sum(np.tanh(x * i)) * np.sum(x)


def _bound_in_the_statement(steps, x):
    for i in range(steps):
        last = x * i
        print(i)
    total = np.sum((last := x * 2.0) + last * x + last)
    print(total)
    return total


def _read_by_a_lambda(steps, x):
    from_first = lambda v: v - x[0]  # noqa: E731
    y = np.cos(x) + np.sin(x)
    x = y * 2.0
    print(steps)
    return from_first(from_first(np.sum(y))) * steps


def _bound_in_a_comprehension(steps, x):
    last = 0.5
    print(steps)
    rows = [np.sum(last * v) for v in x[:steps] if np.sum(last := v * 2.0) > 0.5]
    print(len(rows))
    return rows, last


@pytest.mark.parametrize(
    "fun",
    [
        *(_loops_and_a_comprehension_of_one_name, _an_inner_function_of_one_name, _reads_under_a_branch),
        *(_bound_by_another_loop, _returned_before, _bound_in_the_statement),
        *(_bound_in_a_comprehension, _read_by_a_lambda),
    ],
)
def test_loops_that_do_not_run_at_the_second_call(fun: Any) -> None:
    fast = accelerate(fun, target="cpu")
    for steps in (3, 0, 2, 0):
        mine, others = ([steps, np.linspace(0.0, 1.0, 6).reshape(2, 3)] for _ in range(2))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            expected = fun(*mine)
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            found = fast(*others)
        assert_same(found, expected, "result")
        assert_same(others, mine, "arguments")
        assert shown.getvalue() == printed.getvalue()


def test_a_name_that_no_loop_has_bound_raises_as_it_would() -> None:
    def last_of(steps: int, x: Any) -> Any:
        for i in range(steps):
            print(i)
            last = np.sum(x) * i
        return last * 2.0 + 1.0

    fast = accelerate(last_of, target="cpu")
    with contextlib.redirect_stdout(io.StringIO()):
        assert fast(2, np.ones(3)) == 7.0
    with pytest.raises(UnboundLocalError, match="'last'"):
        fast(0, np.ones(3))


def _stores_of_sizes_that_only_the_run_knows(steps, x, y, z):
    total = 0.0
    for i in range(steps):
        print(i)
        for j in range(2):
            inside = x > 0.25 * j
            a, b, c = x[inside], y[inside], z[inside]
            total += a[0] + b[0] + c[0]
            x[inside] = a * 0.9
            y[inside] = b[::-1]
            z[inside] = c[::-1]
            total += np.sum(np.sqrt(x * x + y * y + z * z)) / (1.0 + np.max(np.abs(x)))
    return total


def test_each_cut_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What regions inside of regions are cut at is known to the function around: it is not found again there."""
    found: list[str] = []
    known = regions.cuts_at

    def noting(function: Any, error: Any) -> Any:
        cuts = known(function, error)
        found.extend(str(s.lineno) for s in cuts.hosts)
        return cuts

    monkeypatch.setattr(regions, "cuts_at", noting)
    x, y, z = np.random.default_rng(0).random((3, 400_000))  # plainly worth a translation
    ours = [a.copy() for a in (x, y, z)]
    with contextlib.redirect_stdout(io.StringIO()):
        expected = _stores_of_sizes_that_only_the_run_knows(3, x, y, z)
        got = accelerate(_stores_of_sizes_that_only_the_run_knows, target="cpu")(3, *ours)
    assert abs(got - expected) < 1e-12 * abs(expected)  # sums in another order
    for a, b in zip(ours, (x, y, z), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(found) == len(set(found)) > 2


def test_thousands_of_containers_outside_are_left_where_they_lie() -> None:
    graph = {i: [(i + 1) % 3000, (i * 7) % 3000] for i in range(3000)}

    def walk(steps: int) -> int:
        at = total = 0
        for i in range(steps):
            at = graph[at][i % 2]
            total += at
        return total

    fast = accelerate(walk)
    assert fast(50) == walk(50)
    graph[0] = [5, 5]
    assert fast(50) == walk(50)
    assert "more than 2,000 lists" in fast.inspect(50).source


def test_long_lists_are_not_looked_through_for_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call by CPython knows from its key that a list of numbers holds no Array."""
    looked = []
    monkeypatch.setattr(fallback.trees, "leaves", lambda tree: looked.append(tree) or [])
    data = list(range(1000))
    f = accelerate(_checksum, target="cpu")
    for _ in range(4):
        assert f(data) == _checksum(data)
    assert not looked


def _checksum(data):
    total = 0xFFFF
    for b in data:
        total = (total * 31 ^ b) & 0xFFFF
    return total


@pytest.mark.parametrize(
    "f",
    [
        lambda i, x: (np.gcd(i, 12), np.lcm(i, i[::-1]) * 2),
        lambda i, x: np.lexsort((i, i % 7)),
        lambda i, x: np.packbits(x > 0.5),
        lambda i, x: np.nanmedian(x) + np.nanpercentile(x.reshape(256, -1), 30) * np.nanquantile(x, 0.1),
    ],
)
def test_many_elements_are_left_to_functions_of_numpys(f: Any) -> None:
    random = np.random.default_rng(0)
    i, x = random.integers(1, 1000, 1 << 16), random.random(1 << 16)
    x[::17] = np.nan
    fast = accelerate(f, target="cpu")
    assert_same(fast(i, x), f(i, x), "results")
    assert "stays with CPython" in fast.inspect(i, x).source
    assert "stays with CPython" not in fast.inspect(i[:1024], x[:1024]).source


def test_medians_along_an_axis_are_compiled() -> None:
    x = np.random.default_rng(0).random((256, 256))
    fast = accelerate(lambda x: np.nanmedian(x, axis=1), target="cpu")
    np.testing.assert_array_equal(fast(x), np.nanmedian(x, axis=1))
    assert "stays with CPython" not in fast.inspect(x).source


def _corner_of_a_table(x, n):
    table = [[0.0] * n for _ in range(n)]
    y = np.cumsum(np.sin(x) * 2.0)
    table[0][1] = 3.0
    return table, y


def test_thousands_of_numbers_that_are_returned_are_cpythons() -> None:
    fast, x = accelerate(_corner_of_a_table, target="cpu"), np.arange(5.0)
    for n in (8, 150):  # XLA takes half a minute for 22,500 results
        for _ in range(2):
            assert_same(fast(x, n), _corner_of_a_table(x, n), "results")
    assert "stays with CPython" not in fast.inspect(x, 8).source
    assert "returns more than 2,048 numbers" in fast.inspect(x, 150).source
