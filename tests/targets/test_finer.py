"""Elementwise work beside reshapes goes to the kernel on the other side (`passes/finer`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from translating import translated

from untraced import grad
from untraced.kernels.launching.executor import GpuExecutor
from untraced.translator.ir import Fused

pytest.importorskip("triton")

LANGUAGES = ("cuda", "triton")


def pooled(x: Any, y: Any) -> Any:
    return np.maximum(x + 1, y).reshape(3, 2, 4, 2).max(axis=(1, 3))


def group_norm(x: Any, y: Any) -> Any:
    t = (x * 2).reshape(2, 3, 8)
    t = (t - t.mean((1, 2), keepdims=True)) / np.sqrt(t.var((1, 2), keepdims=True) + 1e-5)
    return t.reshape(6, 8) * y[:, :1] + y[0]


def similarity(x: Any, y: Any) -> Any:
    def mean(t: Any) -> Any:
        return t.reshape(3, 2, 2, 4).mean((1, 3))

    a, b = mean(x), mean(y)
    return (2 * a * b + 0.1) * (2 * mean(x * y) - a * b) / (mean(x * x) + mean(y * y))


def total_similarity(x: Any, y: Any) -> Any:
    return np.sum(similarity(x, y))


def used_elsewhere(x: Any, y: Any) -> Any:
    t = np.exp(x) * y
    return t.reshape(6, 2, 4).max(axis=1), t.sum(axis=0), t


def in_two_shapes(x: Any, y: Any) -> Any:
    t = np.sin(x)
    return t.reshape(6, 2, 4).sum(1) + t.reshape(3, 2, 2, 4).sum((1, 2))[0], (t * y).reshape(-1)


def neither_is_finer(x: Any, y: Any) -> Any:
    return np.cos(x * y).reshape(4, 12) + 1, (np.tanh(x) * 2).reshape(16, 3).sum(axis=1)


def with_ones(x: Any, y: Any) -> Any:
    t = np.abs(x[:, :, None] - y[:, None, :1]).reshape(6, 2, 1, 4)
    return t.sum(axis=(1, 2)), (x[None] * 2).reshape(1, 6, 2, 4).max(axis=2)


def of_choices(x: Any, y: Any) -> Any:
    t = np.where(x > y, x, y[0]).astype(np.float32).reshape(6, 4, 2)
    return np.any(t > 0, axis=2), t.argmax(axis=1)


def stored_before(x: Any, y: Any) -> Any:
    z = x.copy()
    t = z * y
    z[0] = 7
    return t.reshape(6, 2, 4).sum(axis=1), (z + y).reshape(6, 2, 4).min(axis=1)


def merged_in_a_chain(x: Any, y: Any) -> Any:
    t = np.exp(x.reshape(6, 2, 4) - x.reshape(6, 2, 4).max(axis=1, keepdims=True))
    u = t.reshape(6, 8) * y
    v = np.sqrt(np.abs(u)) + y[:, :1]
    return v, u.sum(axis=1)


def repeated(x: Any, y: Any) -> Any:
    m = x.reshape(3, 2, 2, 4).mean((1, 3), keepdims=True)
    return np.broadcast_to(m, (3, 2, 2, 4)).reshape(6, 8) * y + 2 * (x - y)


def in_a_loop(x: Any, y: Any) -> Any:
    for _ in range(4):
        x = (np.tanh(x).reshape(3, 2, 8) * y.reshape(3, 2, 8).sum(1, keepdims=True)).reshape(6, 8) * 0.5
    return x


X, Y = np.random.default_rng(1).standard_normal((2, 6, 8))
PROGRAMS: list[Callable[..., Any]] = [
    *(pooled, group_norm, similarity, grad(total_similarity, (0, 1)), used_elsewhere, in_two_shapes, neither_is_finer),
    *(with_ones, of_choices, stored_before, merged_in_a_chain, repeated, in_a_loop),
]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy(function: Any, language: str, backends: dict[str, Any]) -> None:
    found = GpuExecutor(translated(function, (X, Y), language), backends[language])([X, Y])
    wanted = function(X, Y)
    for got, want in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert (np.asarray(got).dtype, np.shape(got)) == (np.asarray(want).dtype, np.shape(want))
        np.testing.assert_allclose(got, want, rtol=1e-6 if function is of_choices else 1e-12, atol=1e-12)


@pytest.mark.parametrize(("function", "results"), [(pooled, 0), (group_norm, 1), (repeated, 1), (similarity, 0)])
def test_nothing_goes_through_memory_in_between(function: Any, results: int) -> None:
    """Kernels store so many arrays as large as the arguments."""
    made = translated(function, (X, Y), "cuda")
    large = [t for s in made.body.statements if isinstance(s, Fused) for t in s.targets if t.aval.size == X.size]
    assert len(large) == results


def test_empty_arrays(backends: dict[str, Any]) -> None:
    def function(x: Any) -> Any:
        return (x * 2).reshape(0, 2, 4).sum(axis=1), np.exp(x).reshape(-1)

    x = np.zeros((0, 8))
    a, b = GpuExecutor(translated(function, (x,), "cuda"), backends["cuda"])([x])
    assert a.shape == (0, 4) and b.shape == (0,)
