"""Sums along rows that are 0 whatever is in the rows, and what becomes nothing with them.

    d_e = d_p / total - np.sum(d_p * p) / total
    t = d_e * e
    d_s = t - np.sum(t) * (s == largest)        the sum is that of d_p * p less the same: d_s = t

So the derivative of a softmax has no part that goes through the maximum that it subtracts. What a sum is worth is
tried with random rows in float64. An analytic function that is 0 at random places is 0 everywhere; of any other, as a
choice or a maximum, what decides is random as well (`by_chance`), so each of its pieces is tried. Rows whose terms are
infinite count as others: there NumPy's sum is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..translator.ir import Apply, Atom, Const, Var
from ..translator.ops.core import Cast, Create, Elementwise, Reduce, Reshape
from ..translator.passes.alignment import is_free
from .tiles import statements_for

TRIES, LONG = 3, 32  # rows that are tried, and their length
NOTHING = 1e-12  # of the absolute values
ANALYTIC = frozenset(
    ("add", "subtract", "multiply", "divide", "negative", "positive", "square", "sqrt", "reciprocal", "power"),
).union(
    ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "erf", "erfc"),
    ("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsinh", "arctan"),
)


def vanishing(statements: Sequence[Apply]) -> list[Apply]:
    """The statements without what is added and is 0."""
    sums = [s for s in statements if isinstance(s.op, Reduce) and s.op.name == "sum"]
    zeros = {s.targets[0] for s in sums if _is_zero(statements, s)}
    makers = {s.targets[0]: s for s in statements}

    def vanishes(a: Atom) -> bool:
        maker = makers.get(a) if isinstance(a, Var) else None
        if maker is None or a in zeros:
            return a in zeros
        if maker.op.name == "multiply":
            return any(map(vanishes, maker.args))
        factor = maker.op.name in ("negative", "divide") or isinstance(maker.op, Cast) or is_free(maker)
        return factor and bool(maker.args) and vanishes(maker.args[0])

    kept: dict[Atom, Atom] = {}
    found: list[Apply] = []
    for s in statements if zeros else ():
        s = replace(s, args=tuple(kept.get(a, a) for a in s.args))
        pairs = [(s.args[0], s.args[1])] if s.op.name in ("add", "subtract") else []
        pairs += [(y, x) for x, y in pairs if s.op.name == "add"]
        rest = [x for x, y in pairs if vanishes(y) and x.aval == s.targets[0].aval]
        if rest:
            kept[s.targets[0]] = rest[0]
        else:
            found.append(s)
    return found or list(statements)


def _is_zero(statements: Sequence[Apply], total: Apply) -> bool:
    needed = statements_for(statements, [total.args[0]], frozenset())
    with np.errstate(all="ignore"):
        for seed in range(TRIES):
            terms = np.broadcast_to(_tried(needed, total.args[0], np.random.default_rng(seed)), LONG)
            if not abs(terms.sum()) <= NOTHING * abs(terms).sum() or not terms.any():
                return False
    return True


def _tried(statements: Sequence[Apply], result: Atom, rng: np.random.Generator) -> Any:
    """A value for one row; of what no statement makes there are random numbers."""
    found: dict[Atom, Any] = {}

    def of(a: Atom) -> Any:
        if isinstance(a, Const) and not a.aval.shape:
            return a.value
        if a not in found:
            drawn = rng.standard_normal(LONG if a.aval.shape else ())
            found[a] = drawn > 0 if a.aval.dtype == np.bool_ else drawn
        return found[a]

    for s in statements:
        args, target = [of(a) for a in s.args], s.targets[0]
        match s.op:
            case Elementwise():
                found[target] = by_chance(s.op, args, target.aval.dtype.kind)
            case Cast() if target.aval.dtype.kind in "biu" and s.args[0].aval.dtype.kind != "b":
                found[target] = _random(s.op.name, args, target.aval.dtype.kind)
            case Cast():
                found[target] = np.asarray(args[0], np.bool_ if target.aval.dtype == np.bool_ else np.float64)
            case Reduce(name="max" | "sum" as name):
                row = np.broadcast_to(args[0], LONG)
                found[target] = row.max() if name == "max" else row.sum()
            case Create(name="full"):
                found[target] = np.float64(args[0])
            case Create(name="iota"):
                found[target] = np.arange(LONG)
            case Reshape(name="reshape" | "broadcast_to" | "expand_dims" | "squeeze"):
                found[target] = args[0]
            case _:
                of(target)
    return of(result)


def by_chance(op: Elementwise, args: Sequence[Any], kind: str) -> Any:
    """An operation of random numbers. Where it is not analytic, chance says which piece counts: the same one for the
    same numbers.
    """
    if op.name in ANALYTIC:
        return op.evaluate(*args)
    if op.name == "where":
        return np.where(*args)
    pieces = args
    if op.name in ("absolute", "fabs"):
        pieces = (args[0], -args[0])
    elif op.name not in ("maximum", "minimum", "fmax", "fmin"):
        return _random(op.name, args, kind)
    return np.where(_random("piece", args, "b"), *pieces)


def _random(name: str, args: Sequence[Any], kind: str) -> Any:
    values = np.stack(np.broadcast_arrays(*(np.asarray(a, np.complex128) for a in args)))
    drawn = np.random.default_rng([*name.encode(), *values.tobytes()]).standard_normal(values.shape[1:])
    return drawn > 0 if kind == "b" else np.rint(8 * drawn) if kind in "iu" else drawn
