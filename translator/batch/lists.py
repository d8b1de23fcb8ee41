"""Lists in lockstep: an entry has all elements of the batch; each element knows how many of the entries are its own.

    while y * y < x:               trips = np.zeros(8, np.int64)
        y_tape.append(y)           while np.any(active):
        y = f(y)                       y_tape.append(y)
    for y in reversed(y_tape):         y = np.where(active, f(y), y)
        d = g(d, y)                    trips = np.where(active, trips + 1, trips)
                                       ...
                                   for k in reversed(range(len(y_tape))):
                                       d = np.where(k < trips, g(d, y_tape[k]), d)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .. import make, ops
from ..ir import Apply, Atom, Aval, Block, For, Statement, Var, While, const, free_variables
from ..ops.core import NO_ATTRS, TAPE_AVAL
from .rules import Value, pad
from .rules import apply as applied

if TYPE_CHECKING:
    from .vmap import Batcher

COUNT = Aval((), np.dtype(np.int64))


def apply(batcher: Batcher, s: Apply, values: Sequence[Value]) -> Atom:
    """The batched result of an operation on lists."""
    b, x = batcher.b, s.args[0]
    if s.op is ops.LENGTH:
        assert isinstance(x, Var)
        return batcher.lengths[x] if s.targets[0] in batcher.batched else b.apply(ops.LENGTH, batcher.atom(x))
    if s.op in (ops.BLANK_TAPE, ops.ZERO_TAPE):
        batcher.lengths[s.targets[0]] = values[0].atom
        return b.apply(s.op, entries(batcher, x) or values[0].atom)
    if s.op is ops.ADD_ITEM and batcher.mask is not None:
        tape, value, place = values
        lanes = pad(b, batcher.mask.lanes, value.aval.ndim)
        value = Value(make.where(b, lanes, value.atom, 0.0), True, value.aval)
        values = (tape, value, place)
    return applied(b, s.op, values, s.attrs, batcher.size)


def carried(params: Sequence[Var]) -> set[int]:
    """The places of lists among what a loop carries."""
    return {k for k, p in enumerate(params) if p.aval == TAPE_AVAL}


def touches_lists(s: Statement) -> bool:
    """Whether a statement makes lists, or reads those of others."""
    return any(v.aval == TAPE_AVAL for v in (*s.targets, *free_variables(Block((), (s,), ()))))


def entries(batcher: Batcher, length: Atom) -> Atom | None:
    """How many entries there are on the list whose length this is, in an element."""
    made, _ = batcher.makers.get(length, (None, 0)) if isinstance(length, Var) else (None, 0)
    if not isinstance(made, Apply) or made.op is not ops.LENGTH:
        return None
    return batcher.b.apply(ops.LENGTH, batcher.atom(made.args[0]))


def counting(batcher: Batcher, s: While) -> While:
    """The loop with a count of its trips, for lists that it makes."""
    before, tested, after, end = (Var("trips", COUNT) for _ in range(4))
    batcher.batched.update((before, tested, after, end))
    up = Apply((after,), ops.ADD, (before, const(1)), NO_ATTRS, s.span)
    body = Block((*s.body.params, before), (*s.body.statements, up), (*s.body.results, after))
    condition = replace(s.condition, params=(*s.condition.params, tested))
    return replace(s, targets=(*s.targets, end), inits=(*s.inits, const(0)), condition=condition, body=body)


def note_turns(batcher: Batcher, s: For, turns: Callable[[], Atom]) -> None:
    """Remember how often each element runs a loop that makes lists."""
    made = [s.targets[k] for k in carried(s.body.params[1:]) if s.inits[k] not in batcher.lengths]
    if made:
        batcher.lengths.update(dict.fromkeys(made, turns()))


def note_lengths(batcher: Batcher, s: For | While) -> None:
    """Remember how long the lists are that a loop leaves."""
    for init, t in zip(s.inits, s.targets, strict=True):
        if t.aval != TAPE_AVAL:
            continue
        if isinstance(s, While):
            batcher.lengths[t] = batcher.atom(s.targets[-1])
        elif isinstance(init, Var) and init in batcher.lengths:
            batcher.lengths[t] = batcher.lengths[init]
