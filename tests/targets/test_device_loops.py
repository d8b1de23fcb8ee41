"""Loops as CUDA kernels: lanes, each in a thread of its own, and loops whose turns need each other, in one thread."""

from __future__ import annotations

import linecache
import shutil
import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from host_cuda import HostCuda
from random_programs import random_function
from translating import translated

from untraced import vmap
from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.backend import Backend
from untraced.kernels.launching.executor import GpuExecutor, Kernel, kernels_of
from untraced.translator.batch import vmap as batch
from untraced.translator.batch.lanes import ON_DEVICE
from untraced.translator.errors import RaisedError
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Function
from untraced.translator.passes.fuse import fuse
from untraced.translator.passes.simplify import simplify

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")


# ---- lanes ---------------------------------------------------------------------------------------


def escape(c: Any) -> Any:
    z = 0j
    n = 0
    while z.real * z.real + z.imag * z.imag <= 4.0 and n < 50:
        z = z * z + c
        n += 1
    return n


def escape_real(x: Any, y: Any) -> Any:
    a = b = 0.0
    n = 0
    for _ in range(100):
        if a * a + b * b > 4:
            break
        a, b = a * a - b * b + x, 2 * a * b + y
        n += 1
    return n, a


def collatz(n: Any) -> Any:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def shrinking(x: Any) -> Any:
    """A lane with an array of its own."""
    t = np.zeros(8)
    i = 0
    while i < 8 and x > 0.1:
        t[i] = np.sin(x)
        x = x * 0.7
        i += 1
    return t, np.sum(t)


def walk(x: Any, i: Any) -> Any:
    """Reads an array that all lanes share, at places that may be outside."""
    s = 0.0
    while s < x[2]:
        s += x[i]
        i += 1
    return s


def newton(a: Any) -> Any:
    if a < 0:
        raise ValueError("no root")
    x = a
    while abs(x * x - a) > 0.03 * a:
        x = (x + a / x) * 0.5
    return x


def fewer(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = np.where(x > 1, x * 0.5, x + 1)
    return np.sum(x)


def some(*shape: int, dtype: Any = "f8") -> Any:
    return np.random.default_rng([*shape]).standard_normal(shape).astype(dtype)


COUNTS = np.array([0, 5, 2, 9, 1])
LANES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Any]] = {
    "complex": (escape, (some(300) + 1j * some(1, 300)[0],), 0),
    "single": (escape_real, (some(200, dtype="f4"), some(1, 200, dtype="f4")[0]), 0),
    "integers": (collatz, (np.arange(1, 100),), 0),
    "small_integers": (collatz, (np.arange(1, 20, dtype="i4"),), 0),
    "arrays": (shrinking, (np.abs(some(70)),), 0),
    "shared": (walk, (np.arange(5.0) * 2, np.array([0, 1, 2, 0])), (None, 0)),
    "half": (newton, (np.abs(some(40, dtype="f2")) + np.float16(0.5),), 0),
    "trips": (fewer, (some(5, 3), COUNTS), 0),
    "one_for_all": (fewer, (some(3), COUNTS), (None, 0)),
    "another_axis": (fewer, (some(3, 5), COUNTS), (1, 0)),
}


def of_cuda(f: Any, args: Any) -> Function:
    return translated(f, args, "cuda")


def one_kernel(function: Function, kind: str, language: str = "cuda") -> Kernel:
    (found,) = [k for k in kernels_of(function, language) if k.kind == kind]
    return found


def assert_results(got: Any, want: Any) -> None:
    for a, b in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        # The same operations in the same order; sums of lanes' arrays and the C library's sines may differ.
        np.testing.assert_allclose(a.astype("c16"), b.astype("c16"), rtol=1e-6 if b.dtype == "f4" else 1e-12)


@needs_compiler
@pytest.mark.parametrize("name", LANES)
def test_lanes(name: str) -> None:
    f, args, axes = LANES[name]
    g = vmap(f, in_axes=axes)
    function = of_cuda(g, args)
    kernel = one_kernel(function, "lanes")
    assert kernel.language == "cuda" and kernel.lines
    assert_results(GpuExecutor(function, HostCuda())(list(args)), g(*args))


@pytest.mark.parametrize("name", ["complex", "integers", "arrays", "shared", "half"])
def test_lanes_compile_ahead_of_time(name: str) -> None:
    pytest.importorskip("cupy")
    f, args, axes = LANES[name]
    program = one_kernel(of_cuda(vmap(f, in_axes=axes), args), "lanes").program
    for architecture in (80, 90, 100) if name == "integers" else (90,):
        assert compile_program(program, architecture).cubin


