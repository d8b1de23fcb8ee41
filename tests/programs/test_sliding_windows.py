"""np.lib.stride_tricks.sliding_window_view: slices of windows are made at the places that they take, and stay views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from comparing import Cases, assert_same, check

from untraced import accelerate, grad

sliding = np.lib.stride_tricks.sliding_window_view
pytestmark = pytest.mark.filterwarnings("error:.*runs as it is:UserWarning")
CASES = Cases()
X = np.arange(9.0) ** 2
IMAGE = np.arange(42.0).reshape(6, 7)


@CASES((X,), (np.arange(8),))
def frames(x):
    v = sliding(x, 3)
    x[2] = 99
    y = v[::2]
    x[4] = -1
    return y, v[1:][::-2][:, 1:], v[1, 2], v[-1], v[:, 0], v[5:2], v[::3, ::-1].T


@CASES((IMAGE,), (np.asfortranarray(IMAGE),))
def patches(x):
    v = sliding(x, (3, 2))
    pooled = v[::2, ::3].mean((2, 3))
    return pooled, v[0, 1], v[:, 2], v[1:, 1, ::-1], v[..., 0, :], v.T[1], sliding(x, 2, axis=1)[:, ::2, ::-1]


@CASES((np.arange(60.0).reshape(3, 4, 5),))
def of_some_axes(x):
    v = sliding(x, (2, 2), axis=(0, 2))
    return v[1, ::2, 1:], v[..., ::2, 0, 1], v[0, 0, 0]


@CASES((X,))
def in_loops(x):
    out = np.zeros(len(x) - 2)
    for i, w in enumerate(sliding(x, 3)):
        out[i] = np.median(w) + w[0] * w[-1]
    v = sliding(x, 3)
    for i in range(len(v) - 1, -1, -1):
        out[i] += v[i, 1] + v[i - 1].sum()
    return out


@CASES((X, 1, 3), (X, -1, 0), (X, 9, 12))
def by_numbers_of_the_call(x, i, j):
    v = sliding(x, 3)
    return v[i], v[i:j], v[i:j, 1], v[i, 2]


@CASES((X,))
def written(x):
    v = sliding(x, 3)[1::2]
    v[0, 1] = 1.0
    return v


@CASES((X,))
def one_written(x):
    w = sliding(x, 3)[1]
    w[:] = 1.0
    return w


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_as_numpy(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)


def test_no_window_is_made_that_nobody_takes() -> None:
    def spectrogram(x):
        return np.abs(np.fft.rfft(sliding(x, 64)[::32] * np.hanning(64)))

    source = accelerate(spectrogram, target="numpy").source(np.ones(1024))
    assert "x[(np.arange(31) * 32)[:, None] + np.arange(64)]" in source


def moving_slices(x: Any) -> Any:
    return np.array([x[i : i + 3] for i in range(len(x) - 2)])


def moving_in_steps(x: Any) -> Any:
    return np.stack([x[i : i + 4] for i in range(2, len(x) - 4, 2)], axis=-1)


def moving_and_others(x: Any) -> Any:
    return np.concatenate([np.stack([x[i : i + 2] for i in range(20)] + [x[7:9], x[0:2]]), x[:2][None]])


def still(x: Any) -> Any:
    return np.array([x[3:5] for _ in range(20)])


def turning_back(x: Any) -> Any:
    return np.array([x[i : i + 2] for i in range(20, 0, -1)])


def few_slices(x: Any) -> Any:
    return np.stack([x[:-2], x[1:-1], x[2:]])


@pytest.mark.parametrize("f", [moving_slices, moving_in_steps, moving_and_others, still, turning_back, few_slices])
@pytest.mark.parametrize("shape", [(50,), (50, 3)])
@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_slices_that_are_joined(f: Any, shape: tuple[int, ...], target: str) -> None:
    """Of many that move along an array XLA took seconds to compile what reads them: they are windows."""
    x = np.random.default_rng(0).random(shape)
    g = accelerate(f, target=target)
    assert_same(g(x), f(x), f.__name__)
    windows = f in (moving_slices, moving_in_steps, moving_and_others)
    assert g.inspect(x).source.count("np.arange") == 2 * windows
    weights = np.arange(f(x).size).reshape(f(x).shape)
    np.testing.assert_allclose(grad(lambda x: (f(x) * weights).sum())(x), _sums_of_weights(f, x, weights), rtol=1e-12)


def _sums_of_weights(f: Any, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The derivative of a sum of elements: to each what it was multiplied with."""
    places = f(np.arange(x.size).reshape(x.shape)).ravel()
    return np.bincount(places, weights.ravel(), minlength=x.size).reshape(x.shape)
