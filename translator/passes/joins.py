"""Rows that are stacked of elements, and stacked themselves, as one row of all elements: kernels write it in one pass.

    def f(c, s):                                   def f(c, s):
        first = np.stack([c, -s], axis=1)              return np.stack([c, -s, s, c], axis=1).reshape(5, 2, 2)
        then = np.stack([s, c], axis=1)
        return np.stack([first, then], axis=1)

Otherwise each row is written and read once more.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .. import make
from ..builder import Builder
from ..ir import Apply, Atom, Block, Function, Statement, Var, blocks_of, uses_of, with_blocks
from ..ops import CONCATENATE, EXPAND_DIMS
from ..ops.core import AxesAttrs, ConcatenateAttrs
from .dead import dead_code


def joins(function: Function) -> Function:
    """Apply to what a program joins."""
    body = _in_block(function.body)
    return function if body is function.body else dead_code(replace(function, body=body))


def _in_block(block: Block) -> Block:
    statements: list[Statement] = [with_blocks(s, _in_block) if blocks_of(s) else s for s in block.statements]
    if sum(isinstance(s, Apply) and s.op is CONCATENATE for s in statements) > 1:
        uses = uses_of(block)
        made: dict[Var, Apply] = {}
        out: list[Statement] = []
        for s in statements:
            new = _joined(s, made, uses) if isinstance(s, Apply) and s.op is CONCATENATE else (s,)
            made.update((t, m) for m in new if isinstance(m, Apply) for t in m.targets)
            out += new
        statements = out
    same = len(statements) == len(block.statements) and all(map(operator.is_, statements, block.statements))
    return block if same else replace(block, statements=tuple(statements))


def _joined(s: Apply, made: Mapping[Var, Apply], uses: Counter[Var]) -> Sequence[Statement]:
    """What stands in the place of a join of joins."""
    assert isinstance(s.attrs, ConcatenateAttrs)
    axis = s.attrs.axis
    rows = [_row(a, axis, made, uses) for a in s.args]
    parts = [a for row in rows if row is not None for a in row]
    if len(rows) < 2 or None in rows or len({a.aval.shape[axis + 1] for a in s.args}) > 1:
        return (s,)
    b = Builder(s.span)
    whole = make.reshape(b, make.concatenate(b, parts, axis), s.targets[0].aval.shape)
    last = b.statements[-1]
    assert isinstance(last, Apply) and last.targets == (whole,)
    return (*b.statements[:-1], replace(last, targets=s.targets))


def _row(a: Atom, axis: int, made: Mapping[Var, Apply], uses: Counter[Var]) -> Sequence[Atom] | None:
    """The parts of a row that is joined along this axis, in front of which it has a new one."""
    above = made.get(a) if isinstance(a, Var) and uses[a] == 1 else None
    if above is None or above.op is not EXPAND_DIMS or above.attrs != AxesAttrs((axis,)):
        return None
    (inner,) = above.args
    row = made.get(inner) if isinstance(inner, Var) and uses[inner] == 1 else None
    return row.args if row is not None and row.op is CONCATENATE and row.attrs == ConcatenateAttrs(axis) else None
