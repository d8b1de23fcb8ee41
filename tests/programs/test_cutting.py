"""Functions that only CPython can go all the way through: cut into compiled regions, they do what NumPy does."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import linecache
import random
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cut_programs import (
    FUNCTIONS,
    draws,
    prints_in_a_loop,
    quicksort,
    returns_from_an_endless_loop,
    selection,
    sets,
    shrinks,
    written_in_place,
)
from cutting import check, compile_everything, outcome  # noqa: F401
from test_kernels import assert_same

import kernels
from untraced import Array, accelerate, device_put, grad, vmap
from untraced.translator.errors import CutError, UnsupportedError
from untraced.translator.reading.core import context

Fun = Callable[..., Any]


# ---- the programs ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fun", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shift", [0.0, -5.0])
def test_as_in_numpy(fun: Fun, shift: float) -> None:
    x = np.linspace(-1, 2, 12) + shift
    if fun is quicksort:
        x = x[np.random.default_rng(0).permutation(12)]
    check(fun, x)


def test_a_method() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = np.arange(12.0)
            self.calls = 0

        @accelerate(target="cpu")
        def run(self, x: Any) -> Any:
            y = x * self.w + np.cos(x)
            print(y.shape)
            self.calls += 1
            return y * 2 + self.calls

    model, x = Model(), np.linspace(0, 1, 12)
    for n in range(1, 4):
        model.w[0] += 1.0
        want = (x * model.w + np.cos(x)) * 2 + n
        with contextlib.redirect_stdout(io.StringIO()) as out:
            np.testing.assert_allclose(model.run(x), want, rtol=1e-13)
        assert out.getvalue() == "(12,)\n"


def test_target_numpy() -> None:
    want = prints_in_a_loop(np.arange(3.0))
    np.testing.assert_array_equal(accelerate(prints_in_a_loop, target="numpy")(np.arange(3.0)), want)


def test_arrays_in_arrays_out(capsys: pytest.CaptureFixture[str]) -> None:
    fast = accelerate(selection, target="cpu")
    got = fast(device_put(np.array([1.0, -1.0, 2.0])))
    assert isinstance(got, Array)
    np.testing.assert_array_equal(np.asarray(got), [2.0, 4.0])
    with pytest.raises(ValueError, match="read-only"):
        accelerate(written_in_place, target="cpu")(device_put(np.arange(3.0)))


def test_of_other_kinds_it_is_compiled_whole() -> None:
    def f(x: Any, verbose: bool = False) -> Any:
        y = x * 2 + 1
        if verbose:
            print(y.shape)
        return y

    fast = accelerate(f, target="cpu")
    fast(np.arange(3.0))
    assert not fast._drivers
    fast(np.arange(3.0), True)
    assert fast._drivers


# ---- the form ------------------------------------------------------------------------------------


def mean_and_rest(x):  # type: ignore[no-untyped-def]
    y = np.sqrt(x * x + 1.0)
    m = np.mean(y)
    print("mean", m)
    return (y - m) / np.std(y)


CUT = '''\
# lines {0} to {1}: compiled
def mean_and_rest_region_1(x):
    y = np.sqrt(x * x + 1.0)
    m = np.mean(y)
    return (y, m)


# line {3}: compiled
def mean_and_rest_region_2(y, m):
    result = (y - m) / np.std(y)
    return result


# line {2} stays with CPython: `print` cannot be compiled
def mean_and_rest(x):
    y, m = mean_and_rest_region_1(x)
    print('mean', m)
    return mean_and_rest_region_2(y, m)
'''


def test_the_cut_shows_in_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    fast = check(mean_and_rest, np.arange(4.0))
    first = mean_and_rest.__code__.co_firstlineno
    seen = fast.inspect(np.arange(4.0))
    assert seen.source == CUT.format(*range(first + 1, first + 5))
    assert [k.lines for k in seen.kernels] == [(first + 1, first + 2), (first + 4,)]
    assert "cut into regions: `print`" in fast.explain_recompiles()


def test_statements_to_the_end_are_one_region() -> None:
    fast = check(returns_from_an_endless_loop, np.arange(4.0))
    assert "return returns_from_an_endless_loop_region_1(x)" in fast.inspect(np.arange(4.0)).source


def test_regions_cut_again_become_regions_of_one_driver() -> None:
    fast = check(draws, np.arange(4.0), calls=4)
    text = fast.inspect(np.arange(4.0)).source
    assert text.count("def ") == 2
    assert text.count("stays with CPython") >= 3


def test_an_error_in_a_region_names_the_users_line() -> None:
    def f(x: Any, i: int) -> Any:
        print("before")
        y = x * 2
        return y[i] + y[0]

    fast = accelerate(f, target="cpu")
    with contextlib.redirect_stdout(io.StringIO()):
        fast(np.arange(3.0), 1)
        with pytest.raises(IndexError):
            fast(np.arange(3.0), 7)


def test_transformations_refuse_what_is_cut() -> None:
    for transformed in (grad(lambda x: np.sum(sets(x)[0])), vmap(shrinks)):
        with pytest.raises((CutError, UnsupportedError)):
            transformed(np.ones((3, 3)))


# ---- anywhere ------------------------------------------------------------------------------------

_CUTS = ("print({!r})", "print({!r})", "try:\n    pass\nfinally:\n    pass")


class _Insert(ast.NodeTransformer):
    """Puts statements that only CPython can do between others."""

    def __init__(self, rng: random.Random, often: float) -> None:
        self.rng, self.often, self.count = rng, often, 0

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and not isinstance(node, ast.Module):
                setattr(node, name, [s for old in body for s in self.around(old)])
        return node

    def around(self, s: ast.stmt) -> list[ast.stmt]:
        docstring = isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)
        if docstring or self.rng.random() >= self.often:
            return [s]
        self.count += 1
        return [ast.parse(self.rng.choice(_CUTS).format(self.count)).body[0], s]


def with_cuts(seed: int) -> types.ModuleType:
    """The programs of `kernels`, with cuts in random places."""
    rng = random.Random(seed)
    tree = _Insert(rng, rng.choice([0.05, 0.15, 0.4])).visit(ast.parse(Path(kernels.__file__).read_text()))
    text = ast.unparse(ast.fix_missing_locations(tree))
    file = f"<programs with cuts {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = types.ModuleType(f"{kernels.__name__}_{seed}")
    sys.modules[module.__name__] = module
    exec(compile(text, file, "exec"), module.__dict__)
    return module


def check_with_cuts(seed: int, every: int) -> None:
    programs = with_cuts(seed).PROGRAMS
    for number, (fun, make) in enumerate(programs):
        if number % every == seed % every:
            args = make(np.random.default_rng(0))
            want, got = outcome(fun, args), outcome(accelerate(fun, target="cpu"), args)
            assert got[1] is None is want[1], (fun.__name__, got[1], want[1])
            assert got[2] == want[2], fun.__name__
            assert_same(got[0], want[0], fun.__name__)
            assert_same(list(got[3]), list(want[3]), fun.__name__)


@pytest.mark.parametrize("seed", range(4))
def test_programs_with_cuts(seed: int) -> None:
    check_with_cuts(seed, 12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 24))
def test_programs_with_many_cuts(seed: int) -> None:
    check_with_cuts(seed, 1)


def test_what_takes_too_long_to_read_is_left_to_cpython(monkeypatch: pytest.MonkeyPatch) -> None:
    def queens(x, n):
        found = []

        def place(columns):
            if len(columns) == n:
                found.append(columns)
            for c in range(n) if len(columns) < n else ():
                if all(c != other and abs(c - other) != len(columns) - i for i, other in enumerate(columns)):
                    place([*columns, c])

        place([])
        return np.sum(np.array(found, dtype=float) * x)

    monkeypatch.setattr(context, "MOST_EVALUATIONS", 500)
    fast = accelerate(queens)
    assert fast(2.0, 5) == queens(2.0, 5) == 200.0
    assert "reading this far takes longer" in fast.explain_recompiles()


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_a_name_of_a_region_is_deleted_by_cpython(target: str) -> None:
    def deletes(x, n):
        b = np.exp(x)
        c = b.sum()
        if n > 2:
            d = 1.0
            print("many")
        else:
            d = 2.0
        del b, d
        return c * n

    np.testing.assert_allclose(accelerate(deletes, target=target)(np.arange(3.0), 3), deletes(np.arange(3.0), 3), 1e-14)


def swapped_in_turn(u, n):
    v = u.copy()
    for _ in range(n):
        v[1:-1] = u[:-2] + u[2:]
        u, v = v, u
    return u


def moved_in_a_box(x, n):
    for _ in range(n):
        x += 0.5
        x = x % 3
    return x


def moved_until_far(x, limit):
    while x.max() < limit:
        x += 0.5
        x = x * 1.25
    return x


def one_of_two(x, s):
    y = x if s > 0 else x + 1
    y[0] = 5.0
    return x, y


def written_behind(x, s):
    y = x if s > 0 else x + 1
    x[0] = 5.0
    return y + 0


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("function", [swapped_in_turn, moved_in_a_box, moved_until_far, one_of_two, written_behind])
def test_what_shares_memory_is_decided_by_cpython(function: Fun, target: str) -> None:
    """Where the reading cannot tell which names are one array, the statement stays with CPython."""
    fast = accelerate(function, target=target)
    for n in (3, 1, 0):
        mine, theirs = np.arange(6.0), np.arange(6.0)
        assert_same(fast(mine, n), function(theirs, n), function.__name__)
        np.testing.assert_allclose(mine, theirs, rtol=1e-14)


class Interpolant:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def at(self, k):
        return self.x * k


class Scaled(Interpolant):
    def __init__(self, x, y, scale=2.0):
        if np.any(np.diff(x) <= 0):
            raise ValueError("x must increase")
        print("scaled")
        t = np.sqrt(y) / scale
        super().__init__(x, t)
        self.scale = scale

    def at(self, k):
        print("at", k)
        z = k * self.scale
        return super().at(z)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_super_in_a_region(target: str) -> None:
    x = np.arange(4.0)
    mine, theirs = object.__new__(Scaled), Scaled(x, x + 1)
    accelerate(Scaled.__init__, target=target)(mine, x, x + 1)
    assert list(vars(mine)) == list(vars(theirs))
    np.testing.assert_allclose(mine.y, theirs.y, rtol=1e-15)
    np.testing.assert_array_equal(accelerate(Scaled.at, target=target)(mine, 3.0), theirs.at(3.0))


def annotated_inside(x):
    def scale(y: float, *, by: "float" = 2.0) -> int:
        return by * y

    print(scale.__annotations__ == {"y": float, "by": "float", "return": int})
    return scale(np.unique(x))


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_a_module_without_future_imports_stays_one(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """This file has `from __future__ import annotations`; the source of the function, compiled without it, has not."""
    lines = inspect.getsource(annotated_inside)
    linecache.cache["<no future>"] = (len(lines), None, lines.splitlines(keepends=True), "<no future>")
    space: dict[str, Any] = {"np": np}
    exec(compile(lines, "<no future>", "exec", dont_inherit=True), space)
    for function in (space["annotated_inside"], annotated_inside):
        plain = function(np.array([2, 1, 2])), capsys.readouterr().out
        found = accelerate(function, target=target)(np.array([2, 1, 2])), capsys.readouterr().out
        np.testing.assert_array_equal(found[0], plain[0])
        assert found[1] == plain[1]


def formats_its_names(x):
    largest = np.max(x)
    found = np.unique(x)
    return "{largest:.1f} of {x}".format(**locals()), sorted(vars()), len(dir()), found


def evaluates_its_names(x):
    scale = 3.0
    print(scale)
    return eval("x * scale"), eval("scale", {"scale": 2.0})


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("function", [formats_its_names, evaluates_its_names])
def test_who_asks_for_all_names_sees_the_functions(function: Fun, target: str) -> None:
    x = np.array([2.0, 1.0, 2.0])
    for found, expected in zip(accelerate(function, target=target)(x), function(x), strict=True):
        np.testing.assert_array_equal(found, expected)


def sorts_into_groups(x):
    names = np.array(["low", "high", "low"])
    scaled = np.sqrt(np.abs(x)) * 2
    return scaled[names == "low"].sum(), x * (names == "high")


def counts_days(x):
    days = np.arange("2024-02", "2024-03", dtype="datetime64[D]")
    return np.exp(-x) * days.size, (days[-1] - days[0]) / np.timedelta64(1, "D")


def keeps_records(x):
    table = np.zeros(3, dtype=[("value", float), ("count", int)])
    table["value"] = x * x
    table["count"][1] = 4
    return table["value"].sum(), table["count"], table[1]["value"]


def holds_objects(x):
    pair = np.empty(2, dtype=object)
    pair[0], pair[1] = x, [1, 2]
    return pair[0] * 2, pair[1]


def made_by_exec(text: str) -> Fun:
    space: dict[str, Any] = {}
    exec(text, space)
    return space["hidden"]


hidden = made_by_exec("def hidden(x): return x * 3")


def calls_what_cannot_be_read(x):
    return hidden(x) + np.cos(x)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize(
    "function", [sorts_into_groups, counts_days, keeps_records, holds_objects, calls_what_cannot_be_read]
)
def test_what_has_no_compiled_form_stays_with_cpython(function: Fun, target: str) -> None:
    x = np.array([2.0, -1.0, 3.0])
    found, expected = accelerate(function, target=target)(x), function(x)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for a, b in pairs:
        assert type(a) is type(b)
        np.testing.assert_allclose(a, b, rtol=1e-15)
    with pytest.raises(CutError):
        grad(lambda x: np.sum(function(x)[0]))(x)


class Tagged(np.ndarray):
    """A class of arrays."""


NAMES, TAGGED = np.array(["low", "high", "low"]), np.arange(3.0).view(Tagged)


def finds_what_is_no_array_of_numbers(x):
    return np.exp(x) * (NAMES == "low"), (TAGGED + x).sum(), type(TAGGED * 2) is Tagged


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_arrays_outside_the_function_may_hold_anything(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, f = np.array([2.0, -1.0, 3.0]), accelerate(finds_what_is_no_array_of_numbers, target=target)
    for names in (NAMES, np.array([1.0, 2.0, 3.0]), NAMES[::-1]):
        monkeypatch.setitem(globals(), "NAMES", names)
        for a, b in zip(f(x), finds_what_is_no_array_of_numbers(x), strict=True):
            assert type(a) is type(b)
            np.testing.assert_allclose(a, b, rtol=1e-15)


def hands_print_on(x):
    shown = map(print, ["a", x.size])
    print("first")
    map(print, ["never"])
    return x * len(list(shown))


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_print_handed_on_prints_when_it_is_called(target: str) -> None:
    expected = outcome(hands_print_on, (np.ones(3),))
    f = accelerate(hands_print_on, target=target)
    for _ in range(2):
        found = outcome(f, (np.ones(3),))
        assert found[1] is None and found[2] == expected[2] == "first\na\n3\n"
        np.testing.assert_array_equal(found[0], expected[0])


def _waits_with_its_array_out(x):
    y = np.sqrt(x * x + 1.0) * np.cos(x)
    yield y
    y += 1.0
    y[0] = np.sum(x) * 2
    yield y, y.mean()
    for i in range(3):
        x[i] = np.exp(x[i]) + np.sum(y * i)
        factor = yield x[i] + 1
        if factor:
            x *= factor + np.sin(x)
    return np.sum(x * x)


def _waits_for_another(x):
    total = yield from _waits_with_its_array_out(x)
    yield np.sqrt(total) * 2


def _doubles(generator: Any) -> list[Any]:
    """What a generator hands out where its array is changed between two steps; numbers are sent into it."""
    given = [next(generator)]
    given[0] *= 2
    with contextlib.suppress(StopIteration):
        while True:
            given.append(generator.send(len(given)))
    return given


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("function", [_waits_with_its_array_out, _waits_for_another])
def test_generator_functions_wait_around_regions(function: Fun, target: str) -> None:
    fast = accelerate(function, target=target)
    for _ in range(2):
        found, expected = _doubles(fast(np.arange(4.0))), _doubles(function(np.arange(4.0)))
        assert_same(found, expected, "steps")
        assert found[1][0] is found[0]
    assert "yield" in fast.inspect(np.arange(4.0)).source and not list(accelerate(lambda x: (yield x))(3))[1:]


# ---- what a `with` may end ------------------------------------------------------------------------


def _ends_errors_of_statements(x, n):
    total = 0.0
    for v in x:
        with contextlib.suppress(ZeroDivisionError, ValueError):
            total += np.sqrt(v + 1.0)
            total += n // int(v)
            total += 100.0 * v
    return total


def _ends_errors_of_loops(x, n):
    y = x * 0.0
    with contextlib.suppress(IndexError):
        t = np.sin(x) * 2.0
        for i in range(len(x) + n):
            y = y + x[i] * np.cos(t)
            if np.sum(y) > 1e9:
                t = t * 0.5 + y
    return y, t, i


@pytest.mark.parametrize("fun", [_ends_errors_of_statements, _ends_errors_of_loops])
def test_names_bound_before_an_error_that_a_with_ends(fun: Fun) -> None:
    check(fun, np.array([0.5, 2.0, -0.3, 3.0]), 3)


def _strided_views(x):
    diagonals = np.lib.stride_tricks.as_strided(x, (3, 2), (x.strides[0] + x.strides[1], x.strides[1]))
    around = np.lib.stride_tricks.as_strided(x[0, 3:], (2, 3), (-x.strides[1], x.strides[1]))
    doubled = x * 2
    print(diagonals.strides, around.strides)
    diagonals[0, 1] = 7.0
    return x.sum(), doubled, around.copy()


def test_strided_views_leave_no_region() -> None:
    """They were copies; what reads beside a view reads the array that it is of."""
    check(_strided_views, np.arange(24.0).reshape(4, 6))


def _made_for_lapack(x):
    bands = np.zeros((3, x.size), order="F")
    scaled = x * 2
    print(bands.flags.f_contiguous)
    bands[1] = scaled
    bands[0, 1:] = -x[1:]
    return bands.T.reshape(-1), bands.strides


def test_arrays_in_fortrans_order_stay_so() -> None:
    """What a region makes lies in C's order, and a function that is no NumPy code may take one of them only."""
    check(_made_for_lapack, np.arange(4.0))
