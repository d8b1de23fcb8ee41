"""Fusion: what is grouped, what is not, and that the meaning stays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from kernel_programs import (
    arguments,
    chain,
    dense,
    layer_norm,
    logsumexp,
    masked,
    program,
    random_program,
    softmax,
    stencil,
    totals,
    transposed,
)

from untraced.translator import make, ops
from untraced.translator.builder import Builder
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Apply, Atom, Aval, Block, Const, For, Function, Fused, Range, Var, const
from untraced.translator.passes.fuse import fuse, report
from untraced.translator.verify import verify


def kinds(function: Function) -> list[str]:
    """What the statements became: a group's kind or an operation's name."""
    return [
        s.kind if isinstance(s, Fused) else s.op.name for s in function.body.statements if isinstance(s, Fused | Apply)
    ]


def same_values(function: Function, fused: Function) -> None:
    leaves = arguments(function)
    for got, want in zip(evaluate(fused, leaves), evaluate(function, leaves), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (softmax(5, 7), ["row"]),
        (layer_norm(5, 7), ["row"]),
        (logsumexp(5, 7), ["row"]),
        (chain(100), ["pointwise"]),
        (masked(5, 7), ["pointwise"]),
        (stencil(8, 9), ["pointwise", "pointwise"]),
        (transposed(5, 7), ["pointwise"]),
        (totals(300, 70), ["reduce", "reduce"]),
        (dense(5, 6, 7), ["contract", "row"]),
    ],
    ids=lambda p: p.name if isinstance(p, Function) else "",
)
def test_known_programs(function: Function, expected: list[str]) -> None:
    fused = fuse(function)
    verify(fused)
    assert [k for k in kinds(fused) if k not in ("transpose", "index")] == expected
    leaves = arguments(function)
    for got, want in zip(evaluate(fused, leaves), evaluate(function, leaves), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("seed", range(120))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    function = random_program(seed, length=14)
    fused = fuse(function)
    verify(fused)
    same_values(function, fused)


def test_a_loop_is_fused_inside_and_its_scalars_stay_outside() -> None:
    b = Builder()
    x, n = Var("x", Aval((8,), np.dtype("f8"))), Var("n", Aval((), np.dtype("i8"), weak=True))
    i, y = Var("i", Aval((), np.dtype("i8"), weak=True)), Var("y", x.aval)
    inner = Builder()
    scale = make.divide(inner, 1.0, make.add(inner, i, 1))
    result = make.elementwise(inner, ops.SIN, make.multiply(inner, make.add(inner, y, x), scale))
    out = Var("y", x.aval)
    r = Range(const(0), n, const(1))
    b.append(For((out,), r, (x,), inner.block((i, y), (result,))))
    function = program("loop", [("x", (8,), "f8")], lambda b, x: x)
    function = Function("loop", function.params * 2, Block((x, n), tuple(b.statements), (out,)), function.out)
    fused = fuse(function)
    verify(fused)
    (loop,) = fused.body.statements
    assert isinstance(loop, For)
    assert [s.kind if isinstance(s, Fused) else s.op.name for s in loop.body.statements] == [
        "add",
        "divide",
        "pointwise",
    ]  # type: ignore[union-attr]
    leaves = [np.arange(8.0), 3]
    np.testing.assert_array_equal(evaluate(fused, leaves)[0], evaluate(function, leaves)[0])


def test_a_value_is_made_again_where_that_moves_less() -> None:
    """1 - h * h is needed only beside the second product: it is made there, from the h that is stored anyway."""

    def body(b: Builder, x: Atom, w: Atom, d: Atom) -> tuple[Atom, ...]:
        h = make.elementwise(b, ops.TANH, make.matmul(b, x, w))
        slope = make.subtract(b, 1.0, make.multiply(b, h, h))
        return make.multiply(b, make.matmul(b, d, w), slope), h

    function = program("slope", [("x", (6, 5), "f8"), ("w", (5, 5), "f8"), ("d", (6, 5), "f8")], body)
    fused = fuse(function)
    verify(fused)
    first, second = (s for s in fused.body.statements if isinstance(s, Fused))
    assert len(first.targets) == 1 and "multiply" in [s.op.name for s in second.body.statements if isinstance(s, Apply)]
    same_values(function, fused)


def test_groups_that_read_the_same_array_are_merged() -> None:
    def body(b: Builder, x: Atom) -> tuple[Atom, ...]:
        return make.multiply(b, make.add(b, x, 1.0), 2.0), make.elementwise(b, ops.EXP, make.negative(b, x))

    fused = fuse(program("siblings", [("x", (50,), "f4")], body))
    assert kinds(fused) == ["pointwise"] and len(fused.body.results) == 2


def test_reductions_of_the_same_array_are_merged() -> None:
    def body(b: Builder, x: Atom) -> tuple[Atom, ...]:
        down = make.reduce(b, ops.SUM, make.multiply(b, x, x), (0,)), make.reduce(b, ops.MAX, x, (0,))
        return *down, make.reduce(b, ops.SUM, x, (1,))

    function = program("totals", [("x", (50, 60), "f4")], body)
    fused = fuse(function)
    assert sorted(kinds(fused)) == ["reduce", "sum"]
    same_values(function, fused)


def test_a_group_that_would_need_its_own_result_is_cut() -> None:
    """The total of the column means must be complete before it is used beside what it is made of."""

    def body(b: Builder, x: Atom) -> Atom:
        y = make.multiply(b, x, x)
        column = make.sum(b, y, (0,))
        return make.add(b, make.subtract(b, y, column), make.sum(b, column, (0,)))

    function = program("cut", [("x", (9, 7), "f8")], body)
    fused = fuse(function)
    verify(fused)
    assert len(kinds(fused)) > 1
    same_values(function, fused)


def test_a_square_mean_along_the_other_axis_is_not_taken_for_its_own() -> None:
    def body(b: Builder, x: Atom) -> Atom:
        mean = make.sum(b, make.multiply(b, x, 2.0), (1,))
        return make.subtract(b, x, mean)  # broadcasts along the rows: the axis that was summed

    function = program("other_axis", [("x", (6, 6), "f8")], body)
    fused = fuse(function)
    assert len(fused.body.statements) == 2
    same_values(function, fused)


def test_dead_statements_are_left_out() -> None:
    def body(b: Builder, x: Atom) -> Atom:
        make.elementwise(b, ops.EXP, x)
        return make.add(b, x, 1.0)

    assert kinds(fuse(program("dead", [("x", (5,), "f4")], body))) == ["add"]


def test_array_constants_become_arguments() -> None:
    table = np.arange(6.0)

    def body(b: Builder, x: Atom) -> Atom:
        return make.multiply(b, make.add(b, x, const(table)), 2.0)

    (group,) = fuse(program("table", [("x", (6,), "f8")], body)).body.statements
    assert isinstance(group, Fused)
    assert any(isinstance(a, Const) for a in group.args) and len(group.body.params) == 2


def test_report() -> None:
    (row,) = report(fuse(softmax(8, 16)))
    assert (row.kind, row.lines, row.why_cut) == ("row", (1, 2, 3, 4, 5), "")
    assert row.bytes_moved == row.bytes_minimum == 2 * 8 * 16 * 4
    product, loss = report(fuse(dense(5, 6, 7)))
    assert product.kind == "contract" and "epilogue" in product.why_cut
    assert loss.bytes_minimum < loss.bytes_moved
    alone = fuse(program("alone", [("x", (50, 60), "f4")], lambda b, x: make.sum(b, x, (1,))))
    assert len(report(fuse(totals(300, 70)))) == 2 and (len(report(alone)), len(report(alone, lone=True))) == (0, 1)


def test_the_work_grows_with_the_statements() -> None:
    """Counted in calls of functions of the pass: twice the statements take little more than twice the calls."""

    def work(count: int) -> int:
        def body(b: Builder, x: Atom, y: Atom) -> Atom:
            for k in range(count):
                x = make.multiply(b, make.add(b, x, y), 0.5)
                if k % 4 == 3:
                    x = make.subtract(b, x, make.sum(b, x, (1,), True))
            return x

        function = program("long", [("x", (200, 30), "f4"), ("y", (200, 30), "f4")], body)
        calls = 0

        def counted(frame: Any, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event == "call"

        before = sys.getprofile()
        sys.setprofile(counted)
        try:
            fuse(function)
        finally:
            sys.setprofile(before)
        return calls

    work(10)  # what is kept from one program to the next
    assert work(80) < 2.5 * work(40)


def test_the_docstring_of_the_pass() -> None:
    import untraced.translator.passes.fuse as module

    assert module.__doc__ is not None and "def row(x):" in module.__doc__
    x: Any = np.random.default_rng(0).standard_normal((4, 5))
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    (y,) = evaluate(fuse(softmax(4, 5, np.float64)), [x])
    np.testing.assert_allclose(y, e / np.sum(e, axis=1, keepdims=True))
