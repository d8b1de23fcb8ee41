"""In loops, elements are read from arrays as they were before the current stores, which come last.

    a[i, j] = s                                  t = np.where((j == i) & (j == j), s, a[j, j])
    a[i, j] = s / a[j, j]                        a[i, j] = s / t

XLA keeps the old array beside the new one where both are read, and copies it in every iteration. A store whose result
only the next store at the same place reads is left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace

from ...translator import make, ops
from ...translator.bounds import Interval, analyse, interval_of
from ...translator.builder import Builder
from ...translator.ir import (
    Apply,
    Atom,
    Block,
    Const,
    For,
    Function,
    Fused,
    If,
    Statement,
    Var,
    While,
    blocks_of,
    inputs_of,
    walk,
    with_blocks,
    with_inputs,
)
from ...translator.ops.core import At, Dyn, IndexAttrs
from ...translator.records import dataclass
from ...translator.rewrite import substitute

MOST = 4  # stores that one read looks through

Place = tuple[int | Atom, ...]


def element_stores(function: Function) -> Function:
    """Apply to every loop of the program; the same function object where no loop stores elements."""
    loops = [s for s in walk(function.body) if isinstance(s, For | While)]
    if not any(place_of(s, 2) for loop in loops for b in blocks_of(loop) for s in walk(b) if isinstance(s, Apply)):
        return function
    reads = _Reads(analyse(function))
    body = reads.block(function.body, inside=False)
    return replace(function, body=_Stores(_uses(body)).block(body))


def place_of(s: Apply, first: int) -> Place | None:
    """The place at which a statement reads or stores one element; `first`: its first index argument."""
    kind = s.op in (ops.PUT, ops.PUT_ADD) if first == 2 else s.op is ops.INDEX
    if not kind or not isinstance(s.attrs, IndexAttrs):
        return None
    place: list[int | Atom] = []
    for d in s.attrs.dims:
        if not isinstance(d, At):
            return None
        i = s.args[d.index.arg] if isinstance(d.index, Dyn) else d.index
        place.append(int(i.value) if isinstance(i, Const) else i)
    return tuple(place)


@dataclass(slots=True)
class _Reads:
    """Sends reads past the stores of the same block. `mapping`: what became of the elements that were read."""

    known: dict[Var, Interval]
    mapping: dict[Var, Atom] = field(default_factory=dict)

    def block(self, block: Block, inside: bool) -> Block:
        b = Builder()
        stores: dict[Var, Apply] = {}
        for s in block.statements:
            b.span = s.span
            s = self.renamed(s, inside)
            if inside and isinstance(s, Apply):
                if s.op is ops.INDEX and (found := self.read(b, s, stores)) is not None:
                    self.mapping[s.targets[0]] = found
                    continue
                if place_of(s, 2) is not None:
                    stores[s.targets[0]] = s
            b.statements.append(s)
        return Block(block.params, tuple(b.statements), tuple(substitute(r, self.mapping) for r in block.results))

    def renamed(self, s: Statement, inside: bool) -> Statement:
        under = isinstance(s, For | While) or (isinstance(s, If) and inside)
        if not isinstance(s, Fused):
            s = with_blocks(s, lambda block: self.block(block, under))
        return with_inputs(s, lambda a: substitute(a, self.mapping))

    def read(self, b: Builder, s: Apply, stores: dict[Var, Apply]) -> Atom | None:
        """The element from before the stores, or what they stored at its place; None where that is no better."""
        place = place_of(s, 1)
        behind: list[Apply] = []
        array = s.args[0]
        while isinstance(array, Var) and array in stores:
            behind.append(stores[array])
            array = behind[-1].args[0]
        if place is None or not 0 < len(behind) <= MOST:
            return None
        places = [place, *(p for store in behind if (p := place_of(store, 2)) is not None)]
        if not all(self.is_natural(i) for p in places for i in p):
            return None
        assert isinstance(s.attrs, IndexAttrs)
        value: Atom = b.apply(ops.INDEX, array, *s.args[1:], attrs=s.attrs)
        for store in reversed(behind):
            stored = make.astype(b, store.args[1], value.aval.dtype)
            if store.op is ops.PUT_ADD:
                stored = make.add(b, value, stored)
            if stored.aval.shape:
                stored = make.reshape(b, stored, ())
            hit = self.same(b, place, place_of(store, 2) or ())
            value = stored if hit is True else value if hit is False else make.where(b, hit, stored, value)
        return value

    def is_natural(self, i: int | Atom) -> bool:
        low = i if isinstance(i, int) else interval_of(i, self.known).low
        return low is not None and low >= 0

    def same(self, b: Builder, place: Place, other: Place) -> bool | Atom:
        """Whether two places are one: known, or as a bool scalar."""
        hit: bool | Atom = True
        for i, j in zip(place, other, strict=True):
            if i is j or (isinstance(i, int) and isinstance(j, int)):
                if i != j:
                    return False
                continue
            equal = make.equal(b, i, j)
            hit = equal if hit is True else make.logical_and(b, hit, equal)
        return hit


def _uses(body: Block) -> Counter[Var]:
    uses = Counter(a for s in walk(body) for a in inputs_of(s) if isinstance(a, Var))
    for s in walk(body):
        uses.update(r for block in blocks_of(s) for r in block.results if isinstance(r, Var))
    uses.update(r for r in body.results if isinstance(r, Var))
    return uses


@dataclass(slots=True)
class _Stores:
    """Leaves out stores that are overwritten."""

    uses: Counter[Var]

    def block(self, block: Block) -> Block:
        statements: list[Statement] = []
        made: dict[Var, Apply] = {}
        for s in block.statements:
            match s:
                case Apply():
                    while (old := self.overwritten(s, made)) is not None:
                        statements = [other for other in statements if other is not old]
                        s = replace(s, args=(old.args[0], *s.args[1:]))
                    made[s.targets[0]] = s
                case If() | For() | While():
                    s = with_blocks(s, self.block)
            statements.append(s)
        return Block(block.params, tuple(statements), block.results)

    def overwritten(self, s: Apply, made: dict[Var, Apply]) -> Apply | None:
        """The store that `s` overwrites, if nothing else reads its result."""
        array = s.args[0] if s.args else None
        if s.op is not ops.PUT or not isinstance(array, Var) or array not in made or self.uses[array] > 1:
            return None
        place = place_of(s, 2)
        return made[array] if place is not None and place == place_of(made[array], 2) else None


