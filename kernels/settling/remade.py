"""Values that a kernel makes again of what it, or another one, reads anyway, where storing and reading them moves more.

    before                                          after
    z, slope, h = pointwise(t)                      h = pointwise(t)
    d_h = d_y @ w.T                                 d_h = d_y @ w.T
    d_t = pointwise_2(d_h, z, slope)                d_t = pointwise_2(d_h, t)

Backward passes read much of what forward passes computed elementwise. What products and reductions give is not computed
again, but may be stored in place of what is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from ...translator.ir import Apply, Block, Fused, Statement, Var
from ...translator.ops.core import Cast, Contract, Elementwise, Put, Reduce
from ...translator.passes.alignment import is_free, nbytes
from ...translator.passes.groups import LONGEST, close, kind_of
from ...translator.passes.units import BITS, COSTLY
from ...translator.records import dataclass
from ..facts import Facts
from ..grouping import fits, inline, replaced, users_of
from ..source.powers import exponent_of
from ..tiles import behind, statements_for

MAKERS = READERS = ("pointwise", "contract", "row", "reduce")
OPERATIONS = {**dict.fromkeys(COSTLY, 32.0), "divide": 12.0, "sqrt": 12.0, **dict.fromkeys(BITS, 100.0)}


def with_remade(block: Block, language: str, facts: Facts) -> Block:
    """The block with each group's values made again where that moves less."""
    tried: set[tuple[int, int]] = set()
    kept: list[Fused] = []  # whose ids are in `tried`
    block = _grouped(block)
    users, changed = users_of(block), _changed(block)
    while (pair := _next(block, tried)) is not None:
        maker, reader = pair
        tried.add((id(maker), id(reader)))
        kept += pair
        found = _Pair(maker, reader, users, changed, facts).better()
        if found is not None and all(fits(g, language) for g in found if g is not None):
            first, second = found
            block = replaced(block, {id(maker): [first] if first is not None else [], id(reader): [second]})
            users, changed = users_of(block), _changed(block)
    return replaced(block, {id(s): inline(s) for s in block.statements if _is_lone(s)})


def _grouped(block: Block) -> Block:
    """The block with its lone reductions of what groups make as groups, too."""
    made = {t for s in block.statements if isinstance(s, Fused) and s.kind in MAKERS for t in s.targets}
    lone = [s for s in block.statements if isinstance(s, Apply) and isinstance(s.op, Reduce) and s.args[0] in made]
    return replaced(block, {id(s): [close([s], s.targets, kind_of(s))] for s in lone})


def _is_lone(s: Statement) -> bool:
    if not isinstance(s, Fused) or len(s.body.statements) > 1:
        return False
    return isinstance(s.body.statements[0], Apply) and isinstance(s.body.statements[0].op, Reduce)


def _next(block: Block, tried: Set[tuple[int, int]]) -> tuple[Fused, Fused] | None:
    """Two groups of which one reads what the other makes."""
    makers: dict[Var, Fused] = {}
    for s in block.statements:
        if not isinstance(s, Fused):
            continue
        for a in s.args if s.kind in READERS else ():
            maker = makers.get(a) if isinstance(a, Var) else None
            if maker is not None and (id(maker), id(s)) not in tried:
                return maker, s
        if s.kind in MAKERS:
            makers.update(dict.fromkeys(s.targets, s))
    return None


@dataclass(frozen=True, slots=True)
class _Plan:
    """`own`: statements that the reader gets; `stored`: what the maker stores for them; `gain`: bytes moved less."""

    own: Sequence[Apply]
    stored: Sequence[Var]
    gain: float


class _Pair:
    """A group and one that reads its results."""

    def __init__(
        self, maker: Fused, reader: Fused, users: Mapping[Var, set[int]], changed: Set[Var], facts: Facts
    ) -> None:
        self.maker, self.reader, self.facts = maker, reader, facts
        self.users, self.changed = users, changed
        self.statements = inline(maker)
        self.made = {t for s in self.statements for t in s.targets}

    def better(self) -> tuple[Fused | None, Fused] | None:
        """The two groups as they are better, without the first if nothing is left of it; None where they are good."""
        chosen = self.read()
        found = self.plan(chosen) if chosen else None
        while found is not None and len(chosen) > 1:
            fewer = [[t for t in chosen if t is not v] for v in chosen]
            options = [(p, f) for f in fewer if (p := self.plan(f)) is not None]
            best = max(options, key=lambda o: o[0].gain, default=None)
            if best is None or best[0].gain <= found.gain:
                break
            found, chosen = best
        if found is None or found.gain <= 0:
            return None
        gone = {t for t in chosen if self.users[t] == {id(self.reader)}}
        targets = [t for t in self.maker.targets if t not in gone]
        targets += [v for v in found.stored if v not in targets]
        left = statements_for(self.statements, targets, frozenset())
        first = close(left, targets, self.maker.kind) if targets else None
        second = close([*found.own, *inline(self.reader)], self.reader.targets, self.reader.kind)
        if len(second.body.statements) > LONGEST:
            return None
        return first, second

    def read(self) -> list[Var]:
        """The maker's results that the reader reads; but for operands of a product, which it reads more than once."""
        own = inline(self.reader)
        operands = [a for s in own if isinstance(s.op, Contract) for a in s.args]
        apart = {a for s in statements_for(own, operands, frozenset()) for a in s.args} | {*operands}
        return [t for t in self.maker.targets if t in self.reader.args and t not in apart]

    def plan(self, chosen: Sequence[Var]) -> _Plan | None:
        """What it takes to make these values again; None where they cannot be."""
        others = frozenset(t for t in self.maker.targets if t in self.reader.args and t not in chosen)
        fixed = {s.targets[0] for s in self.statements if not _is_again(s)}
        own = statements_for(self.statements, chosen, others | fixed)
        inside = {t for s in own for t in s.targets}
        leaves = {a for s in own for a in s.args if isinstance(a, Var)} - inside
        if not set(chosen) <= inside or not leaves.isdisjoint(self.changed):
            return None
        stored = [a for a in leaves & self.made if a not in self.maker.targets]
        moved = sum(nbytes(a) for a in leaves if a not in self.reader.args) + sum(map(nbytes, stored))
        alone = {id(self.reader)}
        saved = sum(nbytes(t) * (2 if self.users[t] == alone else 1) for t in chosen)
        seconds = sum(map(_operations, own)) / self.facts.rates["float32"]
        gain = saved - moved
        return _Plan(own, sorted(stored, key=self.place), gain) if gain > seconds * self.facts.bandwidth else None

    def place(self, v: Var) -> int:
        return next(k for k, s in enumerate(self.statements) if v in s.targets)


def _is_again(s: Apply) -> bool:
    return isinstance(s.op, Elementwise | Cast) or is_free(s)


def _operations(s: Apply) -> float:
    if is_free(s):
        return 0.0
    each = 4.0 if exponent_of(s) is not None else OPERATIONS.get(s.op.name, 2.0)
    return each * s.targets[0].aval.size


def _changed(block: Block) -> Set[Var]:
    """What is stored into, and should not be needed any more then."""
    makers: Mapping[Var, Apply] = {s.targets[0]: s for s in block.statements if isinstance(s, Apply)}
    bases = [s.args[0] for s in block.statements if isinstance(s, Apply) and isinstance(s.op, Put)]
    bases += [s.args[0] for s in block.statements if isinstance(s, Fused) and s.kind == "scatter"]
    found = {behind(a, makers) for a in bases}
    return {a for a in found if isinstance(a, Var)}
