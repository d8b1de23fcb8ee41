"""Lists that loops fill around what only CPython can run."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest
from cutting import Fun, check, compile_everything  # noqa: F401
from test_kernels import assert_same

from untraced import accelerate

# ---- lists that loops fill ------------------------------------------------------------------------


def _probes(x, n):
    probes = []
    means = []
    t = 0.0
    for i in range(n):
        print(i)
        x[1:] += np.sin(x[:-1]) * 0.1
        probes.append(x[3])
        means.append(np.mean(x) + t)
        t += 0.5
    return np.array(probes), means, t


def _rows_of_one_array(x, n):
    rows, last = [], []
    for i in range(n):
        print(i)
        x += np.cos(x) * 0.5
        rows.append(x)
        last.append(x[2:])
        if np.sum(x) > 3.0:
            rows.append(x * 2)
    x[0] = 7.0
    return rows, last


def _reads_what_it_fills(x, n):
    seen = []
    for i in range(n):
        print(i)
        y = np.sqrt(x + i) * 2
        seen.append(np.sum(y))
        seen.append(seen[-1] + len(seen))
    return seen


def _fills_a_list_of_each_turn(x, n):
    for i in range(n):
        if i == 1:
            continue
        print(i)
        pair = [np.sum(x), i]
        pair.append(np.sum(np.sqrt(x + i)))
        x += 0.1
    return x


def _fills_through_two_names(x, n):
    seen: list[Any] = []
    other = seen
    for i in range(n):
        print(i)
        y = np.sqrt(x + i) * 2
        seen.append(np.sum(y))
        other.append(len(other) + np.sum(y))
    return seen


def _fills_the_callers(x, n, found):
    for i in range(n):
        print(i)
        x[n + i] *= 2.0
        found.append(x[:2] * 2.0)
    return found


@pytest.mark.parametrize(
    "fun",
    [_probes, _rows_of_one_array, _reads_what_it_fills, _fills_a_list_of_each_turn, _fills_through_two_names],
)
def test_lists_that_loops_fill(fun: Fun) -> None:
    check(fun, np.linspace(0.1, 1.0, 8), 20)


def test_a_list_of_the_callers_is_filled_up_to_an_error() -> None:
    want, got = ((np.linspace(0.1, 1.0, 8), 6, [0.5]) for _ in range(2))
    with pytest.raises(IndexError):
        _fills_the_callers(*want)
    with pytest.raises(IndexError, match="index 8 is out of bounds"), contextlib.redirect_stdout(io.StringIO()):
        accelerate(_fills_the_callers, target="cpu")(*got)
    assert len(want[2]) == 3
    assert_same(got, want, "arguments")


def test_a_region_does_not_see_the_list_that_its_loop_fills() -> None:
    fast = check(_probes, np.linspace(0.1, 1.0, 8), 20)
    assert "probes.append(item)\n        means.append(item_)" in fast.inspect(np.ones(8), 20).source
    (driver,) = fast._drivers.values()
    region = driver.latest().regions["_probes_region_1"]
    assert len(region.functions()) == 1  # for lists of all lengths
