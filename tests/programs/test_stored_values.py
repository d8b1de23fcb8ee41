"""What is stored: numbers that do not fit, arrays from outside, what is there already, narrow places."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, check

from untraced import accelerate, grad
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract


def stores_one(z, x):
    z[1] += 5
    z[0] = x[0]
    return z


def stores_a_sum(z, x):
    z[1] += 5
    z[:2] = np.sum(x)
    return z


def adds_one_by_one(z, x):
    z[1] += 5
    for i in range(3):
        z[i] += x[i]
    return z


NUMBERS = [
    *((dtype, x) for dtype in (np.int64, np.int32, np.uint8) for x in (np.nan, -np.inf, 1e30, 3.7, -0.5, 300.25)),
    *((np.int32, np.int64(x)) for x in (2**31, -(2**31) - 1, 7)),
    *((np.uint64, x) for x in (-0.5, -1.0, 2.0**64, 2.0**63, np.int64(-1), np.int8(5))),
    *((np.int64, x) for x in (-(2.0**63), 2.0**63, np.uint64(2**63), np.uint64(9))),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("f", [stores_one, stores_a_sum, adds_one_by_one])
def test_numbers_that_arrays_of_integers_cannot_hold(f: Any, target: str) -> None:
    """NumPy makes Python's ints of them, and leaves what it has stored before."""
    for dtype, number in NUMBERS:
        x = np.array([number, 0, 0])
        mine, theirs = np.arange(4).astype(dtype), np.arange(4).astype(dtype)
        try:
            expected = f(mine, x)
        except (ValueError, OverflowError) as error:
            with pytest.raises(type(error)):
                accelerate(f, target=target)(theirs, x)
        else:
            np.testing.assert_array_equal(accelerate(f, target=target)(theirs, x), expected)
        np.testing.assert_array_equal(theirs, mine, err_msg=f"{number!r} in {dtype.__name__}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("value", [np.array([2.0]), np.array([[2.0]]), np.array(2.0), np.float64(2.0)])
def test_an_element_takes_what_numpy_lets_it_take(value: Any, target: str) -> None:
    def into_an_element(y, v):
        y[0, 1] = v
        return y

    def into_a_part_without_axes(y, v):
        y[0, 1, ...] = v
        return y

    def adds(y, v):
        y[0, 1] += v
        return y

    for f in (into_an_element, into_a_part_without_axes, adds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # before NumPy 2.4 one element will do
            check(f, lambda: (np.ones((2, 2)), value), target)


class Held:
    def __init__(self) -> None:
        self.w, self.layers, self.named = np.arange(4.0), [np.arange(4.0), np.arange(4.0) * 2.0], {"a": np.arange(4.0)}


OUTSIDE = [np.ones(4)]


def writes_attributes(held: Any, x: Any) -> None:
    for _ in range(20):
        held.w -= 0.1 * x


def writes_elements(held: Any, x: Any) -> None:
    for _ in range(20):
        total = sum(w.sum() for w in held.layers)
        held.layers[1] -= 0.01 * x * total
        held.layers[0][1:] += held.named["a"][:-1]
        held.named["a"][:] *= 0.9


def writes_a_global(held: Any, x: Any) -> None:
    k = 0
    while k < 20:
        OUTSIDE[0] += held.w * x
        k += 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("f", [writes_attributes, writes_elements, writes_a_global])
def test_arrays_from_outside_that_a_loop_meets_first(f: Any, target: str) -> None:
    """They are older than the loop, though its body is the first to speak of them."""
    x, (found, expected) = np.linspace(0.0, 1.0, 4), (Held(), Held())
    arrays = []
    for fun, held in ((accelerate(f, target=target), found), (f, expected)):
        OUTSIDE[0] = np.ones(4)
        for _ in range(2):
            fun(held, x)
        arrays.append([held.w, *held.layers, held.named["a"], OUTSIDE[0]])
    for a, b in zip(*arrays, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def stores_what_is_there(a: Any, i: int) -> Any:
    a[i] = a[i]
    for k in range(i):
        a[k - 1] = a[k - 1]
    return a.sum()


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("i", [3, 5, 7, -6])
def test_stores_that_change_nothing_have_places(i: int, target: str) -> None:
    fast = accelerate(stores_what_is_there, target=target)
    for f in (fast, stores_what_is_there):
        with pytest.raises(IndexError) if i not in range(-5, 5) else contextlib.nullcontext():
            assert f(np.ones(5), i) == 5.0


def at_narrow_places(x: Any, i: Any) -> Any:
    np.put(x, i[:, None] % 3, 7)
    np.put(x, i, 2, mode="wrap")
    np.put(x, i - 1, [3, 4], mode="clip")
    taken = np.take(x, i, mode="wrap") + np.take(x, i, 0, mode="clip")[:, 0]
    return x, taken, np.ravel_multi_index((i, i), (300, 200), mode="wrap")


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("dtype", ["i1", "u1"])
def test_an_index_may_be_narrower_than_the_size(target: str, dtype: str) -> None:
    """Read whole, and differentiated: 300 is no int8."""
    x, i = np.arange(600.0).reshape(300, 2), np.array([5, 100, 127]).astype(dtype)
    translate(at_narrow_places, abstract(at_narrow_places, (x, i), {}))
    found = accelerate(at_narrow_places, target=target)(x * 1, i)
    for got, want in zip(found, at_narrow_places(x * 1, i), strict=True):
        np.testing.assert_array_equal(got, want)
    assert np.sum(grad(lambda y, j: np.sum(at_narrow_places(y, j)[1]))(x, i)) == 3.0
