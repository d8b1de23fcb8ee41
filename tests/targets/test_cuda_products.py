"""Products and attention as CUDA kernels: on the host, with the fragments of tensor cores told apart as the PTX ISA has
them; compiled by NVRTC; reported."""

from __future__ import annotations

import os
import shutil
from typing import Any

import numpy as np
import pytest
from host_cuda import GuardedNumpy, HostCuda, aligned, compile_programs
from product_programs import (
    ATTENTION,
    CAUSAL,
    KERNELS_WIN,
    PACKED,
    PRODUCTS,
    Case,
    attention,
    causal,
    gelu_layer,
    some,
)

from untraced.kernels.ahead import compile_program
from untraced.kernels.attention import forward as planned
from untraced.kernels.launching.executor import GpuExecutor, Kernel, kernels_of
from untraced.kernels.resources import resources_of
from untraced.kernels.source import layout
from untraced.translator.ir import Aval

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
CASES = {**PRODUCTS, **ATTENTION}
KINDS = {**dict.fromkeys(PRODUCTS, "contract"), **dict.fromkeys(ATTENTION, "attention")}


@pytest.fixture(scope="module")
def backend() -> HostCuda:
    """Kernels for arrays in C order are compiled as one file, packed ones as another."""
    for cases, end in ((CASES, ""), (PACKED, "_by4")):
        compile_programs(list({k.program: None for case in cases.values() for k in kernels(case)}), end)
    return HostCuda()


def kernels(case: Case) -> tuple[Kernel, ...]:
    return kernels_of(case.translated("cuda"), "cuda", KERNELS_WIN)


def run(case: Case, backend: HostCuda) -> None:
    case.check(GpuExecutor(case.translated("cuda"), backend, KERNELS_WIN)(list(case.args)))


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_programs(name: str, backend: HostCuda) -> None:
    assert [k.kind for k in kernels(CASES[name])] == [KINDS[name]]
    run(CASES[name], backend)


@needs_compiler
@pytest.mark.parametrize("name", CAUSAL)
def test_what_no_row_of_a_block_sees_is_left_out(
    name: str, backend: HostCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned, "WORTH", 0)
    *_, kernel = kernels(CAUSAL[name])
    assert "start < seen" in kernel.source
    run(CAUSAL[name], backend)


@needs_compiler
@pytest.mark.parametrize("name", PACKED)
def test_neighbours_are_read_and_stored_together(name: str, backend: HostCuda) -> None:
    case = PACKED[name]
    before = backend.packed_launches
    with aligned(backend):
        run(Case(case.function, tuple(map(backend.moved, case.args))), backend)
    assert backend.packed_launches == before + 1