def test_other_numbers_of_lanes_run_the_same_source() -> None:
    def source(n: int) -> str:
        return one_kernel(of_cuda(vmap(escape), (some(n) + 0j,)), "lanes").source

    assert source(100) == source(33)


@needs_compiler
def test_what_the_first_lane_raises() -> None:
    g = vmap(walk, in_axes=(None, 0))
    args = (np.arange(5.0), np.array([0, 1, -2, 0, 9, 7]))
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 5") as ours:
        GpuExecutor(of_cuda(g, args), HostCuda())(list(args))
    assert "s += x[i]" in str(ours.value)


@needs_compiler
def test_raise_in_a_lane() -> None:
    g, args = vmap(newton), (np.array([1.0, 2.0, -3.0]),)
    with pytest.raises(RaisedError, match="ValueError"):
        GpuExecutor(of_cuda(g, args), HostCuda())(list(args))


@needs_compiler
def test_beside_triton_kernels(interpreter: Backend) -> None:
    def both(x: Any, n: Any) -> Any:
        return vmap(fewer)(np.tanh(x) * 2, n) + 1

    args = (some(5, 3), COUNTS)
    function = translated(both, args, "triton")
    assert {k.language for k in kernels_of(function, "triton")} == {"triton", "cuda"}
    assert_results(GpuExecutor(function, interpreter)(list(args)), both(*args))


@needs_compiler
def test_a_long_chain_of_tests_in_a_lane() -> None:
    """C++ compilers refuse what nests in 256 levels."""
    link = "        if k == {0}:\n            s = s * 0.5 + x[{0} % 5]\n            continue\n"
    links = "".join(map(link.format, range(300)))
    text = f"def f(x, k):\n    s = 0.0\n    for k in range(k, k + 90, 7):\n{links}        s -= 1\n    return s\n"
    linecache.cache["<chain>"] = (len(text), None, text.splitlines(keepends=True), "<chain>")
    scope: dict[str, Any] = {}
    exec(compile(text, "<chain>", "exec"), scope)
    batched = vmap(scope["f"], in_axes=(None, 0))
    args = (some(5), np.array([0, 63, 150, 290, 400, -20]))
    function = of_cuda(batched, args)
    assert one_kernel(function, "lanes").lines
    assert_results(GpuExecutor(function, HostCuda())(list(args)), np.array([scope["f"](args[0], k) for k in args[1]]))


def test_libraries_stay_in_lockstep() -> None:
    def halved(x: Any) -> Any:
        while np.sum(x) > 1:
            x = np.sort(x) * 0.5
        return x

    function = of_cuda(vmap(halved), (some(40, 5),))
    assert not [k for k in kernels_of(function, "cuda") if k.kind in ("lanes", "loops")]


# ---- loops whose turns need each other -----------------------------------------------------------


def recurrence(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        y[i] = x.dtype.type(0.5) * y[i - 1] + x[i]
    return y


def tridiagonal(d: Any, e: Any, b: Any) -> Any:
    n = d.shape[0]
    c, x = np.empty(n), np.empty(n)
    c[0], x[0] = e[0] / d[0], b[0] / d[0]
    for i in range(1, n):
        m = d[i] - e[i - 1] * c[i - 1]
        c[i] = e[i] / m
        x[i] = (b[i] - e[i - 1] * x[i - 1]) / m
    for i in range(n - 2, -1, -1):
        x[i] = x[i] - c[i] * x[i + 1]
    return x


def insertion_sort(x: Any) -> Any:
    x = x.copy()
    for i in range(1, len(x)):
        v = x[i]
        j = i - 1
        while j >= 0 and x[j] > v:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = v
    return x


def turns(x: Any) -> Any:
    """Arrays that change places."""
    a, b = np.zeros(3), np.ones(3)
    for i in range(x.shape[0]):
        a, b = b, a + x[i] + b[0]
    return a, b


def looked_up(x: Any, k: Any) -> Any:
    s = 0.0
    for i in range(k.shape[0]):
        s = s * 0.5 + x[k[i]]
    return s


def scaled(x: Any, factor: Any, flag: Any) -> Any:
    """Numbers that come by value."""
    for i in range(1, x.shape[0]):
        x[i] = x[i - 1] * factor if flag else x[i] - factor
    return x


def halved_below(x: Any) -> Any:
    """With memory for another x; of nothing C++ has none."""
    k = 0
    while k < 6 and not np.all(x < 0.5):
        x = np.where(x < 0.5, x, x - 0.25)
        k += 1
    return x, k


LOOPS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "recurrence": (recurrence, (some(100),)),
    "recurrence_half": (recurrence, (some(60, dtype="f2"),)),
    "tridiagonal": (tridiagonal, (np.abs(some(50)) + 3, some(50), some(1, 50)[0])),
    "insertion_sort": (insertion_sort, (some(40),)),
    "turns": (turns, (some(5),)),
    "looked_up": (looked_up, (some(5), np.array([0, 1, -5, 3]))),
    "scaled": (scaled, (some(7, dtype="f4"), np.float32(0.3), np.bool_(True))),
    "scaled_half": (scaled, (some(7, dtype="f2"), np.float16(0.3), np.bool_(False))),
    "nothing": (halved_below, (some(2, 4)[:0],)),
    "backwards": (recurrence, (some(40)[::-2],)),
}


