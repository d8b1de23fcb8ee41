"""Gradients of attention that make the scores again instead of keeping their matrix."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from attention_programs import CASES, SLOW_MEMORY, WITH_BIAS, layer, softmax, three, tolerance
from host_cuda import HostCuda, aligned
from translating import translated

from untraced import grad, value_and_grad
from untraced.kernels.ahead import compile_program
from untraced.kernels.attention import gradient as attention_gradient
from untraced.kernels.facts import H200, Facts
from untraced.kernels.launching.backend import Backend
from untraced.kernels.launching.executor import GpuExecutor, driver_of, kernels_of
from untraced.kernels.resources import resources_of

pytest.importorskip("triton")


def kinds(function: Callable[..., Any], args: list[Any], facts: Facts = SLOW_MEMORY) -> list[str]:
    return [k.kind for k in kernels_of(translated(function, args, "triton"), "triton", facts)]


def last_words(function: Callable[..., Any], args: list[Any], facts: Facts) -> list[str]:
    """Of the names of its kernels: what each does."""
    return [k.name.rpartition("_")[2] for k in kernels_of(translated(function, args, "triton"), "triton", facts)]


needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
LANGUAGES = ["triton", pytest.param("cuda", marks=needs_compiler)]


@pytest.fixture
def backend(interpreter: Backend) -> Backend:
    return interpreter


IN_CUDA = [pytest.param(n, "cuda", marks=needs_compiler) for n in ("plain", "double", "layer_half", "masked")]


@pytest.mark.parametrize(("name", "language"), [*((n, "triton") for n in CASES), *IN_CUDA])
def test_gradients(name: str, language: str, backends: dict[str, Backend]) -> None:
    function, args = CASES[name]
    derivative = grad(function, argnums=(0, 1, 2))
    found = GpuExecutor(translated(derivative, args, language), backends[language], SLOW_MEMORY)(args)
    wide = [a.astype("f8") if a.dtype.kind == "f" else a for a in args]
    for got, want in zip(found, derivative(*wide), strict=True):
        assert got.dtype == args[0].dtype and got.shape == want.shape
        np.testing.assert_allclose(got.astype("f8"), want, rtol=0, atol=tolerance(args) * np.abs(want).max())
    driver = driver_of(translated(derivative, args, language), language, SLOW_MEMORY).text
    matrix = ", ".join(map(str, (2, 2, 70, 70) if "layer" in name else (len(args[0]), 45)))
    assert f"empty(({matrix})" not in driver


IN_BOTH = [(n, "triton") for n in WITH_BIAS] + [pytest.param(n, "cuda", marks=needs_compiler) for n in WITH_BIAS]


@pytest.mark.parametrize(("name", "language"), IN_BOTH)
def test_the_gradient_of_a_bias_takes_what_the_kernel_of_rows_stores(
    name: str, language: str, backends: dict[str, Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the diagonal, too, which the other kernels leave out."""
    monkeypatch.setattr(attention_gradient, "WORTH", 0)
    function, args = WITH_BIAS[name]
    derivative = grad(function, argnums=(0, 1, 2, 3))
    found = GpuExecutor(translated(derivative, args, language), backends[language], SLOW_MEMORY)(args)
    for got, want in zip(found, derivative(*(a.astype("f8") for a in args)), strict=True):
        assert got.dtype == args[0].dtype and got.shape == want.shape
        np.testing.assert_allclose(got.astype("f8"), want, rtol=0, atol=tolerance(args) * np.abs(want).max())
    kernels = kernels_of(translated(derivative, args, language), language, SLOW_MEMORY)
    own = [k.kind for k in kernels[[k.name.endswith("_softmax") for k in kernels].index(True) :]]
    assert own[:4] == ["attention"] * 4 and "attention" not in own[4:] and "contract" not in own
    if name != "positioned":
        assert own[4:] in (["reduce"], ["reduce", "reduce"])


