"""Random numbers in kernels: the bits are made where they are used, in Triton and in CUDA, and are CPython's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from translating import translated

from untraced import random, vmap
from untraced.kernels.ahead import compile_program
from untraced.kernels.facts import H200
from untraced.kernels.launching.executor import GpuExecutor, kernels_of

KEY = random.key(9)
X = np.linspace(-1.0, 1.0, 77, dtype=np.float32).reshape(7, 11)


def dropout(key: Any, x: Any) -> Any:
    return np.where(random.bernoulli(key, 0.8, x.shape), x / 0.8, 0.0)


def noisy_rows(key: Any, x: Any) -> Any:
    y = x + random.normal(key, x.shape)
    return y / np.sum(np.abs(y), axis=1, keepdims=True)


def wide(key: Any, x: Any) -> Any:
    first, second = random.split(key)
    return random.uniform(first, x.shape, np.float64) * x, random.bits(second, x.shape, np.uint64)


def integers(key: Any, x: Any) -> Any:
    return random.randint(key, x.shape, 0, 10) + random.bits(key, x.shape, np.uint8)


def walked(key: Any, x: Any) -> Any:
    for i in range(3):
        x = x + random.uniform(random.fold_in(key, i), x.shape)
    return x


PROGRAMS = [dropout, noisy_rows, wide, integers, walked, vmap(dropout, in_axes=(0, None))]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_numbers_in_kernels_are_those_of_cpython(function: Callable[..., Any], backend: Any) -> None:
    keys = random.split(KEY, 3) if function is PROGRAMS[-1] else KEY
    program = translated(function, (keys, X), backend.language)
    with np.errstate(all="ignore"):
        found = GpuExecutor(program, backend, H200)([keys, X])
        wanted = function(keys, X)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for got, want in zip(found, wanted, strict=True):
        got = np.asarray(got)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if want.dtype.kind in "iub":
            assert np.array_equal(got, want)
        else:  # log1p of the interpreter and of the host are others than NumPy's
            np.testing.assert_allclose(got, want, 1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 0, 5), (0, 5, 5), (5, 5, 0)])
def test_arrays_of_nothing(shape: tuple[int, ...], backend: Any) -> None:
    x = np.zeros(shape, np.float32)
    (got,) = GpuExecutor(translated(integers, (KEY, x), backend.language), backend, H200)([KEY, x])
    assert (got.shape, got.dtype) == (shape, integers(KEY, x).dtype)


@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_no_bits_are_stored(language: str) -> None:
    """One kernel, which reads the array and writes the result: the bits exist in registers only."""
    (kernel,) = kernels_of(translated(dropout, (KEY, X), language), language)
    assert kernel.bytes_moved <= 2 * X.nbytes + 64


@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_they_compile_for_devices(language: str) -> None:
    pytest.importorskip("triton" if language == "triton" else "cupy")
    for kernel in kernels_of(translated(noisy_rows, (KEY, X), language), language):
        assert kernel.program is not None
        assert compile_program(kernel.program, 90).cubin
