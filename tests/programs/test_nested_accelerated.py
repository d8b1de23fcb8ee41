"""Accelerated functions called by accelerated ones: aliases, containers and methods as in the plain call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from comparing import assert_same

from untraced import accelerate, grad


def writes_first(a: Any, b: Any) -> Any:
    a[0] = 9.0
    return b.sum()


def appends(items: list[Any], x: Any) -> int:
    items.append(x * 2)
    return len(items)


def shaped(x: Any, n: int) -> Any:
    return x.reshape(n, -1)


class Scale:
    def __init__(self, w: float) -> None:
        self.w = w

    @accelerate
    def apply(self, x: Any) -> Any:
        return x * self.w


OUTSIDE = Scale(3.0)


def program(write: Any, append: Any, shape: Any, x: Any) -> Any:
    total = write(x[1:], x[:-1])
    items: list[Any] = []
    append(items, x)
    count = append(items, x + 1)
    return total, items, count, shape(x, 2), shape(x, n=3)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_as_the_plain_call(target: str) -> None:
    write, append = accelerate(writes_first, target=target), accelerate(appends)
    shape = accelerate(shaped, target=target, static_argnums=1)
    mine, others = np.arange(6.0), np.arange(6.0)
    found = accelerate(lambda x: program(write, append, shape, x), target=target)(mine)
    assert_same(found, program(writes_first, appends, shaped, others), "result")
    np.testing.assert_array_equal(mine, others)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_methods(target: str) -> None:
    def f(x: Any) -> Any:
        return OUTSIDE.apply(x), Scale(2.0).apply(x)

    x = np.arange(3.0)
    assert_same(accelerate(f, target=target)(x), (x * 3.0, x * 2.0), "result")


class Times:
    def __init__(self, k: float) -> None:
        self.k = k

    @accelerate
    def __call__(self, x: Any) -> Any:
        return self.k * x


THREE = Times(3.0)


def test_objects_whose_calls_are_accelerated() -> None:
    x = np.arange(3.0)
    np.testing.assert_array_equal(accelerate(lambda x: Times(2.0)(x) + THREE(x))(x), 5 * x)
    np.testing.assert_array_equal(grad(lambda x: np.sum(Times(2.0)(x) * THREE(x)))(x), 12 * x)
