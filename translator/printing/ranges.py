"""What a `for` loop counts over, as `range` writes it."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ..ir import Atom, Const, Range
from .pieces import call, integer


def range_of(r: Range, value: Callable[[Atom], ast.expr]) -> ast.expr:
    """`range(stop)`, `range(start, stop)` or all three; one that counts down is a `reversed` one that counts up."""
    known = r.static()
    if known is not None:
        backwards = known.step < 0 and len(known) > 0
        forwards = known[::-1] if backwards else known
        args = [integer(n) for n in (forwards.start, forwards.stop, forwards.step)]
        counted = call("range", *_shortened(args, forwards.start == 0, forwards.step == 1))
        return call("reversed", counted) if backwards else counted
    args = [value(a) for a in (r.start, r.stop, r.step)]
    counted = call("range", *_shortened(args, is_number(r.start, 0), is_number(r.step, 1)))
    return call("reversed", counted) if r.reverse else counted


def is_number(a: Atom, n: int) -> bool:
    return isinstance(a, Const) and int(a.value) == n


def _shortened(args: list[ast.expr], from_zero: bool, by_one: bool) -> list[ast.expr]:
    return args if not by_one else args[1:2] if from_zero else args[:2]
