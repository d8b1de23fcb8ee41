"""The generated kernels on a CUDA device; the twins are `test_triton_kernels.py` and `test_cuda_kernels.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_programs import (
    CASES,
    REDUCED_DTYPES,
    ROW_DTYPES,
    arguments,
    casts,
    check_rows,
    places,
    random_program,
    reductions,
    tolerance,
    views_of_arguments,
    with_specials,
)
from product_programs import ATTENTION, KERNELS_WIN, PRODUCTS, RUNNING

from untraced.kernels.executor import GpuExecutor
from untraced.kernels.launch import CupyBackend
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Function
from untraced.translator.passes.extremes import extremes
from untraced.translator.passes.fuse import fuse

pytestmark = pytest.mark.gpu

LANGUAGES = ["triton", "cuda"]


class Device:
    """A backend that takes NumPy arrays: what it is given goes to the device first."""

    def __init__(self, language: str) -> None:
        self.backend = CupyBackend(language)

    def run(self, function: Function, leaves: list[Any]) -> list[Any]:
        import cupy

        moved = [_to_device(cupy, a) for a in leaves]
        return [cupy.asnumpy(r) for r in GpuExecutor(fuse(function), self.backend)(moved)]


def _to_device(cupy: Any, a: Any) -> Any:
    """An array with the strides that it has here, so that views stay views."""
    if not np.ndim(a):
        return a
    base = a
    while isinstance(base.base, np.ndarray):
        base = base.base
    offset = a.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    memory = cupy.asarray(np.ascontiguousarray(base))
    pointer = memory.data + offset
    return cupy.ndarray(a.shape, a.dtype, pointer, strides=a.strides)


def agree(function: Function, device: Device, rtol: float, leaves: list[Any]) -> None:
    with np.errstate(all="ignore"):
        expected = evaluate(function, leaves)
    for got, want in zip(device.run(function, leaves), expected, strict=True):
        assert (got.dtype, got.shape) == (np.asarray(want).dtype, np.shape(want))
        np.testing.assert_allclose(got.astype("f8"), np.asarray(want).astype("f8"), rtol=rtol, atol=rtol)


@pytest.fixture(scope="module", params=LANGUAGES)
def device(request: pytest.FixtureRequest) -> Device:
    return Device(request.param)


@pytest.mark.parametrize("name", CASES)
def test_programs(name: str, device: Device) -> None:
    # Device functions differ from NumPy's by a few units in the last place, and matrix products sum in another order.
    agree(CASES[name], device, 10 * tolerance(CASES[name]), arguments(CASES[name]))


@pytest.mark.parametrize("dtype", REDUCED_DTYPES)
def test_reductions(dtype: str, device: Device) -> None:
    function = reductions(dtype)
    agree(function, device, 2e-3, with_specials(function))


@pytest.mark.parametrize("dtype", REDUCED_DTYPES)
def test_places_of_extremes(dtype: str, device: Device) -> None:
    function = places(dtype)
    agree(extremes(function), device, 0.0, with_specials(function))


# CuPy has no arrays of bfloat16.
@pytest.mark.parametrize("name", [n for n in PRODUCTS | ATTENTION | RUNNING if "bfloat16" not in n])
def test_products_attention_and_running_sums(name: str, device: Device) -> None:
    import cupy

    case = (PRODUCTS | ATTENTION | RUNNING)[name]
    executor = GpuExecutor(case.translated(device.backend.language), device.backend, KERNELS_WIN)
    case.check([cupy.asnumpy(r) for r in executor([_to_device(cupy, a) for a in case.args])])


def test_casts(device: Device) -> None:
    agree(casts(), device, 0.0, arguments(casts()))


def test_views_of_arguments(device: Device) -> None:
    function, leaves = views_of_arguments()
    agree(function, device, 1e-12, leaves)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int, device: Device) -> None:
    function = random_program(seed)
    agree(function, device, 1e-9, arguments(function))


@pytest.mark.parametrize("dtype", ROW_DTYPES)
def test_rows(dtype: str, device: Device) -> None:
    import cupy

    check_rows(dtype, device.backend, {"f2": 4e-3, "f4": 3e-5}.get(dtype, 1e-11), cupy.asarray, cupy.asnumpy)
