"""Sums that make what they sum themselves: what is written to memory, and what is left as it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import untraced

X = np.random.default_rng(0).normal(2.0, 1.5, (256, 512))


def arrays_written(f: Callable[..., Any], *args: Any) -> int:
    """How many kernels of the program write an array of the size of the first argument."""
    hlo = untraced.accelerate(f, target="cpu").inspect(*args).hlo
    size = ",".join(map(str, args[0].shape))
    main = hlo[hlo.index("ENTRY") :]
    return len(re.findall(rf"= f\d+\[{size}\]\S* fusion\(", main))


def layer_norm(x, gain, bias):
    mean = np.mean(x, axis=1, keepdims=True)
    centred = x - mean
    variance = np.mean(centred * centred, axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + bias


def standardised(x):
    return (x - x.mean(axis=-1, keepdims=True)) / np.std(x, axis=-1, keepdims=True)


def behind_a_sum(x, bias):
    h = x + bias
    shifted = h - np.mean(h, axis=1, keepdims=True)
    return shifted / np.sum(shifted * shifted, axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("f", "rows"), [(layer_norm, 2), (standardised, 0), (behind_a_sum, 1)], ids=lambda a: getattr(a, "__name__", "")
)
def test_only_the_result_is_written(f, rows, dtype):
    args = [X.astype(dtype), *(np.linspace(0.5, 2.0, 512, dtype=dtype) for _ in range(rows))]
    assert arrays_written(f, *args) == 1
    got, expected = untraced.accelerate(f, target="cpu")(*args), f(*args)
    np.testing.assert_allclose(got, expected, rtol=1e-10 if dtype == np.float64 else 2e-3, atol=1e-6)
    assert got.dtype == dtype


def test_rows_with_nan_and_infinities_keep_them():
    x = X.copy()
    x[0, 3], x[1, 5], x[2, :] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(untraced.accelerate(standardised, target="cpu")(x), standardised(x), rtol=1e-9)


def test_what_is_in_memory_anyway_is_read_there():
    def returned(x):
        centred = x - np.mean(x, axis=1, keepdims=True)
        return centred, np.sum(centred * centred, axis=1)

    def multiplied(x, w):
        centred = x - np.mean(x, axis=1, keepdims=True)
        return (centred @ w) * np.sum(centred * centred, axis=1, keepdims=True)

    def of_two_arrays(x, y):
        error = x * np.max(x, axis=1, keepdims=True) - y
        return error * np.sum(error * error, axis=1, keepdims=True)

    for f, args in ((returned, (X,)), (multiplied, (X, X.T @ X)), (of_two_arrays, (X, X[::-1].copy()))):
        assert "_of" not in untraced.accelerate(f, target="cpu").inspect(*args).stablehlo


def test_derivatives_of_rows_are_those_of_numpy():
    def loss(x, gain, bias):
        return np.sum(layer_norm(x, gain, bias) ** 3)

    gain, bias = np.linspace(0.5, 2.0, 512), np.linspace(-1.0, 1.0, 512)
    compiled = untraced.accelerate(untraced.grad(loss, argnums=(0, 1, 2)), target="cpu")(X, gain, bias)
    for got, expected in zip(compiled, untraced.grad(loss, argnums=(0, 1, 2))(X, gain, bias), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-8)
