"""Generated CUDA kernels: compiled for the host and executed against the reference; compiled by NVRTC."""

from __future__ import annotations

import re
import shutil
from typing import Any

import numpy as np
import pytest
from host_cuda import HostCuda, aligned
from kernel_programs import (
    CASES,
    REDUCED_DTYPES,
    arguments,
    casts,
    chain,
    check,
    check_layer_norm_of_long_rows,
    check_places,
    layer_norm,
    logsumexp,
    masked,
    program,
    random_program,
    reductions,
    softmax,
    stencil,
    tolerance,
    totals,
    views_of_arguments,
    with_infinities,
    with_specials,
)
from product_programs import EXPONENTIALS, PLACES, RUNNING, VARIANCES, Case, check_exponentials, check_variance

from untraced.kernels import plan
from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.executor import GpuExecutor, kernels_of
from untraced.kernels.launching.steps import Group
from untraced.kernels.rows import held
from untraced.kernels.source import layout
from untraced.translator import make
from untraced.translator.errors import TargetError
from untraced.translator.ir import Function
from untraced.translator.ops.core import Run
from untraced.translator.passes.fuse import fuse
from untraced.translator.passes.groups import close

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")


@pytest.fixture(scope="module")
def backend() -> HostCuda:
    return HostCuda()


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_programs(name: str, backend: HostCuda) -> None:
    check(CASES[name], backend, tolerance(CASES[name]))


