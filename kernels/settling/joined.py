"""Reductions join the kernel that makes what they reduce, which goes to memory anyway: it is not read again.

    before                                  after
    d_z = pointwise(d_h, t)                 d_z, d_b = reduce(d_h, t)
    d_b = np.sum(d_z, axis=0)               d_w = x.T @ d_z
    d_w = x.T @ d_z

`fuse` has joined what it could; what the work around products became is known only when these are settled.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...translator.ir import Apply, Block, Fused, Statement, Var, inputs_of
from ...translator.ops.core import Reduce
from ...translator.passes.groups import LONGEST, close, kind_of
from ..grouping import fits, inline, is_pointwise, replaced, users_of


def with_joined(block: Block, language: str) -> Block:
    """The block with each reduction in the kernel that makes its array, where a kernel can be written for both."""
    users = users_of(block)
    for s in block.statements:
        if _reduces(s) and (found := _joined(block, s, users, language)) is not None:
            block, users = found, users_of(found)
    return block


def _reduces(s: Statement) -> bool:
    return (isinstance(s, Fused) and s.kind in ("row", "reduce")) or (isinstance(s, Apply) and isinstance(s.op, Reduce))


def _joined(block: Block, s: Statement, users: Mapping[Var, set[int]], language: str) -> Block | None:
    place = next(k for k, b in enumerate(block.statements) if b is s)
    domain = next(a.args[0].aval.shape for a in inline(s) if isinstance(a.op, Reduce))
    for k, maker in enumerate(block.statements[:place]):
        here = is_pointwise(maker) and not set(maker.targets).isdisjoint(inputs_of(s))
        if not here or any(t.aval.shape != domain for t in maker.targets):
            continue
        between = block.statements[k + 1 : place]
        readers = {u for t in maker.targets for u in users.get(t, ())}
        late = {t for b in between for t in b.targets}
        if (early := not readers.isdisjoint(map(id, between))) and not late.isdisjoint(inputs_of(s)):
            continue
        both = {id(s), id(maker)}
        targets = [*(t for t in maker.targets if users.get(t, both) - both), *s.targets]
        group = close([*inline(maker), *inline(s)], targets, kind_of(s))
        if len(group.body.statements) <= LONGEST and fits(group, language):
            return replaced(block, {id(maker): [group] if early else [], id(s): [] if early else [group]})
    return None
