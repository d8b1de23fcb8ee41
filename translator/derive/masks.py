"""Masks of cotangents through stores, branches, loops and lists: where a value was used at all.

    r = np.sqrt(x)                       r_used = np.zeros(3, dtype=bool)
    for i in range(3):                   for i in reversed(range(3)):
        if x[i] > 0.5:                       if x[i] > 0.5:
            s += r[i] ** 3                       d_r[i] += d_s * (3.0 * r[i] ** 2)
                                                 r_used[i] = True
                                         d_x = np.where(r_used, d_r * (0.5 / r), 0.0)

What no branch has used has cotangent zero, and must not meet the infinite slope that the root has at 0. A mask is made
only where such a slope may lie behind, and goes through a loop beside its cotangent. The mask of a list is a list of
counts, one for each entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Aval, Block, For, Var, const, free_variables
from ..ops.core import TAPE_AVAL, ItemAttrs
from ..rewrite import Substitution
from .lists import is_list, zero_list
from .places import Place
from .reach import scattered

if TYPE_CHECKING:
    from .adjoints import Adjoints

_BOOL = np.dtype(np.bool_)


def mask_of(v: Var) -> Var:
    """A variable for the mask of the cotangent of `v`."""
    return Var(f"{v.hint}_used", TAPE_AVAL if is_list(v) else Aval(v.aval.shape, _BOOL))


def whole(b: Builder, mask: Atom | bool, v: Var) -> Atom:
    """The mask with all axes of `v`."""
    if isinstance(mask, bool):
        return make.full(b, v.aval.shape, const(np.bool_(mask)), _BOOL) if v.aval.shape else const(np.bool_(mask))
    return mask if is_list(v) else make.broadcast_to(b, mask, v.aval.shape)


# ---- stores and lists ----------------------------------------------------------------------------


def used_at(b: Builder, before: Atom, mask: Atom | None, place: Place, once: bool) -> Atom:
    """The mask of an array behind a read of it at a place, of which `mask` was used; None: all."""
    shape, dims, dyn = place.shape, place.dims, place.dyn
    before = make.broadcast_to(b, before, shape)
    if mask is None:
        return make.put(b, before, const(np.bool_(True)), dims, dyn)
    if not once:
        return make.elementwise(b, ops.LOGICAL_OR, before, scattered(b, shape, mask, dims, dyn, once))
    here = make.elementwise(b, ops.LOGICAL_OR, make.index(b, before, dims, dyn), mask)
    return make.put(b, before, here, dims, dyn)


def used_entry(b: Builder, s: Apply, before: Atom, mask: Atom | None) -> Atom:
    """The mask of a list from which `s` reads an entry, of which `mask` was used; None: all."""
    count: Atom = const(1.0) if mask is None else make.astype(b, mask, np.dtype(np.float64))
    hint = before.hint if isinstance(before, Var) else "used"
    return b.apply(ops.ADD_ITEM, before, count, s.args[1], hint=hint)


def entry_mask(b: Builder, counts: Atom, place: Atom, value: Atom) -> Atom:
    """Where a value counts that was put on a list at this place."""
    entry = b.apply(ops.ITEM, counts, place, attrs=ItemAttrs(Aval(value.aval.shape, np.dtype(np.float64))))
    return make.greater(b, entry, const(0.0))


# ---- branches ------------------------------------------------------------------------------------


Sides = tuple[Atom | bool, Atom | bool]


def sides_of(v: Var, adj: Adjoints, parts: Sequence[Adjoints]) -> Sides | None:
    """The masks of a value behind the two branches; True: all of it may be used, False: nothing is. None where that
    says nothing, or does not matter.
    """
    if not adj.steep(v):
        return None
    singular = adj.origins.is_singular(v)
    before: Atom | bool = adj.masks.get(v, v in adj.table)
    then, orelse = (
        part.masks.get(v, True) if part.table.get(v) is not adj.table.get(v) else before for part in parts
    )
    plain = isinstance(then, bool) and isinstance(orelse, bool)
    vague = isinstance(then, bool) or isinstance(orelse, bool) if is_list(v) else then is orelse is True
    return None if vague or not (plain or singular) else (then, orelse)


def said_outside(b: Builder, condition: Atom, sides: Sides, within: Set[Var]) -> Atom | None:
    """The mask as an expression of the condition; None where it is to be a result of the branches, for it is computed
    `within` one.
    """
    then, orelse = sides
    if any(m in within or is_list(m) for m in sides if not isinstance(m, bool)):
        return None
    if isinstance(then, bool) and isinstance(orelse, bool):
        return condition if then else make.elementwise(b, ops.LOGICAL_NOT, condition)
    if then is not True and orelse is not True:
        return None
    here = condition if then is True else make.elementwise(b, ops.LOGICAL_NOT, condition)
    before = orelse if then is True else then
    return here if isinstance(before, bool) else make.elementwise(b, ops.LOGICAL_OR, here, before)


# ---- loops ---------------------------------------------------------------------------------------


class TripMasks:
    """The masks that the backward loop of `s` carries beside cotangents: those of the values that `s` carries, and of
    the values in `sums`, which its body finds outside. `outer`: the masks of what `s` leaves; `cts`: its cotangents.

    A mask that is not known when the loop begins is carried where a trip is seen to make one (`Origins.masked`), and
    none where a trip loses it (`Origins.unmasked`): then the loop is gone through again.
    """

    def __init__(
        self,
        s: For,
        adj: Adjoints,
        part: Adjoints,
        live: Sequence[int],
        sums: Iterable[Var],
        cts: Sequence[Atom | None],
        outer: Sequence[Atom | None],
    ) -> None:
        self.adj, self.part, self.cts, self.outer = adj, part, cts, outer
        self.params = s.body.params[1:]
        self.carried = {k: mask_of(self.params[k]) for k in live if self._goes_along(k)}
        self.sums = {v: mask_of(v) for v in sums if self._adds_up(v)}
        self.ends: dict[Var, Atom] = {}  # of the masks that change, by what stands for them in a trip
        part.masks.update(self.sums)

    def _goes_along(self, k: int) -> bool:
        v, origins = self.params[k], self.adj.origins
        if v in origins.unmasked or not origins.is_singular(v):
            return False
        return self.outer[k] is not None or v in origins.masked

    def _adds_up(self, v: Var) -> bool:
        return (v not in self.adj.table or v in self.adj.masks) and self.adj.origins.is_singular(v)

    def at_end(self, k: int) -> Atom | None:
        """The mask of the cotangent of what a trip leaves in carried value `k`: that of what the loop leaves holds for
        the last trip alone.
        """
        return self.carried.get(k)

    def differ(self, found: Mapping[int, Atom | None]) -> bool:
        """Whether the masks of what a trip finds show that the loop is to carry others than it does."""
        origins = self.adj.origins
        made = {self.params[k] for k, m in found.items() if m is not None and k not in self.carried}
        made = {v for v in made if not is_list(v) and v not in origins.unmasked}
        lost = {self.params[k] for k in self.carried if k in found and found[k] is None}
        origins.masked |= made
        origins.unmasked |= lost
        return bool(made or lost)

    def close(self, found: Mapping[int, Atom | None], touched: Iterable[Var]) -> None:
        """What a trip leaves: `found` are the masks of what it finds, `touched` the sums that it adds to."""
        b = self.part.b
        kept = {v: (self.carried[k], found[k]) for k, v in enumerate(self.params) if k in self.carried and k in found}
        kept |= {v: (self.sums[v], self.part.masks.get(v)) for v in touched if v in self.sums}
        self.ends = {at: whole(b, m, v) for v, (at, m) in kept.items() if m is not None and m is not at}

    def start(self, of: Var) -> Atom:
        """With what the loop begins in place of this mask."""
        b, adj = self.adj.b, self.adj
        for k, at in self.carried.items():
            if at is of:
                known = self.outer[k]
                return whole(b, self.cts[k] is not None if known is None else known, self.params[k])
        v = next(v for v, at in self.sums.items() if at is of)
        if is_list(v) and v not in adj.masks:
            return zero_list(b, v, adj.makers, of.hint)
        return whole(b, adj.masks.get(v, False), v)

    def constant(self, body: Block) -> Substitution:
        """What the body reads of the masks that no trip changes."""
        named = set(free_variables(body)) if self.carried or self.sums else set()
        return {at: self.start(at) for at in (*self.carried.values(), *self.sums.values()) if at in named}

    def leave(self, finals: Mapping[Var, Var], touched: Iterable[Var]) -> None:
        """Behind the loop: `finals` is what has become of the masks that change."""
        for v in touched:
            at = self.sums.get(v)
            if at is not None and self.part.masks.get(v) is not None:
                self.adj.masks[v] = finals[at] if at in finals else self.start(at)
            else:
                self.adj.masks.pop(v, None)

    def final(self, k: int, finals: Mapping[Var, Var], changes: bool) -> Atom | None:
        """The mask of the cotangent, which trips may have changed, of what the loop finds in carried value `k`."""
        at = self.carried.get(k)
        if at is None:
            return None if changes else self.outer[k]
        return finals.get(at, self.outer[k])
