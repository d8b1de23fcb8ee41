"""Branches, loops and run-time checks on XLA against the reference interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xla_programs import check, program, run_xla

from untraced.translator import make, ops
from untraced.translator.builder import Builder
from untraced.translator.ir import Atom, Aval, Block, For, If, Range, Var, While, const
from untraced.translator.ops.core import At, Dyn, Gather, Run

INT = Aval((), np.dtype(np.int64), weak=True)


def block(build: Any, *params: Var) -> Block:
    b = Builder()
    return b.block(params, build(b, *params))


def branch(b: Builder, condition: Atom, then: Any, orelse: Any, *like: Atom) -> tuple[Var, ...]:
    return b.append(If(tuple(Var("r", a.aval) for a in like), condition, block(then), block(orelse)))


def loop(b: Builder, r: Range, inits: list[Atom], body: Any, *, hint: str = "a") -> tuple[Var, ...]:
    inside = [Var(hint, a.aval) for a in inits]
    index = Var("i", INT)
    return b.append(For(tuple(Var(hint, a.aval) for a in inits), r, tuple(inits), block(body, index, *inside)))


def while_loop(b: Builder, inits: list[Atom], condition: Any, body: Any) -> tuple[Var, ...]:
    avals = [a.aval for a in inits]
    tested, inside, targets = ([Var("a", a) for a in avals] for _ in range(3))
    return b.append(While(tuple(targets), tuple(inits), block(condition, *tested), block(body, *inside)))


def span(start: Any, stop: Any, step: Any = 1, reverse: bool = False) -> Range:
    return Range(make.lift(start), make.lift(stop), make.lift(step), reverse)


@pytest.mark.parametrize("n", [3, 4000])
@pytest.mark.parametrize("flag", [True, False])
def test_if(n: int, flag: bool) -> None:
    def build(b: Any, x: Any, c: Any) -> Any:
        return branch(
            b, c, lambda b: (make.add(b, x, 1.0), make.sum(b, x, (0,))), lambda b: (x, make.lift(np.float64(0))), x,
            make.sum(b, x, (0,)),
        )

    check(build, np.arange(float(n)), np.bool_(flag))


def test_if_inside_if_captures_and_constants() -> None:
    def build(b: Any, x: Any, y: Any) -> Any:
        big = make.elementwise(b, ops.GREATER, make.sum(b, x, (0,)), 10.0)

        def inner(b: Any) -> Any:
            return branch(
                b, make.elementwise(b, ops.LESS, y, 0.0), lambda b: (make.matmul(b, x, x),), lambda b: (y,), y
            )

        return branch(b, big, inner, lambda b: (make.lift(np.float64(-1.0)),), y)

    for x in (np.ones(4), np.full(4, 5.0)):
        for y in (np.float64(-2.0), np.float64(3.0)):
            check(build, x, y)


@pytest.mark.parametrize(
    "bounds",
    [(0, 10, 1), (3, 10, 2), (10, 0, -3), (0, 0, 1), (5, 2, 1), (2, 9, 4), (-5, 5, 3), (9, -1, -1)],
    ids=str,
)
@pytest.mark.parametrize("reverse", [False, True])
def test_for_ranges(bounds: tuple[int, int, int], reverse: bool) -> None:
    def body(b: Any, i: Any, a: Any) -> Any:
        return (make.add(b, make.multiply(b, a, 2.0), i),)

    check(lambda b, x: loop(b, span(*bounds, reverse), [x], body), np.array([1.0, -1.0]))

    def build(b: Any, x: Any, start: Any, stop: Any, step: Any) -> Any:
        ranges = [
            Range(start, stop, step, reverse),
            Range(const(bounds[0]), stop, const(bounds[2]), reverse),
            Range(start, stop, const(bounds[2]), reverse),
        ]
        return [loop(b, r, [x], body)[0] for r in ranges]

    check(build, np.array([1.0, -1.0]), *bounds)


def test_nested_loops_with_stores() -> None:
    def build(b: Any, x: Any) -> Any:
        def outer(b: Any, i: Any, a: Any) -> Any:
            def inner(b: Any, j: Any, a: Any) -> Any:
                old = make.index(b, a, (At(Dyn(0)), At(Dyn(1))), (i, j))
                left = make.index(b, a, (At(Dyn(0)), At(Dyn(1))), (i, make.subtract(b, j, 1)))
                return (make.put(b, a, make.add(b, old, left), (At(Dyn(0)), At(Dyn(1))), (i, j)),)

            return loop(b, span(1, 6), [a], inner)

        return loop(b, span(0, 5), [x], outer)

    check(build, np.random.default_rng(0).random((5, 6)))


def test_while_with_captured_values() -> None:
    def build(b: Any, x: Any, limit: Any) -> Any:
        def condition(b: Any, a: Any, n: Any) -> Any:
            return (make.elementwise(b, ops.LESS, make.sum(b, a, (0,)), limit),)

        return while_loop(b, [x, make.lift(0)], condition, lambda b, a, n: (make.add(b, a, x), make.add(b, n, 1)))

    check(build, np.ones(3), np.float64(100.0))
    check(build, np.ones(3), np.float64(-1.0))


# ---- checks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("i", [5, -6, 100, -(2**40)])
def test_an_element_outside_raises(i: int) -> None:
    build = lambda b, x, i: make.index(b, x, (At(Dyn(0)),), (i,))  # noqa: E731
    check(build, np.arange(5.0), 4)
    check(build, np.arange(5.0), -5)
    with pytest.raises(IndexError, match=f"index {i} is out of bounds for axis 0 with size 5"):
        run_xla(program(build, np.arange(5.0), i), [np.arange(5.0), i])


def test_a_slice_outside_raises() -> None:
    build = lambda b, x, i: make.index(b, x, (Run(Dyn(0), 3),), (i,))  # noqa: E731
    check(build, np.arange(5.0), 2)
    for i in (3, -1):
        with pytest.raises(IndexError):
            run_xla(program(build, np.arange(5.0), i), [np.arange(5.0), i])


def test_gathers_and_stores_outside_raise() -> None:
    x = np.arange(5.0)
    for i in (np.array([0, 5, 1]), np.array([-6, 2])):
        for build in (
            lambda b, x, i: make.index(b, x, (Gather(0),), (i,)),
            lambda b, x, i: make.put(b, x, 1.0, (Gather(0),), (i,)),
            lambda b, x, i: make.put_add(b, x, 1.0, (Gather(0),), (i,)),
        ):
            with pytest.raises(IndexError, match="out of bounds for axis 0 with size 5"):
                run_xla(program(build, x, i), [x, i])


def test_the_first_failure_in_a_loop_is_reported() -> None:
    def build(b: Any, x: Any, n: Any) -> Any:
        def body(b: Any, i: Any, s: Any) -> Any:
            return (make.add(b, s, make.index(b, x, (At(Dyn(0)),), (i,))),)

        return loop(b, Range(const(0), n, const(1)), [make.lift(np.float64(0.0))], body)

    check(build, np.arange(5.0), 5)
    with pytest.raises(IndexError, match="index 5 is"):
        run_xla(program(build, np.arange(5.0), 9), [np.arange(5.0), 9])
    with pytest.raises(IndexError, match="index 5 is"):  # where the loop ends: so many turns take hours
        run_xla(program(build, np.arange(5.0), 1 << 45), [np.arange(5.0), 1 << 45])


def test_a_while_whose_condition_leaves_the_array_ends() -> None:
    def build(b: Any, x: Any) -> Any:
        def condition(b: Any, i: Any) -> Any:
            return (make.elementwise(b, ops.GREATER, make.index(b, x, (At(Dyn(0)),), (i,)), 0.0),)

        return while_loop(b, [make.lift(0)], condition, lambda b, i: (make.add(b, i, 1),))

    check(build, np.array([1.0, 2.0, 0.0]))
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        run_xla(program(build, np.ones(3)), [np.ones(3)])


def test_a_check_in_one_branch_only() -> None:
    def build(b: Any, x: Any, i: Any) -> Any:
        inside = make.elementwise(b, ops.LESS, i, 100)
        one = make.lift(np.float64(7.0))
        return branch(b, inside, lambda b: (make.index(b, x, (At(Dyn(0)),), (i,)),), lambda b: (one,), one)

    check(build, np.arange(3.0), 1)
    check(build, np.arange(3.0), 100)
    with pytest.raises(IndexError, match="index 50"):
        run_xla(program(build, np.arange(3.0), 50), [np.arange(3.0), 50])


def test_zero_steps_and_negative_powers_raise() -> None:
    def build(b: Any, x: Any, step: Any) -> Any:
        return loop(b, Range(const(0), const(4), step), [x], lambda b, i, a: (make.add(b, a, i),))

    check(build, np.float64(1.0), 3)
    check(build, np.float64(1.0), -3)
    with pytest.raises(ValueError, match="must not be zero"):
        run_xla(program(build, np.float64(1.0), 0), [np.float64(1.0), 0])
    raised = lambda b, x, y: make.power(b, x, y)  # noqa: E731
    x = np.array([2, 3])
    check(raised, x, np.array([3, 0]))
    with pytest.raises(ValueError, match="negative integer powers"):
        run_xla(program(raised, x, x), [x, -x])


def test_indices_that_are_known_to_be_inside_cost_no_check() -> None:
    from untraced.tpu.emit.program import emit

    def build(b: Any, x: Any) -> Any:
        def body(b: Any, i: Any, a: Any) -> Any:
            return (make.put(b, a, make.index(b, x, (At(Dyn(0)),), (make.subtract(b, i, 1),)), (At(Dyn(0)),), (i,)),)

        return loop(b, span(1, 8), [x], body)

    assert emit(program(build, np.arange(8.0))).checks == ()
    check(build, np.arange(8.0))


def test_without_checks_nothing_is_checked() -> None:
    from untraced.tpu.client import executable as client
    from untraced.tpu.emit.program import emit

    def build(b: Any, x: Any, i: Any, y: Any) -> Any:
        def body(b: Any, k: Any, a: Any) -> Any:
            value = make.index(b, x, (At(Dyn(0)),), (make.add(b, i, k),))
            return (make.put(b, a, value, (At(Dyn(0)),), (k,)),)

        filled = loop(b, Range(const(0), i, make.subtract(b, i, 1)), [x], body)
        return [*filled, make.index(b, x, (Gather(0),), (y,)), make.power(b, y, i)]

    x, y = np.arange(8.0), np.array([-8, 7, 0])
    function = program(build, x, 2, y)
    checked, free = emit(function), emit(function, checks=False)
    assert checked.checks and not free.checks
    assert len(free.text) < len(checked.text)
    for ours, theirs in zip(client.compile(free).run_numpy([x, 2, y]), run_xla(function, [x, 2, y]), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    client.compile(free).run_numpy([x, 5, np.array([100, -100, 9])])  # some elements or others


# ---- how loops and stores are written --------------------------------------------------------------


def test_narrow_loops_inside_narrow_loops() -> None:
    def build(b: Any, x: Any, limit: Any, start: Any) -> Any:
        def outer(b: Any, i: Any, a: Any, n: Any) -> Any:
            def condition(b: Any, s: Any) -> Any:
                return (make.elementwise(b, ops.LESS, s, limit),)

            first = make.index(b, x, (At(Dyn(0)),), (i,))
            grown = while_loop(b, [first], condition, lambda b, s: (make.multiply(b, s, 2.0),))
            return make.put(b, a, grown[0], (At(Dyn(0)),), (i,)), make.add(b, n, 1)

        return loop(b, Range(start, const(5), const(1)), [x, make.lift(0)], outer)

    x = np.array([1.0, 3.0, 0.5, 40.0, 2.0])
    check(build, x, np.float64(10.0), 1)
    with pytest.raises(IndexError, match="index -9"):
        run_xla(program(build, x, np.float64(10.0), 1), [x, np.float64(10.0), -9])


def test_loops_with_products_and_unused_values() -> None:
    def build(b: Any, x: Any, y: Any, n: Any) -> Any:
        def body(b: Any, i: Any, a: Any, unused: Any) -> Any:
            return make.matmul(b, a, x), make.add(b, unused, y)

        once = loop(b, span(0, 1), [x, y], body)
        product, _ = loop(b, Range(const(0), n, const(1)), [once[0], y], body)
        constant = loop(b, Range(const(0), n, const(1)), [x], lambda b, i, a: (make.zeros(b, (8, 8), np.dtype(float)),))
        return [product, *constant]

    check(build, np.eye(8) * 2, np.ones(3), 3)


@pytest.mark.parametrize("n", [6, 40, 150])
@pytest.mark.parametrize("steps", [0, 1, 4, 5])
def test_stencils_that_read_what_they_overwrite(n: int, steps: int) -> None:
    def build(b: Any, x: Any) -> Any:
        def body(b: Any, i: Any, a: Any) -> Any:
            part = lambda i, j: make.index(b, a, (Run(i, n - 2), Run(j, n - 2)), ())
            total = make.add(b, make.add(b, part(0, 1), part(2, 1)), make.add(b, part(1, 0), part(1, 2)))
            return (make.put(b, a, make.multiply(b, total, 0.25), (Run(1, n - 2), Run(1, n - 2)), ()),)

        return loop(b, span(0, steps), [x], body)

    check(build, np.random.default_rng(0).random((n, n)))


def test_stores_of_most_of_an_array_from_itself() -> None:
    def build(b: Any, x: Any) -> Any:
        inner = make.index(b, x, (Run(1, 8),), ())
        put = make.put(b, x, make.multiply(b, inner, 2.0), (Run(2, 8),), ())
        return [put, make.put_add(b, x, make.multiply(b, inner, 2.0), (Run(0, 8),), ()), x]

    check(build, np.array([-0.0, 1.0, np.nan, np.inf, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]))
