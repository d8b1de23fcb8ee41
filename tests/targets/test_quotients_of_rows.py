"""Quotients of a row's elements by one number: the bits of division, whatever is divided by what."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest
from host_cuda import HostCuda
from product_programs import Case

from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.backend import Backend
from untraced.kernels.launching.executor import GpuExecutor, kernels_of
from untraced.kernels.rows import held

TINY, MOST = 2.0**-149, 3.4028235e38
EDGES = [0, -0.0, np.inf, -np.inf, np.nan, TINY, -3 * TINY, 1e-38, 2.0**-126, 2.0**-125, 2.0**126, -(2.0**127), MOST]
DIVIDENDS = [*EDGES, 2.0**-100, 2.0**-101, 1.5 * 2.0**-99, 1, -1]
DIVISORS = [*EDGES, 3, -7, 1, 0.1, 16777215 / 2**24, 2 - 2.0**-23]


def shares(x: Any, y: Any) -> Any:
    divisor = np.max(y, axis=1, keepdims=True)
    quotient = x / divisor
    return quotient


def any_bits(shape: tuple[int, ...], seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 2**32, shape, dtype=np.uint32).view("f4")


@pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
@pytest.mark.parametrize(("columns", "kept"), [(700, True), (700, False), (30, True)])
def test_they_are_those_of_division(columns: int, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kept:
        monkeypatch.setattr(held, "SHARES", ())
    x, y = any_bits((48, columns), 0), any_bits((48, 1), 1)
    x[:, : len(DIVIDENDS)], y[: len(DIVISORS), 0] = DIVIDENDS, DIVISORS
    case = Case(shares, (x, np.repeat(y, columns, axis=1)))
    function = case.translated("cuda")
    (kernel,) = kernels_of(function, "cuda")
    assert " = quotient(x, divisor_1_divides);" in kernel.source
    (got,), (want,) = GpuExecutor(function, HostCuda())(list(case.args)), case.expected()
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.isnan(got), ~numbers)
    np.testing.assert_array_equal(got.view("u4")[numbers], want.view("u4")[numbers])


def test_those_of_triton_are(interpreter: Backend) -> None:
    """1024 and more at once by the reciprocal, in assembler, fewer by division; zeros without division."""
    x, y = any_bits((24, 1030), 0), any_bits((24, 1), 1)
    x[:, : len(DIVIDENDS)], y[: len(DIVISORS), 0] = DIVIDENDS, DIVISORS
    x[20:, 40:600], y[20:] = 0, 3
    case = Case(shares, (x, np.repeat(y, 1030, axis=1)))
    function = case.translated("triton")
    assert "quotient_1 = quotient(x, divisor_1)" in kernels_of(function, "triton")[0].source
    (got,), (want,) = GpuExecutor(function, interpreter)(list(case.args)), case.expected()
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.isnan(got), ~numbers)
    np.testing.assert_array_equal(got.view("u4")[numbers], want.view("u4")[numbers])


@pytest.mark.parametrize("dtype", ["f8", "f2"])
def test_other_types_divide(dtype: str) -> None:
    function = Case(shares, (np.zeros((4, 700), dtype),) * 2).translated("cuda")
    (kernel,) = kernels_of(function, "cuda")
    assert "= quotient(" not in kernel.source


def test_they_compile_for_a_device() -> None:
    pytest.importorskip("cupy")
    (kernel,) = kernels_of(Case(shares, (np.zeros((4, 700), "f4"),) * 2).translated("cuda"), "cuda")
    ptx = compile_program(kernel.program, 90).ptx
    assert ptx.count("div.rn.f32") == 1 and ptx.count("rcp.rn.f32") == 2  # in a function of its own; of both twins
