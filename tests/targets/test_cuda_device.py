"""The generated kernels on a CUDA device; the twins are `test_triton_kernels.py` and `test_cuda_kernels.py`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attention_programs import CASES as GRADIENTS
from attention_programs import SLOW_MEMORY
from attention_programs import tolerance as of_gradients
from kernel_programs import (
    CASES,
    REDUCED_DTYPES,
    ROW_DTYPES,
    arguments,
    casts,
    check_rows,
    layer_norm,
    places,
    random_program,
    reductions,
    softmax,
    tolerance,
    views_of_arguments,
    with_specials,
)
from product_programs import ATTENTION, KERNELS_WIN, PACKED, PLACES, PRODUCTS, RUNNING
from test_fewer_kernels import ELEMENTWISE_LOOPS, LAYER, layer
from test_slice_kernels import PROGRAMS as STORES
from test_turned_kernels import PROGRAMS as TURNED

from untraced import accelerate, device_put, grad
from untraced.kernels.launching.executor import GpuExecutor
from untraced.kernels.launching.graphs import Graph
from untraced.kernels.launching.launch import CupyBackend
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Function
from untraced.translator.passes.extremes import extremes
from untraced.translator.passes.fuse import fuse
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves

pytestmark = pytest.mark.gpu

LANGUAGES = ["triton", "cuda"]


class Device:
    """A backend that takes NumPy arrays: what it is given goes to the device first."""

    def __init__(self, language: str) -> None:
        self.backend = CupyBackend(language)

    def run(self, function: Function, leaves: list[Any]) -> list[Any]:
        import cupy

        moved = [_to_device(cupy, a) for a in leaves]
        return [cupy.asnumpy(r) for r in GpuExecutor(fuse(function), self.backend)(moved)]


def _to_device(cupy: Any, a: Any) -> Any:
    """An array with the strides that it has here, so that views stay views."""
    if not np.ndim(a):
        return a
    base = a
    while isinstance(base.base, np.ndarray):
        base = base.base
    offset = a.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    memory = cupy.asarray(np.ascontiguousarray(base))
    pointer = memory.data + offset
    return cupy.ndarray(a.shape, a.dtype, pointer, strides=a.strides)


def agree(function: Function, device: Device, rtol: float, leaves: list[Any]) -> None:
    with np.errstate(all="ignore"):
        expected = evaluate(function, leaves)
    for got, want in zip(device.run(function, leaves), expected, strict=True):
        assert (got.dtype, got.shape) == (np.asarray(want).dtype, np.shape(want))
        np.testing.assert_allclose(got.astype("f8"), np.asarray(want).astype("f8"), rtol=rtol, atol=rtol)


@pytest.fixture(scope="module", params=LANGUAGES)
def device(request: pytest.FixtureRequest) -> Device:
    return Device(request.param)


@pytest.mark.parametrize("name", CASES)
def test_programs(name: str, device: Device) -> None:
    # Device functions differ from NumPy's by a few units in the last place, and matrix products sum in another order.
    agree(CASES[name], device, 10 * tolerance(CASES[name]), arguments(CASES[name]))


@pytest.mark.parametrize("dtype", REDUCED_DTYPES)
def test_reductions(dtype: str, device: Device) -> None:
    function = reductions(dtype)
    agree(function, device, 2e-3, with_specials(function))


@pytest.mark.parametrize("dtype", REDUCED_DTYPES)
def test_places_of_extremes(dtype: str, device: Device) -> None:
    function = places(dtype)
    agree(extremes(function), device, 0.0, with_specials(function))


@pytest.mark.parametrize("name", PRODUCTS | ATTENTION | RUNNING | PLACES)
def test_products_attention_and_running_sums(name: str, device: Device) -> None:
    import cupy

    case = (PRODUCTS | ATTENTION | RUNNING | PLACES)[name]
    executor = GpuExecutor(case.translated(device.backend.language), device.backend, KERNELS_WIN)
    case.check([cupy.asnumpy(r) for r in executor([_to_device(cupy, a) for a in case.args])])


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_attention(name: str, device: Device) -> None:
    import cupy

    function, args = GRADIENTS[name]
    derivative, language = grad(function, argnums=(0, 1, 2)), device.backend.language
    translated = translate(derivative, abstract_with_leaves(derivative, tuple(args), {})[0], target=language).function
    found = GpuExecutor(translated, device.backend, SLOW_MEMORY)([_to_device(cupy, a) for a in args])
    wide = [a.astype("f8") if a.dtype.kind == "f" else a for a in args]
    for got, want in zip(found, derivative(*wide), strict=True):
        off = np.abs(cupy.asnumpy(got).astype("f8") - want).max()
        assert off <= 4 * of_gradients(args) * np.abs(want).max()


@pytest.mark.parametrize("target", LANGUAGES)
@pytest.mark.parametrize("name", TURNED | STORES)
def test_tiles_and_stores_into_slices(name: str, target: str) -> None:
    function, args = (TURNED | STORES)[name]
    want, got = function(*args), accelerate(function, target=target)(*args)
    for g, w in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, want)), strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("target", LANGUAGES)
@pytest.mark.parametrize(("function", "args"), [(f, a) for f, a, kinds in ELEMENTWISE_LOOPS if kinds is not None])
def test_loops_that_are_one_kernel(function: Any, args: tuple[Any, ...], target: str) -> None:
    got, want = accelerate(function, target=target)(*args), function(*args)
    for g, w in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, want)), strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", LANGUAGES)
def test_backward_passes_that_make_values_again(target: str) -> None:
    derivative = grad(layer, argnums=(0, 1, 2))
    for g, w in zip(accelerate(derivative, target=target)(*LAYER), derivative(*LAYER), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-3, atol=1e-3 * np.abs(w).max())


@pytest.mark.parametrize("target", LANGUAGES)
@pytest.mark.parametrize("shape", [(1 << 22,), ((1 << 22) + 1,), (3, 1 << 20), (1 << 18, 20)])
def test_running_sums_of_long_rows(shape: tuple[int, ...], target: str) -> None:
    """Divided among blocks, exact in whole numbers, and the same in every run."""
    x = np.random.default_rng(0).integers(-8, 9, shape).astype(np.float64)
    axis = 0 if shape[-1] < 100 else -1
    sums = accelerate(lambda x: np.cumsum(x * 2, axis=axis) + x, target=target)
    np.testing.assert_array_equal(sums(x), np.cumsum(x * 2, axis=axis) + x)
    top = accelerate(lambda x: np.maximum.accumulate(x, axis=axis), target=target)
    np.testing.assert_array_equal(top(x), np.maximum.accumulate(x, axis=axis))
    y = np.random.default_rng(1).normal(size=shape)
    np.testing.assert_array_equal(sums(y), sums(y))


@pytest.mark.parametrize("name", PACKED)
def test_products_in_packs(name: str, device: Device) -> None:
    import cupy

    case = PACKED[name]
    executor = GpuExecutor(case.translated(device.backend.language), device.backend, KERNELS_WIN)
    case.check([cupy.asnumpy(r) for r in executor([cupy.asarray(a) for a in case.args])])


@pytest.mark.parametrize("columns", [17_001, 40_000, 65_536, 100_000])
def test_long_rows(columns: int, device: Device) -> None:
    for function in (softmax(70, columns), layer_norm(70, columns, np.float32)):
        agree(function, device, 10 * tolerance(function), arguments(function))


def test_casts(device: Device) -> None:
    agree(casts(), device, 0.0, arguments(casts()))


def test_views_of_arguments(device: Device) -> None:
    function, leaves = views_of_arguments()
    agree(function, device, 1e-12, leaves)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int, device: Device) -> None:
    function = random_program(seed)
    agree(function, device, 1e-9, arguments(function))


@pytest.mark.parametrize("dtype", ROW_DTYPES)
def test_rows(dtype: str, device: Device) -> None:
    import cupy

    check_rows(dtype, device.backend, 4.0, cupy.asarray, cupy.asnumpy)


# ---- the host source's loops -----------------------------------------------------------------------


def heat(u: Any, n: Any) -> Any:
    v = u.copy()
    for i in range(n):
        v[1:-1, 1:-1] += 0.1 * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4 * v[1:-1, 1:-1])
    return v


def settled(a: Any, b: Any, tol: Any) -> Any:
    x, err = np.zeros_like(b), 1.0
    while err > tol:
        new = b - a * np.roll(x, 1)
        err, x = np.max(np.abs(new - x)), new
    return x


@pytest.mark.parametrize("target", LANGUAGES)
def test_a_loop_of_kernels_becomes_a_graph(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    replays = []
    called = Graph.__call__
    monkeypatch.setattr(Graph, "__call__", lambda self, values: (replays.append(1), called(self, values))[1])
    f = accelerate(heat, target=target)
    for seed in range(5):
        u = np.random.default_rng(seed).normal(size=(12, 15))
        np.testing.assert_allclose(f(u, 20), heat(u, 20), rtol=1e-12)
    assert len(replays) == 4, "the graph was refused, or what it gives was not the loop's"


@pytest.mark.parametrize("target", LANGUAGES)
def test_while_is_asked_after_several_turns(target: str) -> None:
    a, b = np.full(1000, 0.5), np.linspace(-1, 1, 1000)
    np.testing.assert_allclose(accelerate(settled, target=target)(a, b, 1e-9), settled(a, b, 1e-9), rtol=1e-12)


@pytest.mark.parametrize("target", LANGUAGES)
def test_arrays_of_other_libraries(target: str) -> None:
    import cupy

    f = accelerate(lambda x, y: np.tanh(x.T + y), target=target)
    x, y = np.arange(12.0).reshape(3, 4), np.arange(3.0)
    want = np.tanh(x.T + y)
    got = f(cupy.asarray(x), y)
    np.testing.assert_allclose(got, want)
    np.testing.assert_allclose(cupy.asnumpy(cupy.asarray(got)), want)
    torch = pytest.importorskip("torch")
    got = f(torch.from_numpy(x).cuda(), device_put(y, target))
    np.testing.assert_allclose(torch.from_dlpack(got).cpu().numpy(), want)


# ---- the whole tier in one command -------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("compute-sanitizer") is None, reason="compute-sanitizer is not installed")
@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
def test_the_sanitizer_finds_nothing(tool: str) -> None:
    """Small kernels of every kind, each a program of `pytest -m gpu` itself, under NVIDIA's checker."""
    chosen = "test_programs or test_reductions or test_products_attention or test_casts or test_tiles"
    inner = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-k", chosen, "--confcutdir=tests", __file__]
    command = ["compute-sanitizer", f"--tool={tool}", "--error-exitcode=86", "--target-processes=all", *inner]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stdout[-4000:]


def test_benchmark(tmp_path: Path) -> None:
    """One run over a few programs; the whole is `python tests/benchmarks/gpu.py`."""
    script = Path(__file__).parents[1] / "benchmarks" / "gpu.py"
    out = tmp_path / "gpu.json"
    subprocess.run([sys.executable, script, "chain of 3", "softmax", "sum", "--rounds=3", f"--json={out}"], check=False)
    results = json.loads(out.read_text())["results"]
    failed = {r["name"]: {k: e for k, e in r["errors"].items() if k in LANGUAGES} for r in results}
    assert len(results) == 6 and not any(failed.values()), failed
    assert all(0 < share < 2 for r in results for share in r["shares"].values())