@needs_compiler
@pytest.mark.parametrize("name", ["softmax", "softmax_half", "layer_norm", "counted", "solid", "logsumexp"])
def test_rows_that_are_walked_again(name: str, backend: HostCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those longer than a block's registers are."""
    monkeypatch.setattr(held, "SHARES", ())
    check(CASES[name], backend, tolerance(CASES[name]))


@needs_compiler
@pytest.mark.parametrize("columns", [1, 3, 31, 33, 128, 129, 512, 600, 1100, 4096, 9000])
def test_rows_in_registers(columns: int, backend: HostCuda) -> None:
    """Of every number of threads, whole and not."""
    dtype = np.float64 if columns <= 8192 else np.float32
    for function in (softmax(3, columns, dtype), layer_norm(5, columns, dtype)):
        (kernel,) = kernels_of(fuse(function), "cuda")
        assert "THREADS" in kernel.source and "column += blockDim" not in kernel.source
        check(function, backend, tolerance(function))


@needs_compiler
@pytest.mark.parametrize(
    ("columns", "dtype"), [(513, "f4"), (1500, "f4"), (1500, "f8"), (1100, "f2"), (1104, "f2"), (3333, "f2")]
)
def test_rows_in_shared_memory(columns: int, dtype: str, backend: HostCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies behind the elements in registers, here behind 512 of them, or 1024."""
    monkeypatch.setattr(held, "SHARES", ((64, 32, 4),))
    monkeypatch.setattr(held, "LONG", 128)
    pack = 8 if dtype == "f2" else 4
    monkeypatch.setattr(held, "REGISTERS", pack * max(1, np.dtype(dtype).itemsize // 4))
    for function in (softmax(6, columns, np.dtype(dtype).type), layer_norm(2, columns, np.dtype(dtype).type)):
        (kernel,) = kernels_of(fuse(function), "cuda")
        assert "_far" in kernel.source and kernel.bytes_moved == kernel.bytes_minimum
        check(function, backend, tolerance(function))
        before = backend.packed_launches
        with aligned(backend):
            check(function, backend, tolerance(function), [backend.moved(a) for a in arguments(function)])
        assert backend.packed_launches == before + (columns % pack == 0)


def of_softmax(x: Any, d_y: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    y = e / np.sum(e, axis=1, keepdims=True)
    return y * (d_y - np.sum(y * d_y, axis=1, keepdims=True))


@needs_compiler
@pytest.mark.parametrize("columns", [1500, 1501])
def test_rows_of_which_one_array_fits_the_chip_read_the_other_one_again(
    columns: int, backend: HostCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "SHARES", ((64, 32, 4),))
    monkeypatch.setattr(held, "LONG", 128)
    monkeypatch.setattr(held, "REGISTERS", 4)
    monkeypatch.setattr(held, "FOLDS", plan.MOST_SHARED - 4 * columns + 4 * 400)
    case = Case(of_softmax, tuple(np.random.default_rng(k).normal(size=(3, columns)).astype("f4") for k in range(2)))
    function = case.translated("cuda")
    (kernel,) = kernels_of(function, "cuda")
    assert "_far" in kernel.source and kernel.bytes_moved == kernel.bytes_minimum + case.args[1].nbytes
    case.check(GpuExecutor(function, backend)(list(case.args)))
    before = backend.packed_launches
    with aligned(backend):
        case.check(GpuExecutor(function, backend)([backend.moved(a) for a in case.args]))
    assert backend.packed_launches == before + (columns % 4 == 0)


@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_gradients_of_long_rows_are_held_in_part(language: str) -> None:
    case = Case(of_softmax, (np.zeros((64, 65_536), "f4"),) * 2)
    (kernel,) = kernels_of(case.translated(language), language)
    assert kernel.language == "cuda" and kernel.bytes_moved == kernel.bytes_minimum + case.args[1].nbytes


@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_long_rows_are_read_once_where_they_fit_the_chip(language: str) -> None:
    """Of Triton's target, too: such rows are a CUDA kernel there."""
    for columns, dtype, once in ((65_536, np.float32, True), (65_536, np.float16, True), (100_000, np.float32, False)):
        (kernel,) = kernels_of(fuse(softmax(128, columns, dtype)), language)
        assert (kernel.bytes_moved == kernel.bytes_minimum) == once
        assert kernel.language == ("cuda" if once else language)


def test_long_rows_leave_room_for_what_warps_tell_each_other() -> None:
    """74,000 columns would just fit shared memory, were it not for the static part of it."""
    for columns in (73_000, 74_000, 74_496):
        (kernel,) = kernels_of(fuse(softmax(128, columns)), "cuda")
        kept = dict(kernel.program.constants).get("SHARED", 0)
        assert kept + held.FOLDS <= plan.MOST_SHARED
        assert (kernel.bytes_moved == kernel.bytes_minimum) == (kept > 0)


@needs_compiler
@pytest.mark.parametrize("dtype", REDUCED_DTYPES)
def test_reductions(dtype: str, backend: HostCuda) -> None:
    function = reductions(dtype)
    check(function, backend, 2e-3, with_specials(function))


@needs_compiler
@pytest.mark.parametrize("dtype", REDUCED_DTYPES)
def test_places_of_extremes(dtype: str, backend: HostCuda) -> None:
    check_places(dtype, backend)


@needs_compiler
@pytest.mark.parametrize("name", RUNNING)
def test_running_sums(name: str, backend: HostCuda) -> None:
    case = RUNNING[name]
    function = case.translated("cuda")
    assert {k.kind for k in kernels_of(function, "cuda")} == {"scan"}
    case.check(GpuExecutor(function, backend)(list(case.args)))


@needs_compiler
@pytest.mark.parametrize("name", PLACES)
def test_places_in_one_pass(name: str, backend: HostCuda) -> None:
    case = PLACES[name]
    function = case.translated("cuda")
    kernels = kernels_of(function, "cuda")
    if name != "elsewhere":
        assert [k.name[-6:] for k in kernels] == ["_parts", "finish"]
        assert kernels[0].bytes_moved < 1.5 * case.args[0].nbytes
    case.check(GpuExecutor(function, backend)(list(case.args)))


@needs_compiler
@pytest.mark.parametrize("name", VARIANCES)
def test_variances_in_one_pass(name: str, backend: HostCuda) -> None:
    check_variance(name, backend)


@needs_compiler
@pytest.mark.parametrize(("columns", "threads"), [(2, 1), (8, 2), (16, 4), (17, 8), (33, 16), (64, 16), (65, 32)])
def test_short_rows_share_a_warp(columns: int, threads: int, backend: HostCuda) -> None:
    """67 rows leave the last warp with rows that go on and rows that do not."""
    function = softmax(67, columns)
    with aligned(backend):
        check(function, backend, tolerance(function), [backend.moved(a) for a in arguments(function)])
    (kernel,) = kernels_of(fuse(function), "cuda")
    assert dict(kernel.program.constants)["THREADS"] == threads


@needs_compiler
def test_few_long_rows_have_large_blocks(backend: HostCuda) -> None:
    function = softmax(64, 75_001)
    check(function, backend, tolerance(function))
    (kernel,) = kernels_of(fuse(function), "cuda")
    assert "__launch_bounds__(1024)" in kernel.source
    assert "__launch_bounds__" not in kernels_of(fuse(softmax(512, 75_001)), "cuda")[0].source


def test_large_blocks_compile_for_a_device() -> None:
    pytest.importorskip("cupy")
    (kernel,) = kernels_of(fuse(softmax(64, 75_001)), "cuda")
    assert compile_program(kernel.program, 90).cubin


@needs_compiler
@pytest.mark.parametrize("name", EXPONENTIALS)
def test_sums_of_exponentials_in_one_pass(name: str, backend: HostCuda) -> None:
    check_exponentials(name, backend)


@needs_compiler
@pytest.mark.parametrize("make", [softmax, logsumexp])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_against_a_running_maximum(
    make: Any, dtype: str, backend: HostCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one walk of a long row, with the one after it two."""
    monkeypatch.setattr(held, "SHARES", ())
    function = make(6, 300, dtype)
    check(function, backend, tolerance(function), with_infinities(function))
    (kernel,) = kernels_of(fuse(function), backend.language)
    assert "exp_against(" in kernel.source and kernel.source.count("for (index_t column") == 1 + (make is softmax)


@needs_compiler
@pytest.mark.parametrize(("columns", "dtype"), [(19, "f8"), (300, "f4"), (3001, "f4")])
def test_variances_in_the_walk_of_their_mean(
    columns: int, dtype: str, backend: HostCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of fewer columns than threads, too."""
    monkeypatch.setattr(held, "SHARES", ())
    check_layer_norm_of_long_rows(dtype, columns, backend)


@needs_compiler
def test_casts(backend: HostCuda) -> None:
    check(casts(), backend, 0.0)


@needs_compiler
def test_views_of_arguments(backend: HostCuda) -> None:
    function, leaves = views_of_arguments()
    check(function, backend, 1e-12, leaves)


@needs_compiler
@pytest.mark.parametrize("seed", range(5))
def test_random_programs(seed: int, backend: HostCuda) -> None:
    check(random_program(seed), backend, 1e-9)


@needs_compiler
@pytest.mark.parametrize(
    "function",
    [
        *(chain(64), chain(72, np.float16), chain(72, np.dtype("bfloat16"))),
        *(masked(64, 1), masked(1, 64, np.float64), softmax(7, 136), softmax(3, 1104, np.float16)),
        *(layer_norm(5, 64), layer_norm(3, 520, np.float64), logsumexp(9, 12)),
    ],
    ids=lambda f: f.name,
)
def test_four_neighbours_at_a_time(function: Function, backend: HostCuda) -> None:
    before = backend.packed_launches
    with aligned(backend):
        check(function, backend, 3e-5, [backend.moved(a) for a in arguments(function)])
    assert backend.packed_launches == before + 1


def with_bias(x: Any, gain: Any, offset: Any) -> Any:
    y = x * gain + offset[:, None]
    return y > 0, np.where(y > 0, y, y * 2)


@needs_compiler
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(5, 24), (3, 5, 8), (1, 40), (5, 25), (6, 2)])
def test_broadcasts_by_neighbours(shape: tuple[int, ...], dtype: str, backend: HostCuda) -> None:
    """Rows are multiples of a pack long, or what is walked as one is; of an array with padded rows, too."""
    rng = np.random.default_rng(len(shape))
    padded, pack = rng.normal(size=(*shape[:-1], shape[-1] + 16)).astype(dtype), 8 if dtype == "f2" else 4
    offset = rng.normal(size=shape[:-1]).astype(dtype)
    gain = rng.normal(size=shape[-1]).astype(dtype)
    args = (padded[..., : shape[-1]], gain, offset if offset.ndim == 1 else offset[0])
    for x in (args[0].copy(), args[0]):
        case = Case(with_bias, (x, *args[1:]))
        before = backend.packed_launches
        with aligned(backend):
            lies = x if x.flags.c_contiguous else backend.moved(padded)[..., : shape[-1]]
            executor = GpuExecutor(case.translated("cuda"), backend)
            moved = [backend.moved(lies) if lies.flags.c_contiguous else lies, *map(backend.moved, args[1:])]
            case.check(executor(moved))
        assert backend.packed_launches == before + (shape[-1] % pack == 0)


@needs_compiler
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1"])
def test_parts_of_rows_by_neighbours(dtype: str, backend: HostCuda) -> None:
    """Reductions in two stages, whose first reads 16 bytes at a time; of rows that begin elsewhere it does not."""
    for columns, packed in ((40_000, 2), (40_001, 1)):  # what puts the parts together takes neighbours, too
        whole = (np.random.default_rng(1).integers(-7, 8, (2, columns)) % 250).astype(dtype)
        case = Case(lambda x: (np.sum(x, axis=1) + 1, np.max(x * 2, axis=1)), (whole,))
        before = backend.packed_launches
        with aligned(backend):
            executor = GpuExecutor(case.translated("cuda"), backend)
            case.check(executor([backend.moved(a) for a in case.args]))
        assert backend.packed_launches == before + packed


@needs_compiler
def test_indices_of_64_bits(backend: HostCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    monkeypatch.setattr(layout, "INT32", -1)
    for function in (softmax(9, 33), logsumexp(2, 4500), masked(7, 5), totals(300, 70), stencil(9, 14)):
        check(function, backend, tolerance(function))
        for k in kernels_of(fuse(function), "cuda"):
            assert compile_program(k.program, 90).cubin


@needs_compiler
def test_division_by_multipliers() -> None:
    """Quotients around each multiple are those of `//`, up to the last index of 31 bits."""
    for n in (1, 2, 3, 5, 7, 10, 641, 65535, 65536, 65537, 2**30 - 1, 2**30, 2**30 + 1, 2**31 - 1):
        multiplier, shift = layout.divider(n)
        multiples = np.unique(np.linspace(0, (2**31 - 1) // n, 1000, dtype=np.int64)) * n
        i = np.clip(np.concatenate([multiples - 1, multiples, multiples + 1, [2**31 - 1]]), 0, 2**31 - 1)
        assert 0 < multiplier < 2**32
        np.testing.assert_array_equal((i * multiplier // 2**32 + i) >> shift, i // n)
    assert layout.divider(0) == layout.divider(1)


def test_positions_of_more_than_31_bits(backend: HostCuda) -> None:
    """A few elements of a long range: no array is long, but the numbers are large."""
    steps = np.arange(100) * 2**26 + 5

    def body(b: Any, x: Any) -> Any:
        return make.add(b, x, make.index(b, make.iota(b, 2**33, np.dtype(np.int64)), (Run(5, 100, 2**26),), ()))

    statements = program("sparse", [("x", (100,), np.int64)], body).body.statements
    group = close(statements, statements[-1].targets, "pointwise")
    np.testing.assert_array_equal(Group(group, "sparse", backend)(np.zeros(100, np.int64)), steps)
    assert ".to(tl.int64) * BLOCK" in plan.plan(group, "triton").launches[0].program.source


COMPILED = {
    "chain": chain(100),
    "softmax": softmax(64, 256),
    "softmax_half": softmax(3, 50_000, np.float16),
    "layer_norm": layer_norm(64, 96),
    "layer_norm_far": layer_norm(64, 65_536),
    "masked": masked(30, 50),
    "stencil": stencil(33, 65, np.float64),
    "totals": totals(3000, 700),
    "reductions": reductions("f4"),
    "reductions_of_bytes": reductions("u1"),
    "running": RUNNING["running_far"].translated("cuda"),
    "running_half": RUNNING["running_float16"].translated("cuda"),
}


@pytest.mark.parametrize(
    ("name", "architecture"), [*((n, 90) for n in COMPILED), *((n, 80) for n in list(COMPILED)[::3])]
)
def test_kernels_compile_ahead_of_time(name: str, architecture: int) -> None:
    pytest.importorskip("cupy")
    kernels = kernels_of(fuse(COMPILED[name]), "cuda")
    assert kernels
    for k in kernels:
        compiled = compile_program(k.program, architecture)
        assert compiled.cubin[:4] == b"\x7fELF" and f"sm_{architecture}" in compiled.ptx


@pytest.mark.parametrize("columns", [1024, 50_000])
def test_rows_of_halves_move_16_bytes_at_a_time(columns: int) -> None:
    pytest.importorskip("cupy")
    (kernel,) = kernels_of(fuse(softmax(64, columns, np.float16)), "cuda")
    ptx = compile_program(kernel.program, 90).ptx
    moved = set(re.findall(r"\b((?:ld|st)\.global[\w.]*)", ptx[ptx.index(".entry softmax_t_by8") :]))
    assert moved == {"ld.global.nc.v4.u32", "st.global.v4.u32"}


def test_bfloat16_is_rounded_by_the_device() -> None:
    pytest.importorskip("cupy")
    (kernel,) = kernels_of(fuse(chain(64, np.dtype("bfloat16"))), "cuda")
    for architecture in (80, 90, 100):
        ptx = compile_program(kernel.program, architecture).ptx
        assert "cvt.rn.bf16x2.f32" in ptx and "32767" not in ptx  # what integers would round by


def grown(x: Any) -> Any:
    """What a compiler folds away where integers cannot overflow."""
    return x + 1 > x, x * 8 // 8 == x, -x < 0, x**2 >= 0, np.sum(x * x), np.prod(x + 2), np.cumsum(x * 3)


@needs_compiler
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_integers_wrap_around(dtype: str) -> None:
    """An overflow of signed integers, undefined in CUDA, is neither computed nor taken for impossible."""
    pytest.importorskip("cupy")
    info = np.iinfo(dtype)
    case = Case(grown, (np.array([info.max, info.min, info.max - 1, info.min + 1, 5, 0, -1], dtype),))
    function = case.translated("cuda")
    case.check(GpuExecutor(function, HostCuda(checked=True))(list(case.args)))
    compared = [compile_program(k.program, 90).ptx for k in kernels_of(function, "cuda") if "bool" in k.source]
    assert compared and sum(ptx.count("setp") for ptx in compared) > 4


def test_a_new_length_is_the_same_source() -> None:
    for one, other in (
        (softmax(100, 200), softmax(7, 9000)),
        (softmax(7, 40_000), softmax(7, 90_000)),
        (totals(1000, 300), totals(5000, 500)),
        (chain(10), chain(99)),
    ):
        sources = [{k.source for k in kernels_of(fuse(f), "cuda")} for f in (one, other)]
        assert sources[0] == sources[1]


def test_what_the_compiler_refuses_is_a_target_error() -> None:
    pytest.importorskip("cupy")
    from dataclasses import replace

    (kernel,) = kernels_of(fuse(softmax(64, 256)), "cuda")
    broken = replace(kernel.program, source=kernel.source.replace("expf", "no_such_function"))
    with pytest.raises(TargetError, match="no_such_function"):
        compile_program(broken, 90)
