"""Trip counts of loops: what is known of them before the run, loops that count them, and loops over windows of trips.

    while abs(y * y - x) > eps:            trips = 0
        y = 0.5 * (y + x / y)              while abs(y * y - x) > eps:
                                               y = 0.5 * (y + x / y)
                                               trips = trips + 1

Where only the run can tell, a tape is a list (`lists`).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .. import make, ops
from ..bounds import ANYTHING, Interval, analyse, interval_of
from ..builder import Builder
from ..ir import (
    Apply,
    Atom,
    Aval,
    Block,
    Const,
    For,
    Function,
    Range,
    Statement,
    Var,
    While,
    blocks_of,
    const,
    free_variables,
    inputs_of,
    is_number,
    walk,
)
from ..ops.core import NO_ATTRS
from ..records import dataclass
from ..rewrite import copy_block
from .cotangents import named
from .lists import places_of
from .segments import Budget
from .tape import NeedTrip

LONG = 2**24  # trips: a range that is only known to be shorter than this or more is as good as unknown
WINDOW = 1024  # trips that a tape of unknown length holds at a time, where its entries are small
ROOMY, FEW, HUGE = 2**24, 64, 2**28  # bytes of such a tape: wanted at most; trips that it holds even so; never more
INDEX = Aval((), np.dtype(np.int64), weak=True)


class Trips:
    """How often the loops of `function` run, and what memory their tapes may take (None: any).

    `ask`: the function may be specialised.
    `limits` and `budgets` know these of loops made by the derivative, by their index; `uncut` are not cut up.
    """

    def __init__(self, function: Function, memory: int | None = None, ask: bool = True) -> None:
        self.function, self.memory, self.ask = function, memory, ask
        self.limits: dict[Var, int] = {}
        self.budgets: dict[Var, Budget] = {}
        self.uncut: set[Var] = set()

    def budget_of(self, s: For) -> Budget | None:
        """What the tapes of this loop may take; None for any."""
        index = s.body.params[0]
        if self.memory is None or index in self.uncut:
            return None
        return self.budgets.get(index) or Budget(self.memory)

    def most(self, s: For) -> int | None:
        """The number of trips, or the most that there can be; None where only the run can tell.

        Raises NeedTrip where it follows from integers that the function can be specialised on.
        """
        r = s.range
        exact = r.static()
        if exact is not None:
            return len(exact)
        if s.body.params[0] in self.limits:
            return self.limits[s.body.params[0]]
        start, stop, step = (self._interval(a) for a in (r.start, r.stop, r.step))
        if step.low == step.high and step.low is not None:
            first, last = (start.low, stop.high) if step.low > 0 else (start.high, stop.low)
            if first is not None and last is not None and abs(last - first) < LONG:
                return len(range(first, last, step.low))
        atoms = tuple(a for a in (r.start, r.stop, r.step) if isinstance(a, Var))
        if self.ask and self._from_integers(atoms):
            raise NeedTrip(atoms, s.span)
        return None

    def _interval(self, a: Atom) -> Interval:
        return self._intervals.get(a, ANYTHING) if isinstance(a, Var) else interval_of(a, self._intervals)

    @cached_property
    def _intervals(self) -> dict[Var, Interval]:
        return analyse(self.function)

    @cached_property
    def _makers(self) -> dict[Var, Statement]:
        statements = list(walk(self.function.body))
        return {v: s for s in statements for v in (*s.targets, *(p for b in blocks_of(s) for p in b.params))}

    def _from_integers(self, atoms: tuple[Var, ...]) -> bool:
        """Whether these follow from nothing but Python integers among the arguments, without a `while`."""
        params = set(self.function.body.params)
        seen: set[Var] = set()
        pending = list(atoms)
        while pending:
            v = pending.pop()
            if v in seen:
                continue
            seen.add(v)
            if v in params:
                if v.aval != INDEX:
                    return False
                continue
            s = self._makers.get(v)
            if s is None or isinstance(s, While):
                return False
            if isinstance(s, For) and v is s.body.params[0]:
                pending += [a for a in (s.range.start, s.range.stop, s.range.step) if isinstance(a, Var)]
                continue
            pending += [a for a in inputs_of(s) if isinstance(a, Var)]
            pending += [x for block in blocks_of(s) for x in free_variables(block)]
        return True


# ---- loops of unknown length ---------------------------------------------------------------------


def counted(s: While) -> tuple[For, Var]:
    """The `for` loop that does the same as `s`, given the number of trips, and that number: `as_while` computes it."""
    trips = Var("trips", INDEX)
    body = Block((Var("k", INDEX), *s.body.params), s.body.statements, s.body.results)
    return For(s.targets, Range(const(0), trips, const(1)), s.inits, body, span=s.span), trips


def as_while(s: While, turns: For, trips: Var) -> While:
    """What `counted` made of `s` as a `while` loop again, with what it carries by now, and its count as a result."""
    k, *carried = turns.body.params
    at_test, count, after = (Var("trips", INDEX) for _ in range(3))
    more = tuple(Var(v.hint, v.aval) for v in carried[len(s.inits) :])
    condition = Block((*s.condition.params, *more, at_test), s.condition.statements, s.condition.results)
    inner = copy_block(Block(tuple(carried), turns.body.statements, turns.body.results), {k: count})
    up = Apply((after,), ops.ADD, (count, const(1)), NO_ATTRS, s.span)
    body = Block((*inner.params, count), (*inner.statements, up), (*inner.results, after))
    return While((*turns.targets, trips), (*turns.inits, const(0)), condition, body, s.span)


def limit(s: While) -> int | None:
    """The most trips that a counter in the condition allows, as in `while i < 10 and ...`, where a tape holds them."""
    made = {t: a for a in s.condition.statements if isinstance(a, Apply) for t in a.targets}
    pending = list(s.condition.results)
    while pending:
        test = made.get(a) if isinstance(a := pending.pop(), Var) else None
        if test is not None and test.op is ops.LOGICAL_AND:
            pending += test.args
        most = _allowed(s, test) if test is not None and test.op is ops.LESS else None
        if most is not None and most <= window_of(counted(s)[0].body):
            return most
    return None


def _allowed(s: While, test: Apply) -> int | None:
    """How often `test`, an `i < n` of the condition, holds, where i and n are known and i is stepped in each trip."""
    counter, end = test.args
    if not isinstance(counter, Var) or counter not in s.condition.params:
        return None
    place = s.condition.params.index(counter)
    begin, result = s.inits[place], s.body.results[place]
    for up in s.body.statements:
        if up.targets != (result,) or not isinstance(up, Apply):
            continue
        if up.op is ops.ADD and up.args[0] is s.body.params[place]:
            known = [int(c.value) for c in (begin, end, up.args[1]) if isinstance(c, Const) and c.aval == INDEX]
            return len(range(*known)) if len(known) == 3 and known[2] > 0 else None
    return None


@dataclass(frozen=True, slots=True)
class Windows:
    """A loop as a loop over windows (`outer`) of a loop over at most `size` trips (`inner`).

    `turns` is the body with an index that counts the trips. The variables of the body stay what they are.
    """

    outer: For
    inner: For
    turns: Block
    trips: Atom
    size: int


def in_windows(b: Builder, s: For, size: int = 0) -> Windows:
    """`s` in windows of `size`, or of as many trips as are handy. The number of its trips is appended to `b`."""
    size = size or window_of(s.body)
    trips = trips_of(b, s.range)
    turns = from_zero(b, s, trips)
    k = turns.params[0]
    first, offset = Var("first", INDEX), Var("k", INDEX)
    outer = Builder(s.span)
    length: Atom = const(size)
    if not (isinstance(trips, Const) and int(trips.value) % size == 0):
        rest = make.minimum(outer, const(size), make.subtract(outer, trips, first))
        length = named(outer, integer(outer, rest), "length")
    states, ends = (tuple(Var(v.hint, v.aval) for v in turns.params[1:]) for _ in range(2))
    where: tuple[Statement, ...] = ()
    if k in free_variables(Block((), turns.statements, turns.results)):
        where = (Apply((k,), ops.ADD, (first, offset), NO_ATTRS, s.span),)
    body = Block((offset, *turns.params[1:]), (*where, *turns.statements), turns.results)
    inner = For(ends, Range(const(0), length, const(1)), states, body, span=s.span)
    outer.append(inner)
    windows = Range(const(0), trips, const(size))
    whole = For(s.targets, windows, s.inits, outer.block((first, *states), ends), span=s.span)
    return Windows(whole, inner, turns, trips, size)


def window_of(body: Block) -> int:
    """How many trips a tape holds at a time: fewer where an entry is large."""
    inner = [t.aval for statement in body.statements for t in statement.targets]
    largest = max((a.size * a.dtype.itemsize for a in inner), default=1)
    entry = max(1, largest, sum(v.aval.nbytes for v in body.params))
    return max(1, min(WINDOW, max(ROOMY // entry, FEW), HUGE // entry))


def trips_of(b: Builder, r: Range) -> Atom:
    """The number of trips; of a range that is empty it may be negative."""
    if is_number(r.step, 1):
        return integer(b, make.subtract(b, r.stop, r.start))
    back = make.floor_divide(b, make.subtract(b, r.start, r.stop), r.step)
    return integer(b, make.negative(b, back))


def from_zero(b: Builder, s: For, trips: Atom) -> Block:
    """The body with an index that counts the trips; what it is computed from is appended to `b`."""
    r, index = s.range, s.body.params[0]
    if is_number(r.start, 0) and is_number(r.step, 1) and not r.reverse:
        return s.body
    k = Var("k", INDEX)
    with b.at(s.span):
        where = places_of(b, r, trips, index, k)
    return Block((k, *s.body.params[1:]), (*where, *s.body.statements), s.body.results)


def integer(b: Builder, a: Atom) -> Atom:
    return make.number(b, a, np.int64)
