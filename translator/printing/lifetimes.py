"""When each printed variable is alive, and hence which variables must not share a name.

Sets of variables are bit masks: bit `index[v]` stands for `v`. A folded temporary has no lifetime of its own: what it
reads is read where it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from ..ir import Apply, Atom, Block, For, Fused, If, Invoke, Raise, Statement, Var, While
from ..ops.core import is_store
from .temporaries import Folding


def stores(s: Statement) -> bool:
    """Whether the statement writes into its first argument, where that is the program's own."""
    return (isinstance(s, Apply) and is_store(s.op)) or (isinstance(s, Fused) and s.kind == "scatter")


class Lifetimes:
    """Lifetimes in one function.

    after[id(s)]     alive after statement `s`, its own targets included
    through[id(s)]   alive all through the loop `s`, beside what it carries
    conflicts[i]     variables alive when variable i receives its value: they need other names
    order            variables by index, in order of first definition
    """

    def __init__(self, body: Block, folding: Folding, keep: Sequence[Var] = ()) -> None:
        self.folding = folding
        self.index: dict[Var, int] = {}
        self.order: list[Var] = []
        self._number(body)
        self.conflicts = [0] * len(self.order)
        self.after: dict[int, int] = {}
        self.through: dict[int, int] = {}
        self.used = 0  # loop indices that the body reads
        self._free: dict[int, int] = {}
        end = self.reads(*body.results, *keep)
        entry = self._block(body, end)
        self.entry = entry
        self._define(body.params, entry | self.mask(body.params))

    # ---- sets ----

    def mask(self, variables: Sequence[Var]) -> int:
        m = 0
        for v in variables:
            m |= 1 << self.index[v]
        return m

    def reads(self, *atoms: Atom) -> int:
        m = 0
        for v in self.folding.leaves(*atoms):
            m |= 1 << self.index[v]
        return m

    def members(self, mask: int) -> Iterator[Var]:
        while mask:
            low = mask & -mask
            yield self.order[low.bit_length() - 1]
            mask ^= low

    # ---- numbering ----

    def _add(self, variables: Sequence[Var]) -> None:
        for v in variables:
            if v not in self.index:
                self.index[v] = len(self.order)
                self.order.append(v)

    def _number(self, block: Block) -> None:
        self._add(block.params)
        for s in block.statements:
            match s:
                case Apply():
                    if s.targets[0] in self.folding.definitions:
                        continue
                case If():
                    self._number(s.then)
                    self._number(s.orelse)
                case For():
                    self._number(s.body)
                case While():
                    self._add(s.body.params)
                    for c, p in zip(s.condition.params, s.body.params, strict=True):
                        self.index[c] = self.index[p]
                    self._number(s.condition)
                    self._number(s.body)
                case Raise():
                    self._number(s.body)
                case Fused() | Invoke():
                    pass
                case _:
                    assert_never(s)
            self._add(s.targets)

    # ---- backward flow ----

    def _define(self, variables: Sequence[Var], alive: int) -> None:
        for v in variables:
            i = self.index[v]
            self.conflicts[i] |= alive & ~(1 << i)

    def _block(self, block: Block, alive: int) -> int:
        """The variables alive at the start of the block, parameters included, given those alive at its end."""
        for s in reversed(block.statements):
            alive = self._statement(s, alive)
        return alive

    def _statement(self, s: Statement, alive: int) -> int:
        if isinstance(s, Apply) and s.targets[0] in self.folding.definitions:
            return alive
        targets = self.mask(s.targets)
        self.after[id(s)] = alive | targets
        base = alive & ~targets
        match s:
            case Apply() | Fused() | Invoke():
                reads = self.reads(*s.args)
                self._define(s.targets, alive | targets)
                if stores(s):
                    # The array may be copied to a new name before value and index are evaluated.
                    self._define(s.targets, self.reads(*s.args[1:]) & ~self.reads(s.args[0]))
                return base | reads
            case If():
                self._define(s.targets, alive | targets)
                then = self._block(s.then, base | self.reads(*s.then.results))
                orelse = self._block(s.orelse, base | self.reads(*s.orelse.results))
                return then | orelse | self.reads(s.condition)
            case Raise():
                return alive | self._block(s.body, self.reads(*s.body.results)) | self.reads(s.condition)
            case For():
                self._define(s.targets, alive | targets)
                return self._for(s, base)
            case While():
                self._define(s.targets, alive | targets)
                return self._while(s, base)
            case _:
                assert_never(s)

    def _for(self, s: For, base: int) -> int:
        header = self.reads(s.range.start, s.range.stop, s.range.step)
        through = self.through[id(s)] = base | self._free_in(s.body)
        params = self.mask(s.body.params)
        self._define(s.body.params, through | header | params)
        # An index that is used keeps its name to itself, so that an inner loop counts by another one.
        index = self.mask(s.body.params[:1]) & self._uses(s.body)[0]
        self.used |= index
        entry = self._block(s.body, through | index | self.reads(*s.body.results))
        self._define(s.body.params, entry)
        return through | header | self.reads(*s.inits)

    def _while(self, s: While, base: int) -> int:
        through = base | self._free_in(s.body) | self._free_in(s.condition)
        self.through[id(s)] = through
        params = self.mask(s.body.params)
        self._define(s.body.params, through | params)
        entry = self._block(s.body, through | self.reads(*s.body.results))
        at_condition = self._block(s.condition, entry | params | through | self.reads(*s.condition.results))
        self._define(s.body.params, at_condition)
        return through | self.reads(*s.inits)

    def _free_in(self, block: Block) -> int:
        """Variables read in the block, however deep, and defined outside it."""
        if id(block) not in self._free:
            read, bound = self._uses(block)
            self._free[id(block)] = read & ~bound
        return self._free[id(block)]

    def _uses(self, block: Block) -> tuple[int, int]:
        read, bound = self.reads(*block.results), self.mask(block.params)
        for s in block.statements:
            if isinstance(s, Apply) and s.targets[0] in self.folding.definitions:
                continue
            bound |= self.mask(s.targets)
            match s:
                case Apply() | Fused() | Invoke():
                    read |= self.reads(*s.args)
                case If():
                    read |= self.reads(s.condition) | self._free_in(s.then) | self._free_in(s.orelse)
                case For():
                    read |= self.reads(s.range.start, s.range.stop, s.range.step, *s.inits) | self._free_in(s.body)
                case While():
                    read |= self.reads(*s.inits) | self._free_in(s.body) | self._free_in(s.condition)
                case Raise():
                    read |= self.reads(s.condition) | self._free_in(s.body)
                case _:
                    assert_never(s)
        return read, bound
