"""Errors that cannot be: a `Raise` whose condition the intervals of integers decide is not asked, nor what it asks.

    def f(x, y):                                def f(x, y):
        k = x % 64                                  k = x % 64
        if np.min(k) < 0:                           counts = np.zeros(64)
            raise ValueError('negative')            np.add.at(counts, k, y)
        counts = np.zeros(64)                       return counts
        np.add.at(counts, k, y)
        return counts
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..bounds import Interval, analyse, interval_of, meet
from ..ir import Apply, Atom, Block, Function, Raise, Statement, Var, blocks_of, walk, with_blocks
from .dead import dead_code


def certain(function: Function) -> Function:
    """The program without the errors that cannot be."""
    if not any(isinstance(s, Raise) for s in walk(function.body)):
        return function
    known = analyse(function, refine=False)
    makers = {t: s for s in walk(function.body) if isinstance(s, Apply) for t in s.targets}
    body = _without(function.body, known, makers)
    return function if body is function.body else dead_code(replace(function, body=body))


def _without(block: Block, known: dict[Var, Interval], makers: Mapping[Var, Apply]) -> Block:
    kept: list[Statement] = []
    for s in block.statements:
        if isinstance(s, Raise) and _is_false(s.condition, known, makers):
            continue
        kept.append(with_blocks(s, lambda b: _without(b, known, makers)) if blocks_of(s) else s)
    same = len(kept) == len(block.statements) and all(a is b for a, b in zip(kept, block.statements, strict=True))
    return block if same else replace(block, statements=tuple(kept))


def _is_false(condition: Atom, known: dict[Var, Interval], makers: Mapping[Var, Apply]) -> bool:
    """Whether a comparison of integers is surely false."""
    s = makers.get(condition) if isinstance(condition, Var) else None
    if s is None or len(s.args) != 2 or any(a.aval.dtype.kind not in "iu" for a in s.args):
        return False
    x, y = (interval_of(a, known) for a in s.args)
    match s.op.name:
        case "less":
            return _is_below(y, x, 0)
        case "less_equal":
            return _is_below(y, x, 1)
        case "greater":
            return _is_below(x, y, 0)
        case "greater_equal":
            return _is_below(x, y, 1)
        case "equal":
            return meet(x, y) == Interval(0, -1)
    return False


def _is_below(x: Interval, y: Interval, by: int) -> bool:
    """Whether `x <= y - by` surely."""
    return x.high is not None and y.low is not None and x.high + by <= y.low
