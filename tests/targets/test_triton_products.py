"""Products, attention and running sums as Triton kernels: in the interpreter, compiled ahead of time, reported."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_programs import check, random_program
from product_programs import (
    ATTENTION,
    CAUSAL,
    KERNELS_WIN,
    PRODUCTS,
    RUNNING,
    Case,
    attention,
    causal,
    fills_a_mask_twice,
    gelu_layer,
    running,
    scaled,
    sees_the_rest,
    some,
)

from untraced.kernels import plan
from untraced.kernels.attention import forward as planned
from untraced.kernels.launching.backend import Backend
from untraced.kernels.launching.executor import GpuExecutor, Kernel, kernels_of
from untraced.kernels.source import layout
from untraced.translator.ir import Aval
from untraced.translator.passes.extremes import extremes

pytest.importorskip("triton")

from untraced.kernels.ahead import compile_program  # noqa: E402
from untraced.kernels.resources import resources_of  # noqa: E402

CASES = {**PRODUCTS, **ATTENTION, **RUNNING}
KINDS = {
    **dict.fromkeys(PRODUCTS, "contract"),
    **dict.fromkeys(ATTENTION, "attention"),
    **dict.fromkeys(RUNNING, "scan"),
}


@pytest.fixture
def backend(interpreter: Backend) -> Backend:
    return interpreter


def kernels(case: Case) -> tuple[Kernel, ...]:
    return kernels_of(case.translated("triton"), "triton", KERNELS_WIN)


@pytest.mark.parametrize("name", CASES)
def test_programs(name: str, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    if name.endswith("_far"):  # rows longer than what is held in registers, which so need not be long
        monkeypatch.setattr(plan, "TILE", 1024)
    assert [k.kind for k in kernels(case)] == [KINDS[name]]
    case.check(GpuExecutor(case.translated("triton"), backend, KERNELS_WIN)(list(case.args)))


@pytest.mark.parametrize("name", CAUSAL)
def test_what_no_row_of_a_block_sees_is_left_out(
    name: str, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned, "WORTH", 0)
    case = CAUSAL[name]
    *_, kernel = kernels(case)
    assert "for start in range(0, seen, BLOCK_J)" in kernel.source
    case.check(GpuExecutor(case.translated("triton"), backend, KERNELS_WIN)(list(case.args)))


def test_masks_that_are_not_causal_leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "WORTH", 0)
    twice = Case(fills_a_mask_twice, CAUSAL["some"].args)  # rows may have nothing else to see than what hides
    for case in (Case(sees_the_rest, CAUSAL["window"].args), twice, ATTENTION["masked"], ATTENTION["heads"]):
        (kernel,) = kernels(case)
        assert "for start in range(0, columns, BLOCK_J)" in kernel.source


@pytest.mark.parametrize("name", PRODUCTS | ATTENTION)
def test_the_library_between_kernels_gives_the_same(name: str, backend: Backend) -> None:
    """As where the library wins: products are its own, with kernels before and after them."""
    case = CASES[name]
    if case.args[0].dtype.name == "bfloat16":
        pytest.skip("NumPy multiplies no matrices of bfloat16")
    case.check(GpuExecutor(case.translated("triton"), backend)(list(case.args)))


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int, backend: Backend) -> None:
    check(extremes(random_program(seed, rich=True)), backend, 1e-9, facts=KERNELS_WIN)


COMPILED = ["gelu_bfloat16", "gelu_float64", "scaled", "causal_half", "attention_float64", "heads", "likeliest"]


@pytest.mark.parametrize(
    ("name", "architecture"),
    [*((n, 90) for n in COMPILED), ("gelu_bfloat16", 80), ("causal_half", 80), ("causal_half", 100)],
)
def test_kernels_compile_ahead_of_time(name: str, architecture: int) -> None:
    for k in kernels(CASES[name]):
        compiled = compile_program(k.program, architecture, k.program.regular if architecture != 80 else ())
        taken = resources_of(compiled.cubin, compiled.entry, compiled.shared)
        assert taken.stack == 0 and taken.shared <= 160 << 10  # nothing is spilled, and it fits


def test_float32_is_exact_unless_cupy_is_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for switch, found in (("0", False), ("1", True)):
        monkeypatch.setenv("CUPY_TF32", switch)
        for name in ("gelu_float32", "attention_float32"):
            (kernel,) = kernels(CASES[name])
            assert (".tf32" in compile_program(kernel.program, 90).ptx) == found


def test_indices_of_64_bits(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "INT32", -1)
    for name in ("gelu_float32", "many", "positions", "causal", "heads"):
        case = CASES[name]
        case.check(GpuExecutor(case.translated("triton"), backend, KERNELS_WIN)(list(case.args)))
    assert all(compile_program(k.program, 90).cubin for k in kernels(CASES["causal"]))


def test_a_new_length_is_the_same_program() -> None:
    def programs(case: Case) -> set[object]:
        return {k.program for k in kernels(case)}

    def layer(n: int, k: int, m: int) -> Case:
        return Case(gelu_layer, (some(n, k), some(k, m), some(m)))

    assert programs(layer(100, 70, 90)) == programs(layer(77, 50, 65))
    assert programs(Case(running, (some(64, 900), some(900)))) == programs(Case(running, (some(99, 700), some(700))))
    assert programs(Case(causal, (some(2, 70, 24),) * 3)) == programs(Case(causal, (some(3, 99, 20),) * 3))


def shapes(function: object, *avals: tuple[tuple[int, ...], str]) -> Case:
    return Case(function, tuple(Aval(s, np.dtype(d)) for s, d in avals))  # type: ignore[arg-type]


def test_what_the_model_chooses() -> None:
    """Large products are the library's; where the sums are short, or the scores large, memory decides."""

    def kinds(case: Case) -> list[str]:
        return [k.kind for k in kernels_of(case.translated("triton"), "triton")]

    square = [((8192, 8192), "f2"), ((8192, 8192), "f2"), ((8192,), "f2")]
    assert kinds(shapes(gelu_layer, *square)) == ["pointwise"]
    assert kinds(shapes(gelu_layer, ((8192, 256), "f2"), ((256, 8192), "f2"), ((8192,), "f2"))) == ["contract"]
    # Exponentials would be made again for each of 64 blocks of columns.
    assert kinds(shapes(scaled, ((8192, 64), "f4"), ((8192,), "f4"), ((8192, 64), "f4")))[0] == "pointwise"
    assert kinds(shapes(gelu_layer, ((64, 1 << 20), "f2"), ((1 << 20, 64), "f2"), ((64,), "f2"))) == ["pointwise"]
    assert kinds(shapes(attention, *[((8192, 128), "f2")] * 3)) == ["attention"]
    assert kinds(shapes(running, ((3, 1 << 20), "f4"), ((1 << 20,), "f4"))) == ["scan"] * 2  # parts, and the rest
    assert kinds(shapes(attention, *[((8192, 512), "f2")] * 3))[-1] == "row"  # wider than shared memory


def test_report() -> None:
    (kernel,) = kernels(CASES["scaled"])
    first = scaled.__code__.co_firstlineno + 1
    assert kernel.lines == (first,) and kernel.why_cut == ""
    assert kernel.bytes_moved == kernel.bytes_minimum == 4 * (33 * 20 + 33 + 18 * 20 + 33 * 18)
    assert f"# line {first}:" in kernel.source and "libdevice.exp(x)" in kernel.source
    (kernel,) = kernels(CASES["attention_float32"])
    assert kernel.bytes_moved == kernel.bytes_minimum == 4 * (70 * 20 + 45 * 20 + 45 * 20 + 70 * 20)
