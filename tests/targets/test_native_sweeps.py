"""Elementwise statements beside each other in native loops: one loop over elements, in place where nobody sees it."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import numpy as np
import pytest
from xla_programs import assert_same, run_xla

from untraced import accelerate, vmap
from untraced.tpu import compiler
from untraced.translator import make
from untraced.translator.builder import Builder
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Atom, Aval, DType, For, Function, Param, Range, Var, const
from untraced.translator.ops import BY_NAME
from untraced.translator.ops.core import Elementwise
from untraced.translator.tree import LEAF, Kind, TreeDef

pytestmark = pytest.mark.skipif(not compiler.available(), reason="there is no C++ compiler")
N = 33


@pytest.fixture(autouse=True)
def _all_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNTRACED_NATIVE_LOOPS", "all")


def source_of(f: Any, *arguments: Any) -> str:
    (source,) = [k.source for k in accelerate(f, target="cpu").inspect(*arguments).kernels if k.kind == "loops"]
    return source


def loops_over(source: str, n: int) -> int:
    return len(re.findall(rf"for \(long long \w+ = 0; \w+ < {n}; \w+\+\+\)", source))


def spring(x: Any, v: Any, m: Any) -> Any:
    for _ in range(50):
        a = -x / m
        w = v + 0.01 * a
        x = x + 0.01 * w + 0.00005 * a
        v = np.where(np.abs(w) > 3.0, 0.5 * w, w)
    return x, v


def chosen(x: Any, y: Any, turns: Any) -> Any:
    above = x > y
    for _ in range(turns):
        above = (x > y) | above
        x = np.where(above, x + 1, x - y)
        y = y * 0.5
    return x, y, above


def exchanged(x: Any, y: Any, m: Any) -> Any:
    for _ in range(9):
        d = x - y
        x, y = y + m * d, x - m * d
    return x, y


def seen_afterwards(x: Any, y: Any, m: Any) -> Any:
    """What the turn began with is read when the new values are there."""
    total = 0.0
    for _ in range(9):
        old = x
        x = x * m + y
        y = y - 0.1 * x
        total += np.sum(old * y)
    return x, y + total


def neighbours(x: Any, y: Any, m: Any) -> Any:
    for _ in range(9):
        left = x[:-2]
        z = 0.25 * (x[2:] + left) + 0.5 * x[1:-1]
        y = np.where(y > z[0], y - 0.1 * m, y + 0.1)
        x = np.concatenate((x[:1], z - 0.01 * z * z, x[-1:]))
    return x, y


def picked(x: Any, y: Any, m: Any) -> Any:
    """Elements of other places, of the array that is made anew."""
    k = (np.arange(N) * 7) % N
    for _ in range(9):
        z = x[k]
        x = z * 0.5 + x * m
        y = y + z - x
    return x, y


def flagged(x: Any, y: Any, m: Any) -> Any:
    """Truth values that the loop carries, counts and asks."""
    going = x > 0
    n = 0
    for _ in range(9):
        x = np.where(going, x - 0.3 * m, x)
        y = np.where(going, y + x, y)
        going = going & (x > 0)
        n += np.sum(going)
        if not np.any(going):
            break
    return x, y + n, going


@pytest.mark.parametrize("f", [spring, exchanged, seen_afterwards, neighbours, picked, flagged])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_programs(f: Any, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    arguments = tuple(rng.uniform(low, 2.0, N).astype(dtype) for low in (-2.0, -2.0, 0.5))
    assert "EACH_TURN_APART" in source_of(f, *arguments)
    for ours, theirs in zip(accelerate(f, target="cpu")(*arguments), f(*arguments), strict=True):
        near = 10 * np.finfo(dtype).eps  # sums of floats are made in another order
        np.testing.assert_allclose(ours, theirs, rtol=near, atol=near)


def test_one_loop_without_arrays_between() -> None:
    source = source_of(spring, np.ones(N), np.ones(N), np.ones(N))
    assert loops_over(source, N) == 1
    assert "(memory + " not in source, "new values take the places of the old ones"


def newton(x: float, y: float) -> tuple[float, int]:
    n = 0
    z = x + y
    while n < 60:
        step = (z * z - x) / (2.0 * z)
        z = z - step
        n += 1
        if step * step <= 1e-26 * z * z:
            break
    return z, n


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [50, 3000])
def test_lanes_are_bit_for_bit_numpys(dtype: Any, size: int) -> None:
    """Vector instructions, truth values as wide as the numbers, lanes that hand their places on."""
    rng = np.random.default_rng(2)
    x, y = rng.uniform(0.1, 100.0, size).astype(dtype), rng.uniform(0.1, 2.0, size).astype(dtype)
    for ours, theirs in zip(accelerate(vmap(newton), target="cpu")(x, y), vmap(newton)(x, y), strict=True):
        np.testing.assert_array_equal(ours, theirs)


_UNARY = ("negative", "absolute", "sqrt", "floor", "square", "sign")
_BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "divide")
_COMPARED = ("less", "greater_equal", "not_equal")


def _operation(b: Builder, rng: Random, numbers: list[Atom], flags: list[Atom]) -> None:
    def applied(name: str, *args: Atom) -> Atom:
        op = BY_NAME[name]
        assert isinstance(op, Elementwise)
        return make.elementwise(b, op, *args)

    pick = lambda: rng.choice(numbers)  # noqa: E731
    match rng.randrange(5):
        case 0:
            numbers.append(applied(rng.choice(_UNARY), pick()))
        case 1:
            flags.append(applied(rng.choice(_COMPARED), pick(), pick()))
        case 2 if flags:
            numbers.append(make.where(b, rng.choice(flags), pick(), pick()))
        case 3 if len(flags) > 1:
            flags.append(applied(rng.choice(("logical_and", "logical_or")), *rng.sample(flags, 2)))
        case _:
            numbers.append(applied(rng.choice(_BINARY), pick(), pick()))


def random_loop(rng: Random, dtype: DType) -> Function:
    """Five turns of twenty operations on three arrays, which are given on in any order."""
    full, truth, number = Aval((N,), dtype), Aval((N,), np.dtype(np.bool_)), Aval((), np.dtype(np.int64))
    avals = (full, full, full, truth, number)
    params = tuple(Var(h, a) for h, a in zip("xyzfn", avals, strict=True))
    index, *carried = (Var(h, a) for h, a in zip("ixyzfn", (number, *avals), strict=True))
    body = Builder()
    numbers: list[Atom] = list(carried[:3])
    flags: list[Atom] = [carried[3]]
    for _ in range(20):
        _operation(body, rng, numbers, flags)
    count = make.add(body, carried[4], make.sum(body, flags[-1]))
    results = (*rng.sample(numbers[-6:], 3), flags[-1], count)
    targets = tuple(Var(h, a) for h, a in zip("xyzfn", avals, strict=True))
    b = Builder()
    b.append(For(targets, Range(const(0), const(5), const(1)), params, body.block((index, *carried), results)))
    return Function("f", tuple(map(Param, "xyzfn")), b.block(params, targets), TreeDef(Kind.TUPLE, (LEAF,) * 5))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["f8", "f4"])
def test_random_loops(seed: int, kind: str) -> None:
    """What is chosen on vectors is what is chosen one by one."""
    dtype = np.dtype(kind)
    function = random_loop(Random(seed), dtype)
    rng = np.random.default_rng(seed)
    arrays = [rng.uniform(-2.0, 2.0, N).astype(dtype) for _ in range(3)]
    arguments = [*arrays, arrays[0] > arrays[1], np.int64(3)]
    with np.errstate(all="ignore"):
        expected = evaluate(function, arguments)
    for ours, theirs in zip(run_xla(function, arguments), expected, strict=True):
        assert_same(ours, theirs, 0.0)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_nothing_is_written_to_arrays_without_elements(dtype: str) -> None:
    """XLA has allocated nothing for them: an element is written over what the allocator keeps behind."""
    x = np.zeros((0, 3), dtype)
    assert_same(accelerate(chosen, target="cpu")(x, x, 5), chosen(x, x, 5))
    source = source_of(chosen, x, x, 5)
    assert "for (" in source and re.findall(r"memcpy\((.*\* sizeof.*)\);", source) == []


def test_a_store_does_not_go_before_what_reads_the_old_elements() -> None:
    def emptied(a: Any, places: Any, y: Any) -> Any:
        rows = np.arange(2)
        for _ in range(5):
            y = np.where(y > 4.0, y, y * 0.5 + a[rows, places % 4])
            a[rows, places % 4] = 0.25
        return a, y

    given = np.arange(8.0).reshape(2, 4), np.array([1, 3]), np.array([1.0, -2.0])
    wanted = emptied(given[0].copy(), *given[1:])
    for got, want in zip(accelerate(emptied, target="cpu")(given[0].copy(), *given[1:]), wanted, strict=True):
        np.testing.assert_array_equal(got, want)
