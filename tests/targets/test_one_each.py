"""Stores of one element in each row, at columns that integers choose: as part of the kernels around them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from translating import translated

from untraced import grad
from untraced.kernels.launching.executor import GpuExecutor, kernels_of

pytest.importorskip("triton")

LANGUAGES = ("cuda", "triton")
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="the CUDA source is run as C++")


def loss(x: Any, y: Any, w: Any) -> Any:
    z = x - np.max(x, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.sum(w * log_p[np.arange(x.shape[0]), y])


def taken(x: Any, y: Any, w: Any) -> Any:
    m = np.max(x, axis=1)
    picked = np.take_along_axis(x, y[:, None], axis=1)[:, 0]
    return np.mean(w * (np.log(np.sum(np.exp(x - m[:, None]), axis=1)) + m - picked))


def by_hand(x: Any, y: Any, w: Any) -> Any:
    p = np.exp(x - np.max(x, axis=1, keepdims=True))
    p /= np.sum(p, axis=1, keepdims=True)
    p[np.arange(x.shape[0]), y] -= 1
    return p / x.shape[0]


def one_hot(x: Any, y: Any, w: Any) -> Any:
    t = np.zeros_like(x)
    t[np.arange(x.shape[0]), y] = w
    return t


def scaled(x: Any, y: Any, w: Any) -> Any:
    t = x * 2
    t[np.arange(x.shape[0]), y] += w
    return t - 1, np.sum(w)


def stored_rows(x: Any, y: Any, w: Any) -> Any:
    t = x * 2
    t[np.arange(x.shape[0]), y] = w
    return np.sum(t, axis=1)


def repeated(x: Any, y: Any, w: Any) -> Any:
    t = x * 2
    t[np.broadcast_to(np.arange(1), y.shape), y] = 1
    return t * w[:, None]


def in_a_loop(x: Any, y: Any, w: Any) -> Any:
    for _ in range(5):
        p = x * 0.5
        p[np.arange(x.shape[0]), y] -= w
        x, y = p * 0.9, -1 - y
    return x


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "loss": grad(loss), "taken": grad(taken), "by_hand": by_hand, "one_hot": one_hot, "scaled": scaled,
    "stored_rows": stored_rows, "repeated": repeated, "in_a_loop": in_a_loop,
}  # fmt: skip


def arguments(shape: tuple[int, int], integers: str = "int64", dtype: str = "float32") -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    low = 0 if integers.startswith("u") else -shape[1]
    y = rng.integers(low, shape[1], shape[0]).astype(integers)
    return rng.standard_normal(shape).astype(dtype), y, rng.standard_normal(shape[0]).astype(dtype)


def check(function: Callable[..., Any], args: tuple[Any, ...], language: str, backends: dict[str, Any]) -> None:
    found = GpuExecutor(translated(function, args, language), backends[language])([np.array(a) for a in args])
    want = function(*(np.array(a) for a in args))
    for f, w in zip(found, want if isinstance(want, tuple) else (want,), strict=True):
        np.testing.assert_allclose(f, w, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(5, 7), (3, 1100)])
def test_values(name: str, shape: tuple[int, int], language: str, backends: dict[str, Any]) -> None:
    check(FUNCTIONS[name], arguments(shape), language, backends)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("shape", "integers", "dtype"),
    [((2, 20_000), "int32", "float32"), ((4, 9), "uint8", "float64"), ((4, 9), "uint64", "float32"),
     ((1, 6), "int64", "float32"), ((6, 1), "int64", "float32"), ((3, 5), "int16", "float32")],
)  # fmt: skip
def test_kinds(
    shape: tuple[int, int], integers: str, dtype: str, language: str, backends: dict[str, Any]
) -> None:
    for name in ("loss", "by_hand"):
        check(FUNCTIONS[name], arguments(shape, integers, dtype), language, backends)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["loss", "taken", "by_hand"])
def test_one_kernel_reads_and_writes_the_matrix_once(name: str, language: str) -> None:
    args = arguments((1024, 4096))
    kernels = kernels_of(translated(FUNCTIONS[name], args, language), language)
    moved = sum({(k.lines, k.bytes_moved): k.bytes_moved for k in kernels}.values())
    assert moved <= 2.02 * args[0].nbytes and "scatter" not in {k.kind for k in kernels}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["loss", "by_hand"])
@pytest.mark.parametrize("column", [7, -8])
def test_columns_out_of_range_raise(name: str, column: int, language: str, backends: dict[str, Any]) -> None:
    x, y, w = arguments((5, 7))
    y[3] = column
    run = GpuExecutor(translated(FUNCTIONS[name], (x, y, w), language), backends[language])
    with pytest.raises(IndexError, match=f"index {column} is out of bounds"):
        run([x, y, w])
