"""Every elementwise operation in generated cuda kernels, one kernel for each dtype."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from host_cuda import HostCuda
from kernel_programs import CAST_DTYPES, ROW_DTYPES, check, check_casts, check_rows, program, rows

from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.executor import kernels_of
from untraced.kernels.plan import plan
from untraced.kernels.settling.decompose import decompose
from untraced.translator import make, ops
from untraced.translator.ir import Apply
from untraced.translator.passes.fuse import fuse
from untraced.translator.passes.groups import close


@pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
@pytest.mark.parametrize("dtype", ROW_DTYPES)
def test_rows(dtype: str) -> None:
    check_rows(dtype, HostCuda())


@pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
@pytest.mark.parametrize("dtype", CAST_DTYPES)
def test_casts_of_special_values(dtype: str) -> None:
    check_casts(dtype, HostCuda())


@pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
@pytest.mark.parametrize("dtype", ["i1", "u2", "i8"])
def test_powers_of_two_divide_by_bits(dtype: str) -> None:
    info, rows = np.iinfo(dtype), (ops.REMAINDER, ops.FLOOR_DIVIDE)
    x = np.array([0, 1, 7, 8, 100, info.max, info.min, info.min + 1, info.max // 2 - 1], dtype)
    x = np.append(x, np.array([-1, -7, -8, -9], dtype) if info.min else x)
    function = program(
        "bits", [("x", x.shape, dtype)],
        lambda b, x: tuple(make.elementwise(b, op, x, n) for op in rows for n in (1, 8, 64)),
    )  # fmt: skip
    check(function, HostCuda(), 0.0, [x])
    for language in ("cuda", "triton"):
        (kernel,) = kernels_of(fuse(function), language)
        assert ">> 6" in kernel.source and "= x /" not in kernel.source and "= x %" not in kernel.source


@pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8"])
def test_what_a_known_divisor_decides_is_not_computed(dtype: str) -> None:
    info, rows = np.iinfo(dtype), (ops.REMAINDER, ops.FLOOR_DIVIDE)
    numbers = (3, 7) if info.min == 0 else (3, 7, -1, -3)
    x = np.array([0, 1, 2, 3, 6, 7, 100, info.max, info.min, info.min + 1, info.max // 2 - 1], dtype)
    x = np.append(x, np.array([-1, -3, -7, -8, -9], dtype) if info.min else x)
    function = program(
        "by", [("x", x.shape, dtype)],
        lambda b, x: tuple(make.elementwise(b, op, x, n) for op in rows for n in numbers),
    )  # fmt: skip
    check(function, HostCuda(), 0.0, [x])
    for language in ("cuda", "triton"):
        (kernel,) = kernels_of(fuse(function), language)
        assert not re.search(r"(&&?|\|\|?) \(?(true|false|tl.full)", kernel.source)


@pytest.mark.parametrize("dtype", ["f2", "f4", "i4"])
def test_rows_compile_for_a_device(dtype: str) -> None:
    pytest.importorskip("cupy")
    statements = [s for s in rows(dtype)[0].body.statements if isinstance(s, Apply)]
    group = close(statements, [s.targets[0] for s in statements], "pointwise")
    (launch,) = plan(decompose(group, "cuda"), "cuda").launches
    assert compile_program(launch.program, 90).cubin
