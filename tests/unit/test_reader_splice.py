"""Splicing rules and programs, copying and pruning blocks, reading transformed functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from untraced.translator import ops
from untraced.translator.builder import Builder
from untraced.translator.errors import Span, UnsupportedError
from untraced.translator.evaluate import evaluate, run_block
from untraced.translator.ir import Aval, Function, Param, Var, const, walk
from untraced.translator.reading.functions.results import Reading
from untraced.translator.reading.reader import read
from untraced.translator.reading.splicing import splice
from untraced.translator.reading.text.signature import Signature, abstract
from untraced.translator.rewrite import prune, splice_block
from untraced.translator.verify import verify

F = np.dtype(np.float64)
X = np.linspace(0.1, 1.0, 4)


def rule(x, y):
    t = np.tanh(x)
    return t * y, 1.0 - t * t


def test_a_rule_takes_the_span_of_the_builder() -> None:
    x, y = Var("x", Aval((4,), F)), Var("y", Aval((4,), F))
    span = Span("user.py", 3, 0, 3, 5)
    b = Builder(span)
    first, second = splice(b, rule, [x, y])
    assert all(s.span == span for s in b.statements)
    got = run_block(b.block([x, y], [first, second]), [X, X], {})
    for g, e in zip(got, rule(X, X), strict=True):
        np.testing.assert_allclose(g, e)


def test_a_rule_over_constants_folds() -> None:
    b = Builder()
    assert splice(b, lambda x: x * 2.0 + 1.0, [const(3.0)]).value == 7.0
    assert not b.statements
    assert splice(b, lambda x: None, [const(3.0)]) is None


def test_a_rule_with_control_flow() -> None:
    def clipped(x):
        total = 0.0
        for i in range(3):
            total = total + x[i]
        if total > 0:
            return x
        return -x

    x = Var("x", Aval((4,), F))
    b = Builder()
    y = splice(b, clipped, [x])
    np.testing.assert_allclose(run_block(b.block([x], [y]), [-X], {})[0], X)


def test_what_a_rule_may_not_do() -> None:
    outside = np.ones(4)

    def captures(x):
        return x * outside

    def shapes(n):
        return np.zeros(n)

    with pytest.raises(UnsupportedError):
        splice(Builder(), shapes, [Var("n", Aval((), np.dtype(np.int64), weak=True))])
    x = Var("x", Aval((4,), F))
    b = Builder()
    y = splice(b, captures, [x])  # an array of the package itself is a constant
    np.testing.assert_allclose(run_block(b.block([x], [y]), [X], {})[0], X)


def program() -> Function:
    def f(x, n):
        y = x
        for i in range(n):
            if y[0] > i:
                y = np.sin(y)
            else:
                y = y * 2
        k = 0
        while k < n:
            k += 1
        return y + k

    return read(f, abstract(f, (X, 3), {})).function


def test_splicing_twice_uses_fresh_variables() -> None:
    f = program()
    x, n = Var("x", Aval((4,), F)), Var("n", Aval((), np.dtype(np.int64), weak=True))
    b = Builder()
    (y,) = splice_block(b, f, [x, n])
    (z,) = splice_block(b, f.body, [y, n])
    g = Function("g", (Param("x"), Param("n")), b.block([x, n], [z]), f.out)
    verify(g)
    once = evaluate(f, [X, 3])[0]
    np.testing.assert_allclose(evaluate(g, [X, 3])[0], evaluate(f, [once, 3])[0])
    with pytest.raises(ValueError):
        splice_block(b, f, [x])


def test_pruning_drops_what_nobody_uses() -> None:
    def f(x):
        unused = np.exp(x)
        a, b = (x, unused) if x[0] > 0 else (-x, x)
        return a

    f_ = read(f, abstract(f, (X,), {})).function
    assert all(getattr(s, "op", None) is not ops.EXP for s in walk(f_.body))
    assert prune(f_.body) == prune(prune(f_.body))


class Twice:
    """A transformed function: f(f(x)), read through `__untraced_read__`."""

    def __init__(self, fun: Any) -> None:
        self.fun = fun
        self.__wrapped__ = fun
        self.__name__ = "twice"

    def __call__(self, *args: Any) -> Any:
        return self.fun(self.fun(*args), *args[1:])

    def __untraced_read__(self, signature: Signature) -> Reading:
        inner = read(self.fun, signature)
        f = inner.function
        params = [Var(p.hint, p.aval) for p in f.body.params]
        b = Builder()
        (once,) = splice_block(b, f, params)
        (again,) = splice_block(b, f, [once, *params[1:]])
        return Reading(
            Function("twice", f.params, b.block(params, [again]), f.out), inner.statics, inner.guards
        )


SCALE = np.full(4, 3.0)
POWER = 2


def scaled(x, n):
    return (x * SCALE + np.ones(n)) ** POWER


twice = Twice(scaled)


def test_transformed_functions_are_called_inside() -> None:
    def f(x, n):
        return twice(x, n) + 1

    r = read(f, abstract(f, (X, 4), {}))
    verify(r.function)
    assert r.statics == {1}
    assert [p.name for p in r.function.params if p.capture] == ["SCALE"]
    np.testing.assert_allclose(evaluate(r.function, [X, SCALE])[0], f(X, 4))
    names = {g.capture.name for g in r.guards}
    assert {"twice", "POWER", "SCALE"} <= names


def test_a_transformed_function_is_read_itself() -> None:
    r = read(twice, abstract(twice, (X, 4), {}))
    assert r.function.name == "twice"
