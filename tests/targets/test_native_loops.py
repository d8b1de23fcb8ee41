"""Loops as native code against NumPy and CPython: values, exceptions, arrays in place; without a compiler."""

from __future__ import annotations

import copy
import os
import re
import time
import warnings
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
import pytest
from drawn import Drawn
from random_programs import random_function
from test_xla_elementwise import ROWS, SPECIAL, accuracy, draw, signatures
from xla_programs import assert_same, run_xla

from untraced import accelerate, grad, vmap
from untraced.tpu import compiler
from untraced.tpu.loops import native
from untraced.translator import make, tree
from untraced.translator.builder import Builder
from untraced.translator.errors import DTypeError, TargetError
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Aval, Block, For, Function, Fused, Param, Range, Var, const
from untraced.translator.ops.core import At, Dyn, Elementwise
from untraced.translator.passes.fuse import fuse
from untraced.translator.tree import LEAF, Kind, TreeDef

pytestmark = pytest.mark.skipif(not compiler.available(), reason="there is no C++ compiler")
LENGTH = 24


@pytest.fixture(autouse=True)
def _all_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNTRACED_NATIVE_LOOPS", "all")


def sources(f: Any, *arguments: Any) -> list[str]:
    return [k.source for k in accelerate(f).inspect(*arguments).kernels if k.kind == "loops"]


# ---- against the reference interpreter -----------------------------------------------------------


@pytest.mark.parametrize("seed", range(200, 216))
def test_random_programs(seed: int) -> None:
    function, args = random_function(Random(seed), 8)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = evaluate(function, args)
    for ours, theirs in zip(run_xla(fuse(function), args), expected, strict=True):
        assert_same(ours, theirs, 1e-9)  # up to a hundred operations on values of size one


def looped(op: Elementwise, args: list[Any]) -> Function:
    """`for i in range(LENGTH): y[i] = op(x[i], ...)`."""
    b, body = Builder(), Builder()
    params = [Var(f"x{k}", const(a).aval) for k, a in enumerate(args)]
    index = Var("i", Aval((), np.dtype(np.int64), weak=True))
    numbers = [make.index(body, p, (At(Dyn(0)),), [index]) for p in params]
    value = make.elementwise(body, op, *numbers)
    start = make.full(b, (LENGTH,), np.zeros((), value.aval.dtype)[()])
    y, last = Var("y", start.aval), Var("y", start.aval)
    put = make.put(body, y, value, (At(Dyn(0)),), [index])
    block = body.block((index, y), (put,))
    b.append(For((last,), Range(const(0), const(LENGTH), const(1)), (start,), block))
    out = TreeDef(Kind.TUPLE, (LEAF,))
    return Function("f", tuple(Param(p.hint) for p in params), b.block(params, (last,)), out)


def joined(functions: list[Function]) -> Function:
    """One program of several, so that one compilation serves for all."""
    statements = tuple(s for f in functions for s in f.body.statements)
    results = tuple(r for f in functions for r in f.body.results)
    params = tuple(p for f in functions for p in f.body.params)
    names = tuple(Param(f"x{k}") for k in range(len(params)))
    return Function("f", names, Block(params, statements, results), TreeDef(Kind.TUPLE, (LEAF,) * len(results)))


def cases() -> list[tuple[Elementwise, list[Any]]]:
    found = []
    for op in ROWS:
        for dtypes in signatures(op):
            domains = [op.samples[min(k, len(op.samples) - 1)] for k in range(op.arity)]
            args = [draw(d, t, (LENGTH,), k) for k, (d, t) in enumerate(zip(domains, dtypes, strict=True))]
            found.append((op, args))
        if op.name in ("floor_divide", "remainder", "fmod", "maximum", "minimum", "add", "multiply", "negative"):
            edges = np.array([0, 1, -1, 2, -(2**63), 2**63 - 1] * 4, np.int64)
            found.append((op, [edges, np.roll(np.sort(edges), 1)][: op.arity]))
            floats = np.resize(SPECIAL[SPECIAL != 1e300], LENGTH)
            found += [(op, [floats.astype(t), np.sort(floats.astype(t))][: op.arity]) for t in (np.float64, np.float32)]
    return found


