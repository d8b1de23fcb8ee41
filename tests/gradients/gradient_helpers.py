"""Programs as callables, and their derivatives at the level of `Function`, in the shape that `check_grads` takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from untraced.runtime.transforms.testing import check_grads
from untraced.translator.builder import Builder
from untraced.translator.derive import forward, reverse
from untraced.translator.derive.activity import inexact
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Atom, Aval, Function, Param, Var
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract
from untraced.translator.tree import LEAF, Kind, TreeDef, flatten
from untraced.translator.verify import verify


class Program:
    """A `Function` run by the reference interpreter; any trees of arguments whose leaves are the parameters will do."""

    def __init__(self, function: Function) -> None:
        verify(function)
        self.function = function

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        results = evaluate(self.function, flatten(args)[0])
        return tuple(results[: self.function.out.leaf_count])


def read_program(fun: Callable[..., Any], *args: Any) -> Program:
    return Program(read(fun, abstract(fun, args, {})).function)


def built(build: Callable[..., Sequence[Atom]], *avals: Aval) -> Program:
    """A program from `build(builder, *params) -> results`."""
    b = Builder()
    params = [Var(f"x{i}", a) for i, a in enumerate(avals)]
    results = build(b, *params)
    trees = tuple(Param(v.hint) for v in params)
    return Program(Function("built", trees, b.block(params, results), flat_tuple(len(results))))


def flat_tuple(count: int) -> TreeDef:
    return TreeDef(Kind.TUPLE, (LEAF,) * count)


def pushforward(program: Program, n: int) -> Program:
    f = program.function
    j = forward.jvp(f, [inexact(v.aval) for v in f.body.params])
    tangents = j.body.results[f.out.leaf_count :]
    body = dataclasses.replace(j.body, results=tangents)
    return Program(dataclasses.replace(j, body=body, out=flat_tuple(len(tangents))))


def pullback(program: Program, n: int) -> Program:
    """With the cotangents in front, as `check_grads` passes them."""
    f = program.function
    v = reverse.vjp(f, active_leaves(f))
    split = len(f.body.params)
    body = dataclasses.replace(v.body, params=(*v.body.params[split:], *v.body.params[:split]))
    params = (*v.params[len(f.params) :], *v.params[: len(f.params)])
    return Program(dataclasses.replace(v, body=body, params=params, out=flat_tuple(len(v.body.results))))


def active_leaves(f: Function) -> list[int]:
    return [i for i, v in enumerate(f.body.params) if inexact(v.aval)]


def check(program: Program, args: Sequence[Any], order: int = 2, **options: Any) -> None:
    """`check_grads` on the leaves of `args`, at the level of `Function`."""
    check_grads(program, tuple(flatten(args)[0]), order, pushforward=pushforward, pullback=pullback, **options)


def check_source(fun: Callable[..., Any], *args: Any, order: int = 2, **options: Any) -> Program:
    """Read `fun`, see that the program means what it says, and check its derivatives."""
    program = read_program(fun, *args)
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in flatten(args)[0]]
    want = flatten(fun(*_rebuilt(args, copies)))[0]
    for got, expected in zip(program(*args), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)  # the same NumPy calls, but for sums in another order
    check(program, args, order, **options)
    return program


def _rebuilt(args: Any, leaves: Sequence[Any]) -> Any:
    from untraced.translator.tree import unflatten

    return unflatten(flatten(args)[1], leaves)


def count_ops(function: Function, name: str) -> int:
    """How often an operation stands in the program, loops and branches included."""
    from untraced.translator.ir import Apply, walk

    return sum(isinstance(s, Apply) and s.op.name == name for s in walk(function.body))
