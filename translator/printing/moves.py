"""Parallel assignments at the borders of loops and branches: all values are read before any name changes.

    a, b <- b + 1, c                             a = b + 1
                                                 b = c
    a, b <- b, a                                 a, b = b, a
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from ..ir import Apply
from ..records import dataclass
from .sourcetext import text_of


@dataclass(slots=True)
class Move:
    """A name and what it shall be; `reads` are the names in that, `origins` the statements that are written in it, and
    `number` says that it is a Python number, which `n += 1` changes for no other name.
    """

    target: str
    value: ast.expr
    reads: frozenset[str]
    origins: tuple[Apply, ...] = ()
    number: bool = False


def in_turn(moves: Sequence[Move]) -> Iterator[list[Move]]:
    """One after the other in an order that allows it; those for which there is none, at once. Adjoints become numbers
    at once, too.
    """
    waiting = list(moves)
    reading = Counter(name for m in waiting for name in m.reads)
    while waiting:
        ready = [m for m in waiting if reading[m.target] == (m.target in m.reads)]
        if not ready:
            yield waiting
            return
        first = [m for m in ready if _is_start(m)] if _is_start(ready[0]) else ready[:1]
        yield first
        for m in first:
            reading.subtract(m.reads)
        made = set(map(id, first))
        waiting = [m for m in waiting if id(m) not in made]


def _is_start(m: Move) -> bool:
    """Whether an adjoint becomes a number that is written out."""
    if not m.target.startswith("d_") or m.reads:
        return False
    return isinstance(m.value, ast.Constant) or (isinstance(m.value, ast.Call) and _is_number(m.value))


def _is_number(made: ast.Call) -> bool:
    match made:
        case ast.Call(ast.Attribute(ast.Name("np"), kind), [ast.Constant()], []):
            return kind.startswith("float")
    return False


def assignment(moves: Sequence[Move]) -> str:
    """The line that makes them at once."""
    if len(moves) == 1:
        (m,) = moves
        match m.value:
            case ast.BinOp(ast.Name(m.target), ast.Add() | ast.Sub() as op, step) if m.number:
                return f"{m.target} {'+' if isinstance(op, ast.Add) else '-'}= {text_of(step)}"
        return f"{m.target} = {text_of(m.value)}"
    value = ast.Tuple([m.value for m in moves], ast.Load())
    return f"{', '.join(m.target for m in moves)} = {text_of(ast.Return(value)).removeprefix('return ')}"
