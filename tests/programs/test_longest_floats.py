"""NumPy's longest floats, which no other target has: constants keep all their digits, and elements stay NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from untraced import accelerate

LONG = np.arange(12, dtype=np.longdouble).reshape(3, 4)
THIRD = 1 / np.longdouble(3)


def constants(x: Any) -> Any:
    return x * THIRD, np.full(2, THIRD), np.array([THIRD, 2, np.inf, np.nan, -(THIRD**9)]), np.array([1, 2], "g")


def chosen(x: Any) -> Any:
    return np.where(False, x, 6), np.where(x > 5, x, [1, 2, 3, 4]), np.array([1.5j, 2], np.clongdouble)


def elements(x: Any) -> Any:
    return x.item(3), x[0].tolist(), (x * 1j).item(1), float(x[1, 1]), int(x[1, 1])


def sorted_as_complex(x: Any) -> Any:
    return np.sort_complex(x[:, ::-1])


@pytest.mark.parametrize("target", ["auto", "numpy"])
@pytest.mark.parametrize("function", [constants, chosen, elements, sorted_as_complex])
def test_long_floats_are_as_in_numpy(function: Any, target: str) -> None:
    results = accelerate(function, target=target)(LONG.copy())
    assert repr(results) == repr(function(LONG))
    found, expected = ([np.asarray(x) for x in (r if type(r) is tuple else (r,))] for r in (results, function(LONG)))
    assert [x.dtype for x in found] == [x.dtype for x in expected]
    assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(found, expected, strict=True))
