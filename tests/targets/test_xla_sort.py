"""Sorts and Fourier transforms on XLA, every dtype, against the reference interpreter; the TPU's form on the CPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from test_xla_families import ALL_DTYPES, array
from xla_programs import assert_same, check, program

from untraced.tpu.client import executable as client
from untraced.tpu.emit.program import emit
from untraced.translator import make, ops
from untraced.translator.evaluate import evaluate


def awkward(dtype: Any) -> Any:
    """Ties, and for floating types NaN, infinities and both zeros."""
    x = array((4, 9), dtype)
    x[3] = x[2]
    if np.dtype(dtype).kind in "fcV":
        x[0, :2], x[1, 3], x[1, 4], x[2, 5], x[2, 6] = np.nan, np.inf, -np.inf, -0.0, 0.0
    if np.dtype(dtype).kind == "c":
        x[0, 3], x[0, 4] = complex(1, np.nan), complex(np.nan, 1)
    if np.dtype(dtype).kind in "iu":
        x[0, 0], x[0, 3] = np.iinfo(dtype).max, np.iinfo(dtype).min
    return x


def build(b: Any, x: Any) -> list[Any]:
    return [f(b, x, axis) for f in (make.sort, make.argsort) for axis in (0, 1)]


NUMPYS = [d for d in ALL_DTYPES if np.dtype(d).kind != "V"]


@pytest.mark.parametrize("dtype", NUMPYS, ids=lambda d: np.dtype(d).name)
def test_sorts(dtype: Any) -> None:
    check(build, awkward(dtype))


@pytest.mark.parametrize("dtype", NUMPYS, ids=lambda d: np.dtype(d).name)
def test_sorts_without_keys_of_bits(dtype: Any) -> None:
    x = awkward(dtype)
    function = program(build, x)
    found = client.compile(emit(function, target="tpu")).run_numpy([x])
    for ours, theirs in zip(found, evaluate(function, [x]), strict=True):
        assert_same(ours, theirs)


def test_bfloat16_as_float32() -> None:
    x = awkward(ml_dtypes.bfloat16)
    function = program(build, x)
    found = client.compile(emit(function)).run_numpy([x])
    wanted = evaluate(program(build, x.astype(np.float32)), [x.astype(np.float32)])
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(ours).astype(theirs.dtype), theirs)


def test_empty_and_single() -> None:
    check(build, np.zeros((0, 3)))
    check(build, np.ones((1, 1)))


AXES = [(3,), (0,), (1, 2), (2, 0, 1), (0, 1, 2, 3)]


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.float16, np.float32, np.float64, np.complex64, np.complex128])
def test_transforms(dtype: Any) -> None:
    x = array((2, 3, 4, 5), dtype)
    rtol = 1e-3 if dtype is np.float16 else 1e-4 if np.result_type(dtype, np.complex64) == np.complex64 else None
    check(lambda b, x: [make.fourier(b, op, x, a) for op in (ops.FFT, ops.IFFT) for a in AXES], x, rtol=rtol)
    if np.dtype(dtype).kind != "c":
        check(lambda b, x: [make.fourier(b, ops.RFFT, x, a) for a in AXES], x, rtol=rtol)
    else:
        sized = list(zip(AXES, [9, 2, 6, 5, 8], strict=True))
        check(lambda b, x: [make.fourier(b, ops.IRFFT, x, a, n) for a, n in sized], x, rtol=rtol)
    check(lambda b, x: make.fourier(b, ops.FFT, x, (0,)), x[:, :0])
