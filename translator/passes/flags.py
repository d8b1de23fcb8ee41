"""Flags that must be off for a loop to go on are off in its body.

    while i < n and not stop:            while i < n and not stop:
        if x[i] > 3:              ->         stop = bool(x[i] > 3)
            stop = True                      i += 1
        i += 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .. import ops
from ..ir import Apply, Atom, Block, Function, Var, While, const, walk
from ..rewrite import substituted


def flags_off(function: Function) -> Function:
    """The function with such flags known; the same object where no loop asks for a flag."""
    loops = [s for s in walk(function.body) if isinstance(s, While)]
    found: dict[Var, Atom] = {}
    for s in loops:
        off = set(_asked_off(s.condition))
        found |= {p: const(False) for c, p in zip(s.condition.params, s.body.params, strict=True) if c in off}
    return replace(function, body=substituted(function.body, found)) if found else function


def _asked_off(condition: Block) -> Iterator[Atom]:
    """The bools of which the condition is false where they are true."""
    makers = {s.targets[0]: s for s in condition.statements if isinstance(s, Apply)}
    waiting = [condition.results[0]]
    while waiting:
        made = makers.get(a) if isinstance(a := waiting.pop(), Var) else None
        if made is not None and made.op is ops.LOGICAL_AND:
            waiting += made.args
        elif made is not None and made.op is ops.LOGICAL_NOT and made.args[0].aval.dtype.kind == "b":
            yield made.args[0]