@pytest.mark.parametrize("part", range(4))
def test_every_row(part: int) -> None:
    """What the generator writes is what NumPy gives. Rows of half precision and some of complex numbers it refuses."""
    functions, arguments, expected, refused = [], [], [], set()
    for op, args in cases()[part::4]:
        try:
            function = looped(op, args)
        except DTypeError:
            continue
        if not any(isinstance(s, Fused) for s in native.native_loops(function, True).body.statements):
            loop, result = op.loop_dtypes([const(a).aval for a in args])
            if not any(d == np.float16 or d.kind == "c" for d in (*loop, result, *(a.dtype for a in args))):
                refused.add(op.name)
            continue
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected.append((op, np.asarray(op.evaluate(*args))))
        functions.append(function)
        arguments += args
    assert len(functions) > 40
    assert not refused
    for ours, (op, theirs) in zip(run_xla(joined(functions), arguments), expected, strict=True):
        try:
            assert_same(ours, theirs, accuracy(op, theirs.dtype))
        except AssertionError as error:
            raise AssertionError(f"{op.name}: {error}") from None



# ---- against CPython -----------------------------------------------------------------------------


def checksum(data):
    c = 0xFFFF
    for i in range(data.shape[0]):
        c ^= int(data[i])
        for _ in range(8):
            c = (c >> 1) ^ 0x8408 if c & 1 else c >> 1
    return c


def relaxed(a):
    for _ in range(3):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25
    return a


def distance(x, y):
    before = np.arange(y.shape[0] + 1)
    for i in range(x.shape[0]):
        row = np.empty_like(before)
        row[0] = i + 1
        for j in range(y.shape[0]):
            row[j + 1] = min(before[j + 1] + 1, row[j] + 1, before[j] + (x[i] != y[j]))
        before = row
    return before


def escaped(c, n):
    out = np.zeros(c.shape, dtype=np.int32)
    for i in range(c.shape[0]):
        z = 0j
        for k in range(n):
            z = z * z + c[i]
            if abs(z) > 2:
                out[i] = k
                break
    return out


def eliminated(a):
    for k in range(a.shape[0] - 1):
        p = np.argmax(np.abs(a[k:, k])) + k
        if p != k:
            row = a[k].copy()
            a[k] = a[p]
            a[p] = row
        for i in range(k + 1, a.shape[0]):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return a


def shifted(x, n):
    y = x.copy()
    for k in range(n):
        x[1:] = x[:-1] + k
        x[::2], y = x[::2] * 0.5, x + y[::-1]
    return x, y


def turned(a, n):
    b = a * 2
    for k in range(n):
        a, b = b, np.cumsum(a)
        if a[0] > b[-1]:
            a[k % 4] = b[3]
        else:
            b = a + 1.0
    return a, b


def scattered(x, at, n):
    for _ in range(n):
        x[at] = x[at[::-1]] + x[at]
        np.add.at(x, at, 0.25)
        x[x > 4] -= 3
    return x


def narrow(x, int):  # names that are words of C++, or macros
    NULL = np.uint8(0)
    for linux in range(int):
        NULL = NULL + x[linux] * np.uint8(7)
        x[linux] = NULL >> np.uint8(1)
    INT8_MAX = NULL
    return INT8_MAX, x


def searched(x, limit):
    n, s = 0, 0.0
    while s < limit:
        s += x[n]
        n += 1
    return n, s


def guarded(x, limit):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > limit:
            raise ValueError(f"element {i} is {x[i]:.2f}")
        s += x[i] ** 0.5
    return s


def grown(n):
    a = 1
    for k in range(1, n):
        a *= k
    return a


def parted(x, y):
    s = 0
    for i in range(-3, 5):
        s += x // (y + i) - x % (y - 9)
    return s


R = Drawn(0)
def shortest(d, shift):
    """Each turn reads d[i, k], and one of them may change it."""
    for k in range(len(d)):
        for i in range(len(d)):
            for j in range(1, 37):
                if d[i, k - shift] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k - shift] + d[k, j]
    return d


def met_or_not(v, k):
    """The turn where the loop is cut may be none of them, and a number without a successor."""
    for i in range(40):
        if -40 <= k < 40:
            v[i] = v[i] - 0.5 * v[k]
        else:
            v[i] = v[i] + 1.0
    return v


def jordan(a):
    for k in range(len(a)):
        for i in range(len(a)):
            if i != k:
                for j in range(40):
                    a[i, j] -= a[i, k] * a[k, j] / 40.0
    return a


def overflowing(z, c, n):
    for _ in range(n):
        z = z * z + c
        z = z**2 - c
    return z


