"""Numbers whose kind depends on the data: an int or a float, Python's or NumPy's, as CPython has it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from comparing import Cases, check

from untraced import accelerate

CASES = Cases()
X = np.array([1.0, 2.0, 3.0])
ARRAYS = ((X,), (X * -50,), (np.array([1, 2, 3]),), (np.array([101.0, 2, 3], np.float32),))


@CASES(*ARRAYS)
def extremes_with_python_numbers(x):
    return max(0, x[0]), min(x[1], 1.5), max(x[0], 2, 2.5), max((v for v in x if v > 100), default=0)


@CASES(*ARRAYS)
def sums_of_what_passes(x):
    total, best, least, held = 0, 0, float("inf"), {"k": 0}
    for v in x:
        if v > 100:
            total += v
            held["k"] += v
        best = max(best, v)
        if v < least:
            least = v
    return total, best, least, held


@CASES(*ARRAYS)
def first_over(x):
    k = 0 if x[0] < 100 else 1.5
    return np.arange(3) * k, np.full(3, k), [k], k * 2, -k, k + 1.0, k**2, abs(k), np.sqrt(k), k / 2, k % 2, k > 1


@CASES(*ARRAYS)
def quotient(x):
    """Python raises where NumPy gives inf."""
    divisor = 0 if x[0] < 50 else x[0]
    return 1 / divisor


@CASES(*ARRAYS)
def gathered(x):
    return np.array([0 if v < 2 else v for v in x]), [v if v > 2 else 0 for v in x]


@CASES((X, 0), (X, 2), (X, 3), (X, 50))
def trips(x, n):
    total, error = 0, 1e9
    for i in range(min(n, 3)):
        for j in range(i):
            total += x[j]
    while error > 1e8 * n + 10:
        error = np.abs(x).sum() / 10
    return total, error, error * np.float32(2)


@CASES((X, 0), (X, 2), (X, 6), (-X, 6))
def truths(x, n):
    seen, every = False, True
    for v in x:
        if v > 1:
            seen = v > 2
        every = every and v > 0 and n > 1
    return n > 2 or x[0] > 0, n <= 2 and x[n] > 1, x[0] > 0 and n > 1, (x[0] > 0) if n > 5 else False, seen, every


@CASES(([1, 5, 8, 9], 4), ([2], 1), ([0.5, 5], 2))
def cut_rods(prices, n):
    best = [0] + [-math.inf] * n
    for i in range(1, n + 1):
        for j in range(1, i + 1):
            best[i] = max(best[i], prices[j - 1] + best[i - j])
    return best


@CASES((100,), (63,), (40,))
def digits_of_a_power(n):
    total = 0
    x = 2**n
    while x:
        total += x % 10
        x //= 10
    return total


@CASES((np.ones(3), 0.5), (np.zeros(3), 0.5))
def least_place(x, limit):
    best = 10**20
    for i in range(len(x)):
        if x[i] > limit and i < best:
            best = i
    return best


@CASES((np.ones(3),), (np.zeros(3),))
def a_wide_int_in_a_branch(x):
    k = 2**70
    if x.sum() > 1.0:
        k = 3
    return k


@CASES((np.ones(2),))
def a_wide_int_is_chosen(x):
    return np.where(x > 1.0, 2**70, 0)


@CASES((7, -1), (7, 1), (-7, 200), (True, -1), (0, -1))
def shifted_to_the_right(n, k):
    return n >> k


@CASES((7, -1), (1, 62), (1, 63), (0, -1))
def shifted_to_the_left(n, k):
    return n << k


@CASES((X, 1), (X, -1))
def a_shift_where_the_data_ask_for_one(x, k):
    for i in range(3):
        if x[i] > 1.5:
            x[i] += 100 >> (i + k - 1)
    return x


@CASES((X, 2), (X, -1))
def shifts_of_all_trips(x, k):
    for i in range(3):
        x[i] += 100 >> (i + k)
    return x


SIGNS = ((X,), (-X,))


def _last_over_one(x):
    found = 0.0
    for v in x:
        if v > 1.0:
            found = v
    return found


@CASES(*SIGNS)
def a_branch_by_the_class(x):
    s = _last_over_one(x)
    return s if type(s) is float else s + 1


@CASES(*SIGNS)
def names_and_questions_of_the_class(x):
    s, none = _last_over_one(x), max(0.0, x[0])
    return str(type(s)), type(s)(3), isinstance(s, np.floating), hasattr(s, "dtype"), type(none) is float


@CASES(*SIGNS)
def attributes_that_only_numpys_numbers_have(x):
    s = _last_over_one(x)
    return s.dtype, s.shape


@CASES((X,), (3,), (2.5,), (np.float64(1.0),), (True,))
def comparisons_with_classes(x):
    return type(x) == float, type(x) in (int, bool), x == float, x != int  # noqa: E721


@CASES(*SIGNS)
def a_pattern_of_the_class(x):
    match _last_over_one(x):
        case np.float64():
            return 1
        case float():
            return 2


@CASES(*SIGNS)
def the_class_in_a_loop(x):
    s, turns, flags = 0.0, 0, True
    for v in x:
        if isinstance(s, np.floating):
            turns += 1
        if v > 1.0:
            s, flags = v, v > 2.0
    return turns, type(flags) is bool


@CASES(*SIGNS)
def a_loop_that_the_class_ends(x):
    s, k = 0.0, 0
    while k < 3 and type(s) is float:
        if x[k] > 1.0:
            s = x[k]
        k += 1
    return s, k


@CASES(*SIGNS)
def the_class_between_prints(x):
    """What a compiled part of a function leaves is of the very class."""
    s = 0.0
    for _ in range(1000):
        s = max(s, x[0])
    print(repr(s))
    return s if type(s) is float else s + 1


@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_kinds(function: Any, arguments: Any) -> None:
    check(function, arguments, "cpu")


def test_the_flag_goes_through_whole_array_statements() -> None:
    def largest(x):
        best, at = 0, -1
        for i in range(len(x)):
            if x[i] > best:
                best, at = x[i], i
        return best, at

    assert "for" not in accelerate(largest, target="cpu").inspect(np.arange(1000.0)).source


def test_a_question_that_both_classes_answer_alike_costs_nothing() -> None:
    def scaled(x):
        s = _last_over_one(x)
        return s * 2 if isinstance(s, float) else None

    source = accelerate(scaled).inspect(X).source
    assert source is not None and "raise" not in source, source
