"""Rows that lie beside each other, and are short: along a middle or the first axis. One kernel keeps them on the chip.

    before                                                  after
    top = np.max(x, axis=1, keepdims=True)                  def row(x):
    e = np.exp(x - top)                                         top = np.max(x, axis=1, keepdims=True)
    y = e / np.sum(e, axis=1, keepdims=True)                    ...
                                                            y = row(x)

`fuse` makes reductions of such rows kernels of their own, in two stages, since rows may be of any length; what reads
their results reads the array again. Lanes beside each other have rows beside each other, so that accesses coalesce, and
several warps (CUDA) or registers (Triton) share a row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...translator.ir import Apply, Block, Fused, Statement, Var, inputs_of
from ...translator.ops.core import Reduce, ReduceAttrs, Reshape
from ...translator.passes.groups import LONGEST, close
from ..grouping import fits, inline, is_pointwise, replaced, users_of
from .beside import FEWEST_ROWS, LONGEST_ROW

NEIGHBOURS = 16  # rows that lie beside each other in one piece: two sectors of float32


def with_rows_beside(block: Block, language: str) -> Block:
    """The block with reductions of such rows, and the work before and after them, as one kernel each."""
    users = users_of(block)
    for s in [s for s in block.statements if _starts(s)]:
        there = any(s is b for b in block.statements)  # and no part of a kernel yet
        if there and (found := _around(block, s, users, language)) is not None:
            block, users = found, users_of(found)
    return block


def _reduction(s: Statement) -> Apply | None:
    reduces = (isinstance(s, Fused) and s.kind == "reduce") or (isinstance(s, Apply) and isinstance(s.op, Reduce))
    return next((b for b in inline(s) if isinstance(b.op, Reduce)), None) if reduces else None


def _starts(s: Statement) -> bool:
    """Whether it reduces short rows that lie beside each other, of which there are many."""
    found = _reduction(s)
    if found is None or not isinstance(found.attrs, ReduceAttrs):
        return False
    shape, axes = found.args[0].aval.shape, found.attrs.axes
    length = math.prod(shape[a] for a in axes)
    rows = found.args[0].aval.size // max(length, 1)
    if not 1 < length <= LONGEST_ROW or rows < FEWEST_ROWS:
        return False
    kept = [k for k, n in enumerate(shape) if k not in axes and n != 1]
    step = math.prod(shape[kept[-1] + 1 :])
    if step > 1:  # windows
        return step < length
    return math.prod(shape[max(axes) + 1 :]) >= NEIGHBOURS


def _is_view(s: Statement) -> bool:
    return isinstance(s, Apply) and isinstance(s.op, Reshape) and s.op.name != "transpose"


def _around(block: Block, first: Statement, users: Mapping[Var, set[int]], language: str) -> Block | None:
    """The block with all that reads the rows' results, element by element, in the kernel that reduces them."""
    reduction = _reduction(first)
    assert reduction is not None
    domain, attrs = reduction.args[0].aval.shape, reduction.attrs
    chosen, made = [first], {*first.targets}
    start = next(k for k, s in enumerate(block.statements) if s is first)
    late: set[Var] = set()
    for s in block.statements[start + 1 :]:
        own = _reduction(s)
        reads = not made.isdisjoint(inputs_of(s))
        along = is_pointwise(s) and all(t.aval.shape == domain for t in s.targets)
        again = own is not None and own.args[0].aval.shape == domain and own.attrs.axes == attrs.axes  # type: ignore
        if reads and (along or again or _is_view(s)) and late.isdisjoint(inputs_of(s)):
            chosen.append(s)
            made.update(s.targets)
        else:
            late.update(s.targets)
    while lone := [s for s in chosen if _is_view(s) and not any(t in inputs_of(c) for c in chosen for t in s.targets)]:
        chosen = [s for s in chosen if s not in lone]  # views of what leaves the kernel
    inside = {*map(id, chosen)}
    targets = [t for s in chosen for t in s.targets if users.get(t, set()) - inside]
    statements = [b for s in chosen for b in inline(s)]
    if len(statements) > LONGEST or not any(t.aval.shape == domain for t in targets):
        return None
    group = close(statements, targets, "row")
    by = {k: [group] if k == id(first) else [] for k in inside}
    return replaced(block, by) if fits(group, language) else None
