"""Kernels of complex numbers, which are CUDA on both targets: every kind, and functions at infinities and NaN."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest
from drawn import Drawn
from host_cuda import HostCuda, aligned
from kernel_programs import program

from untraced import vmap
from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.executor import GpuExecutor, kernels_of
from untraced.kernels.source.complex_numbers import DEVICE_FORMS
from untraced.kernels.source.names import RESERVED
from untraced.translator import make, ops
from untraced.translator.ops.core import Elementwise
from untraced.translator.passes.fuse import fuse
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
RNG = Drawn(0)


def numbers(*shape: int, dtype: Any = np.complex128) -> Any:
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


def wave(x, k, s):
    return np.exp(1j * k) * x / (2.0 + np.conj(x)) + s * x.real - np.abs(x)


def normalised(x):
    return x / np.sqrt(np.sum(np.abs(x) ** 2, axis=1, keepdims=True)) - np.mean(x, axis=1, keepdims=True)


def overlap(x, y):
    return np.sum(np.conj(x) * y), np.prod(x, axis=1), np.any(x, axis=0)


def columns(x):
    return np.sum(x * x, axis=0)


def running(x):
    return np.cumsum(x * 2, axis=1), np.cumprod(x, axis=0)


def one_by_one(x):
    out = np.zeros_like(x)
    for k in range(3):
        for i in range(1, x.shape[0]):
            out[i] = out[i - 1] * 0.5 + x[i] * x[i] + k
    return out


def chosen(x, places):
    return x[places] * 2j


def stored(x, places, y):
    out = x.copy()
    out[places] = np.sqrt(y)
    return out


def added(x, places, y):
    out = np.zeros_like(x)
    np.add.at(out, places, y * 1j)
    return out


def cast(x, y):
    return x.astype(np.complex64), x.real.astype(np.complex64), (x != y).astype(complex), x.astype(bool), x < y


def packed(x, y):
    return x * y + 2.0


def joined(x, y):
    z = x.copy()
    z.real = y.imag
    w = np.zeros(x.shape, np.complex64)
    w.imag = y.real
    return z, w


def powers(x, y):
    return x**2, x**y, x**0.5, x**-1, 2.0**x


def escape(c):
    z = c
    n = 0
    while abs(z) <= 2 and n < 50:
        z = np.exp(z * 0.1) * z + c
        n += 1
    return n, z


PLACES = RNG.integers(0, 30, 40)
CASES: dict[str, tuple[Any, tuple[Any, ...], str]] = {
    "wave": (wave, (numbers(103), RNG.standard_normal(103), 0.5 + 2j), "pointwise"),
    "single": (wave, (numbers(4, 5, dtype="c8")[::2, ::-1], np.float32(2), np.float32(0.5)), "pointwise"),
    "empty": (columns, (numbers(0, 5),), "reduce"),
    "rows": (normalised, (numbers(9, 33),), "row"),
    "long_rows": (normalised, (numbers(3, 5003, dtype="c8"),), "row"),
    "overlap": (overlap, (numbers(30, 7), numbers(30, 7)), "row"),
    "columns": (columns, (numbers(3000, 7),), "reduce"),
    "one_by_one": (one_by_one, (numbers(9),), "loops"),
    "running": (running, (numbers(30, 70),), "scan"),
    "chosen": (chosen, (numbers(30, 7), PLACES - 30), "gather"),
    "stored": (stored, (numbers(30), PLACES, numbers(40)), "scatter"),
    "added": (added, (numbers(30), PLACES, numbers(40)), "scatter"),
    "cast": (cast, (np.round(numbers(50)), np.round(numbers(50))), "pointwise"),
    "joined": (joined, (numbers(30), numbers(30)), "pointwise"),
    "powers": (powers, (numbers(30), numbers(30)), "pointwise"),
    "lanes": (vmap(escape), (numbers(50),), "lanes"),
}


def translated(function: Any, args: tuple[Any, ...], target: str) -> tuple[Any, list[Any]]:
    signature, leaves = abstract_with_leaves(function, args, {})
    return translate(function, signature, target=target).function, list(leaves)


def check(name: str, backend: HostCuda) -> None:
    function, args, kind = CASES[name]
    made, leaves = translated(function, args, "cuda")
    assert kind in {k.kind for k in kernels_of(made, "cuda")}
    executor = GpuExecutor(made, backend)
    found, wanted = executor(leaves), function(*args)
    assert not [g.refusal for g in executor.made.groups.values() if g and g.fused is None]
    for got, want in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        want = np.asarray(want)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        tolerance = 1e-4 if want.dtype.name in ("complex64", "float32") else 1e-10
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@needs_compiler
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_products_have_the_bits_of_numpys(dtype: str) -> None:
    """Its loops over arrays fuse a product and a sum where the processor can: what is chaotic goes the same way."""
    x, y = numbers(500, dtype=dtype), numbers(500, dtype=dtype)
    if np.array_equal((x * y).real, x.real * y.real - x.imag * y.imag):
        pytest.skip("a processor whose sums of products NumPy does not fuse")
    made, leaves = translated(lambda x, y: (x * y, x**2, np.square(x), x * np.conj(y)), (x, y), "cuda")
    for got, want in zip(GpuExecutor(made, HostCuda())(leaves), (x * y, x**2, x * x, x * np.conj(y)), strict=True):
        np.testing.assert_array_equal(got, want)


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_kinds(name: str) -> None:
    check(name, HostCuda())


@needs_compiler
def test_sums_at_chosen_places_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNTRACED_DETERMINISTIC", "1")
    check("added", HostCuda())


@needs_compiler
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_four_neighbours_at_a_time(dtype: str) -> None:
    """They begin at multiples of 32 bytes, and no kernel may take more for granted."""
    backend, args = HostCuda(checked=True), (numbers(64, dtype=dtype), numbers(64, dtype=dtype))
    made, leaves = translated(packed, args, "cuda")
    with aligned(backend):
        skipped = 32 // leaves[0].itemsize
        moved = [backend.moved(np.concatenate([a[:skipped], a]))[skipped:] for a in leaves]
        assert all(a.ctypes.data % 64 == 32 for a in moved)
        (found,) = GpuExecutor(made, backend)(moved)
    assert backend.packed_launches == 1
    np.testing.assert_allclose(found, packed(*args), rtol=1e-6)


def test_triton_s_target_has_the_same_kernels() -> None:
    function, args, _ = CASES["rows"]
    (ours,) = kernels_of(translated(function, args, "triton")[0], "triton")
    (other,) = kernels_of(translated(function, args, "cuda")[0], "cuda")
    assert ours.language == "cuda" and ours.source == other.source


@pytest.mark.parametrize("name", ["wave", "rows", "columns", "running", "added", "lanes"])
def test_kernels_compile_ahead_of_time(name: str) -> None:
    pytest.importorskip("cupy")
    function, args, _ = CASES[name]
    for k in kernels_of(translated(function, args, "cuda")[0], "cuda"):
        assert compile_program(k.program, 90).cubin


FUNCTIONS = [op for op in ops.ALL if isinstance(op, Elementwise) and op.name in DEVICE_FORMS and op.arity == 1]
SIGNED = frozenset(("exp", "log", "sqrt", "absolute", "negative", "conjugate", "reciprocal", "rint", "log2", "log10"))
"""Of the others C99 leaves some signs of zeros and infinities beside NaN open."""


@needs_compiler
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128], ids=lambda d: d.__name__)
def test_functions_at_infinities_and_nan(dtype: Any) -> None:
    """All pairs of parts; NaN and infinities where NumPy has them."""
    real = np.dtype(np.float32 if dtype is np.complex64 else np.float64)
    info = np.finfo(real)
    far = 95.0 if real == np.float32 else 710.5  # whose exponential overflows
    edges = [0, -0.0, 1, -1, 0.5, -2.5, 1e-3, -20, far, -1000, info.max / 3, info.tiny / 4, np.inf, -np.inf, np.nan]
    z = np.empty((len(edges), len(edges)), dtype)
    z.real, z.imag = np.meshgrid(np.array(edges, real), np.array(edges, real))
    z = z.ravel()
    function = program("functions", [("z", z.shape, dtype)], lambda b, z: tuple(b.apply(op, z) for op in FUNCTIONS))
    executor = GpuExecutor(fuse(function), HostCuda())
    for op, got in zip(FUNCTIONS, executor([z]), strict=True):
        with np.errstate(all="ignore"):
            want = np.asarray(op.evaluate(z))
            off = np.abs(got - want) <= 20 * info.eps * np.abs(want)
        assert got.dtype == want.dtype
        for x, y in [(got.real, want.real), (got.imag, want.imag)] if want.dtype.kind == "c" else [(got, want)]:
            np.testing.assert_array_equal(np.isnan(x), np.isnan(y), op.name)
            infinite = np.isinf(y)
            np.testing.assert_array_equal(np.isinf(x), infinite, op.name)
            assert op.name not in SIGNED or (x[infinite] == y[infinite]).all(), op.name
            finite = np.isfinite(y)
            close = np.isclose(x, y, rtol=20 * info.eps, atol=2 * info.smallest_subnormal) | off
            assert close[finite].all(), (op.name, z[finite & ~close], x[finite & ~close], y[finite & ~close])
            if op.name in SIGNED:
                zero = y == 0
                np.testing.assert_array_equal(np.signbit(x[zero]), np.signbit(y[zero]), op.name)


@needs_compiler
def test_quotients_and_comparisons_at_infinities_and_nan() -> None:
    edges = np.array([0, -0.0, 1, -2.5, np.inf, -np.inf, np.nan])
    z = (edges[:, None] + 0j).repeat(len(edges), 1)
    z.imag = edges
    x, y = (a.ravel() for a in np.meshgrid(z, z))
    rows = [ops.DIVIDE, ops.EQUAL, ops.NOT_EQUAL, ops.LESS, ops.GREATER_EQUAL, ops.MAXIMUM, ops.LOGICAL_AND]
    function = program(
        "pairs", [("x", x.shape, x.dtype), ("y", y.shape, y.dtype)],
        lambda b, x, y: tuple(make.elementwise(b, op, x, y) for op in rows),
    )  # fmt: skip
    for op, got in zip(rows, GpuExecutor(fuse(function), HostCuda())([x, y]), strict=True):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(got, op.evaluate(x, y), op.name)


def test_helpers_are_no_names_of_the_user_s() -> None:
    called = {form.split("(")[0] for form in DEVICE_FORMS.values() if form[0] not in "({"}
    assert called <= RESERVED
