"""How much of a value's relative error reaches the results of a kernel, tried where functions meet their limits.

    return np.exp(x) - 1                exp(x) is 1 where x is next to nothing: an error of 2^-20 in it is all there is
    return np.exp(-y * y) + y * 0.25    one of the two is next to nothing beside the other: no error grows

Between limits sums may come out small as well, but only as small as the grid of half precision allows around a root:
what is lost there is what rounding the arguments has lost before. So the arguments are tried at next to nothing, at
very much, and between; so is each difference that a function is taken of, which may be as small as it likes. What is
computed from float32 has no such grid: it is tried next to the roots of the functions that are taken of it, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from ..source.values import Call, Convert, Count, Fold, Load, Look, Lowered, Number, Scalar, Value

Column = np.ndarray[Any, Any]

TINY, GENERIC = 2.0**-20, (0.61, -1.37)
POINTS = np.array([TINY, -TINY, 1 / TINY, -1 / TINY, *GENERIC])
MIXED, TRIES = 64, 8  # columns of arguments at different points; columns for each difference that is nearly 0
MOST = 2.0**12  # an error grows by more at limits, where it grows by 2^20, and by less nearly everywhere else
SUMS = ("add", "subtract")
ROOTS = {"log": 1.0, "sin": np.pi, "cos": np.pi / 2}
DECIDED = frozenset(
    ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "isinf", "isfinite"),
).union(("logical_and", "logical_or", "logical_not"))


def ill_conditioned(lowered: Lowered, functions: Set[str], least: Mapping[Value, float]) -> Set[Value]:
    """The values whose errors may grow out of proportion on the way to the results. `functions`: names of the smooth
    operations; `least`: what a value is never below.
    """
    known = functions | DECIDED
    small = np.resize(POINTS[:2], TRIES)
    sums = (v for v in lowered.values if _name(v) in SUMS and v.dtype.kind == "f" and least[v] == -np.inf)
    nearly = {v: root * (1 + small) for v, root in _beside_roots(lowered).items()} | dict.fromkeys(sums, small)
    count = len(POINTS) + MIXED
    near = {v: (slice(count + TRIES * k, count + TRIES * (k + 1)), x) for k, (v, x) in enumerate(nearly.items())}
    with np.errstate(all="ignore"):
        found = _values(lowered, known, near, count + TRIES * len(nearly))
        grown = _growths(lowered, found, near)
    return {v for v, growth in grown.items() if float(growth.max()) > MOST}


def _beside_roots(lowered: Lowered) -> dict[Value, float]:
    """What is computed from more than half precision, and a root of the function that is taken of it."""
    wide: set[Value] = set()
    found = {}
    for v in lowered.values:
        given = isinstance(v.source, Load | Look | Scalar) and v.dtype.kind == "f" and v.dtype.itemsize > 2
        if given or not wide.isdisjoint(v.args):
            wide.add(v)
        if _name(v) in ROOTS and v.args[0] in wide:
            found[v.args[0]] = ROOTS[_name(v)]
    return found


def _values(
    lowered: Lowered, known: Set[str], near: Mapping[Value, tuple[slice, Column]], count: int
) -> dict[Value, Column]:
    """Each value at all points, in float64."""
    rng = np.random.default_rng(0)
    found: dict[Value, Column] = {}
    for k, v in enumerate(lowered.values):
        match v.source:
            case Number(value=value) | Count(value=value) if v.dtype.kind not in "cV":
                found[v] = np.full(count, value, np.float64)
            case Convert() if v.args[0].dtype.kind != "c":
                found[v] = found[v.args[0]] + 0.0  # of bools, too
            case Fold(op=op) if op.name in ("sum", "max", "min"):
                of = found[v.args[0]]
                found[v] = 8.5 * of if op.name == "sum" else of + abs(of) * (0.5 if op.name == "max" else -0.5)
            case Call(op=op) if op.name in known:
                found[v] = np.asarray(op.evaluate(*(found[a] for a in v.args)))
            case _ if v.dtype == np.bool_:
                found[v] = rng.random(count) < 0.5
            case _:
                mixed = rng.choice(POINTS, count - len(POINTS))
                found[v] = np.concatenate([POINTS, mixed]) * (1 + 0.07 * k)
        if v in near:
            found[v] = found[v] + 0.0
            where, there = near[v]
            found[v][where] = there
    return found


def _growths(
    lowered: Lowered, found: Mapping[Value, Column], near: Mapping[Value, tuple[slice, Column]]
) -> dict[Value, Column]:
    """How much a relative error of each value grows on its way to a result, at most."""
    grown = {v: np.zeros_like(found[v], dtype=np.float64) for v in lowered.values}
    for out in lowered.outputs:
        grown[out.value][:] = 1.0
    for v in reversed(lowered.values):
        own = grown[v].copy()
        if v in near:  # which is not what the arguments here would make
            own[near[v][0]] = 0.0
        for a, growth in zip(v.args, _growth(v, found), strict=True):
            there = np.where(own > 0, own * growth, 0.0)
            grown[a] = np.fmax(grown[a], there)
    return grown


def _growth(v: Value, found: Mapping[Value, Column]) -> list[Column | float]:
    """By what the relative error of each argument is multiplied. Nothing of it is left in a 0 or an infinity that a
    function ends in."""
    result, args = found[v], [found[a] for a in v.args]
    name = _name(v)
    if name in SUMS:
        return [np.where(x == 0, 0.0, abs(x / result)) for x in args]
    if name == "where":
        return [0.0, np.where(args[0], 1.0, 0.0), np.where(args[0], 0.0, 1.0)]
    if name in ("maximum", "minimum", "fmax", "fmin"):
        return [np.where(x == result, 1.0, 0.0) for x in args]
    ends = (result == 0) | ~np.isfinite(result)
    if name == "exp":
        return [np.where(ends, 0.0, abs(args[0]))]
    if name == "log":
        return [np.where(np.isfinite(result), abs(1 / result), 0.0)]
    if name in ("sin", "cos"):
        slope = np.cos(args[0]) if name == "sin" else np.sin(args[0])
        return [np.where(args[0] == 0, 1.0, abs(args[0] * slope / result))]
    return [1.0] * len(args)


def _name(v: Value) -> str:
    return v.source.op.name if isinstance(v.source, Call) else ""
