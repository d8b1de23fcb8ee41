"""Equality of programs: names, order, dead code and fusion do not count, everything else does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from untraced.translator import make, ops
from untraced.translator.builder import Builder
from untraced.translator.ir import Atom, Aval, Block, For, Function, Fused, Param, Range, Var, const
from untraced.translator.same import difference, same
from untraced.translator.tree import LEAF, static

VECTOR = Aval((3,), np.dtype(np.float64))
INDEX = Aval((), np.dtype(np.int64), weak=True)


def program(body: Callable[[Builder, Var, Var], Atom], hints: str = "xy") -> Function:
    x, y = (Var(h, VECTOR) for h in hints)
    b = Builder()
    result = body(b, x, y)
    return Function("f", (Param(hints[0]), Param(hints[1])), b.block([x, y], [result]), LEAF)


def test_names_and_dead_code_do_not_count() -> None:
    def with_waste(b: Builder, x: Var, y: Var) -> Atom:
        make.sum(b, x)
        return make.add(b, x, y)

    assert same(program(lambda b, x, y: make.add(b, x, y)), program(with_waste, "ab"))


def test_statement_order_does_not_count_and_argument_order_does() -> None:
    def one(b: Builder, x: Var, y: Var) -> Atom:
        p, q = make.elementwise(b, ops.SIN, x), make.elementwise(b, ops.COS, y)
        return make.subtract(b, p, q)

    def two(b: Builder, x: Var, y: Var) -> Atom:
        q, p = make.elementwise(b, ops.COS, y), make.elementwise(b, ops.SIN, x)
        return make.subtract(b, p, q)

    assert same(program(one), program(two))
    assert not same(program(lambda b, x, y: make.add(b, x, y)), program(lambda b, x, y: make.add(b, y, x)))


def test_operations_attributes_and_constants_count() -> None:
    base = program(lambda b, x, y: make.multiply(b, x, 2.0))
    assert not same(base, program(lambda b, x, y: make.multiply(b, x, 3.0)))
    assert not same(base, program(lambda b, x, y: make.multiply(b, x, 2)))
    assert not same(base, program(lambda b, x, y: make.multiply(b, x, np.float64(2.0))))
    assert not same(base, program(lambda b, x, y: make.add(b, x, 2.0)))
    zero, minus_zero = program(lambda b, x, y: make.add(b, x, 0.0)), program(lambda b, x, y: make.add(b, x, -0.0))
    assert not same(zero, minus_zero)


def test_trees_and_mutation_count() -> None:
    f = program(lambda b, x, y: make.add(b, x, y))
    body = Block(f.body.params, f.body.statements, (*f.body.results, *f.body.results))
    assert "result trees" in str(difference(f, Function("f", f.params, body, f.out, (0,))))
    unchanged = Block(f.body.params, f.body.statements, (*f.body.results, f.body.params[0]))
    assert same(f, Function("f", f.params, unchanged, f.out, (0,)))


def summed(swap: bool, reverse: bool = False, invariant: bool = False) -> Function:
    """Two carried values, in either order; perhaps one more that the loop leaves alone."""
    x = Var("x", VECTOR)
    i, p, q, r = Var("i", INDEX), Var("p", VECTOR), Var("q", VECTOR), Var("r", VECTOR)
    inner = Builder()
    scale = r if invariant else x
    carried = [(p, make.add(inner, p, q)), (q, make.multiply(inner, q, scale))]
    if swap:
        carried.reverse()
    if invariant:
        carried.append((r, r))
    targets = tuple(Var("t", VECTOR) for _ in carried)
    loop = For(
        targets,
        Range(const(0), const(4), const(1), reverse),
        (x,) * len(carried),
        inner.block([i, *(v for v, _ in carried)], [n for _, n in carried]),
    )
    return Function("f", (Param("x"),), Block((x,), (loop,), (targets[1 if swap else 0],)), LEAF)


def test_a_number_that_the_program_was_specialised_on_may_be_a_parameter_without_use() -> None:
    f = program(lambda b, x, y: make.add(b, x, y))
    n = Var("n", INDEX)
    loose = Block((*f.body.params, n), f.body.statements, f.body.results)
    general = Function("f", (*f.params, Param("n")), loose, LEAF)
    known = Function("f", (*f.params, Param("n", static(3))), f.body, LEAF)
    assert same(general, known) and same(known, general)
    assert not same(f, known)


def test_loops_are_compared_by_what_they_carry() -> None:
    assert same(summed(False), summed(True))
    assert same(summed(False), summed(False, invariant=True))
    assert not same(summed(False), summed(False, reverse=True))


def test_fused_groups_count_as_their_bodies() -> None:
    f = program(lambda b, x, y: make.elementwise(b, ops.TANH, make.add(b, x, y)))
    x, y, a, c, t = (Var(n, VECTOR) for n in "xyact")
    inner = Builder()
    body = inner.block([a, c], [make.elementwise(inner, ops.TANH, make.add(inner, a, c))])
    group = Fused((t,), (x, y), body, "pointwise")
    assert same(f, Function("g", f.params, Block((x, y), (group,), (t,)), LEAF))
    swapped = Fused((t,), (y, x), body, "pointwise")
    assert not same(f, Function("g", f.params, Block((x, y), (swapped,), (t,)), LEAF))
