"""Loops that add to fresh zeros, in each turn at a place of its own, set what is there.

    d_x = np.zeros_like(x)                      d_x = np.zeros_like(x)
    for i in reversed(range(n)):                for i in reversed(range(n)):
        d_x[i] += d_y * y_tape[i]                   d_x[i] = d_y * y_tape[i]

So do loops that go through the entries of a list, which then need not be zeros before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from .. import ops
from ..ir import Apply, Atom, Block, Const, For, If, Statement, Var, While, is_number, uses_of, walk
from ..ops.core import At, Dyn, IndexAttrs
from .lists import Makers, goes_over


def set_once(block: Block) -> Block:
    """The block where such loops store instead of adding."""
    makers = {t: s for s in walk(block) if isinstance(s, Apply) for t in s.targets}
    return _Fresh(makers, uses_of(block)).block(block)


class _Fresh:
    def __init__(self, makers: Makers, uses: Mapping[Var, int]) -> None:
        self.makers, self.uses = makers, uses
        self.blank: set[Var] = set()

    def block(self, block: Block) -> Block:
        statements = tuple(map(self.statement, block.statements))
        blank = (
            replace(s, op=ops.BLANK_TAPE) if isinstance(s, Apply) and s.targets[0] in self.blank else s
            for s in statements
        )
        return replace(block, statements=tuple(blank))

    def statement(self, s: Statement) -> Statement:
        match s:
            case If():
                return replace(s, then=self.block(s.then), orelse=self.block(s.orelse))
            case While():
                return replace(s, body=self.block(s.body))
            case For():
                return self.loop(replace(s, body=self.block(s.body)))
        return s

    def loop(self, s: For) -> For:
        s = self.entries_set(s)
        for k, init in enumerate(s.inits):
            zeros = self.makers.get(init) if isinstance(init, Var) and self.uses[init] == 1 else None
            if zeros is not None and zeros.op is ops.FULL and is_number(zeros.args[0], 0):
                s = self.elements_set(s, k, ()) or s
        return s

    # arrays

    def elements_set(self, s: For, k: int, around: tuple[For, ...]) -> For | None:
        """The loop that stores into its carried value `k` where it, or a loop within, adds at one place for each turn
        of it and of the loops `around` it; None where it does anything else with it.
        """
        param, result = s.body.params[k + 1], s.body.results[k]
        if self.uses[param] != 1:
            return None
        for n, inner in enumerate(s.body.statements):
            if result not in inner.targets:
                continue
            new: Statement | None = None
            if isinstance(inner, Apply) and inner.op is ops.PUT_ADD and inner.args[0] is param:
                new = replace(inner, op=ops.PUT) if self.is_own_place(inner, (*around, s)) else None
            elif isinstance(inner, For) and isinstance(result, Var) and self.uses[result] == 1:
                j = inner.targets.index(result)
                new = self.elements_set(inner, j, (*around, s)) if inner.inits[j] is param else None
            if new is None:
                return None
            return replace(s, body=replace(s.body, statements=_with(s.body.statements, n, new)))
        return None

    def is_own_place(self, add: Apply, loops: tuple[For, ...]) -> bool:
        """Whether the index of each loop stands alone, or moved by a number, in an axis of its own."""
        assert isinstance(add.attrs, IndexAttrs)
        if add.attrs.gathers or add.args[1].aval.dtype != add.args[0].aval.dtype:
            return False
        axes = zip(add.attrs.dims, add.args[0].aval.shape, strict=True)
        places = [(add.args[d.index.arg], n) for d, n in axes if isinstance(d, At) and isinstance(d.index, Dyn)]
        return all(any(self.tells_turns_apart(a, n, s) for a, n in places) for s in loops)

    def tells_turns_apart(self, place: Atom, size: int, s: For) -> bool:
        """Whether the place on an axis of this size is another one in each turn: also where it counts from the end."""
        index, by = place, 0
        made = self.makers.get(place) if isinstance(place, Var) else None
        if made is not None and made.op in (ops.ADD, ops.SUBTRACT) and isinstance(c := made.args[1], Const):
            index, by = made.args[0], int(c.value) if made.op is ops.ADD else -int(c.value)
        if index is not s.body.params[0]:
            return False
        turns = s.range.static()
        if turns is not None:
            return not turns or abs(turns[-1] - turns[0]) < size
        start, step = s.range.start, s.range.step
        return isinstance(start, Const) and isinstance(step, Const) and step.value > 0 and start.value + by >= 0

    # lists

    def entries_set(self, s: For) -> For:
        if not goes_over(s.range, self.makers):
            return s
        for init, add in self.sums_of_turns(s):
            zeros = self.makers.get(init)
            if zeros is not None and zeros.op is ops.ZERO_TAPE and self.is_one_length(zeros.args[0], s.range.stop):
                self.blank.add(init)
                n = s.body.statements.index(add)
                stored = _with(s.body.statements, n, replace(add, op=ops.SET_ITEM))
                s = replace(s, body=replace(s.body, statements=stored))
        return s

    def sums_of_turns(self, s: For) -> Iterator[tuple[Var, Apply]]:
        """The lists, read by this loop only, to whose entries each turn just adds at its own place; and what adds."""
        adds = {a.targets[0]: a for a in s.body.statements if isinstance(a, Apply) and a.op is ops.ADD_ITEM}
        for p, init, result in zip(s.body.params[1:], s.inits, s.body.results, strict=True):
            add = adds.get(result) if isinstance(result, Var) else None
            if add is None or add.args[0] is not p or add.args[2] is not s.body.params[0]:
                continue
            if isinstance(init, Var) and self.uses[init] == self.uses[p] == 1:
                yield init, add

    def is_one_length(self, x: Atom, y: Atom) -> bool:
        """Whether these are one value, or the length of one list."""
        both = [self.makers.get(a) if isinstance(a, Var) else None for a in (x, y)]
        lists = [m.args[0] for m in both if m is not None and m.op is ops.LENGTH]
        return x is y or (len(lists) == 2 and lists[0] is lists[1])


def _with(statements: tuple[Statement, ...], n: int, new: Statement) -> tuple[Statement, ...]:
    return (*statements[:n], new, *statements[n + 1 :])
