"""Adjacent elementwise statements as one loop over their elements, with intermediate values in registers.

    t = x * y             for (long long i = 0; i < 32; i++) {
    u = np.sqrt(t)            const double t = x[i] * y[i];
    z = t + u                 z[i] = t + sqrt(t);
                          }

One statement after another they would be as many loops, each through memory. Compilers make vectors of such a loop
where all that they choose by is as wide as what they choose from (`flags`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

import numpy as np

from ...translator.ir import Apply, Atom, Block, Const, DType, Fused, Shape, Statement, Var, inputs_of, walk
from ...translator.ops import FLOOR_DIVIDE, FMOD, REMAINDER
from ...translator.ops.core import Cast, Create, Draw, Elementwise, Index, Put, Reduce, Reshape
from ...translator.passes.units import COSTLY
from ...translator.records import dataclass
from ..lifetimes import reads_elements
from ..source.lower import gathers
from .checks import INT
from .host import Scalar, is_arithmetic
from .operations import Operations
from .values import Lazy, address_of

_DIVISIONS = (FLOOR_DIVIDE, REMAINDER, FMOD)


def flags(block: Block) -> DType | None:
    """The type of truth values in a loop's memory: as wide as the numbers beside them; None for a byte."""
    arrays = (t.aval for s in walk(block) for t in s.targets if t.aval.shape)
    widest = max((a.dtype.itemsize for a in arrays if a.dtype.kind in "if"), default=1)
    return np.dtype(f"i{widest}") if widest in (4, 8) else None


@dataclass(slots=True)
class Sweep:
    """Statements of one shape, and what is counted over them."""

    shape: Shape
    members: list[Apply] = field(default_factory=list)
    counts: list[Apply] = field(default_factory=list)
    made: set[Var] = field(default_factory=set)


