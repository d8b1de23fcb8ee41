"""Stores into slices inside pointwise kernels: values, what is read, and where stores in place move less."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn
from host_cuda import HostCuda
from translating import translated

from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.backend import Backend
from untraced.kernels.launching.executor import GpuExecutor, driver_of, kernels_of, launched
from untraced.kernels.source import lower
from untraced.translator.ir import Aval

RNG = Drawn(6)


def values(*shape: int, dtype: Any = np.float64) -> Any:
    return RNG.integers(-50, 50, shape).astype(dtype)


def heat(u: Any, n: int) -> Any:
    v = u.copy()
    for _ in range(n):
        v[1:-1, 1:-1] += 0.125 * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4 * v[1:-1, 1:-1])
    return v


def waves(u: Any, n: int) -> Any:
    a, b = u, u
    for _ in range(n):
        c = 2 * a - b
        c[1:-1, 1:-1] += 0.125 * (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2] - 4 * a[1:-1, 1:-1])
        c[0], c[-1], c[:, 0], c[:, -1] = 0, 1, c[:, 1], 2
        a, b = c, a
    return a, b


def framed(x: Any, y: Any) -> Any:
    frame = np.full((9, 11), 7.5)
    frame[2:7, 3:] = np.abs(x) + y
    return frame


def of_other_types(x: Any, i: Any) -> Any:
    i = i * 2
    i[1:3, 1:] += 5
    i[-1] = np.floor(x[0]) + 0.75
    return i


def backwards(x: Any) -> Any:
    y = x * 2
    y[1:4] = x[::-1][2:5] + 1
    z = y[::-1, ::-1] + 1
    z[:3, 2:4] = y[:3, 2:4] * x[3:6, 4:6]
    return z


def over_each_other(x: Any) -> Any:
    y = np.abs(x) / 64
    y[1:5, 1:5] = x[:4, :4]
    y[3:6, 2:6] += y[0, 0]
    y[4, 3:] = x[1, 3:] * 2
    y[2:] = y[2:] / 4
    return y


def pairs(x: Any) -> Any:
    y = x * x
    y[1:, 0] = x[:-1, 1]
    return y


def planes(x: Any, row: Any) -> Any:
    y = x + 1
    y[:, 1:-1, 2] = x[:, :-2, 0] * row
    y[0, ..., -1:] = row[1]
    return y


def periodic(u: Any, n: int) -> Any:
    for _ in range(n):
        u = u + 0.125 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u)
    return u


def life(a: Any, n: int) -> Any:
    for _ in range(n):
        s = sum(np.roll(np.roll(a, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        a = (s == 3) | (a & (s == 2))
    return a


def with_ghosts(x: Any) -> Any:
    p = np.pad(x, 1)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x


def joined(x: Any, y: Any) -> Any:
    return np.stack([x, y * 2], 1) + 1, np.hstack([x, y, x])[:, ::-1].T * 2 + np.concatenate([x.T, y.T, x.T])


def begun_by_truths(x: Any) -> Any:
    z = np.logical_or(x, x)
    z[1:] = x[1:]
    return z * 1


PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "heat": (heat, [values(9, 13), 3]),
    "waves": (waves, [values(7, 12), 3]),
    "framed": (framed, [values(5, 8), values(8)]),
    "of_other_types": (of_other_types, [values(4, 6), values(4, 6, dtype="i4")]),
    "backwards": (backwards, [values(6, 6)]),
    "over_each_other": (over_each_other, [values(6, 7)]),
    "pairs": (pairs, [values(5, 6) + 1j * values(5, 6)]),
    "half": (over_each_other, [values(6, 6, dtype="f2")]),
    "periodic": (periodic, [values(6, 7), 2]),
    "life": (life, [RNG.integers(0, 2, (7, 9)).astype(bool), 2]),
    "with_ghosts": (with_ghosts, [values(5, 7, dtype="f4")]),
    "joined": (joined, [values(4, 6), values(4, 6)]),
    "of_one_row": (begun_by_truths, [np.broadcast_to(values(3), (2, 3))]),
    "of_one_number": (begun_by_truths, [np.broadcast_to(values(1), (3, 5))]),
    "of_one_column": (begun_by_truths, [np.broadcast_to(values(3, 1), (3, 5))]),
    "planes": (planes, [values(3, 5, 4), values(3)]),
}


@pytest.fixture
def backend(guarded_backend: Backend) -> Backend:
    return guarded_backend


@pytest.mark.parametrize("name", PROGRAMS)
def test_stores_in_kernels_give_numpys_results(name: str, backend: Any) -> None:
    function, args = PROGRAMS[name]
    executor = GpuExecutor(translated(function, args, backend.language), backend)
    given = [backend.moved(a) if isinstance(backend, HostCuda) else a for a in args]
    want = function(*args)
    for got, w in zip(executor(given), want if isinstance(want, tuple) else (want,), strict=True):
        assert got.dtype == w.dtype
        np.testing.assert_array_equal(got, w)
    assert any("inside" in x.program.source for g in executor.made.groups.values() if g for x in launched(g))


@pytest.mark.parametrize(("function", "arrays"), [(heat, 2), (waves, 3), (periodic, 2)])
def test_a_step_of_a_stencil_is_one_kernel_that_moves_each_array_once(function: Any, arrays: int) -> None:
    program = translated(function, [np.zeros((4096, 4096)), 3], "cuda")
    (kernel,) = kernels_of(program, "cuda")
    assert kernel.bytes_moved == arrays * 8 << 24
    lines = [line.partition("#")[0] for line in driver_of(program, "cuda").text.splitlines()]
    assert not any("copy(" in line or "] = " in line or "+=" in line or "concat" in line for line in lines)


def test_a_few_elements_of_a_large_array_are_stored_in_place() -> None:
    def edges(x: Any) -> Any:
        y = np.sort(x, axis=0)
        y[0] = np.exp(x[1])
        y[:, 3] += 1.0
        return y

    text = driver_of(translated(edges, [Aval((4096, 4096), np.dtype(np.float64))], "cuda"), "cuda").text
    assert "[0, 0:4096] = " in text and "[0:4096, 3] += 1.0" in text


def test_steps_that_need_their_neighbours_of_the_step_before_are_kernels_of_their_own() -> None:
    def steps(u: Any) -> Any:
        v = u.copy()
        for _ in (0, 1, 2):
            v[1:-1] = v[2:] + v[:-2] - 2 * v[1:-1]
        return v

    kernels = kernels_of(translated(steps, [Aval((1 << 24,), np.dtype(np.float64))], "triton"), "triton")
    assert len(kernels) == 3
    assert all(k.source.count("tl.load") <= 4 for k in kernels)


@pytest.mark.parametrize("rows", [0, 1])
def test_pieces_without_elements(rows: int, backend: Any) -> None:
    """Nothing is inside them, and nothing of them is read."""

    def pieces(x: Any, y: Any) -> Any:
        p = np.full((4, 6), 7.0)
        p[1 : 1 + len(x), 1:-1] = x
        both = np.concatenate([x, y]) * 2 + np.concatenate([y, x])[::-1]
        return np.pad(x, 1) + 1, both, np.roll(y, 1, 0) + p[:3, 1:5]

    x, y = values(rows, 4), values(3, 4)
    executor = GpuExecutor(translated(pieces, [x, y], backend.language), backend)
    given = [backend.moved(a) if isinstance(backend, HostCuda) else a for a in (x, y)]
    for got, want in zip(executor(given), pieces(x, y), strict=True):
        np.testing.assert_array_equal(got, want)


def test_functions_that_an_edge_needs_are_not_called_for_every_element() -> None:
    def driven(u: Any) -> Any:
        v = u * 2
        v[0] = np.exp(np.sin(u[0]))
        return v

    kernels = kernels_of(translated(driven, [np.zeros((64, 64))], "cuda"), "cuda")
    lines = [[line for line in k.source.splitlines() if not line.startswith("//")] for k in kernels]
    found = [(any("exp(" in line for line in own), any("inside" in line for line in own)) for own in lines]
    assert found == [(True, False), (False, True)]


@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_kernels_with_stores_compile_and_spill_nothing(language: str) -> None:
    pytest.importorskip("triton" if language == "triton" else "cupy")
    from untraced.kernels.resources import resources_of

    function, args = PROGRAMS["waves"]
    for k in kernels_of(translated(function, args, language), language):
        made = compile_program(k.program, 90)
        assert resources_of(made.cubin, made.entry, made.shared).stack == 0


def doubled(x: Any) -> Any:
    return np.arctan(np.bitwise_xor.accumulate(x))


def test_joins_that_double_the_work_are_given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the joins of shifted arrays in a row asks twice for the elements of the one before."""
    made = []
    add = lower._Lowering.add
    monkeypatch.setattr(lower._Lowering, "add", lambda self, *args: made.append(1) or add(self, *args))
    kernels_of(translated(doubled, (np.arange(1 << 13),), "cuda"), "cuda")
    assert len(made) < 3000


