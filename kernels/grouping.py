"""Groups of a block while `settle` decides what becomes a kernel: their parts, and the readers of their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..translator.errors import UnsupportedError
from ..translator.ir import Apply, Atom, Block, Fused, Statement, Var, blocks_of, free_variables, inputs_of
from ..translator.ops.core import Cast, Elementwise
from .plan import plan
from .settling.decompose import decompose


def fits(group: Fused, language: str = "triton") -> bool:
    """Whether a kernel can be written."""
    try:
        plan(decompose(group, language), language)
    except UnsupportedError:
        return False
    return True


def replaced(block: Block, by: Mapping[int, Sequence[Statement]]) -> Block:
    return replace(block, statements=tuple(new for s in block.statements for new in by.get(id(s), (s,))))


def inline(s: Statement) -> list[Apply]:
    """A group's statements in terms of the values around it; a lone statement itself."""
    if isinstance(s, Apply):
        return [s]
    assert isinstance(s, Fused)
    known: dict[Atom, Atom] = dict(zip(s.body.params, s.args, strict=True))
    renamed = dict(zip(s.body.results, s.targets, strict=True))
    made = []
    for b in s.body.statements:
        assert isinstance(b, Apply)
        args = tuple(known.get(a, a) for a in b.args)
        targets = tuple(renamed.get(t, t) for t in b.targets)
        known.update(zip(b.targets, targets, strict=True))
        made.append(replace(b, targets=targets, args=args))
    return made


def is_elementwise(s: Statement) -> bool:
    if isinstance(s, Fused):
        return s.kind == "pointwise" and len(s.targets) == 1
    return isinstance(s, Apply) and isinstance(s.op, Elementwise | Cast) and bool(s.targets[0].aval.shape)


def is_pointwise(s: Statement) -> bool:
    """Whether it is an elementwise operation, or a group of such."""
    return is_elementwise(s) or (isinstance(s, Fused) and s.kind == "pointwise")


def users_of(block: Block) -> dict[Var, set[int]]:
    """The readers of each value, as ids of statements; 0 stands for the block's results."""
    users: dict[Var, set[int]] = {}
    for s in block.statements:
        for a in (*inputs_of(s), *(v for inner in blocks_of(s) for v in free_variables(inner))):
            if isinstance(a, Var):
                users.setdefault(a, set()).add(id(s))
    for a in block.results:
        if isinstance(a, Var):
            users.setdefault(a, set()).add(0)
    return users
