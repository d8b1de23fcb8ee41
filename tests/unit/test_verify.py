"""The verifier accepts well-formed programs and names what is wrong with others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from untraced.translator import make, ops
from untraced.translator.builder import Builder
from untraced.translator.errors import Span
from untraced.translator.ir import Apply, Aval, Block, For, Function, Fused, If, Param, Range, Var, While, const
from untraced.translator.ops.core import NO_ATTRS
from untraced.translator.tree import LEAF
from untraced.translator.verify import INDEX, VerificationError, verify

VECTOR = Aval((3,), np.dtype(np.float64))
FLOAT = Aval((), np.dtype(np.float64))
HERE = Span("model.py", 7, 4, 7, 9, "x + y")


def function(block: Block, *, mutated: tuple[int, ...] = ()) -> Function:
    return Function("f", tuple(Param(v.hint) for v in block.params), block, LEAF, mutated)


def added(x: Var, y: Var, aval: Aval = VECTOR) -> Apply:
    return Apply((Var("t", aval),), ops.ADD, (x, y), NO_ATTRS, HERE)


def rejects(block: Block, match: str, *, mutated: tuple[int, ...] = ()) -> None:
    with pytest.raises(VerificationError, match=match):
        verify(function(block, mutated=mutated))


def test_accepts_straight_line_code() -> None:
    x, b = Var("x", VECTOR), Builder()
    verify(function(b.block([x], [make.sum(b, make.multiply(b, x, 2.0))])))


def test_names_the_statement_and_the_line() -> None:
    x, stranger = Var("x", VECTOR), Var("stranger", VECTOR)
    s = added(x, stranger)
    with pytest.raises(VerificationError, match=r"(?s)stranger.*add.*model\.py:7 x \+ y"):
        verify(function(Block((x,), (s,), s.targets)))


def test_use_before_definition_and_out_of_scope() -> None:
    x = Var("x", VECTOR)
    first, second = added(x, x), added(x, x)
    broken = Apply(second.targets, ops.ADD, (first.targets[0], x), NO_ATTRS)
    rejects(Block((x,), (broken, first), first.targets), "before it is defined")

    inner = added(x, x)
    branch = If((), const(True), Block((), (inner,), ()), Block((), (), ()))
    rejects(Block((x,), (branch,), inner.targets), "out of its scope")


def test_two_definitions() -> None:
    x = Var("x", VECTOR)
    s = added(x, x)
    rejects(Block((x,), (s, s), s.targets), "defined twice")


def test_types_of_targets() -> None:
    x = Var("x", VECTOR)
    s = added(x, x, FLOAT)
    rejects(Block((x,), (s,), s.targets), "the operation gives float64")
    y = Var("y", Aval((4,), np.dtype(np.float64)))
    t = added(x, y)
    rejects(Block((x, y), (t,), t.targets), "ill typed")


def test_results_and_mutated_parameters() -> None:
    x, y = Var("x", VECTOR), Var("y", FLOAT)
    rejects(Block((x,), (), (x, x)), "2 results for 1 leaves")
    rejects(Block((x, y), (), (x, y)), "written in place with a value of type", mutated=(0,))
    rejects(Block((x,), (), (x, x)), "not distinct", mutated=(1,))


def for_loop(change: Callable[[Var], object], index: Aval = INDEX, step: int = 1) -> Block:
    x, i, p, t = Var("x", VECTOR), Var("i", index), Var("p", VECTOR), Var("t", VECTOR)
    result = change(p)
    loop = For((t,), Range(const(0), const(3), const(step)), (x,), Block((i, p), (), (result,)))  # type: ignore[arg-type]
    return Block((x,), (loop,), (t,))


def test_loops() -> None:
    verify(function(for_loop(lambda p: p)))
    rejects(for_loop(lambda p: const(1.0)), "loop results")
    rejects(for_loop(lambda p: p, index=FLOAT), "first parameter of a for body")
    rejects(for_loop(lambda p: p, step=0), "step of a range is zero")


def test_while_condition_is_a_bool() -> None:
    x, c, p, t = (Var(n, VECTOR) for n in "xcpt")
    loop = While((t,), (x,), Block((c,), (), (const(1),)), Block((p,), (), (p,)))
    rejects(Block((x,), (loop,), (t,)), "no bool scalar")


def test_branches_have_the_types_of_the_targets() -> None:
    x, t = Var("x", VECTOR), Var("t", VECTOR)
    branch = If((t,), const(True), Block((), (), (x,)), Block((), (), (const(0.0),)))
    rejects(Block((x,), (branch,), (t,)), "branch results")
    verify(function(Block((x,), (If((t,), const(True), Block((), (), (x,)), Block((), (), (x,))),), (t,))))


def test_fused_bodies_are_closed() -> None:
    x, a = Var("x", VECTOR), Var("a", VECTOR)
    open_body, closed = added(a, x), added(a, a)
    good, bad = Var("t", VECTOR), Var("t", VECTOR)
    group = Fused((good,), (x,), Block((a,), (closed,), closed.targets), "pointwise")
    verify(function(Block((x,), (group,), (good,))))
    group = Fused((bad,), (x,), Block((a,), (open_body,), open_body.targets), "pointwise")
    rejects(Block((x,), (group,), (bad,)), "before it is defined|out of its scope")
