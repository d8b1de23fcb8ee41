"""Slices that grow or move with a native loop: products and sums go over what the slices hold, and nothing else."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from untraced import accelerate
from untraced.tpu import compiler

pytestmark = pytest.mark.skipif(not compiler.available(), reason="there is no C++ compiler")
N = 40


@pytest.fixture(autouse=True)
def _all_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNTRACED_NATIVE_LOOPS", "all")


def forward(l, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - l[i, :i] @ x[:i]) / l[i, i]


def backward(l, x, b):
    for i in range(x.shape[0] - 1, -1, -1):
        x[i] = (b[i] - l[i, i + 1 :] @ x[i + 1 :]) / l[i, i]


def column(l, x, b):
    for i in range(x.shape[0]):
        x[i] = l[:i, i] @ l[i, :i] + b[: i + 1] @ b[: i + 1]


def between(l, x, b):
    for i in range(4, x.shape[0]):
        x[i] = l[i, i // 2 : i] @ b[i // 2 : i] + l[0, 3:i] @ b[: i - 3]


def from_the_end(l, x, b):
    for i in range(1, x.shape[0]):
        x[i] = l[i, -i:] @ b[-i:]


def windows(l, x, b):
    for i in range(x.shape[0] - 5):
        x[i] = l[i, i : i + 5] @ b[i : i + 5]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("function", [forward, backward, column, between, from_the_end, windows])
def test_products_of_slices(function: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    l, b = ((rng.random(shape) * 4 + 1).astype(dtype) for shape in ((N, N), N))
    x = np.zeros(N, dtype)
    if dtype is not np.int64:
        x[:] = np.nan  # what no slice holds must not count
        l[0, 0], l = 1, l / N + N * np.eye(N, dtype=dtype)
    expected, found = ((l.copy(), x.copy(), b.copy()) for _ in range(2))
    function(*expected)
    accelerate(function, target="cpu")(*found)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4 if dtype == np.float32 else 1e-12)


def test_the_loop_ends_where_the_slice_does() -> None:
    arguments = np.eye(N), np.zeros(N), np.ones(N)
    kernels = accelerate(forward, target="cpu").inspect(*arguments).kernels
    (source,) = [k.source for k in kernels if k.kind == "loops"]
    assert "smaller(40LL, (long long)(i))" in source
    assert "memory + 0" not in source, "neither mask nor slices are stored"


def strided_sums(x):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = np.sum(x[i, ::2] * x[i, 1::2]) + np.sum(x[i, ::-3])
    return y


def sums_of_places(x):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = np.sum(x[i] * (N - np.arange(x.shape[1]))) - np.sum(np.where(np.arange(x.shape[1]) < i, x[i], 0.0))
    return y


def chosen_twice(x):
    """GCC 12 made vectors of this that read before the beginning."""
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        k = np.arange(x.shape[1]) + 2 * i
        y[i] = np.sum(np.where(k >= i, np.where((k >= 2 * i + 1) & (k < 3 * i), x[i], 0.0), 0.0))
    return y


@pytest.mark.parametrize("function", [strided_sums, sums_of_places, chosen_twice])
def test_long_sums(function: Any) -> None:
    x = np.random.default_rng(0).random((N, 300))
    ours = accelerate(function, target="cpu")(copy.deepcopy(x))
    np.testing.assert_allclose(ours, function(x), rtol=1e-12)


def of_the_reversed(x):
    z = x[::-1]
    for i in range(0, len(x), 3):
        z[max(i - 1, 0) : i + 2] *= 3.0
        z[i : i + 2] += z[i + 1 : i + 3] if i + 3 <= len(x) else 1.0


def of_every_other(x):
    z, w = x[1::2], x[-2::-3]
    for i in range(6):
        z[i : i + 3] += w[i : i + 3] * 0.5
        w[i + 1 : i + 3] = w[i : i + 2]


@pytest.mark.parametrize("function", [of_the_reversed, of_every_other])
def test_slices_of_views_with_steps(function: Any) -> None:
    mine, theirs = (np.random.default_rng(0).random(N) for _ in range(2))
    accelerate(function, target="cpu")(theirs)
    function(mine)
    np.testing.assert_allclose(theirs, mine, rtol=1e-12)
