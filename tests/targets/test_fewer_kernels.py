"""Programs that take fewer kernels, or move fewer bytes, than their statements: against NumPy in both languages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn
from host_cuda import HostCuda
from translating import translated

from untraced import grad, random
from untraced.kernels.facts import Facts
from untraced.kernels.launching.executor import GpuExecutor, Kernel, kernels_of
from untraced.kernels.rows import beside_groups
from untraced.translator.errors import RaisedError
from untraced.translator.ir import Fused

pytest.importorskip("triton")

LANGUAGES = ("cuda", "triton")
LIBRARY = Facts(share={"float32": 0.01}, cuda_share={"float32": 0.01})  # products are the library's
rng = Drawn(0)


def kernels(function: Callable[..., Any], args: tuple[Any, ...], language: str) -> tuple[Kernel, ...]:
    return kernels_of(translated(function, args, language), language)


def check(function: Callable[..., Any], args: tuple[Any, ...], backend: Any, rtol: float = 1e-5) -> None:
    found = GpuExecutor(translated(function, args, backend.language), backend)(list(args))
    wanted = function(*args)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for got, want in zip(found, wanted, strict=True):
        assert (np.asarray(got).dtype, np.shape(got)) == (np.asarray(want).dtype, np.shape(want))
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


# ---- reductions of the same array ----------------------------------------------------------------


def whole(x: Any, y: Any) -> Any:
    return (x * y).sum(), np.abs(y).max(), x.mean(), x.min(), (x > 1).sum()


def by_columns(x: Any, y: Any) -> Any:
    return x.mean(0), x.std(0), (x * y).sum(0), x.argmax(0)


def of_integers(x: Any) -> Any:
    return x.sum(), x.max(), x.min()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (whole, tuple(rng.standard_normal((2, 300, 70)).astype("f4"))),
        (by_columns, tuple(rng.standard_normal((2, 300, 70)).astype("f4"))),
        (of_integers, (rng.integers(-(2**31), 2**31, (50, 300)).astype("i4"),)),
    ],
)
def test_reductions_over_the_same_axes_read_their_arrays_once(
    function: Callable[..., Any], args: tuple[Any, ...], language: str, backends: dict[str, Any]
) -> None:
    assert len(kernels(function, args, language)) <= 2  # the parts, and their sums
    check(function, args, backends[language])


# ---- loops over whole arrays whose elements do not meet -------------------------------------------


def steps(x: Any) -> Any:
    y = np.abs(x) + 1
    for _ in range(10):
        y = y * 1.5 + 0.25 * x
    return np.sin(y) - x


def escape(re: Any, im: Any, n: Any) -> Any:
    a = np.zeros((im.shape[0], re.shape[0]), re.dtype)
    b, turns = np.zeros_like(a), np.zeros(a.shape, np.int32)
    for _ in range(n):
        inside = a * a + b * b < 4
        a, b = np.where(inside, a * a - b * b + re, a), np.where(inside, 2 * a * b + im[:, None], b)
        turns += inside
    return turns


def pendulum(x: Any, v: Any, dt: Any) -> Any:
    t = 0.0
    for i in range(40):
        if i % 3 == 0:
            v = v * 0.5
        v = v + dt * (0.1 * np.cos(t) - np.sin(x)) + i
        for _ in range(2):
            x = x + dt * v
        t = t + dt
    return x, v * 2 + x


def until(x: Any) -> Any:
    t = 0.0
    while t < 1.0:
        x = x + 0.01 * np.cos(x * t)
        t += 0.25
    return x


def congruential(k: Any) -> Any:
    for i in range(5):
        k = k * 1103515245 + 12345 + i
    return k % 1000


def mixed(x: Any, c: Any) -> Any:
    z = x * c
    for _ in range(3):
        x = (x * z + c).astype(np.float32)
    return x, z


def wave(x: Any) -> Any:
    y = x
    for _ in range(7):
        y = np.sin(y) * x
    return np.sum(y * y)


def trajectory(x: Any, v: Any, dt: Any) -> Any:
    """Slices along the last axis, every second one, from the end, in memory that was there before."""
    path, speeds = np.zeros((*x.shape, 9)), np.empty((5, *x.shape))
    path[:, :, 0] = x
    for i in range(4):
        speeds[i - 5] = v
        v = v - dt * x
        x = x + dt * v
        path[..., 2 * i + 1] = x
    speeds[4] = v
    return path, speeds, x


def replayed(path: Any, x: Any) -> Any:
    for t in range(path.shape[0]):
        x = 0.5 * x + path[-1 - t] - path[0]
    return x


def filtered(x: Any, gains: Any, places: Any, table: Any) -> Any:
    for k in range(gains.shape[0]):
        x = gains[k] * x + table[places[k]]
    return x


def counted(x: Any) -> Any:
    told = np.zeros(4)
    for i in range(4):
        told[i] = 0.5 * i
        x = x * 0.5 + i
    return x, told


def recalled(x: Any) -> Any:
    path = np.zeros((6, *x.shape))
    path[0] = x
    for i in range(5):
        path[i + 1] = path[i] * 0.5 + x
    return path


def smoothed(x: Any) -> Any:
    for _ in range(4):
        x = (x + np.roll(x, 1)) * 0.5
    return x


def halving(x: Any) -> Any:
    total = np.float64(0)
    for _ in range(4):
        x = x * 0.5
        total = total + np.sum(x)
    return x, total


GRID = np.linspace(-1.0, 1.0, 30).astype("f4")
TABLE = rng.standard_normal((7, 30)).astype("f4")


ELEMENTWISE_LOOPS: list[tuple[Callable[..., Any], tuple[Any, ...], list[str] | None]] = [
    (steps, (TABLE,), ["lanes"]),
    (steps, (TABLE.T[::2],), ["lanes"]),
    (steps, (TABLE[:, :0],), None),
    (escape, (GRID - 0.5, GRID[:20], 50), ["lanes"]),
    (escape, (GRID - 0.5, GRID[:20], 0), ["lanes"]),
    (pendulum, (TABLE, GRID, 0.01), ["lanes"]),
    (pendulum, (TABLE, TABLE * 2, 0.01), ["lanes"]),
    (until, (TABLE,), ["lanes"]),
    (congruential, (np.arange(-50, 50, dtype="i4"),), ["lanes"]),
    (mixed, (TABLE, GRID[None]), ["pointwise", "lanes"]),  # the product is a result
    (grad(wave), (TABLE,), ["lanes", "lanes"]),
    (trajectory, (TABLE, TABLE * 2, 0.01), ["pointwise", "lanes"]),
    (replayed, (TABLE.reshape(5, 6, 7), TABLE[:6, :7]), ["lanes"]),
    (filtered, (GRID, np.array([0.5, -1.0, 2.0]), np.array([2, -7, 0]), TABLE), ["lanes"]),
    (counted, (TABLE,), None),
    (recalled, (TABLE,), None),
    (smoothed, (GRID,), None),
    (halving, (GRID,), None),
]
"""With the kinds of their kernels; None for those whose turns are launches."""


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("function", "args", "kinds"), ELEMENTWISE_LOOPS)
def test_loops_that_compute_each_element_from_itself_are_one_kernel(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kinds: list[str] | None,
    language: str,
    backends: dict[str, Any],
) -> None:
    made = kernels(function, args, language)
    assert ("lanes" not in [k.kind for k in made]) if kinds is None else ([k.kind for k in made] == kinds)
    check(function, args, backends[language], 1e-4)


# ---- values that are made again ------------------------------------------------------------------


def layer(w: Any, b: Any, v: Any, x: Any) -> Any:
    z = x @ w + b
    h = 0.5 * z * (1 + np.tanh(0.8 * (z + 0.04 * z**3)))
    return np.sum((h @ v) ** 2)


def noisy(key: Any, w: Any, x: Any) -> Any:
    kept = np.where(random.bernoulli(key, 0.75, x.shape), x, 0)
    return (kept @ w) * 2, np.sum(kept * kept @ w.T)


LAYER = tuple((0.2 * rng.standard_normal(s)).astype("f4") for s in ((64, 96), (96,), (96, 64), (160, 64)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_backward_passes_make_elementwise_work_again(language: str, backends: dict[str, Any]) -> None:
    derivative = grad(layer, argnums=(0, 1, 2))
    made = kernels(derivative, LAYER, language)
    hidden, outer = 160 * 96 * 4, 160 * 64 * 4
    # Forward: x is read, the product and h are written, and read again; backward: h, the product, and cotangents.
    assert sum(k.bytes_moved for k in {k.lines: k for k in made}.values()) < 6.5 * hidden + 5 * outer
    check(derivative, LAYER, backends[language], 1e-4)


@pytest.mark.parametrize("language", LANGUAGES)
def test_random_bits_are_made_once(language: str) -> None:
    args = (random.key(0), np.ones((512, 512), "f4"), np.ones((512, 512), "f4"))
    assert sum("threefry" in k.source for k in kernels(noisy, args, language)) == 1


def stored_into(x: Any, w: Any) -> Any:
    y = np.exp(x) + 1
    z = y * 2
    x[1:-1] = (z @ w)[1:-1]
    return x, z * y @ w


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_stored_into_is_not_needed_longer(language: str, backends: dict[str, Any]) -> None:
    args = tuple(rng.standard_normal((2, 80, 80)).astype("f4"))
    function = translated(stored_into, args, language)
    got = GpuExecutor(function, backends[language])([a.copy() for a in args])
    for g, w in zip(got, stored_into(args[0].copy(), args[1]), strict=False):
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-4)


# ---- errors that cannot be -----------------------------------------------------------------------


def counted(x: Any) -> Any:
    return np.bincount(x % 50, minlength=64)


def counted_where(x: Any) -> Any:
    return np.bincount(x, minlength=64)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_intervals_decide_is_not_asked(language: str, backends: dict[str, Any]) -> None:
    x = rng.integers(-(2**40), 2**40, 5000)
    assert len(kernels(counted, (x,), language)) == 1 < len(kernels(counted_where, (x,), language))
    check(counted, (x,), backends[language])
    with pytest.raises(RaisedError):
        GpuExecutor(translated(counted_where, (x,), language), backends[language])([x])


# ---- many short rows -----------------------------------------------------------------------------


def distances(x: Any, y: Any) -> Any:
    d = x[:, None, :] - y[None, :, :]
    return np.sqrt(np.sum(d * d, axis=-1))


def shares(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True), np.argmax(x, axis=-1)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 8])
def test_a_thread_has_a_short_row(columns: int, language: str, backends: dict[str, Any]) -> None:
    x, y = rng.standard_normal((2, 70, columns)).astype("f4")
    for function, args in ((distances, (x, y)), (shares, (x,)), (shares, (np.append(x, x[:1] * np.nan, axis=0),))):
        check(function, args, backends[language])
    if language == "cuda" and columns in (3, 8):
        (kernel,) = kernels(shares, (x,), language)
        assert dict(kernel.program.constants)["THREADS"] == (1 if columns == 3 else 2)


# ---- reductions of what a kernel makes of a product ----------------------------------------------


def both_ways(x: Any, w: Any) -> Any:
    z = np.tanh(x @ w)
    return z, np.sum(z, axis=0), np.max(z * z, axis=1)


def normalised(x: Any, w: Any) -> Any:
    z = np.maximum(x @ w, 0)
    return (z - np.mean(z, axis=1, keepdims=True)) / np.sqrt(np.var(z, axis=1, keepdims=True) + 1e-5)


def total(x: Any, w: Any) -> Any:
    z = np.tanh(x @ w)
    return np.sum(z), z @ w


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("function", "groups"), [(both_ways, ["reduce", "row"]), (normalised, ["row"]), (total, ["reduce"])]
)
def test_reductions_join_the_kernel_that_makes_their_array(
    function: Callable[..., Any], groups: list[str], language: str, backends: dict[str, Any]
) -> None:
    args = tuple(rng.standard_normal((2, 200, 200)).astype("f4"))
    made = GpuExecutor(translated(function, args, language), backends[language], LIBRARY)
    assert [s.kind for s in made.function.body.statements if isinstance(s, Fused)] == groups
    wanted = function(*args)
    for got, want in zip(made(list(args)), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


# ---- short rows that lie beside each other -------------------------------------------------------


def shares_of_columns(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def standardised(x: Any, gain: Any) -> Any:
    return (x - np.mean(x, axis=0)) / np.sqrt(np.var(x, axis=0) + 1e-5) * gain, np.max(x, axis=0)


def least_first(x: Any) -> Any:
    return x - np.min(x, axis=1, keepdims=True), np.argmax(x, axis=1)


def over_two(x: Any) -> Any:
    return x / np.sum(x * x, axis=(1, 2), keepdims=True)


def pooled(x: Any) -> Any:
    n, h, w, c = x.shape
    windows = x.reshape(n, h // 2, 2, w // 3, 3, c)
    top = windows.max(axis=(2, 4), keepdims=True)
    chosen = windows == top
    return (chosen / chosen.sum(axis=(2, 4), keepdims=True) * np.tanh(top)).reshape(x.shape)


def some(*shape: int, dtype: str = "f4") -> Any:
    return (4 * rng.standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (shares_of_columns, (some(70, 20, 61),)),
        (shares_of_columns, (some(70, 33, 64),)),
        (shares_of_columns, (np.where(rng.random((70, 20, 61)) < 0.01, np.nan, some(70, 20, 61)),)),
        (standardised, (some(65, 4100), some(4100))),
        (standardised, (some(2, 4100, dtype="f8"), some(4100, dtype="f8"))),
        (least_first, (some(130, 300, 33),)),
        (over_two, (some(100, 3, 5, 48),)),
        (pooled, (np.round(some(9, 64, 48, 1)),)),
        (pooled, (np.round(some(3, 26, 39, 16)),)),
    ],
)
def test_short_rows_beside_each_other_are_one_kernel(
    function: Callable[..., Any], args: tuple[Any, ...], language: str, backends: dict[str, Any]
) -> None:
    (kernel,) = kernels(function, args, language)
    seen = args[0].ndim == 2 or args[0].shape[-1] in (1, *range(16, 65, 16))
    assert kernel.kind == "row" and kernel.language == (language if seen else "cuda")
    check(function, args, backends[language])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("shape", [(4, 30, 30), (2, 600, 80), (30, 3, 7)])
def test_rows_that_are_few_or_long_take_more(
    shape: tuple[int, ...], language: str, backends: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few, long, and with few neighbours, for a device that fewer rows keep busy."""
    monkeypatch.setattr(beside_groups, "FEWEST_ROWS", 150)
    x = some(*shape)
    assert len(kernels(shares_of_columns, (x,), language)) > 1
    check(shares_of_columns, (x,), backends[language])


