"""Stores at places that arrays of integers choose, as kernels: values, repeated places, indices out of range."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from translating import translated

from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.executor import GpuExecutor, driver_of, kernels_of
from untraced.kernels.plan import plan
from untraced.kernels.settling import scatter
from untraced.kernels.settling.settle import settle
from untraced.kernels.source import layout
from untraced.translator.ir import Function, Fused
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves

pytest.importorskip("triton")

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
LANGUAGES = ("cuda", "triton")


def counts(i: Any) -> Any:
    return np.bincount(i, minlength=50)


def weighted(i: Any, w: Any) -> Any:
    return np.bincount(i, w, minlength=50)


def last_wins(x: Any, i: Any, v: Any) -> Any:
    y = x.copy()
    y[i] = v
    return y


def added(x: Any, i: Any, v: Any) -> Any:
    y = x.copy()
    np.add.at(y, i, v)
    return y


def subtracted(x: Any, i: Any, v: Any) -> Any:
    y = x * 2
    np.subtract.at(y, i, np.exp(v))
    return y


def rows(x: Any, i: Any, g: Any) -> Any:
    d = np.zeros_like(x)
    np.add.at(d, i, g * 2)
    return d


def columns(x: Any, i: Any, v: Any) -> Any:
    y = np.zeros_like(x)
    y[:, i] = np.abs(v) + 1
    return y


def pairs(x: Any, i: Any, j: Any, v: Any) -> Any:
    y = x.copy()
    y[i, j] = v
    np.add.at(y, (i[::-1], j), v * v)
    return y


def part(x: Any, i: Any, v: Any) -> Any:
    y = x.copy()
    y[1:, i, ::2] = v
    return y


def number(x: Any, i: Any) -> Any:
    y = x.copy()
    y[i] = 3
    np.add.at(y, i, 2)
    return y


def half_number(x: Any, i: Any) -> Any:
    y = x.astype(np.float16)
    y[i[:1]] = np.arange(1) * 3
    return y


def of_itself(x: Any, i: Any) -> Any:
    y = x * 1
    y[i] = y[::-1][: i.shape[0]] * 2
    y[i] = y[: i.shape[0]]
    return y


def of_its_views(x: Any, i: Any) -> Any:
    y = x * 1
    y[i] = y[::-1][: i.shape[0]]
    np.add.at(y, i[:9], y[1::3][:9])
    return y


def looked_up(x: Any, i: Any, j: Any) -> Any:
    y = np.zeros_like(x)
    np.add.at(y, i, x[j])
    return y


def kept(x: Any, i: Any, v: Any) -> Any:
    y = x + 1
    z = y * 2
    y[i] = v
    return y, z


def shown(x: Any, i: Any, v: Any) -> Any:
    y = x + 1
    z = y[::2]
    w = y.copy()
    w[i] = v
    return z, w, y


def in_a_loop(x: Any, i: Any, v: Any) -> Any:
    y = np.zeros_like(x)
    for k in range(3):
        np.add.at(y, (i + k) % y.shape[0], v * k)
    return y


R = np.random.default_rng(0)
X, TABLE, SOLID = R.standard_normal(50), R.standard_normal((20, 7)), R.standard_normal((4, 6, 5)).astype("f4")
I, V = R.integers(-50, 50, 300), R.integers(-8, 8, 300) / 4
J, K = R.integers(-20, 20, 33), R.integers(0, 7, 33)
BFLOAT = np.dtype(ml_dtypes.bfloat16)


def typed(dtype: Any) -> tuple[Any, ...]:
    return X[:20].astype(dtype), I[:40] % 20, (V[:40] * 2).astype(dtype)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "counts": (counts, (np.abs(I) % 50,)),
    "weighted": (weighted, (np.abs(I) % 50, V)),
    "last_wins": (last_wins, (X, I, V)),
    "few": (added, (X, I[:3], V[:3])),
    "last_of_none": (last_wins, (X, I[:0], V[:0])),
    "last_of_one": (last_wins, (X, I[:1], V[:1])),
    "added": (added, (X, I, V)),
    "added_nothing": (added, (X, I[:0], V[:0])),
    "added_narrow_index": (added, (X, (I % 50).astype("u1"), V)),
    "subtracted": (subtracted, (X, I, V)),
    "rows": (rows, (TABLE, J, R.standard_normal((33, 7)))),
    "rows_of_none": (rows, (TABLE[:, :0], J, np.zeros((33, 0)))),
    "columns": (columns, (TABLE.astype("f4"), K, R.standard_normal((20, 33)).astype("f4"))),
    "pairs": (pairs, (TABLE, J, K, R.standard_normal(33))),
    "pairs_broadcast": (last_wins, (TABLE, J, R.standard_normal((1, 7)))),
    "part": (part, (SOLID, K % 6, R.standard_normal((3, 33, 3)).astype("f4"))),
    "part_broadcast": (part, (SOLID, K % 6, R.standard_normal((33, 1)).astype("f4"))),
    "number": (number, (X, I)),
    "half_number": (half_number, (X, I)),
    "of_itself": (of_itself, (X, np.arange(0, 50, 3)[::-1] % 7)),
    "of_its_views": (of_its_views, (X, np.arange(0, 50, 3)[::-1] % 7)),
    "looked_up": (looked_up, (X, I, I[::-1] + 0)),
    "kept": (kept, (X, I, V)),
    "shown": (shown, (X, I, V)),
    "in_a_loop": (in_a_loop, (X, I, V)),
    "turned": (last_wins, (TABLE.T, K, R.standard_normal((20, 33)).T)),
    "two_axes_of_places": (added, (X, I.reshape(30, 10), V.reshape(30, 10))),
    **{f"added_{np.dtype(d).name}": (added, typed(d)) for d in ("f2", BFLOAT, "f4", "i1", "u1", "i2", "i4", "u8", "?")},
    **{f"last_{np.dtype(d).name}": (last_wins, typed(d)) for d in ("f2", "u1", "i8", "?")},
}


def of_case(name: str, language: str) -> Function:
    return translated(*CASES[name], language)


def check(name: str, backend: Any, language: str, exact: bool = False) -> None:
    function, args = CASES[name]
    expected = function(*args)
    got = GpuExecutor(of_case(name, language), backend)(list(args))
    for a, want in zip(got, expected if isinstance(expected, tuple) else (expected,), strict=True):
        a = np.asarray(a)
        assert (a.dtype, a.shape) == (want.dtype, want.shape)
        tolerance = 0.0 if exact or want.dtype.kind in "biu" else 1e-6 if want.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(a.astype("f8"), want.astype("f8"), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_scatters(name: str, language: str, backends: dict[str, Any]) -> None:
    assert "scatter" in {k.kind for k in kernels_of(of_case(name, language), language)}
    check(name, backends[language], language)


@pytest.mark.parametrize("name", [n for n in CASES if "last" not in n])
def test_sums_of_blocks(name: str, backends: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """However few elements, in the memory of a block, then all blocks'."""
    monkeypatch.setattr(scatter, "FEWEST_IN_BLOCK", 1)
    monkeypatch.setattr(scatter, "EACH_IN_BLOCK", 0)
    check(name, backends["cuda"], "cuda")


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_many_elements_for_few_places(language: str, dtype: str, backends: dict[str, Any]) -> None:
    """Halves of long integers carry in both directions; sums wrap around as NumPy's do."""
    rng = np.random.default_rng(3)
    i = rng.integers(-40, 40, 50_000)
    x = rng.integers(0, 9, 40).astype(dtype)
    v = rng.integers(-100, 100, i.size).astype(dtype)
    if dtype in ("i8", "u8"):
        v = (rng.integers(-(2**62), 2**62, i.size) >> rng.integers(0, 62, i.size)).astype(dtype)
    function = translated(added, (x, i, v), language)
    (kernel,) = [k for k in kernels_of(function, language) if k.kind == "scatter"]
    assert "add_in_block(block_sums" in kernel.source and kernel.program.constants == (("SHARED", 1024),)
    assert compile_program(kernel.program, 90).shared == 1024
    (got,) = GpuExecutor(function, backends[language])([x, i, v])
    np.testing.assert_array_equal(got, added(x, i, v))
    far = np.where(np.arange(i.size) == 70, 40, i)
    with pytest.raises(IndexError, match="index 40 is out of bounds for axis 0"):
        GpuExecutor(function, backends[language])([x, far, v])


