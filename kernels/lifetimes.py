"""Last uses of values in a loop, so that arrays can be updated in place.

    b = put(a, x, i)         a is not read any more: `a[i] = x;`, and b is that array
    c = put(a, y, j)         a is read below: its elements are copied first
    return a + c
"""

from __future__ import annotations

import math
from collections import Counter

from ..translator.ir import (
    Apply,
    Atom,
    Block,
    For,
    Fused,
    If,
    Statement,
    Var,
    While,
    blocks_of,
    free_variables,
    inputs_of,
    walk,
)
from ..translator.ops.core import Cast, Contract, Elementwise, IndexAttrs, Put, Reduce, Reshape, indexed_shape


class Lifetimes:
    """Lifetimes in one loop and all inside it. Groups are transparent: their parameters are names of their arguments.

    `behind(s)`: the values that are read after the statement `s`, in this turn or a later one. `uses`: how often a
    value is read; in a loop inside the block that makes it, twice. `reader`: the last statement that reads it.
    """

    def __init__(self, loop: For | While) -> None:
        self._same: dict[Var, Atom] = {}
        self._behind: dict[int, frozenset[Var]] = {}
        self.uses: Counter[Var] = Counter()
        self.reader: dict[Var, Statement] = {}
        top = Block((), (loop,), loop.targets)
        for s in walk(top):
            if isinstance(s, Fused):
                self._same.update(zip(s.body.params, s.args, strict=True))
                self._same.update(zip(s.targets, s.body.results, strict=True))
        self._depth: dict[Var, int] = {}
        self._count(top, 0)
        self._block(top, frozenset())

    def root(self, a: Atom) -> Atom:
        """The value itself, whatever names groups give it."""
        while isinstance(a, Var) and a in self._same:
            a = self._same[a]
        return a

    def behind(self, s: Statement) -> frozenset[Var]:
        return self._behind[id(s)]

    def knows(self, s: Statement) -> bool:
        return id(s) in self._behind

    def _roots(self, atoms: tuple[Atom, ...]) -> frozenset[Var]:
        return frozenset(r for a in atoms if isinstance(r := self.root(a), Var))

    def _count(self, block: Block, depth: int) -> None:
        self._depth.update(dict.fromkeys(block.params, depth))
        for s in block.statements:
            if not isinstance(s, Fused):
                self._read(inputs_of(s), depth, s)
            deeper = depth + isinstance(s, For | While)
            for b in blocks_of(s):
                self._count(b, deeper)
                if not isinstance(s, Fused):
                    self._read(b.results, deeper, s)
            self._depth.update(dict.fromkeys(s.targets, depth))

    def _read(self, atoms: tuple[Atom, ...], depth: int, s: Statement) -> None:
        for a in atoms:
            root = self.root(a)
            if isinstance(root, Var):
                self.uses[root] += 2 if depth > self._depth.get(root, -1) else 1
                self.reader[root] = s

    def _block(self, block: Block, live: frozenset[Var]) -> frozenset[Var]:
        """The values read from the block on, given those that are read after it."""
        live |= self._roots(block.results)
        for s in reversed(block.statements):
            if isinstance(s, Fused):
                live = self._block(s.body, live)
                continue
            self._behind[id(s)] = live
            live = self._statement(s, live - frozenset(s.targets))
        return live

    def _statement(self, s: Statement, live: frozenset[Var]) -> frozenset[Var]:
        read = self._roots(inputs_of(s))
        match s:
            case If(then=then, orelse=orelse):
                live = self._block(then, live) | self._block(orelse, live)
            case For() | While():
                # What the loop reads from outside, it reads again in the next turn.
                turning = live.union(*(self._roots(free_variables(b)) for b in blocks_of(s)))
                self._block(s.body, turning)
                if isinstance(s, While):
                    self._block(s.condition, turning | frozenset(s.condition.params))
                live = turning
        return live | read


def reads_elements(lifetimes: Lifetimes, value: Var) -> bool:
    """Whether the statement that reads a value asks for each of its elements once."""
    reader = lifetimes.reader[value]
    if not isinstance(reader, Apply):
        return True  # what a block hands on is put into memory there
    out = reader.targets[0].aval
    match reader.op:
        case Elementwise() | Cast() | Reshape():
            return out.size == value.aval.size
        case Reduce():
            return True
        case Contract():
            return not out.shape and len(value.aval.shape) == 1
        case Put():
            assert isinstance(reader.attrs, IndexAttrs)
            size = math.prod(indexed_shape(reader.attrs, [a.aval for a in reader.args]))
            return lifetimes.root(reader.args[1]) is value and size == value.aval.size
    return False
