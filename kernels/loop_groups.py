"""Which loops become kernels of their own: lanes always, others where one slow thread beats many launches."""

from __future__ import annotations

from dataclasses import replace

from ..translator.errors import UnsupportedError
from ..translator.ir import Apply, Atom, Block, For, Fused, Statement, Var, While, blocks_of, walk
from ..translator.ops import EMPTY
from ..translator.ops.core import Create, Put, Reduce, Reshape
from .device_loops import plan_loop
from .loops import as_group

NARROW = 256  # elements: operations on more of them are faster as kernels of their own
LEAST = 20_000  # operations of a loop over numbers alone, which the host computes at about a microsecond each
TURNS = 100  # of a loop of which nothing is known


def as_kernel(s: For | While, block: Block) -> Fused | None:
    """The loop as a group of kind "lanes" or "loops", where a kernel can be written that is worth it."""
    if not s.targets:
        return None
    lanes = isinstance(s, For) and s.parallel
    if not lanes and not _is_worth(s):
        return None
    group = as_group(s, "lanes" if lanes else "loops")
    group = _with_memory(group, block) if lanes else group
    try:
        plan_loop(group, "loop", frozenset(k for k, p in enumerate(group.body.params) if not p.aval.shape))
    except UnsupportedError:
        return None
    return group


def _with_memory(group: Fused, block: Block) -> Fused:
    """The lanes' group with the memory that they fill made inside it: it is the kernel's results."""
    made = {s.targets[0]: s for s in block.statements if isinstance(s, Apply) and s.op is EMPTY}
    kept: list[tuple[Atom, Var]] = []
    inside: list[Statement] = []
    for a, p in zip(group.args, group.body.params, strict=True):
        if isinstance(a, Var) and a in made:
            inside.append(replace(made[a], targets=(p,)))
        else:
            kept.append((a, p))
    body = replace(group.body, params=tuple(p for _, p in kept), statements=(*inside, *group.body.statements))
    return replace(group, args=tuple(a for a, _ in kept), body=body)


def _is_worth(s: For | While) -> bool:
    every = tuple(walk(Block((), (s,), ())))
    inside = [t for t in every if isinstance(t, Apply)]
    if any(isinstance(t, For) and t.parallel for t in every) or any(_elements(t) > NARROW for t in inside):
        return False
    arrays = any(a.aval.shape for t in inside for a in (*t.args, *t.targets))
    return arrays or _work(s) >= LEAST


def _elements(s: Apply) -> int:
    """How many elements a statement computes or stores; views none."""
    match s.op:
        case Reshape() | Create():
            return 0
        case Reduce():
            return s.args[0].aval.size
        case Put():
            return s.args[1].aval.size
    return s.targets[0].aval.size


def _work(s: Statement) -> float:
    """Operations, with a guess at the turns that only the run knows."""
    inside = sum(_work(t) for b in blocks_of(s) for t in b.statements)
    if not isinstance(s, For | While):
        return inside or 1
    turns = s.range.static() if isinstance(s, For) else None
    return (TURNS if turns is None else len(turns)) * (inside or 1)
