"""The checks that generated kernels run under without a device: races, addresses, alignment, undefined arithmetic.

Each kind of fault is planted and has to be found; kernels of every kind are run with all checks on.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from host_cuda import HostCuda
from kernel_programs import arguments, check, layer_norm, random_program, softmax, tolerance, totals, transposed
from product_programs import ATTENTION, KERNELS_WIN, PRODUCTS, RUNNING

from untraced.kernels.launching.executor import GpuExecutor
from untraced.kernels.program import Argument, Launch, Program
from untraced.translator.ir import Function

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")

N = 128
F4 = np.dtype(np.float32)
RIGHT = """
template <class T> struct alignas(4 * sizeof(T)) Pack { T at[4]; };
extern "C" __global__ void kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
    __shared__ float tile[128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = x[i];
    __syncthreads();
    float value = tile[127 - threadIdx.x];
    value += __shfl_xor_sync(0xffffffffu, value, 1);
    y[i] = value + n;
}
"""
FAULTS = {
    "a race": ("__syncthreads();", "__syncthreads(); tile[threadIdx.x ^ 1] = 1;"),
    "nobody has written": ("tile[threadIdx.x] = x[i];", "if (threadIdx.x) tile[threadIdx.x] = x[i];"),
    "reads outside": ("= x[i]", "= x[i + 1]"),
    "writes outside": ("y[i] =", "y[i - 1] ="),
    "may write": ("y[i] =", "const_cast<float*>(x)[i] ="),
    "two threads write": ("y[i] =", "y[threadIdx.x] ="),
    "outside of an array": ("tile[127 - threadIdx.x]", "tile[(127 - threadIdx.x) * 2]"),
    "not aligned": ("= x[i]", "= reinterpret_cast<const Pack<float>*>(x + i / 4 * 4 % 120 + 1)->at[0]"),
    "overflows": ("value + n;", "value + (n * (int)(n + threadIdx.x));"),
    "by zero": ("value + n;", "value + n / (int)threadIdx.x;"),
    "shift": ("value + n;", "value + (1 << threadIdx.x);"),
    "not there": ("value += __shfl", "if (threadIdx.x == 127) return; value += __shfl"),
    "not in its mask": ("0xffffffffu", "0xfffffffeu"),
    "different barriers": ("__syncthreads();", "if (i & 1)\n__syncthreads();\nelse\n__syncthreads();"),
    "never reach": ("value += __shfl", "if (threadIdx.x & 1) __syncthreads(); value += __shfl"),
}


def run(source: str, blocks: int = 2) -> Any:
    x, y = np.arange(N * blocks, dtype=F4), np.empty(N * blocks, F4)
    arguments = (Argument("in", 0, F4), Argument("out", 0, F4), Argument("number", 0, np.dtype(np.int32), 2**30))
    HostCuda(checked=True).launch(
        Launch(Program("kernel", "cuda", source, ()), arguments, (blocks, 1), N), (x, y, np.int32(2**30))
    )
    return y


def test_nothing_is_found_in_a_right_kernel() -> None:
    run(RIGHT)


@pytest.mark.parametrize("message", FAULTS)
def test_each_fault_is_found(message: str) -> None:
    wrong, right = RIGHT.replace(*FAULTS[message]), RIGHT.count(FAULTS[message][0])
    assert right == 1
    with pytest.raises(AssertionError, match=message):
        run(wrong)


def test_arrays_that_share_memory_with_what_is_written_are_found() -> None:
    arguments = (Argument("in", 0, F4), Argument("out", 0, F4), Argument("number", 0, np.dtype(np.int32), 0))
    launch = Launch(Program("kernel", "cuda", RIGHT, ()), arguments, (1, 1), N)
    x = np.zeros(N + 4, F4)
    with pytest.raises(AssertionError, match="shares memory"):
        HostCuda(checked=True).launch(launch, (x[:N], x[4:], np.int32(0)))


class Without(HostCuda):
    """Leaves out the barrier at one place of the source of each kernel that has so many."""

    def __init__(self, number: int) -> None:
        super().__init__(checked=True)
        self.number, self.left = number, -1

    def launch(self, launch: Launch, arguments: Sequence[Any]) -> None:
        spots = [m.start() for m in re.finditer(r"__syncthreads\(\);", launch.program.source)]
        self.left = max(self.left, len(spots) - self.number - 1)
        if 0 <= self.number < len(spots):
            at, source = spots[self.number], launch.program.source
            source = source[:at] + source[at:].replace("__syncthreads();", ";", 1)
            launch = replace(launch, program=replace(launch.program, source=source))
        super().launch(launch, arguments)


def products(name: str, backend: Any) -> None:
    case = (PRODUCTS | ATTENTION | RUNNING)[name]
    case.check(GpuExecutor(case.translated("cuda"), backend, KERNELS_WIN)(list(case.args)))


BARRIERS: dict[str, tuple[Function | str, tuple[int, ...]]] = {
    "rows": (softmax(3, 3000), (1,)),
    "totals": (totals(300, 70), (1, 2)),
    "tiles": (transposed(100, 70), (0,)),
    "product": ("gelu_float32", (0,)),
    "running": ("running_far", (0, 1)),
    "attention": ("attention_float16", (1, 2)),
}
"""Programs, and which of the barriers of a kernel of theirs no other one makes up for on arrays of this size."""


@pytest.mark.parametrize("name", BARRIERS)
def test_barriers_that_are_left_out_are_found(name: str) -> None:
    function, numbers = BARRIERS[name]
    for number in (-1, *numbers):
        backend = Without(number)
        try:
            if isinstance(function, str):
                products(function, backend)
            else:
                check(function, backend, tolerance(function))
        except AssertionError as error:
            assert number >= 0, error
            assert re.match("a race|reads shared memory", str(error)), error
        else:
            assert number < 0, number


@pytest.mark.parametrize("columns", [5, 33, 3000, 40_000])
def test_rows_under_all_checks(columns: int) -> None:
    backend = HostCuda(checked=True)
    for function in (softmax(70 if columns < 100 else 3, columns), layer_norm(2, columns, np.float32)):
        check(function, backend, tolerance(function))


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_under_all_checks(seed: int) -> None:
    function = random_program(seed)
    check(function, HostCuda(checked=True), 1e-9, arguments(function))


# ---- Triton ------------------------------------------------------------------------------------------

TRITON = """
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    value = tl.load(x + i, mask=mask)
    total = tl.sum(tl.where(mask, value, 0.0), axis=0)
    tl.store(y + i, value + total, mask=mask)
