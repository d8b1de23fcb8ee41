"""The executor around the kernels: control flow, stores, products, values on the host; on NumPy for a device."""

from __future__ import annotations

import copy
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_programs import arguments, program
from raising_programs import CALLS, Calls

from untraced import vmap
from untraced.kernels.launching.arrays import product
from untraced.kernels.launching.backend import Backend
from untraced.kernels.launching.executor import GpuExecutor
from untraced.translator import make, ops
from untraced.translator.builder import Builder
from untraced.translator.errors import RaisedError
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Aval, Block, For, Function, If, Range, Var, While, const, walk
from untraced.translator.ops.core import At, ContractAttrs, Dyn, Gather, Run
from untraced.translator.passes.fuse import fuse
from untraced.translator.passes.simplify import simplify
from untraced.translator.pipeline import translate
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract_with_leaves


class OneByOne(Backend):
    """A backend whose language has no kernels: groups run operation by operation."""

    language = "none"

    def __init__(self) -> None:
        self.copies = 0
        self.xp = self

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def array(self, x: Any, **options: Any) -> Any:
        self.copies += 1
        return np.array(x, **options)

    def asarray(self, x: Any) -> Any:
        return np.asarray(x)

    def sort(self, x: Any, **options: Any) -> Any:
        assert x.dtype.name != "bfloat16", "CuPy sorts no bfloat16"
        return np.sort(x, **options)

    def argsort(self, x: Any, **options: Any) -> Any:
        assert x.dtype.name != "bfloat16", "CuPy sorts no bfloat16"
        return np.argsort(x, **options)


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> OneByOne:
    import untraced.kernels.launching.steps as steps
    from untraced.translator.errors import UnsupportedError

    def refuse(fused: Any, language: str) -> Any:
        raise UnsupportedError("no kernels here")

    monkeypatch.setattr(steps, "decompose", refuse)
    return OneByOne()


def stores(count: int) -> Function:
    """for i in range(n): u[i] = sin(u[i]) + i, on an array of the function's own."""
    b = Builder()
    x = Var("x", Aval((6, 4), np.dtype("f8")))
    n = Var("n", Aval((), np.dtype("i8"), weak=True))
    start = make.multiply(b, x, 2.0)
    i, u = Var("i", n.aval), Var("u", x.aval)
    inner = Builder()
    row = make.index(inner, u, (At(Dyn(0)), Run(0, 4)), (i,))
    new = make.add(inner, make.elementwise(inner, ops.SIN, row), i)
    stored = make.put(inner, u, new, (At(Dyn(0)), Run(0, 4)), (i,))
    out = Var("u", x.aval)
    b.append(For((out,), Range(const(0), n, const(1)), (start,), inner.block((i, u), (stored,))))
    base = program("stores", [("x", (6, 4), "f8")], lambda b, x: x)
    return Function("stores", base.params * 2, Block((x, n), tuple(b.statements), (out,)), base.out)


def test_stores_in_a_loop_copy_once_at_most(backend: OneByOne) -> None:
    function = stores(6)
    leaves = [np.arange(24.0).reshape(6, 4), 6]
    before = leaves[0].copy()
    (got,) = GpuExecutor(fuse(function), backend)(leaves)
    np.testing.assert_array_equal(got, evaluate(function, leaves)[0])
    np.testing.assert_array_equal(leaves[0], before)
    assert backend.copies <= 1


def test_a_store_leaves_other_views_alone(backend: OneByOne) -> None:
    def body(b: Builder, x: Any) -> Any:
        y = make.multiply(b, x, 3.0)
        view = make.transpose(b, y, (1, 0))
        z = make.put(b, y, 0.0, (At(1), Run(0, 4)), ())
        return z, view, make.put_add(b, z, 1.0, (Run(0, 3), Run(1, 2)), ())

    function = program("aliases", [("x", (3, 4), "f8")], body)
    leaves = arguments(function)
    results = GpuExecutor(fuse(function), backend)(leaves)
    for got, want in zip(results, evaluate(function, leaves), strict=True):
        np.testing.assert_array_equal(got, want)


def test_branches_and_while(backend: OneByOne) -> None:
    b = Builder()
    x = Var("x", Aval((5,), np.dtype("f8")))
    total = make.sum(b, x, (0,))
    positive = make.elementwise(b, ops.GREATER, total, 0.0)
    then, other = Builder(), Builder()
    up = then.block((), (make.add(then, make.multiply(then, x, 2.0), total),))
    down = other.block((), (make.negative(other, x),))
    y = Var("y", x.aval)
    b.append(If((y,), positive, up, down))
    c, v = Var("c", x.aval), Var("v", x.aval)
    test, body = Builder(), Builder()
    small = make.elementwise(test, ops.LESS, make.max(test, c, (0,)), 100.0)
    again = make.add(body, make.multiply(body, v, v), 2.0)
    z = Var("z", x.aval)
    b.append(While((z,), (y,), test.block((c,), (small,)), body.block((v,), (again,))))
    base = program("branches", [("x", (5,), "f8")], lambda b, x: x)
    function = Function("branches", base.params, Block((x,), tuple(b.statements), (z,)), base.out)
    for leaf in (np.arange(5.0), -np.arange(5.0)):
        (got,) = GpuExecutor(fuse(function), backend)([leaf])
        np.testing.assert_array_equal(got, evaluate(function, [leaf])[0])


