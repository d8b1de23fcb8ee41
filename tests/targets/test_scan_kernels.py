"""Running sums, products and extremes as kernels: rows of all lengths, divided among blocks or not, on both targets."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest
from host_cuda import aligned
from product_programs import Case, likeliest, running, shares, some

from untraced.kernels import plan
from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.executor import GpuExecutor, kernels_of
from untraced.kernels.rows import scans
from untraced.translator.ir import Aval

pytest.importorskip("triton")

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
BACKENDS = [pytest.param("cuda", marks=needs_compiler), "triton"]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are divided that one block would walk else, and Triton's are not held in registers."""
    monkeypatch.setattr(scans, "LONGEST_WALK", {False: 1000, True: 20})
    monkeypatch.setattr(plan, "TILE", 1024)


def sums(x: Any) -> Any:
    return np.cumsum(x)


def work_around(x: Any, y: Any) -> Any:
    return np.exp(np.cumsum(x * y) * 0.01) - x


def backwards(x: Any) -> Any:
    return np.cumsum(x[::-1])[::-1] * 2


def two(x: Any) -> Any:
    return np.cumsum(x, axis=-1) + np.maximum.accumulate(x, axis=-1)


def grown(x: Any) -> Any:
    return np.cumprod(1 + x * 1e-3)


def highest(x: Any) -> Any:
    return np.maximum.accumulate(x * 2, axis=-1)


def lowest(x: Any) -> Any:
    return np.minimum.accumulate(x)


def down(x: Any, y: Any) -> Any:
    return np.cumsum(x * y, axis=0) + y


def middle(x: Any) -> Any:
    return np.minimum.accumulate(x, axis=1)


def positions(x: Any) -> Any:
    return np.cumsum(x * np.arange(x.shape[0])) - np.arange(x.shape[0])


def whole(n: int, dtype: str = "f8", seed: int = 0) -> Any:
    """Small whole numbers, whose sums are exact in any order."""
    return np.random.default_rng([seed, n]).integers(-8, 9, n).astype(dtype)


LENGTHS = (0, 1, 31, 32, 33, 1023, 1024, 1025, 4096, 9000)
CASES = {
    "work_around": Case(work_around, (some(20_000, dtype="f8"), some(20_000, dtype="f8", seed=1))),
    "work_around_single": Case(work_around, (some(9001), some(9001, seed=1))),
    "backwards": Case(backwards, (some(9000, dtype="f8"),)),
    "strided": Case(sums, (some(9000, 2, dtype="f8")[::-1, 1],)),
    "two": Case(two, (some(2, 2100, dtype="f8"),)),
    "grown": Case(grown, (some(9000, dtype="f8"),)),
    "half": Case(highest, (some(1, 2104, dtype="f2"),)),
    "bfloat": Case(highest, (some(2101).astype("bfloat16"),)),
    "nowhere": Case(highest, (np.where(np.arange(2200) == 700, np.nan, some(2200)),)),
    "integers": Case(sums, (whole(9000, "i4"),)),
    "bytes": Case(lowest, ((some(2101) * 20 + 100).astype("u1"),)),
    "bools": Case(sums, (some(9000) > 0,)),
    "down": Case(down, (some(900, 40, dtype="f8"), some(40, dtype="f8"))),
    "down_wide": Case(down, (some(70, 300, dtype="f8"), some(300, dtype="f8"))),
    "middle": Case(middle, (some(2, 70, 9),)),
    "positions": Case(positions, (some(9000, dtype="f8"),)),
}


@pytest.mark.parametrize("language", BACKENDS)
def test_lengths(language: str, backends: dict[str, Any], short: None) -> None:
    for n in (*LENGTHS, *([70_000] if language == "cuda" else [])):  # where no interpreter makes it long
        x = whole(n)
        function = Case(sums, (x,)).translated(language)
        (got,) = GpuExecutor(function, backends[language])([x])
        np.testing.assert_array_equal(got, np.cumsum(x))
        if not 1000 < n < 5000:
            assert len(kernels_of(function, language)) == 1 + (n > 1000)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("language", BACKENDS)
def test_programs(name: str, language: str, backends: dict[str, Any], short: None) -> None:
    case = CASES[name]
    function = case.translated(language)
    assert [k.kind for k in kernels_of(function, language)] == ["scan"] * 2 + ["pointwise"] * (name == "backwards")
    case.check(GpuExecutor(function, backends[language])(list(case.args)))


@needs_compiler
@pytest.mark.parametrize("name", ["work_around", "two", "half"])
def test_neighbours_at_a_time(name: str, backends: dict[str, Any], short: None) -> None:
    case, backend = CASES[name], backends["cuda"]
    before = backend.packed_launches
    with aligned(backend):
        case.check(GpuExecutor(case.translated("cuda"), backend)([backend.moved(a) for a in case.args]))
    assert backend.packed_launches > before


@needs_compiler
def test_rows_that_only_one_of_the_kernels_finds_beside_each_other(backends: dict[str, Any], short: None) -> None:
    """Chunks begin where the packs of the first kernel do."""
    x, y, backend = np.asfortranarray(some(1504, 8, dtype="f8")), some(1504, 8, dtype="f8", seed=1), backends["cuda"]
    case = Case(lambda x, y: np.cumsum(x, axis=0) + y, (x, y))
    with aligned(backend):
        moved = [backend.moved(x.T).T, backend.moved(y)]
        case.check(GpuExecutor(case.translated("cuda"), backend)(moved))


@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_a_long_array_keeps_the_whole_device_busy(language: str) -> None:
    """2 ** 26 elements are read twice and written once, by thousands of blocks; rows are not divided in vain."""
    function = Case(sums, (Aval((1 << 26,), np.dtype("f4")),)).translated(language)
    parts, rest = kernels_of(function, language)
    assert 3 << 28 <= parts.bytes_moved <= 3.1 * (1 << 28) and parts.bytes_minimum == 2 << 28
    assert "chunk" in rest.source
    many = Case(running, (Aval((512, 1 << 20), np.dtype("f4")), Aval((1 << 20,), np.dtype("f4"))))
    assert len(kernels_of(many.translated(language), language)) == 1


@pytest.mark.parametrize("language", ["triton", "cuda"])
@pytest.mark.parametrize("function", [shares, likeliest])
def test_reductions_beside_running_sums(function: Any, language: str) -> None:
    """Of long rows they are kernels of their own; else one."""
    for shape, dtype in (((300, 3000), "f4"), ((2, 1 << 20), "f4")):
        case = Case(function, (Aval(shape, np.dtype(dtype)),))
        kinds = [k.kind for k in kernels_of(case.translated(language), language)]
        assert kinds == ["scan"] if shape[0] == 300 else kinds.count("scan") == 2 and len(kinds) > 2


@pytest.mark.parametrize("language", ["triton", "cuda"])
@pytest.mark.parametrize("name", ["work_around", "half", "down"])
def test_compiled_ahead_of_time(name: str, language: str, short: None) -> None:
    pytest.importorskip("cupy")
    for k in kernels_of(CASES[name].translated(language), language):
        assert compile_program(k.program, 90).cubin
