"""Pointwise kernels on arrays that lie in different orders: a tile of two axes a block where that moves fewer bytes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawn import Drawn
from host_cuda import HostCuda
from translating import translated

from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.backend import Backend
from untraced.kernels.launching.executor import GpuExecutor, kernels_of, launched
from untraced.kernels.settling import turned
from untraced.kernels.source import layout
from untraced.translator.ir import Aval

RNG = Drawn(4)


def values(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.integers(-50, 50, shape).astype(dtype)


def symmetric(x: Any) -> Any:
    return (x + x.T) / 2 - x.T[::-1]


def batched(x: Any, column: Any) -> Any:
    return np.swapaxes(x, 1, 2) * 2 + column[:, None]


def far_apart(x: Any) -> Any:
    return np.transpose(x, (3, 1, 2, 0)) * 2 - 1


def of_many_types(x: Any, small: Any, flags: Any) -> Any:
    place = np.arange(x.shape[0])
    return np.where(flags.T, x, small.T * x) + place[:, None] - place, small.T + small


def sliced(x: Any) -> Any:
    return x[::2, 1:61].T - x[:50, 30:90].T[:, ::-1]


def pairs(x: Any) -> Any:
    return np.conj(x.T) * x[:, ::-1].T


PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "symmetric": (symmetric, [values(70, 70)]),
    "batched": (batched, [values(3, 65, 40), values(40)]),
    "far_apart": (far_apart, [values(33, 5, 3, 47)]),
    "of_many_types": (
        of_many_types,
        [values(50, 50, dtype="f8"), values(50, 50, dtype="i1"), RNG.integers(0, 2, (50, 50)).astype(bool)],
    ),
    "bfloat16": (symmetric, [values(64, 64, dtype=ml_dtypes.bfloat16)]),
    "sliced": (sliced, [values(100, 90, dtype="f8")]),
    "pairs": (pairs, [values(40, 70) + np.complex64(1j) * values(40, 70)]),
}


@pytest.fixture
def backend(guarded_backend: Backend) -> Backend:
    return guarded_backend


@pytest.mark.parametrize("name", PROGRAMS)
def test_tiles_give_numpys_results(name: str, backend: Any) -> None:
    function, args = PROGRAMS[name]
    gives_numpys_results(function, args, backend)


def gives_numpys_results(function: Callable[..., Any], args: list[Any], backend: Any) -> None:
    executor = GpuExecutor(translated(function, args, backend.language), backend)
    given = [backend.moved(a) for a in args] if isinstance(backend, HostCuda) else args
    want = function(*args)
    for got, w in zip(executor(given), want if isinstance(want, tuple) else (want,), strict=True):
        assert got.dtype == w.dtype
        np.testing.assert_array_equal(got, w)
    made = [launch for g in executor.made.groups.values() if g is not None for launch in launched(g)]
    assert made and all("tile" in launch.program.source for launch in made)


@pytest.mark.parametrize("shape", [(0, 40), (40, 0), (40, 1), (1, 1)])
def test_arrays_of_few_elements_and_none(shape: tuple[int, ...], backend: Any) -> None:
    x, y = values(*shape), values(*shape[::-1])
    program = translated(lambda x, y: x.T * 2 + y, [x, y], backend.language)
    np.testing.assert_array_equal(GpuExecutor(program, backend)([x, y])[0], x.T * 2 + y)


@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_what_is_shown_is_what_is_launched(language: str) -> None:
    """A view of an argument stands outside the kernel of a lone operation, which knows its strides all the same."""
    (kernel,) = kernels_of(translated(lambda x, y: x.T + y, [values(40, 50), values(50, 40)], language), language)
    assert "tile" in kernel.source


def test_tiles_are_addressed_by_64_bits(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "INT32", -1)
    gives_numpys_results(batched, PROGRAMS["batched"][1], backend)


@pytest.mark.parametrize("architecture", [80, 90, 100])
@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_tiles_compile_and_spill_nothing(language: str, architecture: int) -> None:
    pytest.importorskip("triton" if language == "triton" else "cupy")
    from untraced.kernels.resources import resources_of

    function, args = PROGRAMS["of_many_types"]
    for k in kernels_of(translated(function, args, language), language):
        made = compile_program(k.program, architecture, k.program.regular)
        taken = resources_of(made.cubin, made.entry, made.shared)
        assert taken.stack == 0
        assert 0 < taken.shared <= 48 << 10


@pytest.mark.parametrize(
    ("shape", "tiled"),
    [((4096, 4096), True), ((33, 1 << 20), True), ((5, 1 << 20), False), ((1 << 20, 3), False), ((1, 4096), False)],
)
def test_tiles_are_chosen_where_they_move_less(shape: tuple[int, ...], tiled: bool) -> None:
    """Of a few long rows most lanes would be idle; columns of a few elements lie in the same sectors as their rows."""
    given = [singles(shape), singles(shape[::-1])]
    (kernel,) = kernels_of(translated(lambda x, y: x.T * 2 + y, given, "cuda"), "cuda")
    assert ("tile" in kernel.source) is tiled
    assert kernel.bytes_moved == kernel.bytes_minimum == 12 * math.prod(shape)


def test_sectors_that_no_cache_holds_are_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows of 2^21 elements the sectors are 64 MB: each of their five elements is read from memory on its own."""
    given = [singles((1 << 21, 5)), singles((5, 1 << 21))]
    (kernel,) = kernels_of(translated(lambda x, y: x.T * 2 + y, given, "cuda"), "cuda")
    assert kernel.bytes_moved == kernel.bytes_minimum + (5 << 21) * (20 - 4)
    monkeypatch.setattr(turned, "L2", 1 << 30)
    (kernel,) = kernels_of(translated(lambda x, y: x.T * 2 + y, given, "cuda"), "cuda")
    assert kernel.bytes_moved == kernel.bytes_minimum


def singles(shape: tuple[int, ...]) -> Any:
    return Aval(shape, np.dtype(np.float32))
