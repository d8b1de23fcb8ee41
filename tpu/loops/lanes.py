"""Parallel loops in blocks of lanes that step together, each block until the last of its lanes is done.

    for lane in range(1000):          for k in range(32):
        z1 = z[lane]                      first = min(k * 32, 968)
        while z1 * z1 < 4:                z1 = z[first : first + 32]
            z1 = z1 * z1 + c              active = z1 * z1 < 4
        out[lane] = z1                    while np.any(active):
                                              z1 = np.where(active, z1 * z1 + c, z1)
                                              active = active & (z1 * z1 < 4)
                                          out[first : first + 32] = z1

Both compilers make vector instructions of a block and one function of the whole loop: measured 10 to 23 times faster
than all lanes in lockstep, which go through memory at every step. C++ (`native`) keeps a step in registers and is
twice to three times as fast as XLA, which has a loop for every value that is read twice; but XLA alone has vectors for
exponentials and the like. The last block starts early enough to be a whole one; what
two blocks compute they store alike. Where there are many blocks, lanes that are done hand their places on (`refill`).

Loops whose lanes store into arrays of their own element by element stay as they are: under a mask, XLA would choose
between whole arrays at every store.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import field, replace
from typing import NamedTuple

from ...translator import make, ops
from ...translator.batch.lanes import FEW
from ...translator.batch.rules import spread
from ...translator.batch.vmap import Batcher, move_axis
from ...translator.bounds import Interval, analyse
from ...translator.builder import Builder
from ...translator.ir import (
    Apply,
    Atom,
    Block,
    For,
    Function,
    Fused,
    If,
    Param,
    Range,
    Statement,
    Var,
    While,
    blocks_of,
    const,
    inputs_of,
    walk,
    with_blocks,
)
from ...translator.ops.core import At, Create, Dim, Dyn, Gather, IndexAttrs, Put, Run
from ...translator.passes.dead import dead_code
from ...translator.records import dataclass
from ...translator.rewrite import splice_block, substituted
from ...translator.tree import LEAF
from .refill import Store, in_places

FEWEST = 4  # lanes of a block: of fewer there are no vector instructions


class Blocked(NamedTuple):
    """A program and what its loops over blocks define."""

    function: Function
    made: frozenset[Var] = frozenset()


def blocked(function: Function, most: int = FEW) -> Blocked:
    """Every innermost parallel loop in blocks of at most `most` lanes; the same function object where there is none."""
    if not any(isinstance(s, For) and s.parallel for s in walk(function.body)):
        return Blocked(function)
    plain = replace(function, body=_unfused(function.body))
    blocks = _Blocks(analyse(plain, refine=False), most)
    made = replace(plain, body=blocks.block(plain.body))
    return Blocked(dead_code(made), frozenset(blocks.made))


def _unfused(block: Block) -> Block:
    """Groups inside parallel loops written out."""

    def inside(block: Block, parallel: bool) -> Block:
        b = Builder()
        found: dict[Var, Atom] = {}
        for s in block.statements:
            match s:
                case Fused() if parallel:
                    results = splice_block(b, s.body, s.args)
                    found.update(zip(s.targets, results, strict=True))
                    continue
                case If() | For() | While():
                    under = parallel or (isinstance(s, For) and s.parallel)
                    s = with_blocks(s, functools.partial(inside, parallel=under))
            b.statements.append(s)
        made = Block(block.params, tuple(b.statements), block.results)
        return substituted(made, found) if found else made

    return inside(block, False)


@dataclass(frozen=True, slots=True)
class _Blocks:
    intervals: dict[Var, Interval]
    most: int
    made: set[Var] = field(default_factory=set)

    def block(self, block: Block) -> Block:
        return replace(block, statements=tuple(t for s in block.statements for t in self.statement(s)))

    def statement(self, s: Statement) -> Sequence[Statement]:
        match s:
            case If() | While():
                return (with_blocks(s, self.block),)
            case For():
                if not s.parallel or any(isinstance(inner, For) and inner.parallel for inner in walk(s.body)):
                    return (with_blocks(s, self.block),)
                made = self.loop(s)
                if made is not None:
                    self.made.update(s.targets)
                return made or (replace(s, parallel=False),)
        return (s,)

    def loop(self, s: For) -> Sequence[Statement] | None:
        """The loop in blocks; None where it is better, or can only be, as it is."""
        turns = s.range.static()
        if not turns or abs(turns.step) != 1:
            return None
        stores = _stores(s.body, turns)
        if stores is None or _stores_in_loops(s.body):
            return None
        puts = [store.put for store in stores]
        kept = tuple(t for t in s.body.statements if not any(t is p for p in puts))
        body = replace(s.body, statements=kept)
        width = min(len(turns), self.most // _widest(body))
        if width < FEWEST:
            return None
        index, *carried = s.body.params
        lane = Function("lane", (Param(index.hint),), Block((index,), kept, tuple(p.args[1] for p in puts)), LEAF)
        b = Builder(s.span)
        if in_places(b, lane, turns, width, stores, s):
            return b.statements
        k = Var("k", index.aval)
        first = _start(b, k, width, turns)
        lanes = _Lanes(lane, turns, width, b, first)
        lanes._intervals = self.intervals
        lanes.statements(kept)
        results = [lanes.stored(store) for store in stores]
        whole = Range(const(0), const(-(-len(turns) // width)), const(1))
        return (replace(s, range=whole, body=lanes.b.block((k, *carried), results)),)


def _start(b: Builder, k: Atom, width: int, turns: range) -> Atom:
    """The least index of block k."""
    start = make.multiply(b, k, width)
    if len(turns) % width:
        start = make.minimum(b, start, len(turns) - width)
    return make.add(b, start, min(turns)) if min(turns) else start


class _Lanes(Batcher):
    """The body of a loop for `width` of its turns, from `first`: what it reads at the index is a slice."""

    def __init__(self, lane: Function, turns: range, width: int, b: Builder, first: Atom) -> None:
        super().__init__(lane, (0,), width)
        self.b, self.turns, self.first = b, turns, first
        (self.index,) = lane.body.params
        self.mapping[self.index] = make.add(b, make.iota(b, width), first)

    def apply(self, s: Apply) -> None:
        axis = _lane_axis(s, self.index, self.turns) if s.op is ops.INDEX else None
        values = [self.value(a) for a in s.args]
        if axis is None or any(v.batched for v, a in zip(values, s.args, strict=True) if a is not self.index):
            super().apply(s)
            return
        dims, dyn = self.run(s, axis, [v.atom for v in values])
        count = len(_runs_before(dims, axis))
        self.define(s.targets[0], lambda: move_axis(self.b, make.index(self.b, values[0].atom, dims, dyn), count, 0))

    def run(self, s: Apply, axis: int, atoms: Sequence[Atom]) -> tuple[tuple[Dim, ...], list[Atom]]:
        """The index of `s`, over `atoms` in place of its arguments, with the slice of these turns along the axis."""
        assert isinstance(s.attrs, IndexAttrs)
        run = Run(Dyn(len(atoms)), self.size)
        return tuple(run if k == axis else d for k, d in enumerate(s.attrs.dims)), [*atoms, self.first]

    def stored(self, store: Store) -> Atom:
        """The content of the array that the turns fill."""
        s, (array, value, *indices) = store.put, [self.value(a) for a in store.put.args]
        dims, dyn = self.run(s, store.axis, [array.atom, value.atom, *(v.atom for v in indices)])
        rank = sum(isinstance(d, Run) for d in dims) - 1
        lanes = make.expand_dims(self.b, spread(self.b, value, self.size), tuple(range(1, 1 + rank - value.aval.ndim)))
        return make.put(self.b, array.atom, move_axis(self.b, lanes, 0, len(_runs_before(dims, store.axis))), dims, dyn)


def _lane_axis(s: Apply, index: Var, turns: range) -> int | None:
    """The axis that only `index` picks from, inside it, if no other is picked from by an array."""
    if not isinstance(s.attrs, IndexAttrs):
        return None
    axes = []
    for axis, (d, n) in enumerate(zip(s.attrs.dims, s.args[0].aval.shape, strict=True)):
        match d:
            case At(index=Dyn(arg=a)) if s.args[a] is index:
                axes.append(axis)
                if min(turns) < 0 or max(turns) >= n:
                    return None
            case Run(start=Dyn(arg=a)) if s.args[a] is index:
                return None
            case Gather():
                return None
    return axes[0] if len(axes) == 1 else None


def _runs_before(dims: Sequence[Dim], axis: int) -> list[Dim]:
    return [d for d in dims[:axis] if isinstance(d, Run)]


def _stores(body: Block, turns: range) -> list[Store] | None:
    """How each carried value is filled; None where one of them is anything but an array that is filled lane by lane."""
    index, *carried = body.params
    made = {s.targets[0]: s for s in body.statements if isinstance(s, Apply) and s.op is ops.PUT}
    inside = {t for s in body.statements for t in s.targets}
    stores = []
    for p, r in zip(carried, body.results, strict=True):
        put = made.get(r) if isinstance(r, Var) else None
        axis = _lane_axis(put, index, turns) if put is not None and put.args[0] is p else None
        if put is None or axis is None or any(a in inside for a in put.args[2:]):
            return None
        stores.append(Store(put, axis))
    read = Counter(a for s in walk(body) for a in inputs_of(s))
    read.update(r for s in walk(body) for b in blocks_of(s) for r in b.results)
    if any(read[store.put.targets[0]] for store in stores) or any(read[p] > 1 for p in carried):
        return None
    return stores


def _widest(body: Block) -> int:
    sizes = (t.aval.size for s in walk(body) if not _is_storing(s) for t in s.targets)
    return max(1, *sizes, 1)


def _is_storing(s: Statement) -> bool:
    return isinstance(s, Apply) and isinstance(s.op, Put | Create)


def _stores_in_loops(body: Block) -> bool:
    """Whether a loop of the body stores into arrays."""
    loops = (s for s in walk(body) if isinstance(s, For | While))
    return any(isinstance(t, Apply) and isinstance(t.op, Put) for s in loops for b in blocks_of(s) for t in walk(b))
