"""Generated Triton kernels: executed in Triton's interpreter against the reference; compiled ahead of time."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_programs import (
    CASES,
    REDUCED_DTYPES,
    casts,
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
from product_programs import EXPONENTIALS, PLACES, VARIANCES, check_exponentials, check_variance
from translating import translated

from untraced.kernels import plan
from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.backend import Backend
from untraced.kernels.launching.executor import GpuExecutor, kernels_of
from untraced.kernels.launching.launch import promises
from untraced.kernels.resources import resources_of
from untraced.kernels.rows import held
from untraced.kernels.source import layout
from untraced.translator import make
from untraced.translator.errors import TargetError
from untraced.translator.ir import Function, Fused
from untraced.translator.passes.fuse import fuse
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves

pytest.importorskip("triton")
from host_cuda import HostCuda  # noqa: E402


@pytest.fixture
def backend(interpreter: Backend) -> Backend:
    return interpreter


@pytest.mark.parametrize("name", CASES)
def test_programs(name: str, backend: Backend) -> None:
    check(CASES[name], backend, tolerance(CASES[name]))


@pytest.mark.parametrize("dtype", REDUCED_DTYPES)
def test_reductions(dtype: str, backend: Backend) -> None:
    function = reductions(dtype)
    check(function, backend, 2e-3, with_specials(function))


@pytest.mark.parametrize("dtype", REDUCED_DTYPES)
def test_places_of_extremes(dtype: str, backend: Backend) -> None:
    check_places(dtype, backend)


FEW = ("nowhere", "integers", "least_integers")  # the interpreter takes seconds for the extremes of floats


@pytest.mark.parametrize("name", [n if n in FEW else pytest.param(n, marks=pytest.mark.slow) for n in PLACES])
def test_places_in_one_pass(name: str, backend: Backend) -> None:
    case = PLACES[name]
    function = case.translated("triton")
    kernels = kernels_of(function, "triton")
    if name != "elsewhere":
        assert [k.name[-6:] for k in kernels] == ["_parts", "finish"]
        assert kernels[0].bytes_moved < 1.5 * case.args[0].nbytes
    case.check(GpuExecutor(function, backend)(list(case.args)))


@pytest.mark.parametrize("name", VARIANCES)
def test_variances_in_one_pass(name: str, backend: Backend) -> None:
    check_variance(name, backend)


@pytest.mark.parametrize("name", EXPONENTIALS)
def test_sums_of_exponentials_in_one_pass(name: str, backend: Backend) -> None:
    check_exponentials(name, backend)


@pytest.mark.parametrize("make", [softmax, logsumexp])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_against_a_running_maximum(
    make: Any, dtype: str, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one walk of a row too long for registers, with the one after it two."""
    monkeypatch.setattr(plan, "TILE", 1024)
    monkeypatch.setattr(held, "SHARES", ())
    function = make(6, 5000, dtype)
    check(function, backend, tolerance(function), with_infinities(function))
    (kernel,) = kernels_of(fuse(function), backend.language)
    assert "exp_against(" in kernel.source and kernel.source.count("for start in") == 1 + (make is softmax)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_variances_in_the_walk_of_their_mean(
    dtype: str, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "TILE", 1024)
    monkeypatch.setattr(held, "SHARES", ())
    check_layer_norm_of_long_rows(dtype, 5000, backend)


def test_casts(backend: Backend) -> None:
    function = casts()
    check(function, backend, 0.0)


def test_views_of_arguments(backend: Backend) -> None:
    function, leaves = views_of_arguments()
    check(function, backend, 1e-12, leaves)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int, backend: Backend) -> None:
    check(random_program(seed), backend, 1e-9)


def test_scalars_keep_their_precision(backend: Backend) -> None:
    function = program(
        "scalar", [("x", (3,), "f8"), ("s", (), "f8"), ("i", (), "i8")],
        lambda b, x, s, i: (make.multiply(b, make.add(b, x, s), 0.1), make.add(b, make.multiply(b, x, 0.0), i)),
    )  # fmt: skip
    check(function, backend, 1e-15, [np.zeros(3), np.float64(0.1), np.int64(2**40 + 1)])


def by_false(x: Any) -> Any:
    return x // np.isnan(2.0)