CALLS: list[tuple[Any, tuple[Any, ...]]] = [
    (checksum, (R.integers(0, 256, 40).astype(np.uint8),)),
    (relaxed, (R.random((7, 9)),)),
    (relaxed, (R.random((7, 9)).astype(np.float32),)),
    (distance, (R.integers(0, 3, 9), R.integers(0, 3, 12))),
    (escaped, (R.normal(size=20) + 1j * R.normal(size=20), 30)),
    (eliminated, (R.random((8, 8)),)),
    (shifted, (R.random(11), 4)),
    (turned, (R.random(6), 5)),
    (scattered, (R.random(8), np.array([1, -1, 1, 3]), 4)),
    (narrow, (R.integers(0, 256, 30).astype(np.uint8), 30)),
    (searched, (R.random(30), 5.0)),
    (searched, (R.random(3), 5.0)),  # IndexError
    (guarded, (R.random(9), 2.0)),
    (guarded, (R.random(9), 0.5)),  # ValueError
    (grown, (15,)),
    (grown, (40,)),  # beyond 64 bits: CPython's
    (parted, (17, 30)),
    (parted, (17, 2)),  # ZeroDivisionError
    (shortest, (R.normal(size=(40, 40)), 0)),
    (shortest, (R.normal(size=(40, 40)), 5)),  # counted from the end, and outside of the loop
    (jordan, (R.normal(size=(40, 40)),)),
    *((overflowing, (1e100 * (R.normal(size=40) + 1j * R.normal(size=40)), 0.5, n)) for n in (1, 2, 3)),
    *((met_or_not, (R.normal(size=40), k)) for k in (0, 39, 17, -1, -40, 40, -(2**63), 2**63 - 1)),
]


