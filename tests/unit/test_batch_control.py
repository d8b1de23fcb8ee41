"""vmap of branches and loops: as they are where all elements agree, in lockstep where they do not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from handmade import BOOL, INT, array, branch, build, loop, ops_of, repeat

from untraced.translator import make, ops
from untraced.translator.batch.vmap import vmap
from untraced.translator.errors import UnsupportedError
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Atom, Function, Fused, If, Range, Var, While, const, walk
from untraced.translator.ops.core import At, Dyn, Gather, Run
from untraced.translator.passes.simplify import simplify
from untraced.translator.verify import verify

INTEGER = array(dtype=int)


def check(f: Function, leaves: Sequence[Any], in_axes: Sequence[int | None]) -> Function:
    """Compare with a loop over the elements of the leaves; `in_axes` are 0 or None."""
    verify(f)
    size = next(len(x) for x, axis in zip(leaves, in_axes, strict=True) if axis == 0)
    each = [[x if a is None else x[k] for x, a in zip(leaves, in_axes, strict=True)] for k in range(size)]
    with np.errstate(all="ignore"):
        want = [np.stack(column) for column in zip(*(evaluate(f, e) for e in each), strict=True)]
        g = vmap(f, in_axes, [0] * f.out.leaf_count, size)
        for h in (g, simplify(g)):
            verify(h)
            for got, w in zip(evaluate(h, leaves), want, strict=True):
                assert np.asarray(got).dtype == w.dtype
                np.testing.assert_allclose(got, w, rtol=1e-13)
    return g


X = np.arange(12.0).reshape(4, 3) - 4
FLAGS = np.array([True, False, False, True])


# ---- branches ------------------------------------------------------------------------------------


def choice(b: Any, flag: Atom, x: Atom) -> tuple[Var, ...]:
    return branch(
        b,
        flag,
        lambda b: [make.elementwise(b, ops.SIN, x), make.multiply(b, x, 2.0)],
        lambda b: [x, make.zeros(b, (3,))],
    )


def test_a_branch_that_all_take_together_stays_a_branch() -> None:
    g = check(build([BOOL, array(3)], choice), [np.True_, X], [None, 0])
    assert "If" in ops_of(g)
    check(build([BOOL, array(3)], choice), [np.False_, X], [None, 0])


def test_a_branch_of_each_becomes_where() -> None:
    for axes in ([0, 0], [0, None]):
        g = check(build([BOOL, array(3)], choice), [FLAGS, X if axes[1] == 0 else X[1]], axes)
        assert not any(isinstance(s, If) for s in walk(g.body))
        assert ops_of(g).count("where") == 2


def test_branches_of_constants() -> None:
    f = build([BOOL], lambda b, c: branch(b, c, lambda b: [const(1.0), const(2)], lambda b: [const(-1.0), const(3)]))
    check(f, [FLAGS], [0])


def test_nested_branches() -> None:
    def body(b: Any, x: Atom) -> Any:
        def inner(b: Any) -> Sequence[Atom]:
            return branch(
                b, make.greater(b, x, 5), lambda b: [make.multiply(b, x, 10.0)], lambda b: [make.negative(b, x)]
            )

        return branch(b, make.greater(b, x, 0), inner, lambda b: [make.add(b, x, 0.5)])

    check(build([array()], body), [np.array([-1.0, 2.0, 7.0])], [0])


def guarded(*, axis: int | None) -> tuple[Function, list[Any]]:
    """if i < 3: x[i] * 2 else: 0.0; elements with i >= 3 must not raise"""

    def body(b: Any, x: Atom, i: Atom) -> Any:
        return branch(
            b,
            make.less(b, i, 3),
            lambda b: [make.multiply(b, make.index(b, x, [At(Dyn(0))], [i]), 2.0)],
            lambda b: [const(np.float64(0.0))],
        )

    return build([array(3), INTEGER], body), [X if axis == 0 else X[0], np.array([0, 2, 3, 70])]


@pytest.mark.parametrize("axis", [0, None])
def test_an_index_that_its_branch_guards_does_not_raise(axis: int | None) -> None:
    f, leaves = guarded(axis=axis)
    check(f, leaves, [axis, 0])


def test_indices_that_nobody_reaches_do_not_raise() -> None:
    """The index is the same for all elements, the branch is not: no element takes it."""

    def body(b: Any, x: Atom, i: Atom, k: Atom) -> Any:
        def then(b: Any) -> Sequence[Atom]:
            one = make.index(b, make.index(b, x, [Gather(0)], [k]), [At(Dyn(0))], [i])
            return [make.add(b, one, make.sum(b, make.index(b, x, [Run(Dyn(0), 2)], [i])))]

        return branch(b, make.greater(b, make.index(b, x, [At(0)]), 99), then, lambda b: [make.sum(b, x)])

    f = build([array(3), INT, array(2, dtype=int)], body)
    check(f, [X, 50, np.array([7, 8])], [0, None, None])


# ---- for -----------------------------------------------------------------------------------------


def powers(b: Any, x: Atom, n: Any = 3, start: Any = 0, step: Any = 1, reverse: bool = False) -> Any:
    turns = Range(make.lift(start), make.lift(n), make.lift(step), reverse)
    return loop(
        b, turns, [x, const(0)], lambda b, i, c, d: [make.add(b, make.multiply(b, c, 0.5), i), make.add(b, d, i)]
    )


def test_a_loop_of_known_turns_carries_batches() -> None:
    g = check(build([array(3)], powers), [X], [0])
    assert ops_of(g).count("For") == 1
    assert "where" not in ops_of(g)


def test_only_what_depends_on_the_batch_is_batched() -> None:
    g = check(build([array(3)], powers), [X], [0])
    (s,) = (s for s in g.body.statements if hasattr(s, "inits"))
    assert [t.aval for t in s.targets] == [array(4, 3), INT]


def test_batchedness_travels_round_the_loop() -> None:
    def body(b: Any, x: Atom) -> Any:
        zero = const(np.float64(0))
        return loop(b, range(4), [zero, zero, x], lambda b, i, c, d, e: [d, e, make.add(b, e, c)])

    check(build([array()], body), [np.arange(3.0)], [0])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_each_element_has_its_own_stop(step: int, reverse: bool) -> None:
    f = build([array(3), INTEGER], lambda b, x, n: powers(b, x, n, 2, step, reverse))
    check(f, [X, np.array([5, -3, 2, 9])], [0, 0])
    check(f, [X[1], np.array([5, -3, 2, 9])], [None, 0])


def test_a_shared_index_stays_a_loop_index() -> None:
    g = check(build([array(3), INTEGER], lambda b, x, n: powers(b, x, n)), [X, np.array([1, 0, 3, 2])], [0, 0])
    assert [v.aval for s in walk(g.body) if hasattr(s, "range") for v in s.body.params[:1]] == [INT]


@pytest.mark.parametrize("reverse", [False, True])
def test_each_element_has_its_own_range(reverse: bool) -> None:
    def body(b: Any, x: Atom, start: Atom, stop: Atom, step: Atom) -> Any:
        return powers(b, x, stop, start, step, reverse)

    f = build([array(3), INTEGER, INTEGER, INTEGER], body)
    starts, stops, steps = np.array([0, 5, 1, 4]), np.array([3, 0, 1, 9]), np.array([1, -2, 3, 2])
    check(f, [X, starts, stops, steps], [0, 0, 0, 0])
    check(f, [X, starts, np.int64(3), np.int64(1)], [0, 0, None, None])
    check(f, [X, np.int64(0), np.int64(6), np.array([1, 2, 5, 7])], [0, None, None, 0])
    check(f, [X, np.int64(0), stops, np.int64(2)], [0, None, 0, None])


def test_a_tape_written_in_a_loop() -> None:
    def body(b: Any, x: Atom) -> Any:
        def turn(b: Any, i: Atom, tape: Atom, y: Atom) -> list[Atom]:
            return [make.put(b, tape, y, [At(Dyn(0)), Run(0, 3)], [i]), make.elementwise(b, ops.SIN, y)]

        return loop(b, range(5), [make.zeros(b, (5, 3)), x], turn)

    g = check(build([array(3)], body), [X], [0])
    assert "broadcast_to" not in ops_of(g)


def test_a_store_at_the_own_turn_of_each() -> None:
    """Inside a loop of each element's own length, an index that runs past the others' end is not used for them."""

    def body(b: Any, x: Atom, n: Atom) -> Any:
        def turn(b: Any, i: Atom, y: Atom) -> list[Atom]:
            following = make.index(b, y, [At(Dyn(0))], [make.add(b, i, 1)])
            return [make.put(b, y, make.multiply(b, following, 2.0), [At(Dyn(0))], [i])]

        return loop(b, Range(const(0), n, const(1)), [x], turn)

    check(build([array(3), INTEGER], body), [X, np.array([2, 0, 1, 2])], [0, 0])


# ---- while ---------------------------------------------------------------------------------------


def doubling(b: Any, x: Atom, limit: Atom) -> Any:
    return repeat(
        b,
        [x, const(0)],
        lambda b, y, n: make.less(b, y, make.multiply(b, limit, 2.0)),
        lambda b, y, n: [make.multiply(b, y, 2.0), make.add(b, n, 1)],
    )


def test_a_while_of_each_runs_until_the_last() -> None:
    f = build([array(), array()], doubling)
    check(f, [np.array([1.0, 50.0, 0.1]), np.float64(10)], [0, None])
    check(f, [np.float64(1), np.array([1.0, 50.0, 0.1])], [None, 0])
    g = check(f, [np.array([1.0, 50.0, 0.1]), np.array([10.0, 2.0, 900.0])], [0, 0])
    assert sum(isinstance(s, While) for s in walk(g.body)) == 1


def test_a_while_that_all_leave_together_carries_batches() -> None:
    def body(b: Any, x: Atom, n: Atom) -> Any:
        return repeat(
            b,
            [x, const(0)],
            lambda b, y, k: make.less(b, k, n),
            lambda b, y, k: [make.multiply(b, y, 2.0), make.add(b, k, 1)],
        )

    g = check(build([array(3), INT], body), [X, 5], [0, None])
    assert "where" not in ops_of(g)


def test_loops_in_a_branch_that_few_take_end() -> None:
    """y /= 2 never ends for an element with y = inf, whose branch is another one."""

    def halving(b: Any, x: Atom) -> Any:
        def then(b: Any) -> Sequence[Atom]:
            return repeat(
                b, [x], lambda b, y: make.greater(b, y, 1.0), lambda b, y: [make.multiply(b, y, 0.5)]
            )

        return branch(b, make.less(b, x, 100.0), then, lambda b: [x])

    check(build([array()], halving), [np.array([3.0, np.inf, 80.0, -1.0])], [0])


def test_a_loop_shared_by_all_in_a_branch_that_none_takes_ends() -> None:
    def body(b: Any, x: Atom, y: Atom) -> Any:
        def then(b: Any) -> Sequence[Atom]:
            (last,) = repeat(b, [y], lambda b, c: make.greater(b, c, 1.0), lambda b, c: [make.multiply(b, c, 0.5)])
            return [make.add(b, x, last)]

        return branch(b, make.less(b, y, make.add(b, x, 100.0)), then, lambda b: [x])

    check(build([array(), array()], body), [np.array([3.0, 4.0]), np.float64(np.inf)], [0, None])
    check(build([array(), array()], body), [np.array([3.0, -1e9]), np.float64(7)], [0, None])


def test_a_branch_in_a_loop_in_a_while() -> None:
    def body(b: Any, x: Atom, n: Atom) -> Any:
        def turn(b: Any, i: Atom, y: Atom) -> Sequence[Atom]:
            return branch(
                b,
                make.greater(b, y, 3.0),
                lambda b: [make.subtract(b, y, 2.0)],
                lambda b: [make.add(b, y, make.astype(b, i, float))],
            )

        def whole(b: Any, y: Atom, k: Atom) -> Sequence[Atom]:
            (z,) = loop(b, Range(const(0), k, const(1)), [y], turn)
            return [make.add(b, z, 0.25), make.add(b, k, 1)]

        return repeat(b, [x, n], lambda b, y, k: make.less(b, make.astype(b, k, float), make.add(b, y, 4.0)), whole)

    f = build([array(), INTEGER], body)
    check(f, [np.array([1.0, 2.5, -3.0, 6.0]), np.array([0, 1, 2, 0])], [0, 0])
    check(f, [np.array([1.0, 2.5, -3.0, 6.0]), np.int64(1)], [0, None])


def test_a_fused_program_is_refused() -> None:
    p, t = Var("x", array(3)), Var("x", array(3))
    f = build([array(3)], lambda b, y: b.append(Fused((t,), (y,), type(b)().block((p,), (p,)), "pointwise"))[0])
    with pytest.raises(UnsupportedError, match="before it is fused"):
        vmap(f, [0], [0], 2)
