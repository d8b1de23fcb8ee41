"""Which loops become kernels: lanes always, others where one slow thread beats many launches."""

from __future__ import annotations

from dataclasses import replace

from ...translator.errors import UnsupportedError
from ...translator.ir import Apply, Atom, Block, For, Fused, Statement, Var, While, blocks_of, walk
from ...translator.ops import EMPTY
from ...translator.ops.core import Create, Elementwise, Put, Reduce, Reshape
from ...translator.passes.alignment import is_free
from ...translator.passes.units import COSTLY
from ..facts import Facts
from .device import plan_loop
from .lane_nests import flattened
from .native import as_group
from .turns_of_lanes import as_lanes

STEP, COSTLY_STEP = 3e-8, 1e-7  # seconds of a thread for an operation on an element in memory; for one like exp
ON_HOST = 1e-6  # seconds of an operation on numbers in the host source
LONG = 0.02  # seconds of a loop over numbers alone that are worth a kernel, and waiting for its result
TURNS = 100  # of a loop of which nothing is known


def as_kernel(s: For | While, block: Block, facts: Facts) -> tuple[Statement, ...] | None:
    """The loop as a group of kind "lanes" or "loops", where a kernel can be written that is worth it. Lanes of lanes
    are one group, with statements around it."""
    if not s.targets:
        return None
    lanes = isinstance(s, For) and s.parallel
    if not lanes and (turns := as_lanes(s, block)) is not None:
        group = _grouped(turns.loop, replace(block, statements=(*block.statements, *turns.before)), True)
        if group is not None:
            return (*turns.before, group, *turns.after)
    if not lanes and not _is_worth(s, facts):
        return None
    if isinstance(s, For) and lanes and (flat := flattened(s, block)) is not None:
        group = _grouped(flat.loop, replace(block, statements=(*block.statements, *flat.before)), lanes)
        if group is not None:
            return (*flat.before, group, *flat.after)
    group = _grouped(s, block, lanes)
    return None if group is None else (group,)


def _grouped(s: For | While, block: Block, lanes: bool) -> Fused | None:
    """None where no kernel can be written."""
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


def _is_worth(s: For | While, facts: Facts) -> bool:
    """Whether one thread is done before the host has launched what else the loop would be."""
    every = tuple(walk(Block((), (s,), ())))
    if any(isinstance(t, For) and t.parallel for t in every):
        return False
    arrays = any(a.aval.shape for t in every if isinstance(t, Apply) for a in (*t.args, *t.targets))
    thread, host = _seconds(s, facts)
    return thread < host and (arrays or host >= LONG)


def _seconds(s: Statement, facts: Facts) -> tuple[float, float]:
    """The time a statement takes in a thread, and as launches; unknown numbers of turns are guessed."""
    if isinstance(s, Apply):
        step = COSTLY_STEP if isinstance(s.op, Elementwise) and s.op.name in COSTLY else STEP
        moved = any(a.aval.shape for a in (*s.args, *s.targets))
        return step * _elements(s), 0.0 if is_free(s) else facts.launch if moved else ON_HOST
    inside = [_seconds(t, facts) for b in blocks_of(s) for t in b.statements]
    thread, host = sum(t for t, _ in inside), sum(h for _, h in inside)
    if isinstance(s, Fused):
        return thread, facts.launch
    if not isinstance(s, For | While):
        return thread, host + ON_HOST
    turns = s.range.static() if isinstance(s, For) else None
    count = TURNS if turns is None else len(turns)
    return count * (thread + STEP), count * (host + ON_HOST)


def _elements(s: Apply) -> int:
    """How many elements a statement computes or stores; zero for views."""
    match s.op:
        case Reshape() | Create():
            return 0
        case Reduce():
            return s.args[0].aval.size
        case Put():
            return s.args[1].aval.size
    return s.targets[0].aval.size
