"""Stores of every so many elements that together leave nothing out, as elements beside each other.

    def f(a, b):                       def f(a, b):
        y = np.empty(2 * a.size)           y = np.stack([a, b], axis=1).reshape(8)
        y[::2] = a                         return y
        y[1::2] = b
        return y

Kernels write them where they belong, all in one pass over the memory (`launching/pieces`).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace

from .. import make
from ..builder import Builder
from ..ir import Apply, Atom, Block, Function, Statement, Var, blocks_of, uses_of, with_blocks
from ..ops import PUT
from ..ops.core import IndexAttrs, Run
from ..records import dataclass
from .dead import dead_code

MOST = 16  # parts


def interleaved(function: Function) -> Function:
    """Apply to the stores of a program."""
    body = _in_block(function.body)
    return function if body is function.body else dead_code(replace(function, body=body))


@dataclass(frozen=True, slots=True)
class _Part:
    """A store of all elements along `axis` from `first` in steps of `step`."""

    axis: int
    first: int
    step: int
    value: Atom


def _in_block(block: Block) -> Block:
    statements = [with_blocks(s, _in_block) if blocks_of(s) else s for s in block.statements]
    parts = {s.targets[0]: (p, s) for s in statements if isinstance(s, Apply) and (p := _part(s)) is not None}
    if parts:
        uses = uses_of(block)
        statements = [new for s in statements for new in _joined(s, parts, uses)]
    same = len(statements) == len(block.statements) and all(map(operator.is_, statements, block.statements))
    return block if same else replace(block, statements=tuple(statements))


def _part(s: Apply) -> _Part | None:
    """What a store is a part of, if it takes every so many elements along one axis and all along the others."""
    if s.op is not PUT or not isinstance(s.attrs, IndexAttrs) or len(s.args) != 2:
        return None
    shape, (x, value) = s.args[0].aval.shape, s.args
    found: _Part | None = None
    size = 1
    for axis, (d, n) in enumerate(zip(s.attrs.dims, shape, strict=True)):
        if not isinstance(d, Run) or not isinstance(d.start, int):
            return None
        size *= d.size
        if (d.start, d.size, d.step) == (0, n, 1):
            continue
        if found is not None or not 1 < d.step <= MOST or d.size * d.step != n or d.start >= d.step:
            return None
        found = _Part(axis, d.start, d.step, value)
    whole = found is not None and value.aval.ndim == len(shape) and value.aval.size == size
    kinds = "biuf" if x.aval.dtype.kind in "biuf" else x.aval.dtype.kind
    return found if whole and value.aval.dtype.kind in kinds else None


def _joined(s: Statement, parts: dict[Var, tuple[_Part, Apply]], uses: dict[Var, int]) -> Sequence[Statement]:
    """What stands in the place of the last store."""
    if not isinstance(s, Apply) or s.targets[0] not in parts:
        return (s,)
    last, store = parts[s.targets[0]]
    found, base = {last.first: last.value}, store.args[0]
    while isinstance(base, Var) and base in parts and uses[base] == 1 and len(found) < last.step:
        part, store = parts[base]
        if (part.axis, part.step) != (last.axis, last.step):
            return (s,)
        found.setdefault(part.first, part.value)
        base = store.args[0]
    if len(found) < last.step:
        return (s,)
    b = Builder(s.span)
    stored = [make.astype(b, found[k], s.targets[0].aval.dtype) for k in range(last.step)]
    columns = [make.expand_dims(b, value, last.axis + 1) for value in stored]
    made = make.reshape(b, make.concatenate(b, columns, last.axis + 1), s.targets[0].aval.shape)
    written = b.statements[-1]
    assert isinstance(written, Apply) and written.targets == (made,)
    return (*b.statements[:-1], replace(written, targets=s.targets))