ODD = np.where(np.arange(70)[:, None, None] == 60, np.float32(np.inf), np.float32(1))
"""What makes one row infinite that few others see."""


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("odd", ["", "q", "k", "v"])
def test_what_is_behind_the_diagonal_is_left_out(
    odd: str, language: str, backends: dict[str, Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In rows and in columns, but where an operand has a number that is not finite: NumPy makes NaNs of it."""
    monkeypatch.setattr(attention_gradient, "WORTH", 0)
    function, args = CASES["layer"]
    args = [a[:1] * ODD if name == odd else a[:1] if a.ndim > 2 else a for name, a in zip("qkvw", args, strict=True)]
    derivative = grad(function, argnums=(0, 1, 2))
    translation = translated(derivative, args, language)
    sources = "".join(k.source.partition("_by4(")[0] for k in kernels_of(translation, language, SLOW_MEMORY))
    along_rows, along_columns = (r"0[,;].* end[,;]", r"begin[,;].* rows[,;]")
    assert len(re.findall(rf"for .*{along_rows}", sources)) == 3
    assert len(re.findall(rf"for .*{along_columns}", sources)) == 1
    with np.errstate(all="ignore"):
        found = GpuExecutor(translation, backends[language], SLOW_MEMORY)(args)
        for got, want in zip(found, derivative(*args), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def strict(q: Any, k: Any, v: Any, w: Any) -> Any:
    """The first row sees nothing: its weights are NaN, also of columns far behind the diagonal."""
    return np.sum((softmax(np.where(np.tri(150, k=-1, dtype=bool), q @ k.T, -np.inf)) @ v) * w)


def penalised(q: Any, k: Any, v: Any, w: Any) -> Any:
    """Products that are hidden count where they are large."""
    s = q @ k.T
    hidden = np.where(np.tri(150, dtype=bool), s, -np.inf)
    return np.sum((softmax(hidden) @ v) * w) + np.sum(np.maximum(s - 6, 0) ** 2)


def floored(q: Any, k: Any, v: Any, w: Any) -> Any:
    """What goes through the maximum counts where scores are far below it."""
    z = q @ k.T - np.max(q @ k.T, axis=-1, keepdims=True)
    e = np.exp(z)
    return np.sum(((e / np.sum(e, axis=-1, keepdims=True) + np.minimum(z + 12, 0)) @ v) * w)


@pytest.mark.parametrize("function", [strict, penalised, floored])
def test_what_counts_at_some_places_alone_is_not_left_out(
    function: Callable[..., Any], backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_gradient, "WORTH", 0)
    args = three((150, 16), (150, 16), (150, 24), (150, 24))
    derivative = grad(function, argnums=(0, 1, 2))
    assert "attention" in kinds(derivative, args)
    with np.errstate(all="ignore"):
        found = GpuExecutor(translated(derivative, args, "triton"), backend, SLOW_MEMORY)(args)
        for got, want in zip(found, derivative(*(a.astype("f8") for a in args)), strict=True):
            largest = np.max(np.abs(want), initial=0, where=~np.isnan(want))
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * largest)


def heads(q: Any, k: Any, v: Any) -> Any:
    return np.sum((softmax(q @ np.swapaxes(k, -1, -2)) @ v) ** 2)


def test_the_value_is_of_a_kernel_of_its_own(backend: Backend) -> None:
    function, args = CASES["layer"]
    both = value_and_grad(function, argnums=(0, 1, 2))
    assert kinds(both, args).count("attention") == 5  # the value's, and four of the gradient's
    value, *_ = GpuExecutor(translated(both, args, "triton"), backend, SLOW_MEMORY)(args)
    np.testing.assert_allclose(value, function(*args), rtol=1e-5)


def test_keys_that_several_heads_share(backend: Backend) -> None:
    """One kernel gives what a group needs, and what needs another group's result."""
    args = three((2, 3, 20, 16), (2, 1, 33, 16), (2, 1, 33, 16))
    derivative = grad(heads, argnums=(0, 1, 2))
    found = GpuExecutor(translated(derivative, args, "triton"), backend, SLOW_MEMORY)(args)
    for got, want in zip(found, derivative(*(a.astype("f8") for a in args)), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_scores_that_are_seen_are_kept() -> None:
    def seen(q: Any, k: Any, v: Any) -> Any:
        p = softmax(q @ k.T)
        return np.sum((p @ v) ** 2), p

    args = three((70, 16), (45, 16), (45, 24))
    assert "attention" not in kinds(grad(seen, argnums=(0, 1, 2), has_aux=True), args)


def test_what_goes_through_the_maximum_is_left_out() -> None:
    """Its sums along rows are 0: with them there would be a kernel more."""
    function, args = CASES["plain"]
    derivative = grad(function, argnums=(0, 1, 2))
    names = last_words(derivative, args, SLOW_MEMORY)
    assert names[-4:] == ["softmax", "sums", "rows", "columns"] and names.count("sums") == 1


def test_long_rows_of_half_precision_are_worth_it_on_a_large_card() -> None:
    heads = [np.broadcast_to(np.zeros((), ml_dtypes.bfloat16), (2, 2048, 16, 128))] * 3
    args = [*heads, np.zeros((128, 128), ml_dtypes.bfloat16)]
    derivative = grad(layer, argnums=(0, 1, 2))
    names = last_words(derivative, args, H200)
    assert names[-4:] == ["softmax", "sums", "rows", "columns"]
    single = [a.astype("f4") for a in (*(h[:1, :64] for h in heads), args[3])]
    assert "attention" not in kinds(derivative, single, H200)


@needs_compiler
@pytest.mark.parametrize(("dtype", "most"), [("f2", 1e-2), ("f4", 1e-5), ("tf32", 1e-2)])
def test_cuda_reads_neighbours_together(
    dtype: str, most: float, backends: dict[str, Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In twins of all four kernels; the blocks of the last rows and columns are not full."""
    monkeypatch.setenv("CUPY_TF32", str(int(dtype == "tf32")))
    backend = backends["cuda"]
    assert isinstance(backend, HostCuda)
    args = three((2, 72, 40), (2, 104, 40), (2, 104, 16), dtype=dtype.replace("tf32", "f4"))
    derivative = grad(heads, argnums=(0, 1, 2))
    before = backend.packed_launches
    with aligned(backend):
        moved = [backend.moved(a) for a in args]
        found = GpuExecutor(translated(derivative, args, "cuda"), backend, SLOW_MEMORY)(moved)
    assert backend.packed_launches >= before + 5
    for got, want in zip(found, derivative(*(a.astype("f8") for a in args)), strict=True):
        np.testing.assert_allclose(got.astype("f8"), want, rtol=0, atol=most * np.abs(want).max())


@needs_compiler
def test_cuda_kernels_keep_to_their_arrays() -> None:
    """Every access is looked at: bounds, races between barriers, shared memory that nothing was written to."""
    function, args = CASES["layer_half"]
    args = [a[:1] if a.ndim > 2 else a for a in args]
    checked = HostCuda(checked=True)
    derivative = grad(function, argnums=(0, 1, 2))
    found = GpuExecutor(translated(derivative, args, "cuda"), checked, SLOW_MEMORY)(args)
    assert all(np.isfinite(d).all() for d in found)


@pytest.mark.parametrize("architecture", [80, 90, pytest.param(100, marks=pytest.mark.slow)])
def test_kernels_fit_the_devices(architecture: int) -> None:
    args = [*([np.zeros((1, 4096, 2, 64), "f2")] * 3), np.zeros((64, 64), "f2")]
    kernels = kernels_of(translated(grad(layer, argnums=(0, 1, 2)), args, "triton"), "triton", SLOW_MEMORY)
    for k in [k for k in kernels if k.kind == "attention"][1:]:
        made = compile_program(k.program, architecture, k.program.regular)
        assert made.shared <= 99 << 10 and resources_of(made.cubin, made.entry).stack <= 32


@pytest.mark.parametrize("dtype", ["f2", "f4", pytest.param("f8", marks=pytest.mark.slow)])
def test_cuda_kernels_fit_the_devices(dtype: str) -> None:
    pytest.importorskip("cupy")
    wide = 128 if dtype == "f2" else 64
    args = [*([np.zeros((1, 512, 2, wide), dtype)] * 3), np.zeros((wide, wide), dtype)]
    kernels = kernels_of(translated(grad(layer, argnums=(0, 1, 2)), args, "cuda"), "cuda", SLOW_MEMORY)
    made = [k.program for k in kernels if k.kind == "attention"][1:]
    assert [p.name.rpartition("_")[2] for p in made] == ["softmax", "sums", "rows", "columns"]
    for program in made:
        compiled = compile_program(program, 90)
        for end in ("", "_by4"):
            taken = resources_of(compiled.cubin, compiled.entry + end, compiled.shared)
            threads = dict(program.constants)["THREADS"]
            assert taken.stack <= 32 and taken.shared <= 99 << 10 and 2 * taken.registers * threads <= 1 << 16
        assert ("mma.sync" in compiled.ptx) == (dtype == "f2")


def layers(q: Any, k: Any, v: Any) -> Any:
    o = softmax(q @ k.T) @ v
    return np.sum((softmax(o[:, :16] @ k.T / 4) @ v) ** 2)


def test_each_of_two_layers_makes_its_scores_again(backend: Backend) -> None:
    args = three((20, 16), (45, 16), (45, 24))
    derivative = grad(layers, argnums=(0, 1, 2))
    names = last_words(derivative, args, SLOW_MEMORY)
    assert names.count("columns") == 2
    found = GpuExecutor(translated(derivative, args, "triton"), backend, SLOW_MEMORY)(args)
    for got, want in zip(found, derivative(*(a.astype("f8") for a in args)), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_derivatives_of_second_order_keep_the_scores() -> None:
    """There one product of the scores waits for another."""
    function, args = CASES["plain"]

    def second(q: Any, k: Any, v: Any) -> Any:
        return np.sum(grad(function)(q, k, v) ** 2)

    assert "attention" not in kinds(grad(second, argnums=(0, 1, 2)), args)
