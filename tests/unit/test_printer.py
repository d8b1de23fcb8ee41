"""What printed expressions look like: slices, products, constants, names, parameters, comments."""

from __future__ import annotations

import inspect
import math
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from printed import F8, I8, INDEX, array, body_of, expression, function, lines, named

import untraced
from untraced.translator import make, ops
from untraced.translator.builder import Builder
from untraced.translator.errors import Span
from untraced.translator.ir import (
    Apply,
    Atom,
    Aval,
    Block,
    Capture,
    For,
    Function,
    Param,
    Range,
    Var,
    While,
    const,
)
from untraced.translator.ops.core import NO_ATTRS, At, Dim, Dyn, Gather, Run
from untraced.translator.printing import ownership
from untraced.translator.printing.plan import Plan
from untraced.translator.printing.printer import executable, print_function, print_module
from untraced.translator.tree import LEAF, Kind, TreeDef, static

# ---- expressions ---------------------------------------------------------------------------------

X, Y = array("x", 3, 4), array("y", 3, 4)


@pytest.mark.parametrize(
    "build, text",
    [
        (lambda b, x, y: make.subtract(b, make.multiply(b, x, y), make.add(b, x, y)), "x * y - (x + y)"),
        (lambda b, x, y: make.multiply(b, make.add(b, x, 1.0), -2.0), "(x + 1.0) * -2.0"),
        (lambda b, x, y: make.subtract(b, x, make.subtract(b, y, x)), "x - (y - x)"),
        (lambda b, x, y: make.power(b, make.negative(b, x), 2), "(-x) ** 2"),
        (lambda b, x, y: make.negative(b, make.power(b, x, 2)), "-x ** 2"),
        (lambda b, x, y: make.where(b, make.greater(b, x, 0.0), x, y), "np.where(x > 0.0, x, y)"),
        (lambda b, x, y: make.sum(b, x), "np.sum(x)"),
        (lambda b, x, y: make.max(b, x, 0, True), "np.max(x, axis=0, keepdims=True)"),
        (lambda b, x, y: make.argmax(b, x, 1), "np.argmax(x, axis=1)"),
        (lambda b, x, y: make.cumsum(b, x, 1), "np.cumsum(x, axis=1)"),
        (lambda b, x, y: make.cumsum(b, make.reshape(b, x, (12,)), 0), "np.cumsum(x.reshape(12))"),
        (lambda b, x, y: make.argmax(b, make.reshape(b, x, (12,)), 0), "np.argmax(x.reshape(12))"),
        (lambda b, x, y: make.astype(b, x, np.float32), "x.astype(np.float32)"),
        (lambda b, x, y: make.reshape(b, make.add(b, x, y), (2, 6)), "(x + y).reshape(2, 6)"),
        (lambda b, x, y: make.transpose(b, x), "x.T"),
        (lambda b, x, y: make.expand_dims(b, x, 0), "x[None]"),
        (lambda b, x, y: make.expand_dims(b, x, 1), "x[:, None]"),
        (lambda b, x, y: make.expand_dims(b, x, 2), "x[..., None]"),
        (lambda b, x, y: make.broadcast_to(b, x, (2, 3, 4)), "np.broadcast_to(x, (2, 3, 4))"),
        (lambda b, x, y: make.concatenate(b, [x, y]), "np.concatenate([x, y])"),
        (lambda b, x, y: make.concatenate(b, [x, y], 1), "np.concatenate([x, y], axis=1)"),
        (lambda b, x, y: make.zeros(b, (3,)), "np.zeros(3)"),
        (lambda b, x, y: make.ones(b, (3, 4), np.float32), "np.ones((3, 4), dtype=np.float32)"),
        (lambda b, x, y: make.full(b, (3,), 2.5), "np.full(3, 2.5)"),
        (lambda b, x, y: make.iota(b, 5), "np.arange(5)"),
    ],
)
def test_expressions(build: Callable[..., Atom], text: str) -> None:
    assert expression(build, X, Y) == text


