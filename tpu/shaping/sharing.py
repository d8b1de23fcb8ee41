"""Values that are read more than once for each of their elements.

XLA takes arithmetic for cheap: it repeats the arithmetic of a value in each of its consumers, and for each element of a
broadcast. An expanded function must not be repeated so: such values are kept in memory (an optimization barrier).
"""

from __future__ import annotations

from ...translator.ir import Apply, Atom, Function, Fused, Var, walk
from ...translator.ops.core import Concatenate, Index, Reshape


def shared_values(function: Function) -> frozenset[Var]:
    """Variables that are broadcast, reshaped or indexed by a consumer, seen through groups."""
    marked: list[Atom] = []
    origin: dict[Var, Atom] = {}
    for s in walk(function.body):
        match s:
            case Apply(targets=(target,), op=op, args=args):
                moved = isinstance(op, Reshape | Index | Concatenate)
                marked += [a for a in args if moved or a.aval.size < target.aval.size]
            case Fused(targets=targets, body=body, args=args):
                origin.update(zip(body.params, args, strict=True))
                origin.update(zip(targets, body.results, strict=True))
    found: set[Var] = set()
    for a in marked:
        while isinstance(a, Var) and a not in found:
            found.add(a)
            a = origin.get(a, a)
    return frozenset(found)
