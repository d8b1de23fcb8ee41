"""Small functions at the corners of what NumPy takes: odd dtypes, NaN, counts below zero, arrays without elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

CASES = Cases()
X = np.array([0.5, -1.5, 2.0, -0.25, 3.0])
K = np.array([2, 0, 1, 1, 2])
PARTS = (0.0, 1.0, 2.0, np.nan)
COMPLEX = np.array([complex(a, b) for a in PARTS for b in PARTS])

# ---- making arrays ---------------------------------------------------------------------------------


@CASES((np.int8(0), np.int8(5), np.int8(2)), (np.uint8(1), 4, 1), (np.float32(0), 3, 1), (0, np.uint64(3), 1))
def counted(start, stop, step):
    return np.arange(start, stop, step), np.arange(stop)


@CASES((0, -6, -2), (0.0, -1.0, -0.25))
def counted_downwards(start, stop, step):
    return 1 / np.arange(start, stop, step, dtype=np.float32), np.signbit(np.arange(0.0, stop, step))


@CASES((-4, None), (3, -1), (-2, 2))
def triangles(n, m):
    return np.tri(n, m), np.tri(n, m, 1)


@CASES((K, 2.5, 9), (K, [1.0, 2.0], 9), (K, np.array([[1, 2]]), 9), (K, [], 9), (K, [2.0], 9))
def inserted(x, places, values):
    return np.insert(x, places, values)


@CASES((K,))
def halves_of_elements(x):
    return np.lib.stride_tricks.as_strided(x, strides=(x.strides[0] // 2,))[:5:2]


# ---- searches ----------------------------------------------------------------------------------------


@CASES((np.sort(COMPLEX), COMPLEX), (np.sort(COMPLEX), PARTS), (np.array(PARTS), COMPLEX), (X[:1] + 1j, K))
def found_among_complex_numbers(a, v):
    return np.searchsorted(a, v), np.searchsorted(a, v, side="right"), np.searchsorted(a, np.tile(v, 300)).sum()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_functions(function: Any, arguments: Any, target: str) -> None:
    with np.errstate(divide="ignore"):
        check(function, arguments, target)
