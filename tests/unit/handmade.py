"""Programs written by hand, statement by statement, for the tests of single passes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from untraced.translator.builder import Builder
from untraced.translator.ir import Apply, Atom, Aval, For, Function, If, Param, Range, Var, While, const, walk
from untraced.translator.tree import LEAF, Kind, TreeDef

INT = Aval((), np.dtype(np.int64), weak=True)
FLOAT = Aval((), np.dtype(float), weak=True)
BOOL = Aval((), np.dtype(bool))
F32 = np.dtype(np.float32)


def array(*shape: int, dtype: Any = float) -> Aval:
    return Aval(shape, np.dtype(dtype))


def program(params: Sequence[Var], b: Builder, *results: Atom, mutated: tuple[int, ...] = ()) -> Function:
    """The last results are the final values of `mutated` parameters."""
    out = TreeDef(Kind.TUPLE, (LEAF,) * (len(results) - len(mutated)))
    return Function("f", tuple(Param(p.hint) for p in params), b.block(params, results), out, mutated)


def build(avals: Sequence[Aval], body: Callable[..., Any], mutated: tuple[int, ...] = ()) -> Function:
    """`body(b, *params)` returns a result or a tuple of them."""
    params, b = [Var(f"x{i}", a) for i, a in enumerate(avals)], Builder()
    results = body(b, *params)
    return program(params, b, *(results if isinstance(results, tuple) else (results,)), mutated=mutated)


def loop(b: Builder, r: range | Range, inits: Sequence[Atom], body: Callable[..., Sequence[Atom]]) -> tuple[Var, ...]:
    """for index in r: carried = body(inner, index, *carried)"""
    if isinstance(r, range):
        r = Range(const(r.start), const(r.stop), const(r.step))
    carried = [Var(f"c{k}", a.aval) for k, a in enumerate(inits)]
    index, inner = Var("i", INT), Builder()
    results = body(inner, index, *carried)
    targets = tuple(Var(c.hint, c.aval) for c in carried)
    return b.append(For(targets, r, tuple(inits), inner.block((index, *carried), results)))


def branch(
    b: Builder, condition: Atom, then: Callable[[Builder], Sequence[Atom]], orelse: Callable[[Builder], Sequence[Atom]]
) -> tuple[Var, ...]:
    """if condition: t = then(inner) else: t = orelse(inner)"""
    one, other = Builder(), Builder()
    x, y = then(one), orelse(other)
    targets = tuple(Var(f"t{k}", a.aval) for k, a in enumerate(x))
    return b.append(If(targets, condition, one.block((), x), other.block((), y)))


def repeat(
    b: Builder, inits: Sequence[Atom], condition: Callable[..., Atom], body: Callable[..., Sequence[Atom]]
) -> tuple[Var, ...]:
    """while condition(inner, *carried): carried = body(inner, *carried)"""
    asked, carried, targets = ([Var(f"c{k}", a.aval) for k, a in enumerate(inits)] for _ in range(3))
    test, inner = Builder(), Builder()
    stop, results = condition(test, *asked), body(inner, *carried)
    return b.append(While(tuple(targets), tuple(inits), test.block(asked, (stop,)), inner.block(carried, results)))


def ops_of(f: Function) -> list[str]:
    """The names of all operations, outer before inner, in order."""
    return [s.op.name if isinstance(s, Apply) else type(s).__name__ for s in walk(f.body)]
