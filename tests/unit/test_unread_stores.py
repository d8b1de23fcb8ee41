"""Stores in loops that nothing reads are gone; those that something may read stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate

X = np.array([0.3, 0.7, -0.4, 0.9, 1.1, 0.2])
A = np.random.default_rng(2).uniform(-1.0, 1.0, (5, 5))


def emptied(x):
    a, s = x.copy(), 0.0
    for i in reversed(range(1, 6)):
        a[i - 1] += np.sin(a[i]) + s
        s += a[i]
        a[i] = 0.0
    return s


def emptied_but_for_the_first(x):
    a, s = x.copy(), 0.0
    for i in reversed(range(1, 6)):
        a[i - 1] += np.sin(a[i]) + s
        s += a[i]
        a[i] = 0.0
    return s + a[0]


def of_a_table(x):
    a, s = x.copy(), np.zeros(5)
    for i in reversed(range(5)):
        for j in reversed(range(i + 1)):
            if i == j:
                t = a[i, i] / 2.0
                a[i, i] = 0.0
            else:
                t = a[i, j] * a[j, j]
                a[i, j] = 0.0
                a[j, j] -= t
            for k in reversed(range(j)):
                a[j, k] -= t * a[i, k]
            s[i] += t
    return s


def read_by_the_next(x):
    a, s = x.copy(), 0.0
    for i in range(1, 6):
        s += a[i - 1] * np.sin(s + a[i])
        a[i] = 0.0
    return s


def read_from_the_end(x):
    a, s = x.copy(), 0.0
    for i in reversed(range(6)):
        s = np.sin(s + a[i] + a[i - 1])
        a[i] = 0.0
    return s


def read_from_the_end_behind(x):
    a, s = x.copy(), 0.0
    for i in reversed(range(6)):
        s = np.sin(s + a[i])
        a[i] = 0.0
    return s + a[-1]


def read_whole(x):
    a, s = x.copy(), 0.0
    for i in reversed(range(6)):
        s = np.sin(s + a[i])
        a[i] = 0.0
    return s + a


def read_in_the_same_trip(x):
    a, s = x.copy(), 0.0
    for i in reversed(range(6)):
        a[i] = 0.5
        s = np.sin(s + a[i])
    return s


def read_in_an_inner_loop(x):
    a, s = x.copy(), 0.0
    for i in range(5):
        a[i] = 0.5 * s
        for j in range(i + 1):
            s = np.sin(s + a[j])
    return s


def read_in_a_while(x):
    a, s = x.copy(), 0.0
    for i in range(5):
        a[i] = 0.5 * s
        while s < i:
            s = s + 0.7 + np.abs(a[i])
    return s


def read_by_a_slice(x):
    a, s = x.copy(), 0.0
    for i in range(6):
        s = np.sin(s + np.sum(a[1:4]))
        a[i] = s
    return s


def read_by_another_loop(x):
    a, s = x.copy(), 0.0
    for i in range(6):
        s = np.sin(s + a[i])
        a[i] = s
    for i in range(1, 6):
        s = np.cos(s * a[i])
    return s


def read_across(x):
    a, s = x.copy(), 0.0
    for i in range(5):
        for j in range(5):
            s = np.sin(s + a[j, i])
            a[i, j] = s
    return s


def read_where_others_differ(x):
    a, s = x.copy(), 0.0
    for i in range(5):
        for j in range(5):
            if i != j:
                s = np.sin(s + a[i, j - 1])
                a[i, j] = s
    return s


GONE = [(emptied, X, "a[i] = 0.0"), (emptied_but_for_the_first, X, "a[i] = 0.0"), (of_a_table, A, "= 0.0")]
THERE = [
    (read_by_the_next, X),
    (read_from_the_end, X),
    (read_from_the_end_behind, X),
    (read_whole, X),
    (read_in_the_same_trip, X),
    (read_in_an_inner_loop, X),
    (read_in_a_while, X),
    (read_by_a_slice, X),
    (read_by_another_loop, X),
    (read_across, A),
    (read_where_others_differ, A),
]


@pytest.mark.parametrize(("fun", "x"), [*(case[:2] for case in GONE), *THERE], ids=lambda v: getattr(v, "__name__", ""))
def test_values(fun: Callable[..., Any], x: np.ndarray[Any, Any]) -> None:
    np.testing.assert_allclose(accelerate(fun, target="numpy")(x), fun(x), rtol=1e-14)


@pytest.mark.parametrize(("fun", "x", "line"), GONE, ids=lambda v: getattr(v, "__name__", ""))
def test_what_nothing_reads_is_not_stored(fun: Callable[..., Any], x: np.ndarray[Any, Any], line: str) -> None:
    source = accelerate(fun, target="numpy").inspect(x).source
    assert line not in source, source