def test_everything_that_is_no_kernel(backend: OneByOne) -> None:
    def body(b: Builder, x: Any, k: Any) -> tuple[Any, ...]:
        return (
            make.concatenate(b, [x, make.multiply(b, x, 2.0)], 1),
            make.argmax(b, x, 1, True),
            make.cumsum(b, x, 0),
            make.index(b, x, (Gather(0), Run(0, 4)), (k,)),
            make.put_add(b, x, 1.0, (Gather(0), At(1)), (k,)),
            make.reshape(b, x, (2, 6)),
            make.matmul(b, x, make.transpose(b, x, (1, 0))),
        )

    function = program("others", [("x", (3, 4), "f8"), ("k", (5,), "i8")], body)
    leaves = [arguments(function)[0], np.array([0, 2, 2, 1, 0])]
    results = GpuExecutor(fuse(function), backend)(leaves)
    for got, want in zip(results, evaluate(function, leaves), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)


@pytest.mark.parametrize(
    ("lhs", "rhs", "out"),
    [
        ((0, 1), (1, 2), (0, 2)),
        ((0, 1), (1, 2), (2, 0)),
        ((3, 0, 1), (3, 1, 2), (3, 0, 2)),
        ((0, 3, 1), (1, 3, 2), (2, 3, 0)),
        ((0,), (1,), (1, 0)),
        ((0, 1), (0, 1), ()),
        ((0, 1, 2), (2, 1, 3), (0, 3)),
        ((0, 1), (1, 0), (0, 1)),
    ],
)
def test_products(lhs: tuple[int, ...], rhs: tuple[int, ...], out: tuple[int, ...]) -> None:
    sizes = {0: 2, 1: 3, 2: 4, 3: 5}
    rng = np.random.default_rng(0)
    x = rng.standard_normal([sizes[a] for a in lhs])
    y = rng.standard_normal([sizes[a] for a in rhs])
    want = np.einsum(x, list(lhs), y, list(rhs), list(out))
    np.testing.assert_allclose(product(np, x, y, ContractAttrs(lhs, rhs, out)), want, rtol=1e-12)


class Refusing:
    """An array module that multiplies no batches of half precision, nor vectors of it, as CuPy up to 14.2."""

    def matmul(self, x: Any, y: Any) -> Any:
        assert x.dtype == np.float32
        return np.matmul(x, y)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("lhs", "rhs", "out"), [((0, 1, 2), (0, 2, 3), (0, 1, 3)), ((0,), (0,), ())])
def test_batches_of_half_precision_are_summed_in_float32(
    dtype: Any, lhs: tuple[int, ...], rhs: tuple[int, ...], out: tuple[int, ...]
) -> None:
    sizes, rng = (3, 4, 5, 6), np.random.default_rng(0)
    x, y = (rng.standard_normal([sizes[a] for a in labels]).astype(dtype) for labels in (lhs, rhs))
    found = product(Refusing(), x, y, ContractAttrs(lhs, rhs, out))
    want = product(np, x.astype(np.float64), y.astype(np.float64), ContractAttrs(lhs, rhs, out))
    assert found.dtype == dtype
    np.testing.assert_allclose(found.astype(np.float64), want, rtol=0.01, atol=0.01)


def test_sorts_and_transforms(backend: OneByOne) -> None:
    def build(b: Any, x: Any) -> Any:
        spectrum = make.fourier(b, ops.RFFT, x, (0, 1))
        back = make.fourier(b, ops.IRFFT, spectrum, (0, 1), 4)
        order = make.argsort(b, x, 0)
        return make.add(b, make.add(b, back, make.sort(b, x, 1)), order)

    function = program("sorts", [("x", (6, 4), "f4")], build)
    leaves = [np.random.default_rng(0).normal(size=(6, 4)).astype("f4")]
    (got,) = GpuExecutor(fuse(function), backend)(list(leaves))
    np.testing.assert_array_equal(got, evaluate(function, leaves)[0])


def test_bfloat16_is_sorted(backend: OneByOne) -> None:
    """Without NaNs, which ml_dtypes does not order."""
    leaves = [("x", (8,), ml_dtypes.bfloat16)]
    function = program("sorts", leaves, lambda b, x: (make.sort(b, x, 0), make.argsort(b, x, 0)))
    x = np.array([3, -1, 0.0, -0.0, np.inf, 3, -np.inf, 2], ml_dtypes.bfloat16)
    for got, want in zip(GpuExecutor(fuse(function), backend)([x]), evaluate(function, [x]), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64))


@pytest.mark.parametrize("calls", CALLS, ids=repr)
def test_what_a_program_raises_is_asked_on_the_host(calls: Calls, backend: OneByOne) -> None:
    for args in (calls.good, *calls.bad):
        signature, leaves = abstract_with_leaves(calls.fun, args, {})
        reading = read(calls.fun, signature)
        given = [x for i, x in enumerate(leaves) if i not in reading.statics]
        executor = GpuExecutor(fuse(simplify(reading.function)), backend)
        try:
            want = calls.fun(*copy.deepcopy(args))
        except Exception:
            with np.errstate(all="ignore"), pytest.raises(RaisedError):
                executor(given)
        else:
            np.testing.assert_allclose(executor(given)[0], want, rtol=1e-12)


def test_loops_over_lanes_run_lane_by_lane(backend: OneByOne) -> None:
    """Where there is no kernel for them."""

    def escape(a: Any) -> Any:
        x, n = 0.0, 0
        while x < 2.0 and n < 20:
            x, n = x * x + a, n + 1
        return n

    points = np.linspace(-1.0, 2.0, 7)
    for lanes in ("loop", "auto", "lockstep"):
        many = vmap(escape, lanes=lanes)
        translation = translate(many, abstract_with_leaves(many, (points,), {})[0], target="triton")
        assert any(isinstance(s, For) for s in walk(translation.function.body)) == (lanes != "lockstep")
        (got,) = GpuExecutor(translation.function, backend)([points])
        np.testing.assert_array_equal(got, [escape(a) for a in points])