class Sweeps(Operations):
    """Puts statements together, and writes them."""

    sweeping = True

    def block(self, block: Block) -> None:
        sweep = Sweep(())
        for s in _flat(block):
            if sweep.members and self._joins(s, sweep):
                continue
            self._write(sweep)
            sweep = Sweep(())
            if self.sweeping and self._is_member(s):
                sweep.shape = s.targets[0].aval.shape
                self._joins(s, sweep)
            else:
                self.statement(s)
        self._write(sweep)

    def _joins(self, s: Statement, sweep: Sweep) -> bool:
        """Whether a statement becomes part of a sweep, or is written in front of it."""
        if not isinstance(s, Apply) or isinstance(s.op, Put | Draw):  # what stores waits for what reads
            return False
        read = [self.lifetimes.root(a) for a in inputs_of(s)]
        if sweep.made.isdisjoint(read) and (_is_apart(s) or (sweep.members and self._has_lines(read))):
            self.statement(s)
            return True
        if not _targets(sweep.counts).isdisjoint(read):
            return False
        if self._is_member(s) and s.targets[0].aval.shape == sweep.shape:
            sweep.members.append(s)
        elif _is_count(s) and read[0] in sweep.made and s.args[0].aval.shape == sweep.shape:
            sweep.counts.append(s)
        else:
            return False
        sweep.made.update(s.targets)
        return True

    def _is_member(self, s: Statement) -> bool:
        """Whether each element is its own, and a vector instruction makes several."""
        if not isinstance(s, Apply) or s.targets[0].aval.size < 2 or self.needs_check(s):
            return False
        match s.op:
            case Elementwise():
                if is_costly(s) or (s.op in _DIVISIONS and s.targets[0].aval.dtype.kind in "iu"):
                    return False
            case Index():
                if not gathers(s):
                    return False
            case _ if not isinstance(s.op, Cast):
                return False
        return not self._has_lines(map(self.lifetimes.root, inputs_of(s)))

    def _has_lines(self, atoms: Iterable[Atom]) -> bool:
        """Whether there are arrays of which it is known where they are zero, or that count."""
        found = (self.env.get(a) for a in atoms if isinstance(a, Var))
        return any(isinstance(x, Lazy) and (x.first is not None or x.stretch is not None) for x in found)

    def _write(self, sweep: Sweep) -> None:
        late = self._late(sweep)
        members = [s for s in sweep.members if s.targets[0] not in late]
        if len(members) > 1 or sweep.counts:
            self._together(sweep, members)
        else:
            late.update(_targets(members))
        for s in sweep.members:
            if s.targets[0] in late:
                self.statement(s)

    def _late(self, sweep: Sweep) -> set[Var]:
        """Values that a later operation reads once, element by element: they are computed there."""
        late: set[Var] = set()
        for s in reversed(sweep.members):
            (t,) = s.targets
            reader = self.lifetimes.reader.get(t)
            if self.lifetimes.uses[t] == 1 and isinstance(reader, Apply) and reads_elements(self.lifetimes, t):
                read_in = reader.targets[0]
                if read_in not in sweep.made or read_in in late:
                    late.add(t)
        return late

    def _together(self, sweep: Sweep, members: Sequence[Apply]) -> None:
        together = [*members, *sweep.counts]
        inside = Counter(self.lifetimes.root(a) for s in together for a in s.args)
        kept = [s.targets[0] for s in members if self.lifetimes.uses[s.targets[0]] > inside[s.targets[0]]]
        late = (self.lifetimes.root(a) for s in sweep.members if s not in members for a in inputs_of(s))
        live = self.lifetimes.behind(together[-1]).union(a for a in late if isinstance(a, Var))
        homes = {t: home for t in kept if (home := self.destinations.get(t)) and self.dies(home.buffer, live)}
        for home in homes.values():
            self.overwrite(home.buffer, live)
        counts = [self.declare(s.targets[0].hint, "0", INT, fixed=False).text for s in sweep.counts]
        with self.nest(sweep.shape, apart=True) as indices:
            self.loads = []
            for s in members:
                self.tell(s.span)
                self.env[s.targets[0]] = self._made(s)
                self.element(self.array(s.targets[0]), indices)
            made = {t: self.element(self.array(t), indices).as_type(t.aval.dtype) for t in kept}
            for s, count in zip(sweep.counts, counts, strict=True):
                found = self.element(self.array(s.args[0]), indices)
                self.line(f"{count} {'+=' if s.op.name == 'sum' else '|='} {found.as_type(INT)};")
            at = address_of(sweep.shape, indices)
            elsewhere = {b for b, address in self.loads if address != at}
            for t, text in made.items():
                if t not in homes or homes[t].buffer in elsewhere:
                    homes[t] = self.fresh(t.hint, t.aval.dtype, sweep.shape)
                self.line(f"{homes[t].buffer.name}[{at}] = {text};")
        for t, home in homes.items():
            self.bind(t, home)
        for s, count in zip(sweep.counts, counts, strict=True):
            number = Scalar(count, INT) if s.op.name == "sum" else Scalar(f"({count} != 0)", np.dtype(np.bool_))
            self.bind(s.targets[0], Scalar(number.as_type(s.targets[0].aval.dtype), s.targets[0].aval.dtype))


def _targets(statements: Sequence[Statement]) -> set[Var]:
    return {t for s in statements for t in s.targets}


def _is_count(s: Apply) -> bool:
    """Whether it counts truth values, or asks for any."""
    return isinstance(s.op, Reduce) and s.op.name in ("sum", "any") and not s.targets[0].aval.shape and (
        s.args[0].aval.dtype.kind == "b" and s.targets[0].aval.dtype.kind in "bi"
    )


def _is_apart(s: Apply) -> bool:
    """Whether a statement may as well stand before others that it does not read."""
    if isinstance(s.op, Elementwise | Cast):
        return not s.targets[0].aval.shape
    return isinstance(s.op, Reshape | Create) or (isinstance(s.op, Index) and not gathers(s))


def is_costly(s: Statement) -> bool:
    """Whether a statement calls a function of the C library's, one element at a time."""
    if not isinstance(s, Apply) or not isinstance(s.op, Elementwise) or s.op.name not in COSTLY:
        return False
    exponent = s.args[1].value if s.op.name == "power" and isinstance(s.args[1], Const) else None
    return exponent is None or not is_arithmetic(exponent, s.targets[0].aval.dtype)


def _flat(block: Block) -> Iterator[Statement]:
    """The statements of a block, those of groups too."""
    for s in block.statements:
        if isinstance(s, Fused):
            yield from _flat(s.body)
        else:
            yield s