@pytest.mark.parametrize(
    "value, text",
    [
        (2, "2"),
        (-2.5, "-2.5"),
        (1e-7, "1e-07"),
        (float("inf"), "np.inf"),
        (float("-inf"), "-np.inf"),
        (float("nan"), "np.nan"),
        (-0.0, "-0.0"),
        (np.float32(2.0), "np.float32(2.0)"),
        (np.int8(-3), "np.int8(-3)"),
        (np.array([1.0, 2.0]), "np.array([1.0, 2.0])"),
        (np.array([1, 2], np.int8), "np.array([1, 2], dtype=np.int8)"),
        (np.array([[True, False]]), "np.array([[True, False]])"),
    ],
)
def test_constants(value: Any, text: str) -> None:
    assert expression(lambda b: const(value)) == text
    made = executable(function(Block((), (), (const(value),))))()
    np.testing.assert_array_equal(made, value)
    assert type(made) is type(value) and np.asarray(made).dtype == np.asarray(value).dtype
    assert np.array_equal(np.signbit(made), np.signbit(value))


@pytest.mark.parametrize(
    "start, size, step, n, text",
    [
        (0, 4, 1, 5, ":-1"),
        (1, 4, 1, 5, "1:"),
        (1, 3, 1, 5, "1:-1"),
        (0, 2, 1, 5, ":2"),
        (0, 3, 2, 5, "::2"),
        (0, 2, 2, 5, ":3:2"),
        (4, 5, -1, 5, "::-1"),
        (3, 2, -1, 5, "3:1:-1"),
        (3, 2, -2, 5, "3::-2"),
        (2, 1, 1, 5, "2:3"),
        (3, 90, 1, 100, "3:93"),
    ],
)
def test_slices(start: int, size: int, step: int, n: int, text: str) -> None:
    assert expression(lambda b, x: make.index(b, x, [Run(start, size, step)]), array("x", n)) == f"x[{text}]"
    assert eval(f"np.arange({n})[{text}]").tolist() == [start + i * step for i in range(size)]


def dynamic(dims: Sequence[Dim], *shape: int) -> str:
    i = Var("i", INDEX)
    return expression(lambda b, x, i: make.index(b, x, dims, [i]), array("x", *shape), i)


def test_dynamic_indices() -> None:
    assert dynamic([At(Dyn(0)), Run(0, 4)], 3, 4) == "x[i]"
    assert dynamic([Run(0, 3), At(Dyn(0))], 3, 4) == "x[:, i]"
    assert dynamic([Run(Dyn(0), 3)], 9) == "x[i:i + 3]"
    assert dynamic([Run(Dyn(0), 3, 2)], 9) == "x[i:i + 5:2]"
    assert dynamic([Run(Dyn(0), 3, -1)], 9) == "x[i - 2:i + 1][::-1]"
    assert dynamic([At(4), At(0)], 5, 4) == "x[-1, 0]"
    assert dynamic([At(2), At(0)], 3, 4) == "x[2, 0]"  # of a short axis as it is


def test_an_offset_start_is_written_into_both_ends() -> None:
    def build(b: Builder, x: Var, i: Var) -> Atom:
        return make.index(b, x, [Run(Dyn(0), 2)], [make.subtract(b, i, 1)])

    assert expression(build, array("x", 9), Var("i", INDEX)) == "x[i - 1:i + 1]"


def test_gathered_indices() -> None:
    rows = array("rows", 2, dtype=I8)
    assert expression(lambda b, x, r: make.index(b, x, [Gather(0), Run(0, 4)], [r]), X, rows) == "x[rows]"
    assert expression(lambda b, x, r: make.index(b, x, [Run(0, 3), Gather(0)], [r]), X, rows) == "x[:, rows]"
    wide, many = array("wide", 64, 64), array("many", 64, dtype=I8)
    taken = expression(lambda b, x, r: make.index(b, x, [Run(0, 64), Gather(0)], [r]), wide, many)
    assert taken == "np.take(wide, many, axis=1)"