@needs_compiler
@pytest.mark.parametrize("name", ["attention", "causal"])
def test_many_heads_load_what_they_multiply_next(
    name: str, backend: HostCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few of them, above, have it on its way while they multiply."""
    assert dict(kernels(PACKED[name])[0].program.constants)["AHEAD"] == 1
    monkeypatch.setattr(planned, "ENOUGH_BLOCKS", 0)
    assert dict(kernels(PACKED[name])[0].program.constants)["AHEAD"] == 0
    test_neighbours_are_read_and_stored_together(name, backend)


@needs_compiler
def test_nothing_is_read_behind_an_array(backend: HostCuda) -> None:
    """In a process of its own, which such a read would end."""
    cases = {**PACKED, **{n: c for n, c in CASES.items() if n.startswith(("gelu_", "attention_f", "many"))}}
    guarded = GuardedNumpy()
    child = os.fork()
    if not child:
        status = 1
        try:
            backend.xp = guarded
            for case in cases.values():
                args = [backend.moved(a) for a in case.args]
                GpuExecutor(case.translated("cuda"), backend, KERNELS_WIN)(args)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@needs_compiler
@pytest.mark.parametrize("name", ["gelu_float16", "gelu_float64", "turned", "many"])
def test_what_is_sent_ahead_is_waited_for(name: str) -> None:
    """Every access is looked at: what is read before it has arrived nothing was written to."""
    checked, case = HostCuda(checked=True), PACKED[name]
    assert "wait_for_groups<STAGES - 2>" in kernels(case)[0].source
    run(Case(case.function, tuple(map(checked.moved, case.args))), checked)
    assert checked.packed_launches == 1


def test_operands_with_work_on_them_pass_through_registers() -> None:
    source = kernels(PACKED["scaled"])[0].source
    packed = source[source.index("_by4(") :]
    assert "left_next" in packed and "right_next" in packed and "send_ahead" not in packed
    half = kernels(Case(first_scaled, (some(64, 16), some(64, 1), some(16, 32))))[0].source
    packed = half[half.index("_by4(") :]
    assert "left_next" in packed and "right_next" not in packed and "send_ahead" in packed


def first_scaled(x: Any, s: Any, w: Any) -> Any:
    return np.tanh((x * s) @ w)


@needs_compiler
def test_one_operand_with_work_on_it(backend: HostCuda) -> None:
    """It is put where it is multiplied while the other one has been on its way for three turns."""
    case = Case(first_scaled, (some(72, 104), some(72, 1), some(104, 40)))
    with aligned(backend):
        run(Case(case.function, tuple(map(backend.moved, case.args))), backend)


@needs_compiler
@pytest.mark.parametrize("name", ["gelu_float32", "scaled_half", "two_results", "causal"])
def test_the_library_between_kernels_gives_the_same(name: str, backend: HostCuda) -> None:
    """As where the library wins: products are its own, with kernels before and after them."""
    CASES[name].check(GpuExecutor(CASES[name].translated("cuda"), backend)(list(CASES[name].args)))


@needs_compiler
def test_tf32_where_cupy_is_told_so(backend: HostCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten bits of each factor: an error of about 1e-3, and not of 1e-7."""
    case = Case(gelu_layer, (some(37, 45), some(45, 70), some(70)))
    exact = case.expected()[0]
    monkeypatch.setenv("CUPY_TF32", "1")
    for made in (case, Case(attention, (some(70, 20), *some(2, 45, 20)))):
        (got,) = GpuExecutor(made.translated("cuda"), backend, KERNELS_WIN)(list(made.args))
        assert 1e-6 < np.max(np.abs(got - made.expected()[0])) < 1e-2
    assert "tf32" in kernels(case)[0].source and np.isfinite(exact).all()


@needs_compiler
@pytest.mark.parametrize("seed", range(6))
def test_random_shapes(seed: int, backend: HostCuda) -> None:
    """Of every remainder to the blocks, in strides of any sign: one source for all of them."""
    rng = np.random.default_rng(seed)
    n, k, m = (int(rng.integers(1, 150)) for _ in range(3))
    dtype = ("f4", "f2", "f8")[seed % 3]
    x = some(n, k, dtype=dtype, seed=seed)[:: (-1) ** seed]
    w = some(k, m, dtype=dtype, seed=seed)[::-1]
    case = Case(gelu_layer, (x, w, some(m, dtype=dtype)))
    if seed >= 3:
        k = min(k, 128)
        case = Case(attention, (x[:, :k], some(m, k, dtype=dtype, seed=1), some(m, k, dtype=dtype, seed=2)[::-1]))
    run(case, backend)


@needs_compiler
def test_indices_of_64_bits(backend: HostCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "INT32", -1)
    for name in ("labelled", "causal_half"):
        assert "typedef long long index_t" in kernels(CASES[name])[0].source
        run(CASES[name], backend)


def shapes(function: Any, *avals: tuple[tuple[int, ...], str]) -> Case:
    return Case(function, tuple(Aval(s, np.dtype(d)) for s, d in avals))


LARGE = {
    "gelu_half": shapes(gelu_layer, ((512, 256), "f2"), ((256, 512), "f2"), ((512,), "f2")),
    "gelu_single": shapes(gelu_layer, ((512, 256), "f4"), ((256, 512), "f4"), ((512,), "f4")),
    "attention_half": shapes(attention, *[((512, 128), "f2")] * 3),
    "attention_wide_half": shapes(attention, *[((512, 256), "f2")] * 3),
    "attention_double": shapes(attention, *[((512, 64), "f8")] * 3),
}


@pytest.mark.parametrize(
    ("name", "architecture"),
    [*((n, 90) for n in LARGE), ("gelu_half", 80), pytest.param("attention_half", 100, marks=pytest.mark.slow)],
)
def test_kernels_compile_ahead_of_time(name: str, architecture: int) -> None:
    """Tensor cores and wide loads are used, nothing is spilled, and what a block takes all devices have."""
    pytest.importorskip("cupy")
    (kernel,) = kernels(LARGE[name])
    compiled = compile_program(kernel.program, architecture)
    for end in ("", "_by4"):
        taken = resources_of(compiled.cubin, compiled.entry + end, compiled.shared)
        threads = dict(kernel.program.constants)["THREADS"]
        assert taken.stack == 0 and taken.shared <= 99 << 10 and taken.registers * threads <= 1 << 16
    packed = compiled.ptx[compiled.ptx.index("_by4") :]
    assert ("cp.async" in packed) == (kernel.kind == "contract") and "cp.async" not in compiled.ptx[: -len(packed)]
    assert ("mma.sync" in packed) == name.endswith("half")
    assert ("ld.global.nc.v4" in packed) or name.endswith("double") and "ld.global.nc.v2.f64" in packed


def test_a_new_length_is_the_same_program() -> None:
    def programs(case: Case) -> set[object]:
        return {k.program for k in kernels(case)}

    def layer(n: int, k: int, m: int) -> Case:
        return Case(gelu_layer, (some(n, k), some(k, m), some(m)))

    assert programs(layer(100, 70, 90)) == programs(layer(77, 50, 72))
    assert programs(Case(causal, (some(2, 70, 24),) * 3)) == programs(Case(causal, (some(3, 99, 20),) * 3))


@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_one_head_is_divided_among_all_multiprocessors(language: str) -> None:
    """8,192 rows are 64 blocks of 128, of an H200's 132 multiprocessors; those of four heads keep larger blocks."""

    def kernel(*shape: int) -> Kernel:
        case = shapes(attention if len(shape) == 2 else causal, *[(shape, "f2")] * 3)
        *_, found = kernels_of(case.translated(language), language, KERNELS_WIN)
        return found

    high = [dict(kernel(*shape).program.constants)["BLOCK_I"] for shape in ((8192, 128), (4, 8192, 64), (70, 128))]
    assert high == [64, 128, 64]
    assert kernel(8192, 128).program.num_warps == 4
    # Scores are in no memory: that there are more than 2^31 of them makes no index longer.
    assert ("to(tl.int64)" if language == "triton" else "long long") not in kernel(65_536, 128).source


def test_what_the_model_chooses() -> None:
    """As in Triton, but large products of half precision are the library's sooner: it has instructions of its own."""

    def kinds(case: Case) -> list[str]:
        return [k.kind for k in kernels_of(case.translated("cuda"), "cuda")]

    square = [((8192, 8192), "f2"), ((8192, 8192), "f2"), ((8192,), "f2")]
    assert kinds(shapes(gelu_layer, *square)) == ["pointwise"]
    assert kinds(shapes(gelu_layer, ((8192, 64), "f2"), ((64, 8192), "f2"), ((8192,), "f2"))) == ["contract"]
    assert kinds(shapes(attention, *[((8192, 128), "f2")] * 3)) == ["attention"]
