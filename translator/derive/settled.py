"""Arrays that serve as their own tape: elements that a nest of loops reads only after their last store.

The backward pass reads them from the array that the nest leaves behind.

    for i in range(1, n):                       for i in reversed(range(1, n)):
        y[i] = np.sin(y[i - 1]) * x                 d_t = d_y[i]
                                                    ...
                                                    d_y[i - 1] += d_t * x * np.cos(y[i - 1])

What trip i finds in y[i - 1] an earlier trip has stored, and no later one will. Whether a later store may meet a read
is a question about differences (`meetings.py`): "the places are equal, and the store comes later". In the same way it
is known which stores are the first at their place: what they overwrite is what the array was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import field, replace

import numpy as np

from .. import ops
from ..ir import Apply, Block, Const, For, Statement, Var, blocks_of, const, walk
from ..ops.core import Index, Put
from ..records import dataclass
from .differences import Makers, offset_of
from .meetings import Access, Meetings, accesses_in, known_inside, versions_of
from .tape import Plan, total
from .undo import overwritten

MOST = 16  # stores into one array that are looked at: each read is compared with each


@dataclass(slots=True)
class Nest(Meetings):
    """What is known of the arrays that the loop `root`, and the loops in it, store into.

    `late`: reads of the array that `root` leaves, by the values that they give. `first`: what the stores, by their
    targets, overwrite. `slots`: which carried value of `root` these values, and the arrays on their way, belong to.
    `used`, `whole`: of which of them something is read late, and which are put back or kept as a whole.
    """

    late: dict[Var, Apply] = field(default_factory=dict)
    first: dict[Var, Const] = field(default_factory=dict)
    slots: dict[Var, int] = field(default_factory=dict)
    homes: dict[Var, int] = field(default_factory=dict)  # which block a value is made in, by its id
    used: set[int] = field(default_factory=set)
    whole: set[int] = field(default_factory=set)

    @staticmethod
    def of(root: For, makers: Makers, without: Set[int]) -> Nest:
        """`without`: carried values of which nothing is to be read late."""
        inside = {t: s for s in walk(root.body) for t in s.targets}
        nest = Nest(root, *known_inside(root, makers))
        nest.homes.update(_homes(root.body))
        accesses = list(accesses_in(root))
        for slot, (p, r) in enumerate(zip(root.body.params[1:], root.body.results, strict=True)):
            versions = versions_of(p, r, inside) if p.aval.shape and r is not p else None
            if versions is not None:
                nest.slots.update(dict.fromkeys(versions, slot))
                nest._look_at(slot, versions, accesses)
        nest.late = {v: s for v, s in nest.late.items() if nest.slots[v] not in without}
        return nest

    def reading_late(self, forward: Sequence[Statement]) -> list[Statement]:
        """The statements of a block in the nest, with reads of what it leaves in place of those of what there was."""
        # What is stored is read at a place that may be computed behind it: sums of indices and numbers come first.
        places = {s.targets[0] for s in forward if isinstance(s, Apply) and self._is_place(s)}
        first = [s for s in forward if isinstance(s, Apply) and s.targets[0] in places]
        rest = [s for s in forward if not isinstance(s, Apply) or s.targets[0] not in places]
        return [*first, *(self.late.get(s.targets[0], s) if isinstance(s, Apply) else s for s in rest)]

    def _is_place(self, s: Apply) -> bool:
        t = s.targets[0]
        return t.aval.weak and t.aval.dtype.kind == "i" and offset_of(t, self.makers)[0] not in self.makers

    def _look_at(self, slot: int, versions: set[Var], accesses: Sequence[Access]) -> None:
        def of_array(a: Access, family: type[Index] | type[Put]) -> bool:
            base = a.statement.targets[0] if family is Put else a.statement.args[0]
            return isinstance(a.statement.op, family) and base in versions

        stores = [a for a in accesses if of_array(a, Put)]
        if len(stores) > MOST or not all(self.counts_up(a) for a in stores):
            return
        final, init = self.root.targets[slot], self.root.inits[slot]
        for a in accesses:
            if of_array(a, Index) and self.counts_up(a) and not self.met(a, stores, later=True):
                s = a.statement
                self._may_read(slot, replace(s, args=(final, *s.args[1:])))
        made = self.makers.get(init) if isinstance(init, Var) else None
        for a in stores:
            s, stored = a.statement, a.statement.args[1]
            old = overwritten(s)
            if old is None:
                continue
            whole = isinstance(stored, Var) and stored.aval == old.targets[0].aval and s.op is ops.PUT
            # What is made in front of a branch or a loop, one that is not gone into does not store.
            whole = whole and isinstance(stored, Var) and self.homes.get(stored) == self.homes[s.targets[0]]
            if isinstance(stored, Var) and whole and stored not in self.late and not self.met(a, stores, later=True):
                self._may_read(slot, replace(old, targets=(stored,), args=(final, *old.args[1:])))
            fill = made.args[0] if made is not None and made.op is ops.FULL else None
            if isinstance(fill, Const) and not self.met(a, stores, later=False):
                self.first[s.targets[0]] = const(np.asarray(fill.value).item())

    def _may_read(self, slot: int, s: Apply) -> None:
        self.late[s.targets[0]] = s
        self.slots[s.targets[0]] = slot

    def note(self, reads: Sequence[Apply], arrays: Sequence[Var]) -> None:
        """What a plan reads late, and which arrays it has whole."""
        self.used |= {self.slots[s.targets[0]] for s in reads if self.late.get(s.targets[0]) is s}
        self.whole |= {self.slots[v] for v in arrays if v in self.slots and v not in self.late}


def _homes(block: Block) -> Iterator[tuple[Var, int]]:
    for s in block.statements:
        yield from ((t, id(block)) for t in s.targets)
        for inner in blocks_of(s):
            yield from _homes(inner)


def least(nest: Nest | None, forward: Sequence[Statement], planned: Callable[[Sequence[Statement]], Plan]) -> Plan:
    """The plan that keeps less: with values as they were, or as the loops around leave them."""
    p = planned(forward)
    if nest is None:
        return p
    left = planned(nest.reading_late(forward))
    p = left if total(left.saved) <= total(p.saved) else p
    nest.note(p.recomputed, p.saved)
    return p