def test_sums_of_blocks_fit_any_device() -> None:
    """What is longer goes to memory at once, and so does what is too short to pay."""
    for size, count, own in ((8192, 1 << 20, True), (8193, 1 << 20, False), (8192, 1 << 16, False), (10, 100, False)):
        args = np.zeros(size, "f4"), np.zeros(count, "i4"), np.zeros(count, "f4")
        function = translated(added, args, "cuda")
        (kernel,) = [k for k in kernels_of(function, "cuda") if k.kind == "scatter"]
        assert (dict(kernel.program.constants).get("SHARED", 0) == 32_768) == own
        assert ("block_sums" in kernel.source) == own


@pytest.mark.parametrize("name", ["added", "rows", "pairs", "weighted", "added_float16", "looked_up", "added_nothing"])
def test_sums_in_order_are_numpy_s_to_the_bit(
    name: str, backends: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNTRACED_DETERMINISTIC", "1")
    function = of_case(name, "cuda")
    assert "argsort(part" in driver_of(function, "cuda").text
    assert all("add_at(" not in k.source for k in kernels_of(function, "cuda"))
    for language in LANGUAGES:
        check(name, backends[language], language, exact=True)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("deterministic", ["0", "1"])
def test_places_out_of_range_raise_as_in_numpy(
    language: str, deterministic: str, backends: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNTRACED_DETERMINISTIC", deterministic)
    for name in ("added", "last_wins", "rows"):
        _, args = CASES[name]
        far = args[1].copy()
        far[5] = 1 << 40
        with pytest.raises(IndexError, match="index 1099511627776 is out of bounds for axis 0"):
            GpuExecutor(of_case(name, language), backends[language])([args[0], far, args[2]])


def test_the_store_is_in_place_where_nobody_else_sees_it() -> None:
    text = driver_of(of_case("rows", "cuda"), "cuda").text
    assert "copy(" not in text and text.count("empty(") == 1
    assert driver_of(of_case("added", "cuda"), "cuda").text.count("copy(") == 1  # which the user asks for
    assert "copy(" in driver_of(of_case("shown", "cuda"), "cuda").text


@pytest.mark.parametrize("language", LANGUAGES)
def test_schedules_of_what_reads_its_result_are_not_tried(language: str) -> None:
    """It would be stored, and added, more than once."""
    settled = settle(of_case("rows", language), language)
    (group,) = [s for s in settled.body.statements if isinstance(s, Fused) and s.kind == "scatter"]
    assert [launch.choices for launch in plan(group, language).launches] == [()]


def test_bytes_are_those_of_the_elements_and_of_the_places() -> None:
    (kernel,) = [k for k in kernels_of(of_case("rows", "triton"), "triton") if k.kind == "scatter"]
    moved = 33 * 8 + 33 * 7 * 8 + 2 * 20 * 7 * 8
    assert kernel.bytes_minimum == moved and kernel.bytes_moved == moved + 8  # the flag goes out and comes back
    (kernel,) = [k for k in kernels_of(of_case("few", "triton"), "triton") if k.kind == "scatter"]
    assert kernel.bytes_minimum == 3 * 8 + 3 * 8 + 2 * 3 * 8  # of 50 elements three are touched


def test_indices_of_64_bits(backends: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "INT32", -1)
    for language in LANGUAGES:
        check("pairs", backends[language], language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_kernels_compile_ahead_of_time(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    for name in ("pairs", "added_float16", "added_int8", "counts"):
        for k in kernels_of(of_case(name, language), language):
            assert compile_program(k.program, 90).cubin
    monkeypatch.setenv("UNTRACED_DETERMINISTIC", "1")
    for k in kernels_of(of_case("rows", language), language):
        assert compile_program(k.program, 90).cubin


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BFLOAT], ids=str)
def test_additions_to_halves_leave_their_neighbours_as_they_are(dtype: Any, backends: dict[str, Any]) -> None:
    """Their words are added to whole: signed zeros, infinities and the smallest numbers beside them keep their bits."""
    tiny = np.ones((), np.uint16).view(dtype)
    x = np.asarray([-0.0, 1.5, 0.0, -0.0, np.inf, tiny, -tiny, 2.0, -np.inf], dtype)
    for i in (np.array([1, 7]), np.array([0, 3, 5, 8]), np.array([2, 4, 6])):
        v = np.asarray([0.25, -0.0, 3.0, 0.5], dtype)[: i.size]
        function = translated(added, (x, i, v), "cuda")
        (got,) = GpuExecutor(function, backends["cuda"])([x, i, v])
        np.testing.assert_array_equal(np.asarray(got).view("u2"), added(x, i, v).view("u2"))


def test_additions_to_halves_are_the_device_s_own() -> None:
    pytest.importorskip("cupy")
    for name, kind, first in (("added_float16", "f16x2", 80), ("added_bfloat16", "bf16x2", 90)):
        (program,) = [k.program for k in kernels_of(of_case(name, "cuda"), "cuda") if k.kind == "scatter"]
        for architecture in (80, 90, 100):
            ptx = compile_program(program, architecture).ptx
            assert (f"red.global.add.noftz.{kind}" in ptx) == (architecture >= first)
            assert ("atom.cas" in ptx or "atom.global.cas" in ptx) == (architecture < first)


def storing(key: Callable[..., Any], adds: bool) -> Callable[..., Any]:
    def stored_at(x: Any, v: Any, i: Any, j: Any) -> Any:
        y = x.copy()
        if adds:
            np.add.at(y, key(i, j), v)
        else:
            y[key(i, j)] = v
        return y

    return stored_at


KEYS: tuple[Callable[..., Any], ...] = (
    lambda i, j: i,
    lambda i, j: (slice(None), j),
    lambda i, j: (i, slice(1, None, 2)),
    lambda i, j: (i, j),
    lambda i, j: (i[:, None], j),
    lambda i, j: (slice(None, None, -1), j, 0),
    lambda i, j: (i, slice(1, 3), j),
    lambda i, j: (1, j),
)


@pytest.mark.parametrize("seed", range(8))
def test_random_stores(seed: int, backends: dict[str, Any]) -> None:
    """Every kind of index, arrays of any strides, values that broadcast, nothing at all."""
    rng = np.random.default_rng(seed)
    for number in range(3):
        key, adds = KEYS[(seed + 3 * number) % len(KEYS)], bool(rng.integers(2))
        dtype = np.dtype(rng.choice(["f8", "f4", "i8", "i4", "i2", "u1", "f2"]))
        shape = (int(rng.integers(2, 9)), int(rng.integers(3, 9)), int(rng.integers(3, 6)))
        count = int(rng.choice([0, 1, 2, 7, 40]))
        along = {1: shape[1], 4: shape[1], 5: shape[1], 6: shape[2], 7: shape[1], 3: shape[1]}
        i = rng.integers(-shape[0], shape[0], 2 * count)[::-2].astype(rng.choice(["i8", "i4", "i1"]))
        j = rng.integers(0, along.get(KEYS.index(key), 3), count)
        x = np.asfortranarray(rng.integers(0, 9, shape).astype(dtype))
        chosen = x[key(i, j)].shape
        held = tuple(1 if rng.integers(4) == 0 else n for n in chosen)[int(rng.integers(2)) :]
        v = rng.integers(0, 9, held).astype(dtype)[..., ::-1]
        run = storing(key, adds)
        want = run(x, v, i, j)
        for language in LANGUAGES:
            signature, leaves = abstract_with_leaves(run, (x, v, i, j), {})
            function = translate(run, signature, target=language).function
            (got,) = GpuExecutor(function, backends[language])([a for a in leaves if isinstance(a, np.ndarray)])
            np.testing.assert_array_equal(np.asarray(got), want, err_msg=f"{key} {adds} {dtype} {shape} {held}")