# ---- random stores -------------------------------------------------------------------------------


def stored(seed: int) -> Callable[..., Any]:
    """A few stores into slices, of values from slices of what is there, and joined slices; as source, which is read."""
    rng = np.random.default_rng(seed)

    def piece(lengths: list[int]) -> str:
        parts = []
        for n, size in zip((7, 9), lengths, strict=True):
            start = int(rng.integers(0, n - size + 1))
            turned = rng.random() < 0.2 and start
            parts.append(f"{start + size - 1}:{start - 1}:-1" if turned else f"{start}:{start + size}")
        return ", ".join(parts)

    lines = ["def f(x, y):", "    a, b = x + 1, y * 2"]
    for _ in range(int(rng.integers(2, 6))):
        lengths = [int(rng.integers(1, n + 1)) for n in (7, 9)]
        to, other = ("a", "b") if rng.random() < 0.6 else ("b", "a")
        start = ", ".join(f"{n - size}:{n}" if rng.random() < 0.5 else f":{size}" for n, size in zip((7, 9), lengths))
        value = f"{other}[{piece(lengths)}] * 2 - {to}[{piece(lengths)}]" if rng.random() < 0.8 else "3"
        lines.append(f"    {to}[{start}] {'+=' if rng.random() < 0.4 else '='} {value}")
        if rng.random() < 0.3:
            lines.append(f"    {to} = {to} + {other}")
        if rng.random() < 0.3:
            axis, shift = int(rng.integers(0, 2)), int(rng.integers(-8, 9))
            lines.append(f"    {to} = np.roll({other}, {shift}, {axis}) - {to}")
        if rng.random() < 0.2:
            k = int(rng.integers(0, 8))
            lines.append(f"    {to} = np.concatenate([{to}[{k}:], {other}[:{k}]]) * 2")
    return program_of("\n".join([*lines, "    return a, b"]))


def program_of(text: str) -> Callable[..., Any]:
    import linecache

    name = f"<stores {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    found: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), found)
    made: Callable[..., Any] = found["f"]
    return made


def check_random_stores(seed: int, backend: Any) -> None:
    function, x, y = stored(seed), values(7, 9), values(7, 9)
    executor = GpuExecutor(translated(function, [x, y], backend.language), backend)
    given = [backend.moved(a) if isinstance(backend, HostCuda) else a for a in (x, y)]
    for got, want in zip(executor(given), function(x, y), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("seed", range(6))
def test_random_stores(seed: int, backend: Any) -> None:
    check_random_stores(seed, backend)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 260))
def test_more_random_stores(seed: int, backend: Any) -> None:
    check_random_stores(seed, backend)
