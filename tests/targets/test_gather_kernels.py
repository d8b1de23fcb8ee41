"""Elements chosen by arrays of integers, in kernels with the work around them: values, and indices out of range."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from translating import translated

from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.executor import GpuExecutor, kernels_of
from untraced.kernels.source import layout

pytest.importorskip("triton")

LANGUAGES = ("cuda", "triton")


def take(x: Any, i: Any) -> Any:
    return x[i]


def worked(x: Any, i: Any, y: Any) -> Any:
    return np.exp(x[i] * 2) + y


def centred_rows(x: Any, i: Any, gain: Any) -> Any:
    e = x[i]
    return (e - np.mean(e, axis=1, keepdims=True)) * gain


def computed(x: Any, i: Any) -> Any:
    return x[(i * 3 + 1) % x.shape[0]] + 1


def two_axes(x: Any, i: Any, j: Any) -> Any:
    return x[i[:, None], j] * 2


def between(x: Any, i: Any) -> Any:
    return x[:, i, 1:] + 1


def backwards(x: Any) -> Any:
    return x[np.arange(x.shape[0])[::-1]] - x


def likelihood(logits: Any, labels: Any) -> Any:
    top = np.max(logits, axis=1, keepdims=True)
    total = np.log(np.sum(np.exp(logits - top), axis=1)) + top[:, 0]
    return total - logits[np.arange(logits.shape[0]), labels]


def table(i: Any) -> Any:
    return np.array([1.0, 4.0, 2.0, 8.0])[i] * 3


def one_column(x: Any, i: Any, k: Any) -> Any:
    return np.tanh(x[i, k]) + x[k % 2, i % 2]


def columns_in_turn(x: Any, i: Any) -> Any:
    y = np.zeros(i.shape)
    for k in range(x.shape[1]):
        y = np.sin(y + x[i, k])
    return y


def window(x: Any, i: Any, k: Any) -> Any:
    return x[i, k[0] : k[0] + 3] * 2


def of_one_number(x: Any, i: Any) -> Any:
    return np.count_nonzero(x[i], keepdims=True)


R = np.random.default_rng(0)
X, ROWS, SOLID = R.standard_normal(50), R.standard_normal((20, 7)), R.standard_normal((4, 6, 5)).astype("f4")
I, J, K = R.integers(-50, 50, 300), R.integers(0, 7, 9), R.integers(-20, 20, 33)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "take": (take, (X, I)),
    "take_half": (take, (X.astype("f2"), I)),
    "take_bool": (take, (X > 0, I.astype("i2"))),
    "take_unsigned": (take, (X, (np.abs(I) % 50).astype("u1"))),
    "take_nothing": (take, (X, I[:0])),
    "take_rows_strided": (take, (ROWS[:, ::-2], K)),
    "take_planes": (take, (SOLID, K[:4] % 4)),
    "worked": (worked, (X, I, R.standard_normal(300))),
    "worked_broadcast": (worked, (X, I[:30, None], R.standard_normal((30, 4)))),
    "rows": (centred_rows, (ROWS, K, R.standard_normal(7))),
    "computed": (computed, (X, I)),
    "two_axes": (two_axes, (ROWS, K, J)),
    "between": (between, (SOLID, R.integers(0, 6, 3).astype("i4"))),
    "backwards": (backwards, (X,)),
    "likelihood": (likelihood, (ROWS, R.integers(0, 7, 20))),
    "one_column": (one_column, (ROWS, K, -3)),
    "one_column_of_the_device": (one_column, (ROWS, K, np.array(4, "i4"))),
    "columns_in_turn": (columns_in_turn, (ROWS, R.integers(-20, 20, 3000))),
    "of_one_number": (of_one_number, (np.broadcast_to(X[:1], X.shape), I)),
    "table": (table, (R.integers(0, 4, 10),)),
}


@pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", CASES)
def test_values(name: str, language: str, backends: dict[str, Any]) -> None:
    f, args = CASES[name]
    function = translated(f, args, language)
    assert "gather" in [k.kind for k in kernels_of(function, language)]
    (got,), want = GpuExecutor(function, backends[language])(list(args)), f(*args)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-14)  # means are summed in another order


@pytest.mark.parametrize("language", LANGUAGES)
def test_windows_at_places_of_the_run_are_the_library_s(language: str, backends: dict[str, Any]) -> None:
    args = (ROWS, K, np.array([2]))
    (got,) = GpuExecutor(translated(window, args, language), backends[language])(list(args))
    np.testing.assert_array_equal(got, ROWS[K, 2:5] * 2)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("f", [take, worked, centred_rows, one_column])
def test_out_of_range(f: Any, language: str, backends: dict[str, Any]) -> None:
    args = {
        take: (X, np.array([1, 2, 50, 51])),
        worked: (X, np.array([0, -51]), np.zeros(2)),
        centred_rows: (ROWS, np.array([0, -20, 20]), np.ones(7)),
        one_column: (ROWS, np.array([0, 1]), np.array(7)),
    }[f]
    with pytest.raises(IndexError) as theirs:
        f(*args)
    with pytest.raises(IndexError, match=str(theirs.value)) as ours:
        GpuExecutor(translated(f, args, language), backends[language])(list(args))
    assert "x[i" in str(ours.value)


@pytest.mark.parametrize("language", LANGUAGES)
def test_compiled_ahead_of_time(language: str) -> None:
    pytest.importorskip("cupy")
    for name in ("take_half", "rows", "two_axes", "likelihood"):
        for k in kernels_of(translated(*CASES[name], language), language):
            for architecture in (80, 90, 100) if name == "rows" else (90,):
                assert compile_program(k.program, architecture).cubin


@pytest.mark.parametrize("language", LANGUAGES)
def test_indices_of_64_bits(language: str, backends: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "INT32", -1)
    for name in ("worked", "rows", "two_axes"):
        f, args = CASES[name]
        function = translated(f, args, language)
        (got,) = GpuExecutor(function, backends[language])(list(args))
        np.testing.assert_allclose(got, f(*args), rtol=1e-13, atol=1e-14)
        for k in kernels_of(function, language):
            assert compile_program(k.program, 90).cubin
            sizes = {t for n, t in k.program.signature if n.endswith("_size")}
            assert sizes == {"i64" if k.program.language == "triton" else "int64"}


def test_bytes_of_what_is_chosen() -> None:
    x, i = np.zeros((10_000, 8)), np.zeros(5, int)
    (kernel,) = kernels_of(translated(take, (x, i), "cuda"), "cuda")
    assert kernel.bytes_minimum == 2 * 5 * 8 * 8 + 5 * 8


def test_what_is_known_to_be_inside_is_not_asked() -> None:
    """Of the two indices into the logits, rows are counted and labels are given."""
    kernels = kernels_of(translated(*CASES["likelihood"], "cuda"), "cuda")
    (kernel,) = [k for k in kernels if k.kind == "gather"]
    (test,) = {line.strip() for line in kernel.source.splitlines() if "_inside = " in line}  # in both twins
    assert "&&" in test and test.count(">= 0") == 1