@pytest.mark.parametrize(
    "shapes, labels, text",
    [
        (((3, 4), (4, 5)), ((0, 1), (1, 2), (0, 2)), "x @ y"),
        (((4, 3), (4, 5)), ((1, 0), (1, 2), (0, 2)), "x.T @ y"),
        (((3, 4), (5, 4)), ((0, 1), (2, 1), (0, 2)), "x @ y.T"),
        (((4, 3), (5, 4)), ((1, 0), (2, 1), (0, 2)), "x.T @ y.T"),
        (((4,), (4,)), ((0,), (0,), ()), "x @ y"),
        (((4,), (4, 5)), ((0,), (0, 1), (1,)), "x @ y"),
        (((4,), (5, 4)), ((0,), (1, 0), (1,)), "x @ y.T"),
        (((3, 4), (4,)), ((0, 1), (1,), (0,)), "x @ y"),
        (((3,), (4,)), ((0,), (1,), (0, 1)), "np.outer(x, y)"),
        (((2, 3, 4), (2, 4, 5)), ((0, 1, 2), (0, 2, 3), (0, 1, 3)), "x @ y"),
        (((2, 3, 4), (4, 5)), ((0, 1, 2), (2, 3), (0, 1, 3)), "x @ y"),
        (((3, 4), (2, 4, 5)), ((1, 2), (0, 2, 3), (0, 1, 3)), "x @ y"),
        (((2, 3, 4), (2, 5, 4)), ((0, 1, 2), (0, 3, 2), (0, 1, 3)), "x @ y.mT"),
        (((3, 4), (3, 4)), ((0, 1), (0, 1), (0,)), "np.vecdot(x, y)"),
        (((3, 4), (4, 5)), ((0, 1), (1, 2), (2, 0)), "y.T @ x.T"),
        (((20, 5, 6), (20, 5, 6)), ((0, 1, 2), (0, 1, 3), (2, 3)), 'np.einsum("ijk,ijl->kl", x, y)'),
        (((20, 30, 40), (20, 30, 40)), ((0, 1, 2), (0, 1, 3), (2, 3)), "np.tensordot(x, y, [[0, 1], [0, 1]])"),
        (((4, 20, 30), (20, 30, 10)), ((0, 1, 2), (1, 2, 3), (0, 3)), "np.tensordot(x, y, 2)"),
        (((4, 20, 30), (20, 30, 10)), ((0, 1, 2), (1, 2, 3), (3, 0)), "np.tensordot(y, x, [[0, 1], [1, 2]])"),
        (((4, 20, 30), (4, 20, 30, 10)), ((0, 1, 2), (0, 1, 2, 3), (0, 3)), 'np.einsum("ijk,ijkl->il", x, y)'),
    ],
)
def test_products(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], labels: tuple[tuple[int, ...], ...], text: str
) -> None:
    x, y = array("x", *shapes[0]), array("y", *shapes[1])
    assert expression(lambda b, x, y: make.contract(b, x, y, *labels), x, y) == text


# ---- names and temporaries -----------------------------------------------------------------------


def test_the_users_names_survive_and_temporaries_fold() -> None:
    b, w, x = Builder(), array("w", 4, 3), array("x", 5, 4)
    t = make.matmul(b, x, w)
    h = named(b, "h", ops.TANH, t)
    f = function(b.block([w, x], [make.sum(b, make.multiply(b, h, h))]))
    assert body_of(f) == "h = np.tanh(x @ w)\nreturn np.sum(h * h)"


def test_a_temporary_used_twice_gets_a_name_that_nothing_else_has() -> None:
    b, x, t = Builder(), array("x", 3), array("t", 3)
    s = make.add(b, x, t)
    f = function(b.block([x, t], [make.multiply(b, s, s)]))
    assert body_of(f) == "t1 = x + t\nreturn t1 * t1"


def test_versions_share_a_name_where_they_are_not_alive_together() -> None:
    b, x = Builder(), array("x", 3)
    y1 = named(b, "y", ops.SIN, x)
    y2 = named(b, "y", ops.COS, y1)
    f = function(b.block([x], [make.multiply(b, y2, y2)]))
    assert body_of(f) == "y = np.sin(x)\ny = np.cos(y)\nreturn y * y"
    g = function(b.block([x], [make.multiply(b, make.multiply(b, y2, y2), y1)]))
    assert body_of(g) == "y = np.sin(x)\ny_1 = np.cos(y)\nreturn y_1 * y_1 * y"


def test_what_would_lose_its_name_to_an_earlier_version_is_written_where_it_is_used() -> None:
    b, x = Builder(), array("x", 3)
    y1 = named(b, "y", ops.SIN, x)
    f = function(b.block([x], [make.multiply(b, named(b, "y", ops.COS, y1), y1)]))
    assert body_of(f) == "y = np.sin(x)\nreturn np.cos(y) * y"