def in_a_row(x: Any) -> Any:
    for i in range(3):
        x = x * 0.5 + i
    x = np.tanh(x)
    for i in range(4):
        x = x * x - 0.25 * i
    return x


@needs_compiler
def test_work_between_two_loops_joins_one_of_them() -> None:
    x = some(7)
    assert_results(GpuExecutor(of_cuda(in_a_row, (x,)), HostCuda())([x]), in_a_row(x))


@needs_compiler
@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str) -> None:
    f, args = LOOPS[name]
    function = of_cuda(f, args)
    assert [k for k in kernels_of(function, "cuda") if k.kind == "loops"]
    given = [np.copy(a) if np.ndim(a) else a for a in args]
    want = f(*given)
    assert_results(GpuExecutor(function, HostCuda())(list(args))[: 2 if isinstance(want, tuple) else 1], want)


@pytest.mark.parametrize("name", LOOPS)
def test_loops_compile_ahead_of_time(name: str) -> None:
    pytest.importorskip("cupy")
    for k in kernels_of(of_cuda(*LOOPS[name]), "cuda"):
        assert compile_program(k.program, 90).cubin


# ---- random programs -----------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("seed", range(41, 45))
def test_random_programs(seed: int) -> None:
    function, args = random_function(Random(seed), 8)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = evaluate(function, args)
        got = GpuExecutor(fuse(function), HostCuda())([np.array(a) if np.ndim(a) else a for a in args])
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-9)  # sums in another order


@needs_compiler
@pytest.mark.parametrize("seed", range(50, 54))
def test_random_batches(seed: int) -> None:
    """Every floating-point argument differs from lane to lane."""
    function, args = random_function(Random(seed), 8)
    rng, lanes, count = np.random.default_rng(seed), 5, function.out.leaf_count
    axes = [0 if np.asarray(a).dtype.kind == "f" else None for a in args]
    many = [
        a if axis is None else np.stack([a + rng.standard_normal(np.shape(a)) for _ in range(lanes)])
        for a, axis in zip(args, axes, strict=True)
    ]
    made = simplify(batch.vmap(function, axes, [0] * count, lanes, ON_DEVICE))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        each = [[m if x is None else m[k] for m, x in zip(many, axes, strict=True)] for k in range(lanes)]
        want = [evaluate(function, own) for own in each]
        got = GpuExecutor(fuse(made), HostCuda())([np.array(a) if np.ndim(a) else a for a in many])
    for r, a in enumerate(got[:count]):
        np.testing.assert_allclose(np.asarray(a), np.stack([w[r] for w in want]), rtol=1e-9, atol=1e-9)


def test_numbers_alone_stay_on_the_host() -> None:
    def root(a: Any) -> Any:
        x = a
        while abs(x * x - a) > 1e-12 * a:
            x = 0.5 * (x + a / x)
        return x

    assert kernels_of(of_cuda(root, (2.0,)), "cuda") == ()


@needs_compiler
def test_arrays_of_no_elements_have_no_memory_to_write() -> None:
    def stored(c: Any, n: Any) -> Any:
        y = c.copy()
        for _ in range(n):
            y = np.tanh(y + 0.1 * c)
            y[0] = 1
        return y

    x = np.zeros((7, 0))
    (got, *_) = GpuExecutor(of_cuda(stored, (x, 5)), HostCuda(checked=True))([x, 5])
    assert np.shape(got) == (7, 0)


def test_wide_loops_are_launches() -> None:
    def relaxed(u: Any) -> Any:
        for _ in range(100):
            u = u + 0.1 * np.sin(u) * np.roll(np.cos(u), 1)
        return u

    kinds = [[k.kind for k in kernels_of(of_cuda(relaxed, (some(n),)), "cuda")] for n in (4, 2000)]
    assert kinds == [["loops"], ["pointwise"]]