def of_nothing_that_varies(x: Any) -> Any:
    last = np.invert(np.all(3, axis=0, keepdims=True))
    return np.where(np.abs(np.bitwise_and(x[:, None], last)) > 1, 3, last)[:, 0] % last


@pytest.mark.parametrize("target", ["triton", "cuda"])
@pytest.mark.parametrize("f", [by_false, of_nothing_that_varies])
def test_what_is_known_of_constants_is_no_line(f: Any, target: str, backend: Backend) -> None:
    """Decompositions compute with constants, and make arrays of them."""
    x = np.arange(6) % 3 > 0
    function = translated(f, (x,), target)
    (got,) = GpuExecutor(function, HostCuda() if target == "cuda" else backend)([x])
    with np.errstate(divide="ignore"):
        want = f(x)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    assert all(compile_program(k.program, 90).cubin for k in kernels_of(function, target))


def compared(x: Any, y: Any) -> Any:
    signs = x < y, x <= y, x > y, x >= y, x == y, x != y
    turned = y < x, y <= x, y > x, y >= x, y == x, y != x
    return (*signs, *turned, x > np.int64(-4), np.int64(5) >= x, y < np.uint64(5))


@pytest.mark.parametrize("target", ["triton", "cuda"])
@pytest.mark.parametrize("kinds", ["u8 i8", "u8 i4", "u8 i1"])
def test_integers_with_and_without_a_sign_are_compared_exactly(
    kinds: str, target: str, backend: Backend
) -> None:
    x, y = (np.array(n, d) for n, d in zip(([5, 2**64 - 4, 0, 5, 2**63, 3], [-4, -4, 0, 5, 7, 100]), kinds.split()))
    function = translated(compared, (x, y), target)
    for got, want in zip(
        GpuExecutor(function, HostCuda() if target == "cuda" else backend)([x, y]), compared(x, y), strict=True
    ):
        np.testing.assert_array_equal(got, want)
    assert all(compile_program(k.program, 90).cubin for k in kernels_of(function, target))


def test_complex_numbers_run_as_cuda(backend: Backend) -> None:
    function = program(
        "complex", [("x", (3,), "c16")], lambda b, x: make.multiply(b, make.add(b, x, 1j), x)
    )  # fmt: skip
    z = np.array([1 + 2j, 3.0, -1j])
    (got,) = check(function, backend, 1e-15, [z])
    np.testing.assert_array_equal(got, (z + 1j) * z)
    assert [k.language for k in kernels_of(fuse(function), "triton")] == ["cuda"]


def test_indices_of_64_bits(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "INT32", -1)
    for function in (softmax(9, 33), logsumexp(2, 17500), masked(7, 5), totals(300, 70), stencil(9, 14)):
        check(function, backend, tolerance(function))
        for k in kernels_of(fuse(function), "triton"):
            assert compile_program(k.program, 90).cubin


COMPILED = {
    "softmax": softmax(64, 256),
    "softmax_long": softmax(3, 50_000, np.float16),
    "softmax_wide": softmax(64, 16384),
    "layer_norm": layer_norm(64, 96),
    "layer_norm_wide": layer_norm(64, 8192, np.float64),
    "layer_norm_long": layer_norm(64, 50_000, np.float64),
    "masked": masked(30, 50),
    "stencil": stencil(33, 65, np.float64),
    "totals": totals(3000, 700),
    "reductions": reductions("f4"),
    "reductions_of_bytes": reductions("u1"),
}


def first(x, n):
    return np.where(np.arange(1024) < n, np.sqrt(x) / (x + 1), x / 8)


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8"])
def test_arithmetic_is_rounded_once_and_nothing_is_taken_for_granted_of_the_user_s_numbers(dtype: str) -> None:
    signature, _ = abstract_with_leaves(first, [np.ones(1024, dtype), 3], {})
    (kernel,) = kernels_of(translate(first, signature, target="triton").function, "triton")
    names = [name for name, _ in kernel.program.signature]
    assert len(names) == 4 and set(names) - set(kernel.program.regular) == {"n_1"}
    ptx = compile_program(kernel.program, 90, kernel.program.regular).ptx
    assert ptx.count("setp") >= 4  # one for each element of a thread: neighbours may lie on both sides of n
    assert "div.rn" in ptx and "sqrt.rn" in ptx and ptx.count("div.") == ptx.count("div.rn")
    beside = ptx.replace("rsqrt.approx.ftz.f32", "")  # where a root begins, which is corrected then
    assert ".ftz" not in beside and ".approx" not in beside