def network(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
    h = np.tanh(x @ w1 + b1)
    z = h @ w2 + b2
    z = z - np.max(z, axis=1, keepdims=True)
    p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(np.sum(p * y, axis=1))


def process(scale: Any, amplitude: Any, noise: Any, x: Any, y: Any) -> Any:
    d = (x[:, None] - x[None, :]) / scale
    k = amplitude**2 * np.exp(-0.5 * d**2) + noise**2 * np.eye(x.shape[0])
    low = np.linalg.cholesky(k)
    alpha = np.linalg.solve(low, y)
    return 0.5 * np.sum(alpha**2) + np.sum(np.log(np.diag(low))) + 0.5 * x.shape[0] * np.log(2 * np.pi)


@pytest.mark.parametrize(("loss", "shapes", "wrt", "most"), [
    (network, ((4, 5), (5,), (5, 3), (3,), (7, 4), (7, 3)), (0, 1, 2, 3), 17),
    (process, ((), (), (), (5,), (5,)), (0, 1, 2), 21),
])  # fmt: skip
def test_gradients_have_about_as_many_lines_as_a_person_would_write(
    loss: Any, shapes: tuple[tuple[int, ...], ...], wrt: tuple[int, ...], most: int
) -> None:
    source = untraced.grad(loss, argnums=wrt).source(*(np.ones(s) for s in shapes))
    assert len(source.split("\n\n")[0].strip().splitlines()) <= most


def test_names_of_python_are_left_alone() -> None:
    b, x = Builder(), array("x", 3)
    total = named(b, "sum", ops.SIN, x)
    f = function(b.block([x], [make.multiply(b, total, total)]))
    assert body_of(f) == "sum_1 = np.sin(x)\nreturn sum_1 * sum_1"


def test_long_expressions_are_broken_up() -> None:
    b, x = Builder(), array("x", 3)
    v: Atom = x
    for k in range(30):
        v = make.add(b, make.elementwise(b, ops.TANH, v), float(k))
    text = print_function(function(b.block([x], [v])))
    assert max(map(len, text.splitlines())) <= 96
    assert len(text.splitlines()) > 4


def test_dead_code_is_not_printed() -> None:
    b, x = Builder(), array("x", 3)
    named(b, "waste", ops.SIN, x)
    assert body_of(function(b.block([x], [make.sum(b, x)]))) == "return np.sum(x)"


# ---- parameters and results ----------------------------------------------------------------------


def test_trees_of_parameters_and_results() -> None:
    b, w, bias, x = Builder(), array("w", 4, 3), array("b", 3), array("x", 5, 4)
    tree = TreeDef(Kind.DICT, (LEAF, LEAF), ("b", "w"), dict)
    h = make.add(b, make.matmul(b, x, w), bias)
    out = TreeDef(Kind.DICT, (LEAF, TreeDef(Kind.LIST, (LEAF,))), ("h", "more"), dict)
    block = b.block([bias, w, x], [h, make.sum(b, w)])
    f = Function("f", (Param("params", tree), Param("x"), Param("mode", static("train"))), block, out)
    assert print_function(f) == lines(
        """
        def f(params, x, mode):
            w = params["w"]
            return {"h": x @ w + params["b"], "more": [np.sum(w)]}
        """
    ) + "\n"
    got = executable(f)({"w": np.ones((4, 3)), "b": np.zeros(3)}, np.ones((5, 4)), "train")
    assert got["h"].tolist() == np.full((5, 3), 4.0).tolist() and got["more"] == [12.0]


_table = np.arange(3.0)


def reads_table(x: Any) -> Any:
    return x + _table


def test_hidden_parameters_are_keywords_read_at_each_call() -> None:
    global _table
    b, x, table = Builder(), array("x", 3), array("table", 3)
    block = b.block([x, table], [make.add(b, x, table)])
    params = (Param("x"), Param("table", capture=Capture(reads_table, "_table")))
    f = Function("f", params, block, LEAF)
    assert print_function(f).startswith("def f(x, *, table):")
    run = executable(f)
    assert run(np.zeros(3)).tolist() == [0, 1, 2]
    _table = np.ones(3)
    assert run(np.zeros(3)).tolist() == [1, 1, 1]
    assert run(np.zeros(3), table=np.zeros(3)).tolist() == [0, 0, 0]


# ---- files, comments, tools ----------------------------------------------------------------------


def test_backward_statements_say_where_they_come_from() -> None:
    span = Span("model.py", 12, 8, 12, 22, "np.tanh(x @ w)")
    b, x, y = Builder(span), array("x", 3), array("y", 3)
    h = b.apply(ops.MULTIPLY, x, y, hint="h")
    d_h = b.apply(ops.ADD, h, x, hint="d_h")
    d_x = b.apply(ops.SUBTRACT, d_h, d_h, hint="d_x")
    f = function(b.block([x, y], [make.multiply(b, d_x, d_x)]))
    assert body_of(f, comments=True).splitlines() == [
        "h = x * y",
        "d_h = h + x                         # from line 12: np.tanh(x @ w)",
        "d_x = d_h - d_h",
        "return d_x * d_x",
    ]
    assert "#" not in body_of(f)


def test_statements_of_another_file_name_it() -> None:
    b, x = Builder(Span("helper.py", 4, 8, 4, 18, "np.tanh(x)")), array("x", 3)
    d_x = b.apply(ops.ADD, x, x, hint="d_x")
    f = replace(function(b.block([x], [make.multiply(b, d_x, d_x)])), span=Span("model.py", 1, 0, 9, 0, "def f(x):"))
    assert "# from helper.py line 4: np.tanh(x)" in body_of(f, comments=True)


def test_a_module_stands_alone() -> None:
    b, x = Builder(), array("x", 3)
    text = print_module(function(b.block([x], [make.sum(b, x)]), name="total"))
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    assert text.startswith("import numpy as np\n\n\ndef total(x):")
    assert namespace["total"](np.ones(3)) == 3.0


def test_tracebacks_and_getsource_see_the_printed_source() -> None:
    b, x = Builder(), array("x", 3)
    f = function(b.block([x], [make.sum(b, x)]), name="<lambda>")
    run = executable(f)
    assert inspect.getsource(run) == print_function(f)
    assert run.__untraced_program__ is f  # type: ignore[attr-defined]
    try:
        run("no array")
    except Exception as error:
        assert "return np.sum(x)" in "".join(traceback.format_exception(error))
    else:
        pytest.fail("text has no sum")


def test_statements_have_no_effect_on_the_arguments_of_python_operators() -> None:
    x = array("x", 3)
    s = Apply((array("t", 3),), ops.MULTIPLY, (x, const(2.0)), NO_ATTRS)
    before = np.ones(3)
    executable(function(Block((x,), (s,), s.targets)))(before)
    assert before.tolist() == [1, 1, 1]


def test_results_of_registered_classes() -> None:
    from untraced import accelerate, grad, tree

    class Pair:
        def __init__(self, a: object, b: object) -> None:
            self.a, self.b = a, b

    tree.register(Pair, lambda p: ((p.a, p.b), None), lambda _, children: Pair(*children))
    pair = Pair(np.ones(2), 3.0)
    for target in ("cpu", "numpy"):
        made = accelerate(lambda p: [Pair(p.a * 2, p.b + 1), Pair(p.b, p.a)], target=target)(pair)
        assert [type(m) for m in made] == [Pair, Pair] and made[0].b == 4.0 and made[1].a == 3.0
        np.testing.assert_array_equal(made[0].a, [2.0, 2.0])
    slope = grad(lambda p: np.sum(p.a * p.b))(pair)
    assert type(slope) is Pair and slope.b == 2.0


def _times_analysed(depth: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the inner loops of a nest are looked at until it is known who owns what they carry."""
    count = 0
    analyse = ownership.Ownership._block_of_loop

    def counting(self: ownership.Ownership, s: For | While, params: tuple[Var, ...]) -> None:
        nonlocal count
        count += 1
        analyse(self, s, params)

    def nest(b: Builder, x: Atom, y: Atom, level: int) -> tuple[Var, ...]:
        params = (Var(f"i{level}", INDEX), Var("x", x.aval), Var("y", y.aval))
        inner = Builder()
        results = nest(inner, *params[1:], level - 1) if level else (params[2], params[2])  # from then on one array
        body = inner.block(params, results)
        targets = (Var("x", x.aval), Var("y", y.aval))
        b.append(For(targets, Range(const(0), const(3), const(1)), (x, y), body))
        return targets

    b = Builder()
    x, y = Var("x", Aval((8,), F8)), Var("y", Aval((8,), F8))
    results = nest(b, x, y, depth - 1)
    tree = TreeDef(Kind.TUPLE, (LEAF, LEAF))
    with monkeypatch.context() as m:
        m.setattr(ownership.Ownership, "_block_of_loop", counting)
        print_function(Function("f", (Param("x"), Param("y")), b.block([x, y], results), tree))
    return count


def test_the_work_for_nested_loops_is_not_exponential(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _times_analysed(8, monkeypatch) <= 8 * _times_analysed(4, monkeypatch)


def test_a_long_stack_is_planned_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    planned = Plan.make

    def counting(function: Function, kept: set[Var]) -> Plan:
        nonlocal count
        count += 1
        return planned(function, kept)

    monkeypatch.setattr(Plan, "make", staticmethod(counting))

    def f(x: Any) -> Any:
        waves = np.sin, np.cos  # a choice that is known: the items are written out
        return np.array([waves[i % 2](x * i) * np.exp(-x * i) + np.cos(x + i) * np.tanh(x - i) for i in range(40)])

    assert len(untraced.accelerate(f, target="numpy").inspect(1.5).source.splitlines()) > 40
    assert count <= 12


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1 / 6, "1 / 6"),
        (-2 / 3, "-2 / 3"),
        (0.01 / 6, "1 / 600"),
        (math.sqrt(5), "5 ** 0.5"),
        (1 / math.sqrt(2), "1 / 2 ** 0.5"),
        (2 * math.pi, "2 * np.pi"),
        (math.pi / 2, "np.pi / 2"),
        (0.0015625, "0.0015625"),
        (0.1 + 0.2, "0.30000000000000004"),  # a rounding error shows
        (math.log(2), "0.6931471805599453"),
        (1e300 / 3, repr(1e300 / 3)),
    ],
)
def test_numbers_of_many_digits_are_written_as_short_expressions(value: float, text: str) -> None:
    """Each is that very number, to Python and to the reader."""
    x = array("x", 3)
    written = expression(lambda b, v: make.add(b, v, value) if value > 0 else make.multiply(b, v, value), x)
    assert written in (f"x + {text}", f"x * ({text})")
    assert eval(text, {"np": np}) == value


def test_elements_that_get_names_are_unpacked() -> None:
    def rotated(q):
        w, x, y, z = q
        return (w * x + y) * (z * w - x) * (w + y * z)

    q = np.array([0.3, 1.2, -0.7, 2.0])
    source = untraced.grad(rotated).source(q)
    assert "w, x, y, z = q\n" in source
    assert "np.array([d_w, d_x, d_y, d_z])" in source
    scope: dict[str, Any] = {"np": np}
    exec(source, scope)
    np.testing.assert_array_equal(scope["rotated_grad"](q), untraced.grad(rotated)(q))
    untraced.testing.check_grads(rotated, (q,), order=2)


def test_elements_in_another_order_are_not_unpacked() -> None:
    def swapped(v):
        y, x = v[1], v[0]
        return np.sin(x * y) * (x + y) + np.cos(x - y) * (y + 2.0 * x)

    assert "    y, x = v[1], v[0]\n" in untraced.grad(swapped).source(np.ones(2))


def test_long_constants_go_by_a_name() -> None:
    """They are written once, before the function; what is stored into is a copy, as a literal is a new array."""

    def f(x):
        constant = x.max()
        i, j = np.tril_indices(60)
        t = np.zeros((60, 60))
        t[i, j] = x[i] * constant
        i[0] = 3
        return t, i

    x = np.random.default_rng(0).normal(size=60)
    fast = untraced.accelerate(f, target="numpy")
    source = fast.inspect(x).source
    head, body = source.split("def f(x):")
    assert "x[constant]" in body and max(map(len, body.splitlines())) < 100
    namespace: dict[str, Any] = {"np": np}
    exec(source, namespace)
    for call in (fast, untraced.accelerate(f), namespace["f"], namespace["f"]):
        for ours, theirs in zip(call(x), f(x), strict=True):
            np.testing.assert_array_equal(ours, theirs)
