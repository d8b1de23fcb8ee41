"""Intervals of integers: what emitters may assume about an index without a check at run time."""

import numpy as np
import pytest

from untraced.translator import ops
from untraced.translator.bounds import NOTHING, Interval, Status, analyse, index_status, interval_of
from untraced.translator.builder import Builder
from untraced.translator.ir import Atom, Aval, Block, For, Function, If, Param, Range, Var, While, const
from untraced.translator.ops.core import CreateAttrs
from untraced.translator.tree import LEAF

INT = Aval((), np.dtype(np.int64), weak=True)
BOOL = Aval((), np.dtype(bool))


def function(b: Builder, params: list[Var], *results: Atom) -> Function:
    return Function("f", tuple(Param(p.hint) for p in params), b.block(params, results), LEAF)


def loop(start: Atom, stop: Atom, step: Atom = const(1), reverse: bool = False) -> tuple[For, Var, Var, Var]:
    """for i in range(...): a = i - 1; c = i * 2 + 3"""
    i, b = Var("i", INT), Builder()
    a = b.apply(ops.SUBTRACT, i, const(1))
    c = b.apply(ops.ADD, b.apply(ops.MULTIPLY, i, const(2)), const(3))
    return For((), Range(start, stop, step, reverse), (), b.block((i,), ())), i, a, c


@pytest.mark.parametrize(
    ("r", "expected"),
    [
        (range(10), (0, 9)),
        (range(1, 10, 4), (1, 9)),
        (range(9, 0, -2), (1, 9)),
        (range(5, 5), None),
    ],
)
@pytest.mark.parametrize("reverse", [False, True])
def test_static_ranges_bound_their_index_and_what_is_affine_in_it(
    r: range, expected: tuple[int, int] | None, reverse: bool
) -> None:
    s, i, a, c = loop(const(r.start), const(r.stop), const(r.step), reverse)
    b = Builder()
    b.append(s)
    known = analyse(function(b, []))
    if expected is None:
        assert known[i] == known[a] == NOTHING
        return
    low, high = expected
    assert known[i] == Interval(low, high)
    assert known[a] == Interval(low - 1, high - 1)
    assert known[c] == Interval(2 * low + 3, 2 * high + 3)


def test_range_with_a_run_time_stop_is_bounded_below_only() -> None:
    n = Var("n", INT)
    s, i, a, _ = loop(const(1), n)
    b = Builder()
    b.append(s)
    known = analyse(function(b, [n]))
    assert known[i] == Interval(1, 2**63 - 2)
    assert known[a] == Interval(0, 2**63 - 3)


def test_arithmetic() -> None:
    b = Builder()
    i = b.apply(ops.IOTA, attrs=CreateAttrs((10,), np.dtype(np.int64)))
    known_of = {
        b.apply(ops.FLOOR_DIVIDE, i, const(4)): (0, 2),
        b.apply(ops.REMAINDER, b.apply(ops.SUBTRACT, i, const(3)), const(4)): (0, 3),
        b.apply(ops.REMAINDER, i, const(100)): (0, 9),
        b.apply(ops.NEGATIVE, i): (-9, 0),
        b.apply(ops.ABSOLUTE, b.apply(ops.SUBTRACT, i, const(7))): (0, 7),
        b.apply(ops.MAXIMUM, b.apply(ops.SUBTRACT, i, const(1)), const(0)): (0, 8),
        b.apply(ops.MINIMUM, b.apply(ops.ADD, i, const(1)), const(9)): (1, 9),
        b.apply(ops.MULTIPLY, i, const(-2)): (-18, 0),
        b.apply(ops.ADD, i, const(np.array([5, -2, 3, 1, 1, 1, 1, 1, 1, 1]))): (-2, 14),
    }
    known = analyse(function(b, []))
    for v, (low, high) in known_of.items():
        assert known[v] == Interval(low, high)


def test_clip_of_an_unknown_index_is_known() -> None:
    n, b = Var("n", INT), Builder()
    c = b.apply(ops.CLIP, n, const(0), const(7))
    assert analyse(function(b, [n]))[c] == Interval(0, 7)


