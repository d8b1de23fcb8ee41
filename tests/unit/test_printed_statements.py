"""What printed statements look like: stores in place and copies, loops, branches, fused groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from printed import F8, I8, INDEX, array, body_of, function, lines

import untraced
from untraced.translator import make, ops
from untraced.translator.builder import Builder
from untraced.translator.ir import (
    Atom,
    Block,
    For,
    Fused,
    If,
    Range,
    Var,
    While,
    const,
)
from untraced.translator.ops.core import At, Dyn, Gather, Run
from untraced.translator.pipeline import translate
from untraced.translator.printing.printer import executable, print_function
from untraced.translator.reading.text.signature import abstract
from untraced.translator.tree import NONE

# ---- stores --------------------------------------------------------------------------------------


def test_a_fresh_array_is_written_in_place() -> None:
    b, x = Builder(), array("x", 3)
    y = b.apply(ops.SIN, x, hint="y")
    y2 = make.put(b, y, 1.0, [At(0)])
    f = function(b.block([x], [make.put_add(b, y2, x, [Run(0, 3)])]))
    assert body_of(f).startswith("y = np.sin(x)\ny[0] = 1.0")


def test_a_parameter_is_copied_unless_the_function_is_meant_to_write_it() -> None:
    b, x = Builder(), array("x", 3)
    stored = make.put(b, x, 1.0, [At(0)])
    assert body_of(function(b.block([x], [stored]))) == "x = x.copy()\nx[0] = 1.0\nreturn x"
    assert body_of(function(b.block([x], [stored]), NONE, (0,))) == "x[0] = 1.0"


def test_a_parameter_that_ends_as_something_else_is_assigned_as_a_whole() -> None:
    b, x = Builder(), array("x", 3)
    f = function(b.block([x], [make.multiply(b, x, 2.0)]), NONE, (0,))
    assert body_of(f) == "x[...] = x * 2.0"


def test_functions_of_numpy_write_over_parameters_that_the_function_is_meant_to_write() -> None:
    x, y, k, m = array("x", 3), array("y", 3), array("k", 3, dtype=I8), array("m", 3, dtype=np.dtype(np.bool_))

    def written(p: Var, build: Callable[[Builder], Atom], *others: Var) -> str:
        b = Builder()
        value = build(b)
        return body_of(function(b.block([p, *others], [value]), NONE, (0,)))

    clipped = written(x, lambda b: b.apply(ops.CLIP, x, const(-1.0), const(1.0), hint="x"))
    assert clipped == "np.clip(x, -1.0, 1.0, out=x)"
    assert written(x, lambda b: b.apply(ops.ABSOLUTE, x, hint="x")) == "np.abs(x, out=x)"
    assert written(k, lambda b: b.apply(ops.LEFT_SHIFT, k, const(2), hint="k")) == "k <<= 2"
    assert written(m, lambda b: b.apply(ops.LOGICAL_NOT, m, hint="m")) == "np.invert(m, out=m)"
    assert written(x, lambda b: b.apply(ops.MAXIMUM, y, x, hint="x"), y) == "x_1 = np.maximum(y, x)\nx[...] = x_1"
    assert written(x, lambda b: b.apply(ops.GREATER, x, y, hint="x"), y).startswith("x_1 = x > y")


def test_two_parameters_exchanged() -> None:
    x, y = array("x", 3), array("y", 3)
    f = executable(function(Block((x, y), (), (y, x)), NONE, (0, 1)))
    p, q = np.arange(3.0), np.ones(3)
    assert f(p, q) is None
    assert p.tolist() == [1, 1, 1] and q.tolist() == [0, 1, 2]


def test_what_is_still_needed_is_copied_before_the_store() -> None:
    b, x = Builder(), array("x", 3)
    y = b.apply(ops.SIN, x, hint="y")
    stored = make.put(b, y, 1.0, [At(0)])
    f = function(b.block([x], [make.add(b, stored, y)]))
    assert body_of(f) == "y = np.sin(x)\nt = y.copy()\nt[0] = 1.0\nreturn t + y"


def test_a_small_view_is_copied_rather_than_the_array() -> None:
    b, x = Builder(), array("x", 9, 9)
    y = b.apply(ops.SIN, x, hint="y")
    row = make.index(b, y, [At(0), Run(0, 9)])
    stored = make.put(b, y, 1.0, [At(0), Run(0, 9)])
    f = function(b.block([x], [make.add(b, stored, make.add(b, row, row))]))
    assert body_of(f) == "y = np.sin(x)\nt = y[0].copy()\ny[0] = 1.0\nreturn y + (t + t)"


def test_a_broadcast_view_is_never_written() -> None:
    b, x = Builder(), array("x", 3)
    y = b.apply(ops.SIN, x, hint="y")
    wide = make.broadcast_to(b, y, (2, 3))
    f = function(b.block([x], [make.put(b, wide, 1.0, [At(0), Run(0, 3)])]))
    np.testing.assert_array_equal(executable(f)(np.zeros(3)), [[1, 1, 1], [0, 0, 0]])


def test_accumulation_over_repeated_indices() -> None:
    b, x, rows = Builder(), array("x", 3), array("rows", 5, dtype=I8)
    total = make.put_add(b, b.apply(ops.SIN, x, hint="total"), 1.0, [Gather(0)], [rows])
    f = function(b.block([x, rows], [total]))
    assert body_of(f) == "total = np.sin(x)\nnp.add.at(total, rows, 1.0)\nreturn total"


# ---- control flow --------------------------------------------------------------------------------


def loop(
    inits: Sequence[Atom],
    hints: Sequence[str],
    body: Callable[..., Sequence[Atom]],
    stop: Atom | None = None,
    back: bool = False,
) -> For:
    params = [Var(h, a.aval) for h, a in zip(hints, inits, strict=True)]
    i, b = Var("i", INDEX), Builder()
    results = body(b, i, *params)
    targets = tuple(Var(h, a.aval) for h, a in zip(hints, inits, strict=True))
    return For(targets, Range(const(0), stop or const(3), const(1), back), tuple(inits), b.block([i, *params], results))


def test_a_loop_that_fills_an_array() -> None:
    b, x = Builder(), array("x", 3)
    out = b.apply(ops.EMPTY, attrs=_create(3), hint="out")

    def body(inner: Builder, i: Var, out: Var) -> list[Atom]:
        value = make.multiply(inner, make.index(inner, x, [At(Dyn(0))], [i]), 2.0)
        return [make.put(inner, out, value, [At(Dyn(0))], [i])]

    s = loop([out], ["out"], body)
    b.append(s)
    assert body_of(function(b.block([x], s.targets))) == lines(
        """
        out = np.empty(3)
        for i in range(3):
            out[i] = x[i] * 2.0
        return out
        """
    )


def _create(*shape: int) -> Any:
    from untraced.translator.ops.core import CreateAttrs

    return CreateAttrs(shape, F8)


def test_a_parameter_carried_and_written_is_copied_once_before_the_loop() -> None:
    x = array("x", 3)
    s = loop([x], ["x"], lambda b, i, x: [make.put(b, x, 0.0, [At(Dyn(0))], [i])])
    assert body_of(function(Block((x,), (s,), s.targets))) == lines(
        """
        x = x.copy()
        for i in range(3):
            x[i] = 0.0
        return x
        """
    )
    assert body_of(function(Block((x,), (s,), s.targets), NONE, (0,))) == "for i in range(3):\n    x[i] = 0.0"


def test_values_exchanged_by_a_loop() -> None:
    x, y = array("x", 3), array("y", 3)
    s = loop([x, y], ["x", "y"], lambda b, i, x, y: [y, make.add(b, x, y)])
    f = function(Block((x, y), (s,), (s.targets[1],)))
    assert body_of(f) == "for i in range(3):\n    x, y = y, x + y\nreturn y"


def test_double_buffering_copies_nothing_inside_the_loop() -> None:
    b, u = Builder(), array("u", 6)
    new = make.zeros(b, (6,))

    def body(inner: Builder, i: Var, u: Var, new: Var) -> list[Atom]:
        return [make.put(inner, new, make.index(inner, u, [Run(0, 5)]), [Run(1, 5)]), u]

    s = loop([u, new], ["u", "new"], body)
    b.append(s)
    assert body_of(function(b.block([u], s.targets[:1]))) == lines(
        """
        new = np.zeros(6)
        u = u.copy()
        for i in range(3):
            new[1:] = u[:-1]
            u, new = new, u
        return u
        """
    )


def test_sums_accumulate_in_place_only_where_the_memory_is_ours() -> None:
    x = array("x", 3)
    s = loop([const(np.float64(0.0))], ["total"], lambda b, i, total: [make.add(b, total, make.sum(b, x))])
    assert body_of(function(Block((x,), (s,), s.targets))) == lines(
        """
        total = 0.0
        for i in range(3):
            total += np.sum(x)
        return total
        """
    )
    s = loop([const(0)], ["count"], lambda b, i, count: [make.add(b, count, i)])
    assert body_of(function(Block((x,), (s,), s.targets))).splitlines()[2].strip() == "count += i"
    s = loop([x], ["y"], lambda b, i, y: [make.add(b, y, 1.0)])
    assert "y = y + 1.0" in body_of(function(Block((x,), (s,), s.targets)))


def test_backwards_and_dynamic_ranges() -> None:
    x, n = array("x", 3), Var("n", INDEX)
    s = loop([x], ["x"], lambda b, i, x: [make.elementwise(b, ops.SIN, x)], n, True)
    assert "for i in reversed(range(n)):" in print_function(function(Block((x, n), (s,), s.targets)))


def test_branches() -> None:
    b, x = Builder(), array("x", 3)
    condition = make.greater(b, make.sum(b, x), 0.0)
    one, out = Builder(), array("y", 3)
    b.append(If((out,), condition, one.block([], [make.elementwise(one, ops.SIN, x)]), Block((), (), (x,))))
    assert body_of(function(b.block([x], [make.add(b, out, x)]))) == lines(
        """
        if np.sum(x) > 0.0:
            y = np.sin(x)
        else:
            y = x
        return y + x
        """
    )


def while_loop(condition: Callable[..., Atom]) -> str:
    x = array("x", 3)
    tested, carried, after = array("y", 3), array("y", 3), array("y", 3)
    test, body = Builder(), Builder()
    block = test.block([tested], [condition(test, tested)])
    half = body.block([carried], [make.multiply(body, carried, 0.5)])
    return body_of(function(Block((x,), (While((after,), (x,), block, half),), (after,))))


def test_a_while_loop_with_one_expression() -> None:
    assert while_loop(lambda b, y: make.greater(b, make.sum(b, y), 1.0)) == lines(
        """
        y = x
        while np.sum(y) > 1.0:
            y = y * 0.5
        return y
        """
    )


def test_a_long_while_condition_is_a_nested_function() -> None:
    def condition(b: Builder, y: Var) -> Atom:
        total = make.sum(b, y)
        return make.greater(b, make.multiply(b, total, total), 1.0)

    assert while_loop(condition) == lines(
        """
        def go_on_1(y):
            t = np.sum(y)
            return t * t > 1.0

        y = x
        while go_on_1(y):
            y = y * 0.5
        return y
        """
    )


def test_a_long_while_condition_reads_elements_of_a_list() -> None:
    def count(x: Any, bounds: list[Any]) -> Any:
        k = 0
        while k < 5 and np.all(x < bounds[0]):
            x, k = x * 2.0, k + 1
        return x

    x, bounds = np.array([0.5, 1.0]), [np.array([3.0, 9.0])]
    found = translate(count, abstract(count, (x, bounds), {})).function
    assert "bounds[0])" in print_function(found)
    np.testing.assert_array_equal(executable(found)(x, bounds), count(x, bounds))


def test_a_comparison_of_python_numbers_is_made_numpys_where_it_matters() -> None:
    i = Var("i", INDEX)
    f = executable(function(*[_block(i, lambda b, c: make.add(b, c, 1.0))]))
    assert f(2) == 2.0 and isinstance(f(2), np.float64)
    f = executable(function(*[_block(i, lambda b, c: make.elementwise(b, ops.INVERT, c))]))
    assert f(2) == np.False_ and isinstance(f(2), np.bool_)


def _block(i: Var, use: Callable[[Builder, Atom], Atom]) -> Block:
    b = Builder()
    return b.block([i], [use(b, make.less(b, i, 3))])


def test_fused_groups_are_nested_functions() -> None:
    x, y, p, q, t = (array(h, 3) for h in "xypqt")
    inner = Builder()
    body = inner.block([p, q], [make.elementwise(inner, ops.TANH, make.multiply(inner, p, q))])
    group = Fused((t,), (x, y), body, "pointwise")
    assert body_of(function(Block((x, y), (group,), (t,)))) == lines(
        """
        def pointwise_1(p, q):
            return np.tanh(p * q)

        t = pointwise_1(x, y)
        return t
        """
    )


def test_what_a_trip_allocates_is_not_what_the_trip_before_has_left() -> None:
    def relaxed(u):
        v = u.copy()
        while np.sum(v) > 1.0:
            old = v.copy()
            v[1:-1] = v[1:-1] * 0.5
            v[0] = v[1]
            v[-1] = v[-2]
            if np.max(np.abs(v - old)) < 1e-3:
                break
        return np.sum(v * v)

    u = np.linspace(1.0, 2.0, 5)
    source = untraced.accelerate(relaxed, target="numpy").source(u)
    assert source.count(".copy()") == 1, source
    np.testing.assert_array_equal(untraced.accelerate(relaxed, target="numpy")(u), relaxed(u))


def test_values_of_earlier_trips_are_copied_where_they_may_be_the_same_array() -> None:
    def delayed(x, n):
        a, b, c = x * 1.0, x * 2.0, x * 3.0
        for i in range(n):
            c = b
            b = a
            a = a * 0.5
            a[0] = b[1] + c[2]
            if i % 2:
                a = c.copy()
                a[1] = 7.0
            else:
                c = a
        return np.sum(a) + 2.0 * np.sum(b) + 3.0 * np.sum(c)

    x = np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(untraced.accelerate(delayed, target="numpy")(x, 6), delayed(x, 6))


def test_adjoints_of_living_variables_use_zeros_like() -> None:
    x = array("x", 3)
    b = Builder()
    d_x = b.apply(ops.FULL, const(0.0), attrs=_create(3), hint="d_x")
    s = loop([d_x], ["d_x"], lambda inner, i, d: [make.add(inner, d, x)])
    b.append(s)
    assert body_of(function(b.block([x], s.targets))).splitlines()[0] == "d_x = np.zeros_like(x)"


def test_a_chain_of_branches_is_written_with_elif() -> None:
    def chained(v):
        if v > 0:
            return np.log(1 + v)
        elif v < -1:
            return -v * v
        elif v < -0.5:
            w = np.sin(v)
            return w * w
        return 0.0 * v

    f = untraced.accelerate(untraced.grad(chained), target="numpy")
    source = f.inspect(1.0).source
    assert source is not None
    assert source.count("    elif ") == 2 and source.count("    else:") == 1, source
    wanted = {1.0: 0.5, -2.0: 4.0, -0.7: np.sin(-1.4), -0.1: 0.0}
    np.testing.assert_allclose([f(v) for v in wanted], list(wanted.values()), rtol=1e-14)


def test_an_else_with_a_statement_before_its_branch_is_no_elif() -> None:
    def steps(x):
        if x[0] > 0:
            y = x * 2.0
        else:
            y = np.cumsum(x)
            if y[1] > 0:
                y = y * x
        return y

    for x in np.array([[1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0]]):
        f = untraced.accelerate(steps, target="numpy")
        source = f.inspect(x).source
        assert source is not None and "elif" not in source and "else:\n        y = np.cumsum(x)" in source, source
        np.testing.assert_array_equal(f(x), steps(x))


def test_results_of_one_factorisation_are_asked_for_together() -> None:
    def factored(a, n):
        q, r = np.linalg.qr(a)
        vh = np.linalg.svd(a, full_matrices=False)[2]
        total = np.sum(q * r)
        u = np.linalg.svd(a, full_matrices=False)[0]
        for _ in range(n):
            a = a @ a.T / np.sum(a * a)
            lam, v = np.linalg.eigh(a)
            total += np.sum(lam * v[0])
        return total + np.sum(u @ vh), np.linalg.slogdet(a).logabsdet

    a = np.random.default_rng(3).uniform(0.5, 1.5, (3, 3))
    compiled = untraced.accelerate(factored, target="numpy")
    source = compiled.inspect(a, 3).source
    assert "q, r = np.linalg.qr(a)\n" in source and ", vh = np.linalg.svd(a, full_matrices=False)\n" in source
    assert "lam, v = np.linalg.eigh(a)\n" in source and source.count("np.linalg.svd") == 1
    assert "np.linalg.slogdet(a).logabsdet" in source
    for got, want in zip(compiled(a, 3), factored(a, 3), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_only_whole_shifts_of_positions_are_np_eye() -> None:
    x = np.ones((3, 3))
    for f, printed in (
        (lambda x: np.where(np.arange(3)[:, None] + 1 == np.arange(3), x, 0.0), "np.eye(3, k=1, dtype=bool)"),
        (lambda x: np.where(np.arange(3)[:, None] + 0.5 == np.arange(3), x, 0.0), "+ 0.5 =="),
        (lambda x: np.where(np.arange(3)[:, None] + np.nan == np.arange(3), x, 0.0), "+ np.nan =="),
    ):
        made = untraced.vmap(f)
        assert printed in made.source(x[None])
        np.testing.assert_array_equal(made(x[None])[0], f(x))


def test_new_axes_stand_in_the_brackets_of_the_index() -> None:
    x = np.random.default_rng(0).normal(size=(3, 4, 4))
    for f, printed in (
        (lambda x: x[0] * x[1, 0], "x[:, 0] * x[:, 1, 0, None]"),
        (lambda x: x[1:3, :2][:, None] + x[0, :2], "t + x[:, 0, None, None, :2]"),
        (lambda x: np.exp(2j * x[0])[None] + x[:, 0], "np.exp(2.0j * x[:, 0])[:, None]"),
    ):
        made = untraced.vmap(f)
        assert printed in made.source(x)
        np.testing.assert_allclose(made(x), [f(row) for row in x])
