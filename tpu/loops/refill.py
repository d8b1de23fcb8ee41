"""Blocks of lanes in which a lane that is done gives its place to the next one.

    for lane in range(1000):        while np.any(taken):                     # places with a lane that is not stored yet
        z1 = z[lane]                    who = ...                            # free places get the next lanes
        while z1 * z1 < 4:              z1 = np.where(fresh, z[who], z1)
            z1 = z1 * z1 + c            active = taken & (z1 * z1 < 4)
        out[lane] = z1                  while np.any(active) and idle < limit:
                                            z1 = np.where(active, z1 * z1 + c, z1)
                                            active = active & (z1 * z1 < 4)
                                            idle += 32 - np.sum(active)
                                        out[who] = z1                        # also of those that go on, and come again
                                        taken = active

Without this a block lasts as long as the slowest of its lanes. Handing out places costs as much as some turns, so it is
done when as many turns have been lost in places that are free (`limit`): at worst both cost the same. The last lanes
run to their end.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np

from ...translator import make
from ...translator.batch.control import kept_where, tested
from ...translator.batch.lanes import has_uneven_loop
from ...translator.batch.rules import batched_aval, pad, spread
from ...translator.batch.spread import batched_variables, is_batched
from ...translator.batch.stores import kept_by_stores
from ...translator.batch.vmap import Batcher, move_axis
from ...translator.builder import Builder
from ...translator.ir import (
    Apply,
    Atom,
    Aval,
    Block,
    For,
    Function,
    Statement,
    Var,
    While,
    const,
    free_variables,
)
from ...translator.ops.core import Dim, Dyn, Gather, IndexAttrs, Run
from ...translator.records import dataclass
from .work import TURNS, operations

FEWEST = 32  # blocks: with fewer, the last lanes, which nobody follows, are too large a part
HANDING = 600  # statements on a block that cost as much as handing out places: 2.5 us
INT, FLAG = Aval((), np.dtype(np.int64)), Aval((), np.dtype(np.bool_))


@dataclass(frozen=True, slots=True)
class Parts:
    """The body of a lane: what comes before its one loop whose number of turns is its own, that loop, what follows."""

    before: tuple[Statement, ...]
    loop: While
    after: tuple[Statement, ...]


def in_places(b: Builder, lane: Function, turns: range, size: int, stores: Sequence[Store], loop: For) -> bool:
    """Whether `loop`, over lanes, is better handed out to `size` places; then that is written, with its targets."""
    if len(turns) < FEWEST * size or any(map(_is_scattered, stores)):
        return False
    parts = parts_of(lane, batched_variables(lane, lane.body.params))
    if parts is None:
        return False
    handing = HANDING + sum(map(operations, (*parts.before, *parts.after)))
    idle = ceil(handing * TURNS / operations(parts.loop)) * size
    Places(lane, parts, turns, size, stores, idle).write(b, loop)
    return True


def _is_scattered(store: Store) -> bool:
    """Whether more than the lane chooses where it goes."""
    assert isinstance(store.put.attrs, IndexAttrs)
    others = (d for k, d in enumerate(store.put.attrs.dims) if k != store.axis)
    return not all(isinstance(d, Run) and not isinstance(d.start, Dyn) for d in others)


def parts_of(lane: Function, batched: set[Var]) -> Parts | None:
    """None where the lanes do not differ in exactly one `while`, around everything else that differs."""
    statements = lane.body.statements
    uneven = [k for k, s in enumerate(statements) if has_uneven_loop(s, batched)]
    if len(uneven) != 1:
        return None
    (k,) = uneven
    loop = statements[k]
    if not isinstance(loop, While) or not is_batched(loop.condition.results[0], batched):
        return None
    return Parts(statements[:k], loop, statements[k + 1 :])


@dataclass(frozen=True, slots=True)
class Store:
    """An array is filled by `array[..., lane, ...] = value` and by nothing else."""

    put: Apply
    axis: int  # of the array, which is that of the lanes


class Places(Batcher):
    """Writes the loop in which `size` places go over the lanes of `turns`. `parts` is the body of `lane`, a function of
    the index, and `stores` fill arrays with what it gives back. Places are handed out when `idle` turns were lost in
    free ones.
    """

    def __init__(
        self, lane: Function, parts: Parts, turns: range, size: int, stores: Sequence[Store], idle: int
    ) -> None:
        super().__init__(lane, (0,), size, together=False)
        (self.index,) = lane.body.params
        self.parts, self.turns, self.stores, self.idle = parts, turns, stores, idle
        made = {t for s in parts.before for t in s.targets}
        rest = Block((), (parts.loop, *parts.after), lane.body.results)
        self.kept = [v for v in free_variables(rest) if v in made and v in self.batched]

    def write(self, b: Builder, s: For) -> None:
        """The loop that fills what `s` fills."""
        self.b = b
        flags = batched_aval(FLAG, self.size)
        head = [Var("who", batched_aval(INT, self.size)), Var("following", INT), Var("taken", flags)]
        own = [Var(v.hint, batched_aval(v.aval, self.size)) for v in (*self.kept, *self.parts.loop.targets)]
        filled = [Var(t.hint, t.aval) for t in s.targets]
        carried = [*head, *own, *filled]
        inits = [make.zeros(b, v.aval.shape, v.aval.dtype) for v in (*head, *own)]
        asked, targets = ([Var(v.hint, v.aval) for v in carried] for _ in range(2))
        targets = [*targets[: -len(filled)], *s.targets]
        with self.block() as test:
            going = make.logical_or(test, make.less(test, asked[1], len(self.turns)), make.any(test, asked[2]))
            condition = test.block(asked, (going,))
        with self.block() as inner:
            body = inner.block(carried, self._round(head, own, filled))
        b.append(While(tuple(targets), (*inits, *s.inits), condition, body, s.span))

    def _round(self, head: Sequence[Var], own: Sequence[Var], filled: Sequence[Var]) -> list[Atom]:
        """Free places get lanes, all step until too many are free again, what they have is stored."""
        b, loop = self.b, self.parts.loop
        who, following, fresh, taken = self._handed(*head)
        lane = make.maximum(b, make.minimum(b, who, len(self.turns) - 1), 0)  # provably in range
        self.mapping[self.index] = lane = make.add(b, lane, min(self.turns)) if min(self.turns) else lane
        self.statements(self.parts.before)
        old, states = own[: len(self.kept)], own[len(self.kept) :]
        for v, before in zip(self.kept, old, strict=True):
            self.mapping[v] = self._chosen(fresh, self.atom(v), before)
        inits = [self.as_target(a, t) for a, t in zip(loop.inits, loop.targets, strict=True)]
        values = [self._chosen(fresh, new, before) for new, before in zip(inits, states, strict=True)]
        with self.masked(taken, loop.condition):
            active = make.logical_and(b, taken, tested(self, loop, values))
        last = make.equal(b, following, len(self.turns))
        active, values = self._stepped(active, values, make.where(b, last, np.iinfo(np.int64).max, self.idle))
        self.mapping.update(zip(loop.targets, values, strict=True))
        # A place that gets no lane any more stores what it had once again.
        with self.masked(make.logical_not(b, active), Block((), self.parts.after, ())):
            self.statements(self.parts.after)
        stored = [self._stored(*row, lane) for row in zip(filled, self.function.body.results, self.stores, strict=True)]
        return [who, following, active, *map(self.atom, self.kept), *values, *stored]

    def _handed(self, who: Atom, following: Atom, taken: Atom) -> tuple[Atom, Atom, Atom, Atom]:
        """The lanes of the places, the lane that comes next, and which places have a new one, which any."""
        b, n = self.b, len(self.turns)
        free = make.logical_not(b, taken)
        offered = make.add(b, make.subtract(b, make.cumsum(b, make.astype(b, free, np.int64), 0), 1), following)
        fresh = make.logical_and(b, free, make.less(b, offered, n))
        following = make.minimum(b, make.add(b, following, make.sum(b, free)), n)
        return make.where(b, fresh, offered, who), following, fresh, make.logical_or(b, taken, fresh)

    def _chosen(self, fresh: Atom, new: Atom, old: Atom) -> Atom:
        return make.where(self.b, pad(self.b, fresh, new.aval.ndim - 1), new, old)

    def _stepped(self, active: Atom, values: Sequence[Atom], limit: Atom) -> tuple[Atom, list[Atom]]:
        """The loop in lockstep, until nobody is active or `limit` turns were lost; who still is, and the values."""
        loop = self.parts.loop
        state = [Var(t.hint, v.aval) for t, v in zip(loop.targets, values, strict=True)]
        names = [Var("active", active.aval), Var("going", INT), Var("lost", INT), *state]
        asked, targets = ([Var(v.hint, v.aval) for v in names] for _ in range(2))
        with self.block() as test:
            more = make.logical_and(test, make.greater(test, asked[1], 0), make.less(test, asked[2], limit))
            condition = test.block(asked, (more,))
        self.mapping.update(zip(loop.body.params, state, strict=True))
        stored = kept_by_stores(self, loop.body, loop.body.params)
        with self.block() as inner:
            with self.masked(names[0], loop.body, const(True)):
                self.statements(loop.body.statements)
            results = kept_where(self, names[0], loop.body.results, loop.body.params, stored)
            with self.masked(names[0], loop.condition):
                again = make.logical_and(inner, names[0], tested(self, loop, results))
            going = make.sum(inner, again)
            lost = make.add(inner, names[2], make.subtract(inner, self.size, going))
            body = inner.block(names, (again, going, lost, *results))
        inits = (active, make.sum(self.b, active), const(np.int64(0)), *values)
        self.b.append(While(tuple(targets), inits, condition, body, loop.span))
        return targets[0], list(targets[3:])

    def _stored(self, array: Atom, result: Atom, store: Store, lane: Atom) -> Atom:
        """`array` with what the places have for their lanes, done or not."""
        assert isinstance(store.put.attrs, IndexAttrs)
        dims: list[Dim] = [Gather(0) if k == store.axis else d for k, d in enumerate(store.put.attrs.dims)]
        value = spread(self.b, self.value(result), self.size)
        value = make.expand_dims(self.b, value, tuple(range(1, 1 + len(dims) - value.aval.ndim)))
        return make.put(self.b, array, move_axis(self.b, value, 0, store.axis), dims, (lane,))