def shares(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sqrt(e / np.sum(e, axis=1, keepdims=True))


def test_rows_of_bfloat16_take_what_its_rounding_allows() -> None:
    """Instructions for 4,096 numbers by 256 threads: quotients and roots without branches, conversions in pairs."""
    signature, _ = abstract_with_leaves(shares, [np.ones((64, 4096), ml_dtypes.bfloat16)], {})
    (kernel,) = kernels_of(translate(shares, signature, target="triton").function, "triton")
    ptx = compile_program(kernel.program, 90, kernel.program.regular).ptx
    assert ptx.count("div.full.f32") == ptx.count("sqrt.approx.f32") == ptx.count("ex2.approx.f32") == 16
    assert ptx.count("cvt.rn.bf16x2.f32") >= 24 and ptx.count("cvt.rn.bf16.f32") <= 2  # those of the row


@pytest.mark.parametrize("off", [1 - 2.0**-21, 1 + 2.0**-21])
def test_rounding_to_bfloat16_takes_away_what_quick_quotients_and_roots_are_off_by(off: float) -> None:
    """The same for all exponents: 8 bits over 8 bits, or their root, is never so near to the middle of two others."""
    numbers = np.arange(128, 256) / 128
    for exact in (numbers[:, None] / numbers, np.sqrt([numbers, 2 * numbers])):
        rounded, want = ((exact * n).astype(np.float32).astype(ml_dtypes.bfloat16) for n in (off, 1))
        np.testing.assert_array_equal(rounded.view(np.uint16), want.view(np.uint16))


@pytest.mark.parametrize(
    ("name", "architecture"), [*((n, 90) for n in COMPILED), *((n, 80) for n in list(COMPILED)[::3])]
)
def test_kernels_compile_ahead_of_time(name: str, architecture: int) -> None:
    kernels = kernels_of(fuse(COMPILED[name]), "triton")
    assert kernels
    for k in kernels:
        compiled = compile_program(k.program, architecture, k.program.regular if architecture == 90 else ())
        assert compiled.cubin[:4] == b"\x7fELF" and f"sm_{architecture}" in compiled.ptx
        assert compiled.hidden == 2 and compiled.threads % 32 == 0
        assert resources_of(compiled.cubin, compiled.entry).stack == 0  # nothing is spilled


@pytest.mark.parametrize("rows", [64, 63])
def test_rows_are_read_16_bytes_at_a_time_however_many_they_are(rows: int) -> None:
    """What a launch promises of one number does not depend on the others."""
    group = next(s for s in fuse(softmax(rows, 4096)).body.statements if isinstance(s, Fused))
    (launch,) = plan.plan(group, "triton").launches
    ptx = compile_program(launch.program, 90, promises(launch, aligned=True)).ptx
    moved = {word for word in ptx.split() if word.startswith(("ld.global", "st.global"))}
    assert moved == {"ld.global.v4.b32", "st.global.v4.b32"}


def test_a_new_length_is_the_same_program() -> None:
    def programs(function: Function) -> set[Any]:
        return {k.program for k in kernels_of(fuse(function), "triton")}

    assert programs(softmax(100, 200)) == programs(softmax(77, 130))
    assert programs(layer_norm(100, 200)) == programs(layer_norm(51, 140))
    assert programs(totals(4000, 300)) == programs(totals(4100, 290))
    assert programs(stencil(33, 65)) == programs(stencil(50, 40))
    assert programs(CASES["chain_odd"]) == programs(CASES["chain_of_four"])


def test_source_names_the_lines_that_it_covers() -> None:
    (kernel,) = kernels_of(fuse(softmax(64, 256)), "triton")
    assert kernel.lines == (1, 2, 3, 4, 5) and kernel.kind == "row"
    assert kernel.source.startswith("# line 1: t = max(...)\n") and "x = tl.load(x_ptr" in kernel.source


def test_what_the_compiler_refuses_is_a_target_error() -> None:
    from dataclasses import replace

    (kernel,) = kernels_of(fuse(softmax(64, 256)), "triton")
    broken = replace(kernel.program, source=kernel.source.replace("tl.sum", "tl.no_such_function"))
    with pytest.raises(TargetError, match="no_such_function"):
        compile_program(broken, 90)
