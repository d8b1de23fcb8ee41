"""Every elementwise operation in generated cuda kernels, one kernel for each dtype."""

from __future__ import annotations

import shutil

import pytest
from host_cuda import HostCuda
from kernel_programs import CAST_DTYPES, ROW_DTYPES, check_casts, check_rows, rows

from untraced.kernels.ahead import compile_program
from untraced.kernels.decompose import decompose
from untraced.kernels.plan import plan
from untraced.translator.ir import Apply
from untraced.translator.passes.groups import close


@pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
@pytest.mark.parametrize("dtype", ROW_DTYPES)
def test_rows(dtype: str) -> None:
    check_rows(dtype, HostCuda())


@pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
@pytest.mark.parametrize("dtype", CAST_DTYPES)
def test_casts_of_special_values(dtype: str) -> None:
    check_casts(dtype, HostCuda())


@pytest.mark.parametrize("dtype", ["f2", "f4", "i4"])
def test_rows_compile_for_a_device(dtype: str) -> None:
    pytest.importorskip("cupy")
    statements = [s for s in rows(dtype)[0].body.statements if isinstance(s, Apply)]
    group = close(statements, [s.targets[0] for s in statements], "pointwise")
    (launch,) = plan(decompose(group, "cuda"), "cuda").launches
    assert compile_program(launch.program, 90).cubin