def test_overflow_says_nothing() -> None:
    n, b = Var("n", Aval((), np.dtype(np.int8))), Builder()
    wrapped = b.apply(ops.ADD, n, const(np.int8(1)))
    assert analyse(function(b, [n]))[wrapped] == Interval(-128, 127)


def test_a_comparison_refines_inside_its_branch() -> None:
    n, b = Var("n", INT), Builder()
    low = b.apply(ops.GREATER, n, const(0))
    high = b.apply(ops.LESS_EQUAL, n, const(10))
    both = b.apply(ops.LOGICAL_AND, low, high)
    inner, other = Builder(), Builder()
    before = inner.apply(ops.SUBTRACT, n, const(1))
    outside = other.apply(ops.SUBTRACT, n, const(1))
    t = Var("t", INT)
    b.append(If((t,), both, inner.block((), (before,)), other.block((), (const(3),))))
    known = analyse(function(b, [n], t))
    assert known[before] == Interval(0, 9)
    assert known[t] == Interval(0, 9)
    assert known.get(outside) == Interval(-(2**63), 2**63 - 1)
    assert interval_of(n, known) == Interval(-(2**63), 2**63 - 1)


def test_while_condition_bounds_its_counter() -> None:
    c, p, t = Var("i", INT), Var("i", INT), Var("i", INT)
    condition = Builder()
    test = condition.apply(ops.LESS, c, const(10))
    body = Builder()
    used = body.apply(ops.MULTIPLY, p, const(2))
    following = body.apply(ops.ADD, p, const(1))
    b = Builder()
    b.append(While((t,), (const(0),), condition.block((c,), (test,)), body.block((p,), (following,))))
    known = analyse(function(b, [], t))
    assert known[p] == Interval(0, 9)
    assert known[used] == Interval(0, 18)
    assert known[t].low == 10


def test_while_condition_says_nothing_of_what_comes_after_the_loop() -> None:
    c, p, t, n = Var("i", INT), Var("i", INT), Var("i", INT), Var("n", INT)
    condition, body, b = Builder(), Builder(), Builder()
    test = condition.apply(ops.LESS, c, n)
    inside = body.apply(ops.SUBTRACT, n, const(1))
    following = body.apply(ops.ADD, p, const(1))
    b.append(While((t,), (const(2),), condition.block((c,), (test,)), body.block((p,), (following,))))
    behind = b.apply(ops.SUBTRACT, n, const(1))
    known = analyse(function(b, [n], behind))
    assert known[inside].low == 2
    assert known[behind] == interval_of(n, known) == Interval(-(2**63), 2**63 - 1)


def test_carried_value_that_alternates_is_bounded() -> None:
    i, p, t = Var("i", INT), Var("side", INT), Var("side", INT)
    body = Builder()
    other = body.apply(ops.SUBTRACT, const(1), p)
    b = Builder()
    b.append(For((t,), Range(const(0), const(9), const(1)), (const(0),), body.block((i, p), (other,))))
    assert analyse(function(b, [], t))[t] == Interval(0, 1)


def test_carried_value_that_grows_is_bounded_by_its_dtype() -> None:
    i, p, t = Var("i", INT), Var("n", INT), Var("n", INT)
    body = Builder()
    more = body.apply(ops.ADD, p, i)
    b = Builder()
    b.append(For((t,), Range(const(0), const(9), const(1)), (const(0),), body.block((i, p), (more,))))
    assert not analyse(function(b, [], t))[t].within(0, 2**62)


def test_status() -> None:
    assert index_status(Interval(0, 9), 10) is Status.IN_RANGE
    assert index_status(Interval(-10, 9), 10) is Status.MAY_BE_NEGATIVE
    assert index_status(Interval(0, 10), 10) is Status.UNKNOWN
    assert index_status(Interval(None, 3), 10) is Status.UNKNOWN
    assert index_status(NOTHING, 0) is Status.IN_RANGE


def test_blocks_of_floats_are_ignored() -> None:
    x, b = Var("x", Aval((3,), np.dtype(float))), Builder()
    y = b.apply(ops.MULTIPLY, x, const(2.0))
    assert analyse(function(b, [x], y)) == {}
    assert isinstance(b.block((x,), (y,)), Block)