def largest(x: Any) -> Any:
    h, w = x.shape
    windows = np.sqrt(np.abs(x.reshape(h // 3, 3, w // 2, 2)))
    return windows.max(axis=(1, 3)), windows.mean(axis=(1, 3))


@pytest.mark.parametrize("language", LANGUAGES)
def test_windows_are_rows_between_each_other(language: str, backends: dict[str, Any]) -> None:
    x = some(3 * 70, 2 * 61)
    (kernel,) = kernels(largest, (x,), language)
    assert kernel.bytes_moved == x.nbytes + 2 * x.nbytes // 6
    check(largest, (x,), backends[language])
    check(largest, (x,), HostCuda(checked=True))


def totals(x: Any) -> Any:
    return np.mean(x * x, axis=0) + 1, np.max(x, axis=0), np.any(x > 3, axis=0)


SHORT, LONGER, REVERSED = some(4, 70, 65), some(64, 4100, dtype="f8"), some(33, 5000)[:, ::-1]


@pytest.mark.parametrize(
    ("x", "language"),
    [
        *((x, language) for x in (SHORT, LONGER) for language in LANGUAGES),
        (REVERSED, "cuda"),
        pytest.param(REVERSED, "triton", marks=pytest.mark.slow),  # 20 s in the interpreter
    ],
)
def test_reductions_of_short_rows_beside_each_other_have_one_stage(
    x: Any, language: str, backends: dict[str, Any]
) -> None:
    (kernel,) = kernels(totals, (x,), language)
    assert kernel.kind == "reduce"
    check(totals, (x,), backends[language])


@pytest.mark.parametrize("width", [48, 50])
def test_triton_takes_rows_beside_each_other_where_it_sees_them(width: int, backends: dict[str, Any]) -> None:
    """Where their place is a remainder by a number of which nothing is promised, threads would read far apart."""
    x = some(9, 700, width)
    for function in (lambda x: np.sum(x, axis=1), lambda x: np.cumsum(x, axis=1) * 2):
        made = kernels(function, (x,), "triton")
        assert made[0].language == ("triton" if width % 16 == 0 else "cuda")
        check(function, (x,), backends["triton"], 1e-3)


@pytest.mark.parametrize("columns", [20, 33])
def test_rows_beside_each_other_share_no_memory_by_accident(columns: int) -> None:
    """Races, places outside of arrays, and shared memory that nobody has written."""
    x = some(70, columns, 61)
    for function in (shares_of_columns, least_first):
        check(function, (x,), HostCuda(checked=True))
    check(pooled, (some(5, 2 * columns, 3 * 31, 2),), HostCuda(checked=True))
