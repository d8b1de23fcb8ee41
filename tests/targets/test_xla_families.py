"""Every family of operations on XLA against the reference interpreter."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xla_programs import assert_same, check, program

from untraced import accelerate
from untraced.tpu.client import executable as client
from untraced.tpu.emit import join as emit_join
from untraced.tpu.emit.program import emit
from untraced.translator import make, ops
from untraced.translator.evaluate import evaluate
from untraced.translator.ops.core import At, Dyn, Gather, Run

FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
ALL_DTYPES = [
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    *FLOATS,
    np.complex64,
    np.complex128,
]


def array(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return random.random(shape) < 0.5
    if kind in "iu":
        return random.integers(0 if kind == "u" else -5, 6, shape).astype(dtype)
    values = random.uniform(-2, 2, shape)
    if kind == "c":
        return (values + 1j * random.uniform(-2, 2, shape)).astype(dtype)
    return values.astype(dtype)


@pytest.mark.parametrize("source", ALL_DTYPES, ids=lambda d: np.dtype(d).name)
def test_casts(source: Any) -> None:
    x = array((3, 4), source)
    if np.dtype(source).kind in "fcV":
        x = np.abs(x).astype(source)  # a negative float has no defined unsigned integer
    targets = [t for t in ALL_DTYPES if not (np.dtype(source).kind == "c" and np.dtype(t).kind == "V")]
    check(lambda b, x: [make.astype(b, x, np.dtype(t)) for t in targets], x)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: np.dtype(d).name)
def test_reductions(dtype: Any) -> None:
    x = array((3, 4, 5), dtype)

    def build(b: Any, x: Any) -> list[Any]:
        results = []
        for f in (make.sum, make.prod, make.max, make.min, make.any, make.all_):
            results += [f(b, x, (0, 2)), f(b, x, (1,), keepdims=True), f(b, x, (0, 1, 2))]
        return results

    if np.dtype(dtype).kind == "V":
        pytest.skip("NumPy's reductions of bfloat16 are checked in float32 elsewhere")
    check(build, x, rtol=2e-2 if dtype is np.float16 else None)


def test_reductions_of_nan_and_empty() -> None:
    x = np.array([[1.0, np.nan, 3.0], [4.0, -np.inf, np.inf]])
    check(lambda b, x: [make.max(b, x, (1,)), make.min(b, x, (0,)), make.sum(b, x, (1,)), make.any(b, x, (0, 1))], x)
    empty = np.zeros((0, 3))
    check(lambda b, x: [make.sum(b, x, (0,)), make.prod(b, x, (0,)), make.all_(b, x, (0, 1))], empty)
    check(lambda b, x: make.max(b, x, (1,)), empty)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("shape", [(5000,), (5000, 2), (2, 5000), (1000, 100)], ids=str)
def test_extremes_of_many_keep_nan(shape: tuple[int, ...], dtype: Any) -> None:
    every = tuple(range(len(shape)))

    def build(b: Any, x: Any) -> list[Any]:
        along = [f(b, x, axes) for f in (make.max, make.min) for axes in {every, (0,), every[-1:]}]
        kept = [f(b, x, every, keepdims=True) for f in (make.max, make.min)]
        return along + kept + [f(b, x, axis) for f in (make.argmax, make.argmin) for axis in every]

    function = program(build, array(shape, dtype))
    compiled = client.compile(emit(function))
    for place in (0, 77, 2500, -1):
        x = array(shape, dtype)
        x.flat[[7, 8]] = np.inf, -np.inf
        x.flat[place] = np.nan
        for ours, theirs in zip(compiled.run_numpy([x]), evaluate(function, [x]), strict=True):
            assert_same(ours, theirs)


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if np.dtype(d).kind != "V"], ids=lambda d: np.dtype(d).name)
def test_positions_of_extremes(dtype: Any) -> None:
    x = array((4, 7), dtype)
    x[1, 3:] = x[1, 2]

    def build(b: Any, x: Any) -> list[Any]:
        return [f(b, x, axis, keepdims=k) for f in (make.argmax, make.argmin) for axis in (0, 1) for k in (False, True)]

    check(build, x)
    if np.dtype(dtype).kind in "fc":
        x[2, 4] = x[2, 5] = np.nan
        check(build, x)


@pytest.mark.parametrize("n", [0, 1, 5, 32, 33, 100, 1100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.bool_, np.complex128])
def test_running_sums(n: int, dtype: Any) -> None:
    x = array((n,), dtype)
    check(lambda b, x: make.cumsum(b, x, 0), x, rtol=1e-4 if dtype is np.float32 else 1e-10)
    if n <= 33:
        check(lambda b, x: make.cumprod(b, x, 0), x, rtol=1e-4 if dtype is np.float32 else None)


def test_running_sums_along_any_axis() -> None:
    x = array((3, 40, 5), np.float64)
    check(lambda b, x: [make.cumsum(b, x, axis) for axis in range(3)] + [make.cumprod(b, x, 2)], x, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint16, np.int64, np.bool_])
@pytest.mark.parametrize(("shape", "axis"), [((5, 70, 3), 1), ((3, 9), 1), ((40,), 0), ((70_000,), 0), ((0, 3), 0)])
def test_running_extremes(dtype: Any, shape: tuple[int, ...], axis: int) -> None:
    x = (np.random.default_rng(0).standard_normal(shape) * 20).astype(np.int64).astype(dtype)
    if x.dtype.kind == "f" and x.size:
        x[(shape[0] // 2,) + (0,) * (len(shape) - 1)] = np.nan
    check(lambda b, x: [make.cumulative(b, op, x, axis) for op in (ops.CUMMAX, ops.CUMMIN)], x)


def test_a_large_mask_is_written_as_bytes() -> None:
    mask = np.random.default_rng(0).random((60, 50)) < 0.5

    def build(b: Any, x: Any) -> Any:
        return make.where(b, make.lift(mask), x, 0.0)

    x = array((60, 50), np.float64)
    check(build, x)
    assert len(emit(program(build, x)).text) < 3 * mask.size


CONTRACTIONS = [
    ((3, 4), (4, 5), (0, 1), (1, 2), (0, 2)),
    ((3, 4), (4, 5), (0, 1), (1, 2), (2, 0)),
    ((4, 3), (4, 5), (1, 0), (1, 2), (0, 2)),
    ((3, 4), (5, 4), (0, 1), (2, 1), (0, 2)),
    ((4,), (4,), (0,), (0,), ()),
    ((4,), (4, 5), (0,), (0, 1), (1,)),
    ((3, 4), (4,), (0, 1), (1,), (0,)),
    ((2, 3, 4), (2, 4, 5), (0, 1, 2), (0, 2, 3), (0, 1, 3)),
    ((2, 3, 4), (4, 5), (0, 1, 2), (2, 3), (0, 1, 3)),
    ((2, 3, 4), (5, 4), (0, 1, 2), (3, 2), (3, 1, 0)),
    ((3,), (4,), (0,), (1,), (0, 1)),
    ((3,), (4,), (0,), (1,), (1, 0)),
    ((3, 4), (3, 4), (0, 1), (0, 1), (1, 0)),
    ((3, 4), (4, 3), (0, 1), (1, 0), ()),
    ((2, 3, 4), (3, 2, 4), (0, 1, 2), (1, 0, 2), (1, 0)),
    ((0, 4), (4, 5), (0, 1), (1, 2), (0, 2)),
    ((3, 0), (0, 5), (0, 1), (1, 2), (0, 2)),
]


@pytest.mark.parametrize("case", CONTRACTIONS, ids=str)
def test_products(case: Any) -> None:
    s, t, lhs, rhs, out = case
    check(lambda b, x, y: make.contract(b, x, y, lhs, rhs, out), array(s, np.float64), array(t, np.float64, 1))


@pytest.mark.parametrize(("n", "dtype"), [(40, np.float64), (8, np.float64), (130, np.float32), (40, np.float32)])
@pytest.mark.parametrize("out", [(0, 2), (2, 0)])
def test_products_with_a_transposed_operand(n: int, dtype: Any, out: tuple[int, int]) -> None:
    x, y = array((n, n), dtype), array((n, 2 * n), dtype, 1)
    check(lambda b, x, y: make.contract(b, x, y, (1, 0), (1, 2), out), x, y, rtol=1e-4 if dtype is np.float32 else None)
    check(lambda b, x, y: make.contract(b, x, x, (1, 0), (2, 1), out), x, y, rtol=1e-4 if dtype is np.float32 else None)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8, np.bool_, np.complex64, np.complex128])
def test_products_of_dtypes(dtype: Any) -> None:
    x, y = array((6, 7), dtype), array((7, 5), dtype, 1)
    check(lambda b, x, y: make.matmul(b, x, y), x, y, rtol=1e-2 if dtype is np.float16 else None)
    check(lambda b, x, y: make.matmul(b, x, y), x, y.astype(np.float64))


def test_reshapes() -> None:
    x = array((2, 3, 4), np.float64)

    def build(b: Any, x: Any) -> list[Any]:
        return [
            make.reshape(b, x, (6, 4)),
            make.transpose(b, x, (2, 0, 1)),
            make.expand_dims(b, x, (0, 2)),
            make.squeeze(b, make.index(b, x, (Run(0, 1), Run(0, 3), Run(0, 4)), ()), (0,)),
            make.broadcast_to(b, x, (5, 2, 3, 4)),
            make.concatenate(b, [x, x], 1),
            make.full(b, (2, 3), 1.5, np.dtype(np.float32)),
            make.full(b, (2, 3), make.sum(b, x, (0, 1, 2)), np.dtype(np.float64)),
            make.iota(b, 5, np.dtype(np.int32)),
            make.zeros(b, (0, 3), np.dtype(np.complex128)),
        ]

    check(build, x)


STATIC = [
    ((7,), (Run(1, 3),)),
    ((7,), (Run(1, 3, 2),)),
    ((7,), (Run(6, 7, -1),)),
    ((7,), (Run(5, 3, -2),)),
    ((7,), (Run(3, 0),)),
    ((7,), (At(2),)),
    ((4, 5), (At(3), Run(0, 5))),
    ((4, 5), (Run(3, 2, -3), At(4))),
    ((4, 5, 6), (Run(1, 3), Run(4, 5, -1), Run(0, 3, 2))),
]


@pytest.mark.parametrize("case", STATIC, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.bool_, np.int8])
def test_static_indices(case: Any, dtype: Any) -> None:
    shape, dims = case
    x = array(shape, dtype)
    value = array(np.empty(shape)[_key(dims)].shape, dtype, 3)
    check(lambda b, x: make.index(b, x, dims, ()), x)
    for put in (make.put, make.put_add):
        check(lambda b, x, y, put=put: put(b, x, y, dims, ()), x, value)
        check(lambda b, x, y, put=put: put(b, make.zeros(b, shape, np.dtype(dtype)), y, dims, ()), x, value)
        check(lambda b, x, put=put: put(b, x, np.dtype(dtype).type(1), dims, ()), x)


def _key(dims: Any) -> Any:
    key: list[Any] = []
    for d in dims:
        if isinstance(d, At):
            key.append(d.index)
        else:
            stop = d.start + d.size * d.step
            key.append(slice(d.start, stop if stop >= 0 else None, d.step) if d.size else slice(0, 0))
    return tuple(key)


DYNAMIC = [
    ((7,), (At(Dyn(0)),), (np.int64(3),)),
    ((7,), (At(Dyn(0)),), (np.int32(-7),)),
    ((4, 5), (At(Dyn(0)), Run(0, 5)), (np.int64(-1),)),
    ((4, 5), (At(Dyn(0)), At(Dyn(1))), (np.int64(-1), np.uint8(2))),
    ((9,), (Run(Dyn(0), 3),), (np.int64(2),)),
    ((9,), (Run(Dyn(0), 3, 2),), (np.int64(4),)),
    ((9,), (Run(Dyn(0), 3, -2),), (np.int64(8),)),
    ((9, 4), (Run(Dyn(0), 3, -2), Run(3, 2, -2)), (np.int64(8),)),
    ((9, 4), (Run(1, 4, 2), At(Dyn(0))), (np.int64(-2),)),
]


@pytest.mark.parametrize("case", DYNAMIC, ids=str)
def test_dynamic_indices(case: Any) -> None:
    shape, dims, dynamic = case
    x = array(shape, np.float64)
    check(lambda b, x, *i: make.index(b, x, dims, i), x, *dynamic)
    static = tuple(
        At(int(dynamic[d.index.arg])) if isinstance(d, At) and isinstance(d.index, Dyn)
        else Run(int(dynamic[d.start.arg]), d.size, d.step) if isinstance(d, Run) and isinstance(d.start, Dyn)
        else d
        for d in dims
    )
    value = array(x[_key(static)].shape, np.float64, 3)
    check(lambda b, x, y, *i: make.put(b, x, y, dims, i), x, value, *dynamic)
    check(lambda b, x, y, *i: make.put_add(b, x, y, dims, i), x, value, *dynamic)


I = np.array([2, 0, -1, 2])
J = np.array([[1], [-4]])
GATHERS = [
    ((5,), (Gather(0),), (I,)),
    ((5, 4), (Gather(0), Run(0, 4)), (I,)),
    ((5, 4), (Run(0, 5), Gather(0)), (np.array([1, 3], np.int8),)),
    ((5, 4), (Run(4, 5, -1), Gather(0)), (np.array([1, 3]),)),
    ((5, 4), (Gather(0), Gather(1)), (I, J)),
    ((5, 4, 3), (Gather(0), Run(0, 4), Gather(1)), (I, np.array([0, 1, 2, 0]))),
    ((5, 4, 3), (Run(1, 3), Gather(0), Gather(1)), (I, np.array([0, 1, 2, 0]))),
    ((5, 4, 3), (Run(0, 5), Gather(0), At(1)), (I,)),
    ((5, 4, 3), (At(1), Run(1, 2), Gather(0)), (I,)),
    ((5, 4, 3), (At(Dyn(1)), Run(1, 2), Gather(0)), (I, np.int64(-2))),
    ((5, 4), (Gather(0), Run(0, 4)), (np.zeros((0,), np.int64),)),
]


@pytest.mark.parametrize("case", GATHERS, ids=lambda c: f"{c[0]}{c[1]}")
def test_gathers_and_scatters(case: Any) -> None:
    shape, dims, dynamic = case
    x = array(shape, np.float64)
    check(lambda b, x, *i: make.index(b, x, dims, i), x, *dynamic)
    key = tuple(
        dynamic[d.arg] if isinstance(d, Gather)
        else (dynamic[d.index.arg] if isinstance(d.index, Dyn) else d.index) if isinstance(d, At)
        else _key((d,))[0]
        for d in dims
    )
    value = array(x[key].shape, np.float64, 3)
    check(lambda b, x, y, *i: make.put(b, x, y, dims, i), x, value, *dynamic)
    check(lambda b, x, y, *i: make.put_add(b, x, y, dims, i), x, value, *dynamic)


def test_weak_scalars_and_constants() -> None:
    x = array((3,), np.float32)

    def build(b: Any, x: Any) -> list[Any]:
        return [
            make.add(b, x, 1),
            make.multiply(b, 0.1, x),
            make.add(b, x, np.float64(0.5)),
            make.elementwise(b, ops.LESS, make.astype(b, x, np.dtype(np.uint8)), 300),
            make.add(b, x, np.arange(3.0)),
            make.add(b, x, np.array([np.nan, np.inf, -0.0], np.float32)),
            make.add(b, x, np.arange(300.0).reshape(100, 3)),
        ]

    check(build, x)
    check(lambda b, x: [make.add(b, x, 2), make.divide(b, x, 3)], 5)
    check(lambda b, x: make.where(b, np.array([True, False, True] * 40), x, 0.0), array((120,), np.float64))


def test_zero_dimensional_and_empty() -> None:
    check(lambda b, x: [make.add(b, x, 1.0), make.reshape(b, x, (1,)), make.sum(b, x, ())], np.float64(2.5))
    check(lambda b, x: [make.add(b, x, 1.0), make.transpose(b, x, (1, 0)), x], np.zeros((0, 3)))


@pytest.mark.parametrize("dtype", ["f8", "?", "i4", "c16"])
@pytest.mark.parametrize("large", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, 1])
def test_small_pieces_beside_a_large_one(dtype: str, large: int, axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emit_join, "SMALLEST", 1)
    pieces = [np.arange(3 * n).reshape((n, 3) if axis == 0 else (3, n)) % 5 for n in (1, 0, 2)]
    pieces.insert(large, np.arange(72).reshape((24, 3) if axis == 0 else (3, 24)) % 7)
    examples = [p.astype(dtype) for p in pieces]
    check(lambda b, *xs: make.concatenate(b, xs, axis), *examples)
    text = emit(program(lambda b, *xs: make.concatenate(b, xs, axis), *examples)).text
    assert "concatenate" not in text and text.count("dynamic_update_slice") == 2
    equal = emit(program(lambda b, x, y: make.concatenate(b, [x, y], axis), examples[large], examples[large])).text
    assert "concatenate" in equal


@pytest.mark.parametrize("count", [8, 9, 64, 65, 130])
def test_many_small_pieces_are_joined_in_one_kernel(count: int) -> None:
    """A kernel for each of them would take 12 ms to compile."""

    def joined(x: Any) -> Any:
        return np.array([x[0] * k for k in range(count)]), np.concatenate([x * k for k in range(count)])

    compiled = accelerate(joined, target="cpu")
    x = np.array([1.5, -2.0, 0.25])
    for found, expected in zip(compiled(x), joined(x), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert compiled.inspect(x).hlo.count("kind=kLoop") <= 6