"""
TRITON_FAULTS = {
    "load is outside": ("tl.load(x + i, mask=mask)", "tl.load(x + i)"),
    "store is outside": ("total, mask=mask)", "total)"),
    "two programs write": ("tl.store(y + i,", "tl.store(y + i % BLOCK,"),
    "reads what it, or another one, writes": ("tl.sum(", "tl.load(y + i, mask=mask) + tl.sum("),
    "into an argument": ("tl.store(y", "tl.store(x"),
    "Arrays are not equal": ("tl.where(mask, value, 0.0)", "value"),
}


@pytest.mark.parametrize("message", [None, *TRITON_FAULTS])
def test_each_fault_of_a_triton_kernel_is_found(message: str | None, interpreter: Any) -> None:
    """The last one: values of masked loads are no zeros on a device."""
    if message is None:
        assert_triton(TRITON, interpreter)
        return
    right, wrong = TRITON_FAULTS[message]
    source = TRITON.replace(right, wrong, 1)
    if "tl.load(y" in wrong:  # behind a store
        source = source.replace("    total", "    tl.store(y + i, value, mask=mask)\n    total")
    with pytest.raises(AssertionError, match=message):
        assert_triton(source, interpreter)


def assert_triton(source: str, interpreter: Any) -> None:
    i4, n = np.dtype(np.int32), 100
    arguments = (Argument("in", 0, F4), Argument("out", 0, F4), Argument("number", 0, i4, n))
    program = Program("kernel", "triton", source, (), (("BLOCK", 64),))
    x, y = np.arange(n, dtype=F4), np.full(n, -1, F4)
    interpreter.launch(Launch(program, arguments, (2, 1), 128), (x, y, np.int32(n)))
    np.testing.assert_array_equal(y, x + np.where(np.arange(n) < 64, np.sum(x[:64]), np.sum(x[64:])))