@pytest.mark.parametrize("function, arguments", CALLS, ids=[f"{f.__name__}-{k}" for k, (f, _) in enumerate(CALLS)])
@pytest.mark.parametrize("loops", ["all", "0"])
def test_programs(function: Any, arguments: tuple[Any, ...], loops: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNTRACED_NATIVE_LOOPS", loops)
    ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = function(*theirs)
        except Exception as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                accelerate(function)(*ours)
            return
        found = accelerate(function)(*ours)
    for a, b in zip(tree.flatten((found, ours))[0], tree.flatten((expected, theirs))[0], strict=True):
        assert type(a) is type(b)
        if type(a) is int:
            assert a == b
            continue
        assert_same(a, b, 1e-6 if np.asarray(a).dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("function, arguments", CALLS[:11], ids=lambda x: getattr(x, "__name__", ""))
def test_loops_are_native_and_arrays_stay_where_they_are(function: Any, arguments: tuple[Any, ...]) -> None:
    (source,) = sources(function, *copy.deepcopy(arguments))
    copies = [line for line in body_of(source).splitlines() if "memcpy" in line and "if (" not in line]
    assert len(copies) == (2 if function is turned else 0)  # its two arrays may have changed places at the end


@pytest.mark.parametrize("n", [-2, 1, 5])
def test_places_after_a_while_are_not_those_that_its_condition_lets_in(n: int) -> None:
    def summed(x, n):
        s = 0.0
        for k in range(4):
            i = 2
            while i < n:
                s += x[i]
                i += 3
            s += x[n - k]
        return s

    x = np.arange(10.0)
    assert accelerate(summed, target="cpu")(x, n) == summed(x, n)


def set_one_by_one(y, x, n):
    for i in range(n):
        y[i] = 1.0
    return y


def added_up(y, x, n):
    for i in range(n):
        y[i] += y[i - 1] + x[i % 4]
    return y


def read_by_table(y, x, n):
    places = np.arange(4)
    for i in range(n):
        x[i % 4] = y[places[i % 4]] * x[0] + 1
    return x


@pytest.mark.parametrize("loops", ["0", "all"])
@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("function", [set_one_by_one, added_up, read_by_table])
def test_elements_of_empty_axes(function: Any, checks: bool, loops: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They raise where a loop comes to them, and only there; without checks no other memory is touched."""
    monkeypatch.setenv("UNTRACED_NATIVE_LOOPS", loops)
    compiled = accelerate(function, target="cpu", checks=checks)
    expected = function(np.zeros(0), np.ones(4), 0)
    np.testing.assert_array_equal(compiled(np.zeros(0), np.ones(4), 0), expected)
    raised = pytest.raises(IndexError, match="for axis 0 with size 0") if checks else suppress(IndexError)
    with raised:
        compiled(np.zeros(0), np.ones(4), 2)


def test_without_checks_no_other_memory_is_touched() -> None:
    def wild(x, at, n):
        s = 0.0
        for i in range(n):
            s += x[at[i]]
            x[at[i]] = s
        return s

    accelerate(wild, checks=False)(np.ones(4), np.array([0, 10**9, -(10**12), 3]), 4)


def test_the_source_is_for_people(golden: Any) -> None:
    golden("loops/relaxed.cc", body_of(sources(relaxed, R.random((7, 9)))[0]))
    golden("loops/searched.cc", body_of(sources(searched, R.random(30), 5.0)[0]))
    golden("loops/turned.cc", body_of(sources(turned, R.random(6), 5)[0]))


def body_of(source: str) -> str:
    """Without the handler, and the lines of this file."""
    text = source[source.index("static") : source.index('extern "C"')]
    return re.sub(r"// line \d+", "// line", text)


def test_kernels_say_what_they_cover() -> None:
    (kernel,) = (k for k in accelerate(relaxed).inspect(R.random((7, 9))).kernels if k.kind == "loops")
    first = relaxed.__code__.co_firstlineno
    assert kernel.language == "c++" and set(kernel.lines) == set(range(first + 1, first + 5))


# ---- derivatives and batches ---------------------------------------------------------------------


def test_loops_are_cut_where_a_store_meets_what_all_turns_read() -> None:
    def factors(a: Any) -> Any:
        for k in range(len(a)):
            for i in range(k + 1, len(a)):
                for j in range(k + 1, len(a)):
                    a[i, j] -= a[i, k] * a[k, j]
        return a

    cut = "for (int piece = 0; piece < 3; piece++)"
    table = np.ones((40, 40))
    for function, arguments in ((shortest, (table, 0)), (jordan, (table,)), (met_or_not, (table[0], 3))):
        assert cut in body_of(sources(function, *arguments)[0])
    assert cut not in body_of(sources(factors, np.ones((40, 40)))[0])  # ranges that end in front of it


def test_derivatives_of_loops_are_native() -> None:
    def loss(x):
        y = np.zeros_like(x)
        s = 0.0
        for i in range(x.shape[0]):
            s = 0.5 * s + np.sin(x[i])
            y[i] = s * s
        return np.sum(y)

    x = R.random(40)
    assert len(sources(grad(loss), x)) == 2
    assert_same(accelerate(grad(loss))(x), grad(loss)(x), 1e-13)


def test_lanes_are_native() -> None:
    def root(x):
        y, n = x, 0
        while abs(y * y - x) > 1e-12 and n < 50:
            y = 0.5 * (y + x / y)
            n += 1
        return y, n

    x = R.random(70) + 0.1
    ours, theirs = accelerate(vmap(root))(x), vmap(root)(x)
    for a, b in zip(ours, theirs, strict=True):
        assert_same(a, b, 1e-13)


# ---- compilers and files -------------------------------------------------------------------------


def test_without_a_compiler_loops_are_xlas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "available", lambda: False)
    assert not sources(relaxed, R.random((7, 9)))
    assert accelerate(checksum)(np.arange(9, dtype=np.uint8)) == checksum(np.arange(9, dtype=np.uint8))


def test_what_would_be_padded_or_little_is_native_code() -> None:
    def rows(values, starts, out):
        for i in range(out.shape[0]):
            for k in range(starts[i], starts[i + 1]):
                out[i] += values[k]
        return out

    def swept(x):
        for i in range(1, x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] += x[i - 1, j]
        return x

    starts = np.array([0, 3, 3, 9000])
    assert len(sources(rows, R.random(9000), starts, np.zeros(3))) == 1
    assert len(sources(swept, R.random((9, 900)))) == 1


def test_short_loops_are_left_to_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNTRACED_NATIVE_LOOPS", "1")
    assert not sources(relaxed, R.random((7, 9)))
    assert sources(relaxed, R.random((70, 90)))


def test_libraries_are_kept_and_the_oldest_removed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNTRACED_CACHE", str(tmp_path))
    source = 'extern "C" int answer() { return 42; }'
    made = compiler._library(source)
    before = made.stat().st_ino
    assert compiler._library(source).stat().st_ino == before and [p.name for p in made.parent.iterdir()] == [made.name]
    monkeypatch.setattr(compiler, "MOST_BYTES", made.stat().st_size + 10)
    os.utime(made, (time.time() - 100,) * 2)
    other = compiler._library(source.replace("42", "43"))
    assert [p.name for p in made.parent.iterdir()] == [other.name]
    with pytest.raises(TargetError, match="UNTRACED_NATIVE_LOOPS=0"):
        compiler._library("this is no C++")


def test_divisions_of_complex_numbers_warn_of_nothing() -> None:
    """They are checked for zero alone: no constant among them is made a real number."""

    def halves(n: int, step: int) -> Any:
        total = 0j
        for k in range(n):
            total = total * 0.5 + 3j / (k * step + 1)
        return total

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(accelerate(halves, target="cpu")(20, 3), halves(20, 3), rtol=1e-13)


def test_comparisons_in_half_precision_are_xlas() -> None:
    """Only a constant shows that `i > 1.5` is made in half precision: there is no such array or result."""

    def steps(n: int) -> int:
        k = 0
        for i in range(n):
            if i > np.float16(1.5):
                k += i
            while k > 5:
                k -= 2
        return k

    assert accelerate(steps, target="cpu")(9) == steps(9)
