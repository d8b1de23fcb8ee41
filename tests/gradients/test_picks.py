"""Elements picked of what is computed elementwise: values and derivatives, for every way to pick."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import accelerate, grad
from untraced.testing import check_grads

RNG = Drawn(3)
I, J, K = RNG.integers(0, 8, 3), RNG.integers(0, 6, 3), RNG.integers(-9, 9, 3)
COLUMNS = RNG.integers(0, 9, 6)
SOLID, ROW, MIDDLE, FIRST = (RNG.normal(size=s) for s in ((8, 6, 9), (9,), (6, 1), (8, 1, 1)))

WAYS: dict[str, Callable[[Any], Any]] = {
    "elements": lambda x: x[I, J, K],
    "rows": lambda x: x[I, J],
    "along the last axis": lambda x: x[..., K[:1]],
    "along a middle axis": lambda x: x[2:4, J[:1]],
    "beside a place": lambda x: x[:, 3, K[:1]],
    "before a place": lambda x: x[I, 4],
    "on a grid": lambda x: x[I[:2, None], J],
    "one in each row": lambda x: x[2, np.arange(6), COLUMNS],
    "one in each row of some": lambda x: x[5:, np.arange(6), COLUMNS],
    "apart": lambda x: x[I, :, K],
    "take": lambda x: np.take(x, I[:1], axis=0),
}


@pytest.mark.parametrize("way", WAYS)
def test_ways(way: str) -> None:
    pick = WAYS[way]

    def f(x: Any, row: Any, middle: Any, first: Any) -> Any:
        return np.sum(np.sin(pick(np.exp(0.1 * x * row) + middle - first)))

    args = SOLID, ROW, MIDDLE, FIRST
    assert accelerate(f)(*args) == pytest.approx(f(*args), rel=1e-12)
    check_grads(f, args, order=1)
    for ours, plain in zip(accelerate(grad(f, (0, 1, 2)))(*args), grad(f, (0, 1, 2))(*args), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-12, atol=1e-12)


def negative_log_likelihood(x: Any, y: Any) -> Any:
    z = x - np.max(x, axis=1, keepdims=True)
    p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(p[np.arange(len(y)), y])


def test_the_loss_of_a_classifier() -> None:
    """Its derivative has no matrix of zeros but the result, and no sum over one; kernels read the scores once."""
    x, y = RNG.normal(size=(6, 9)), COLUMNS
    source = grad(negative_log_likelihood).source(x, y)
    assert [line.split("  #")[0].strip() for line in source.splitlines()[1:]] == [
        "z = x - np.max(x, axis=1, keepdims=True)",
        "t = np.exp(z)",
        "d_z = np.zeros_like(z)",
        "d_z[np.arange(6), y] = -1 / 6",
        "return d_z + 1 / 6 / np.sum(t, axis=1, keepdims=True) * t",
    ]
    check_grads(negative_log_likelihood, (x, y))
    first, *_ = accelerate(negative_log_likelihood, target="triton").inspect(x, y, compile=False).kernels
    assert first.bytes_moved < 1.5 * x.nbytes


def test_old_values_are_not_kept() -> None:
    """An array that is stored into later is read before, as it is written."""

    def f(x: Any) -> Any:
        a = x * 2.0
        z = a + 1.0
        a[:] = 0.0
        return z[I, J, K] + a[0, 0, 0]

    np.testing.assert_array_equal(accelerate(f)(SOLID), f(SOLID))


def test_places_out_of_range_and_powers_that_raise() -> None:
    x = np.arange(20)
    with pytest.raises(IndexError, match="index 20 is out of bounds for axis 0 with size 20"):
        accelerate(lambda x, i: (x * 2 + 1)[i])(x, np.array([3, 20]))
    with pytest.raises(ValueError, match="negative integer powers"):
        accelerate(lambda x, i: (2 ** (3 - x))[i])(x, np.array([0]))
