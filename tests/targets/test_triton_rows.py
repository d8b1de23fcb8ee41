"""Every elementwise operation in generated triton kernels, one kernel for each dtype."""

from __future__ import annotations

import re

import numpy as np
import pytest
from kernel_programs import CAST_DTYPES, ROW_DTYPES, check_casts, check_rows, program, rows

from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.backend import Backend
from untraced.kernels.launching.executor import kernels_of
from untraced.kernels.plan import plan
from untraced.kernels.settling.decompose import decompose
from untraced.translator import make
from untraced.translator.ir import Apply
from untraced.translator.passes.fuse import fuse
from untraced.translator.passes.groups import close

pytest.importorskip("triton")


@pytest.fixture
def backend(interpreter: Backend) -> Backend:
    return interpreter


@pytest.mark.parametrize("dtype", ROW_DTYPES)
def test_rows(dtype: str, backend: Backend) -> None:
    check_rows(dtype, backend)


@pytest.mark.parametrize("dtype", CAST_DTYPES)
def test_casts_of_special_values(dtype: str, backend: Backend) -> None:
    check_casts(dtype, backend)


def test_numbers_out_of_range_wrap_around_on_a_device() -> None:
    """Where NumPy's conversion goes by way of 32 bits: one to 8 or 16 bits would be clamped to 16 or to 0."""
    given, wanted = ["f2", "bfloat16", "f4", "f8"], ["i1", "i2", "u1", "u2", "u4"]
    function = program(
        "narrow", [(f"x_{np.dtype(d).name}", (64,), d) for d in given],
        lambda b, *xs: tuple(make.astype(b, x, np.dtype(d)) for x in xs for d in wanted),
    )  # fmt: skip
    for kernel in kernels_of(fuse(function), "triton"):
        conversions = set(re.findall(r"cvt\.rzi\.(\w+)", compile_program(kernel.program, 90).ptx))
        assert conversions and conversions <= {"s32", "s64"}


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "?"])
def test_rows_compile_for_a_device(dtype: str) -> None:
    """In float32 all operations in a few kernels; else those with functions of the dtype, which may lack."""
    statements = [s for s in rows(dtype)[0].body.statements if isinstance(s, Apply)]
    if dtype != "f4":
        statements = [s for s in statements if s.op.primitive("triton", [a.aval for a in s.args])]
    for k in range(0, len(statements), 16):
        part = statements[k : k + 16]
        group = close(part, [s.targets[0] for s in part], "pointwise")
        (launch,) = plan(decompose(group, "triton"), "triton").launches
        assert compile_program(launch.program, 90).cubin
