"""Sums, extremes and stores of a slice of a long array, in a loop, go over windows of it: the cost is the slice's.

    for i in range(n):                               for i in range(n):
        inside = (k >= p[i]) & (k < p[i + 1])            s = 0.0
        s = np.sum(np.where(inside, x, 0.0))             for c in range(max(p[i], 0), min(p[i + 1], m), 128):
        y = np.where(inside, x * s, y)                       first = min(c, m - 128)
                                                             k = np.arange(128) + first
                                                             inside = (k >= p[i]) & (k < p[i + 1]) & (k >= c)
                                                             s += np.sum(np.where(inside, x[first : first + 128], 0.0))
                                                         for c in range(max(p[i], 0), min(p[i + 1], m), 128):
                                                             ...
                                                             x_1 = x[first : first + 128]
                                                             y_1 = y[first : first + 128]
                                                             y[first : first + 128] = np.where(inside, x_1 * s, y_1)

A slice whose length only the run knows is read, and stored into, as its array under a mask. That is right for one
slice; the rows of a sparse matrix would each cost as much as the whole matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import (
    Apply,
    Atom,
    Aval,
    Block,
    Const,
    For,
    Function,
    If,
    Range,
    Statement,
    Var,
    While,
    const,
    is_number,
    with_blocks,
    with_statements,
)
from ..ops.core import NO_ATTRS, At, Attrs, Cast, ContractAttrs, Dyn, Elementwise, Gather, IndexAttrs, ReduceAttrs, Run
from ..printing.temporaries import is_adjoint
from ..records import dataclass
from ..remake import remake

WIDTH = 128  # of 512, rows of 16 elements take four times as long, and rows of 3,000 as long
SHORTEST = 4 * WIDTH  # below, the whole array is as fast

_RUN = (Run(Dyn(0), WIDTH),)  # the elements of a window

Bounds = tuple[Atom, Atom]


def windows(function: Function) -> Function:
    """Apply to every such sum; the same function object where there is none."""
    body = _Walker().block(function.body, inside=False)
    return function if body is function.body else replace(function, body=body)


@dataclass(slots=True)
class _Walker:
    outer: dict[Var, Apply] = field(default_factory=dict)  # what was made in the blocks around the current one
    carried: set[Var] = field(default_factory=set)  # by the innermost loop: arrays that may be stored into in place
    sums: set[Var] = field(default_factory=set)  # carried, and sums that began with zeros: adding 0.0 changes nothing

    def block(self, block: Block, inside: bool) -> Block:
        made: dict[Var, Apply] = {}
        statements: list[Statement] = []
        around = self.outer
        for s in block.statements:
            if isinstance(s, Apply):
                statements += (self.windowed(s, made) if inside else None) or [s]
                made.update((t, s) for t in s.targets)
                continue
            self.outer = {**around, **made}
            statements.append(self.inner(s, inside))
        self.outer = around
        return with_statements(block, statements)

    def inner(self, s: Statement, inside: bool) -> Statement:
        match s:
            case If():
                return with_blocks(s, lambda block: self.block(block, inside))
            case For(body=body) | While(body=body):
                before = self.carried, self.sums
                self.carried = set(body.params)
                self.sums = set(_sums_of_zeros(s, self.outer, self.sums)) if isinstance(s, For) else set()
                new = self.block(body, True)
                self.carried, self.sums = before
                return s if new is body else replace(s, body=new)
        return s

    def windowed(self, s: Apply, made: dict[Var, Apply]) -> list[Statement] | None:
        """The statement as a loop over windows; None where it is no such statement, or the array is short."""
        facts = _Facts(made, self.outer)
        if s.op in (ops.WHERE, ops.ADD, ops.PUT_ADD):
            sums = s.op is not ops.WHERE
            place = next((n for n, a in enumerate(s.args) if a in (self.sums if sums else self.carried)), None)
            new = None if place is None else (_added if sums else _stored)(s, place, facts)
            if new is not None:  # what is stored into next is what this store leaves
                self.carried.add(s.targets[0])
                self.sums |= {s.targets[0]} if sums else set()
            return new
        return _extreme(s, facts) if s.op in _EXTREMES else _sum(s, facts)


@dataclass(slots=True)
class _Facts:
    made: dict[Var, Apply]  # in the current block
    outer: dict[Var, Apply]

    def maker(self, a: Atom) -> Apply | None:
        return (self.made.get(a) or self.outer.get(a)) if isinstance(a, Var) else None

    def is_iota(self, a: Atom) -> bool:
        s = self.maker(a)
        return s is not None and s.op is ops.IOTA

    def run(self, a: Atom) -> Bounds | None:
        """(low, high) where `a` is a mask that asks for low <= arange < high, or np.where(such a mask, x, 0)."""
        if a.aval.dtype.kind == "b":
            return self.asked(a)
        s = self.made.get(a) if isinstance(a, Var) else None
        if s is None or s.op is not ops.WHERE or not isinstance(s.args[2], Const) or np.any(s.args[2].value):
            return None
        return self.asked(s.args[0])

    def asked(self, mask: Atom) -> Bounds | None:
        ends: dict[str, Atom] = {}
        pending = [mask]
        while pending:
            test = self.maker(pending.pop())
            if test is None:
                continue
            if test.op is ops.LOGICAL_AND:
                pending += test.args
            elif test.op in (ops.GREATER_EQUAL, ops.LESS) and self.is_iota(test.args[0]):
                end = test.args[1]
                if end.aval.shape == () and end.aval.dtype.kind in "iu":
                    ends.setdefault(test.op.name, end)
        return (ends["greater_equal"], ends["less"]) if len(ends) == 2 else None

    def asks_no_more(self, mask: Atom) -> bool:
        """Whether a mask that asks for a run asks for nothing else."""
        s = self.maker(mask)
        return s is not None and s.op is ops.LOGICAL_AND and all(map(self._compares_iota, s.args))

    def _compares_iota(self, test: Atom) -> bool:
        s = self.maker(test)
        return s is not None and s.op in (ops.GREATER_EQUAL, ops.LESS) and self.is_iota(s.args[0])


class _Turns:
    """The loop over the windows of a run, while it is being made."""

    def __init__(self, s: Apply, run: Bounds, size: int, facts: _Facts) -> None:
        self.s, self.b, self.inner = s, Builder(s.span), Builder(s.span)
        low, high = (make.number(self.b, end, np.int64) for end in run)
        low, high = make.maximum(self.b, low, 0), make.minimum(self.b, high, size)
        self.range = Range(low, high, const(WIDTH))
        self.start = Var("c", Aval((), np.dtype(np.int64), weak=True))
        self.first = make.minimum(self.inner, self.start, size - WIDTH)
        self.window = _Window(self.inner, facts, size, self.first)
        self.counted = make.greater_equal(self.inner, self.window.positions, self.start)  # the last window overlaps

    def part(self, a: Atom) -> Atom | None:
        """The window of `a`, and 0 where a window before had it already."""
        part = self.window.of(a)
        zero = const(np.zeros((), a.aval.dtype)[()])
        return None if part is None else make.where(self.inner, self.counted, part, zero)

    def finished(self, carried: Var, init: Atom, result: Atom) -> list[Statement] | None:
        if result.aval != carried.aval:
            return None
        body = self.inner.block((self.start, carried), (result,))
        self.b.append(For(self.s.targets, self.range, (init,), body, span=self.s.span))
        return self.b.statements


def _sum(s: Apply, facts: _Facts) -> list[Statement] | None:
    """A sum of what is 0 outside of a run, or the product of two such vectors."""
    size = _summed(s)
    if size is None or size < SHORTEST:
        return None
    runs = [facts.run(a) for a in s.args]
    run = runs[0]
    if run is None or any(r != run for r in runs):
        return None
    turns = _Turns(s, run, size, facts)
    total = Var("s", s.targets[0].aval)
    parts = [turns.part(a) for a in s.args]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    added = make.add(turns.inner, total, remake(turns.inner, s.op, known, s.attrs))
    return turns.finished(total, const(np.zeros((), total.aval.dtype)[()]), added)


_EXTREMES: dict[object, Elementwise] = {ops.MAX: ops.MAXIMUM, ops.MIN: ops.MINIMUM, ops.ANY: ops.LOGICAL_OR}


def _extreme(s: Apply, facts: _Facts) -> list[Statement] | None:
    """The largest or smallest number of a run, or whether any element of it is True."""
    a = s.args[0]
    if a.aval.ndim != 1 or s.targets[0].aval.shape or a.aval.shape[0] < SHORTEST:
        return None
    neutral: Atom = const(np.bool_(False))
    mask = a
    if s.op is not ops.ANY:
        chosen = facts.made.get(a) if isinstance(a, Var) else None
        if chosen is None or chosen.op is not ops.WHERE or not _is_neutral(chosen.args[2], s):
            return None
        mask, neutral = chosen.args[0], make.astype(Builder(s.span), chosen.args[2], a.aval.dtype)
    run = facts.asked(mask) if mask.aval.dtype.kind == "b" else None
    if run is None:
        return None
    turns = _Turns(s, run, a.aval.shape[0], facts)
    if s.op is ops.ANY and facts.asks_no_more(mask):
        turns.b.append(Apply(s.targets, ops.LESS, (turns.range.start, turns.range.stop), NO_ATTRS, s.span))
        return turns.b.statements
    part = turns.window.of(a)
    if part is None:
        return None
    best = Var("s", s.targets[0].aval)
    found = make.elementwise(turns.inner, _EXTREMES[s.op], best, remake(turns.inner, s.op, [part], s.attrs))
    return turns.finished(best, neutral, found)


def _is_neutral(a: Atom, s: Apply) -> bool:
    """No element changes the extreme by meeting `a`."""
    if not isinstance(a, Const) or a.aval.shape:
        return False
    dtype = s.args[0].aval.dtype
    if dtype.kind == "f":
        return bool(a.value == (-np.inf if s.op is ops.MAX else np.inf))
    if dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return bool(a.value == (limits.min if s.op is ops.MAX else limits.max))


def _stored(s: Apply, place: int, facts: _Facts) -> list[Statement] | None:
    """np.where(mask of a run, value, array): the elements of the run are stored into the array."""
    mask, value, old = s.args
    if place != 2 or not isinstance(old, Var) or old.aval != s.targets[0].aval or old.aval.ndim != 1:
        return None
    size = old.aval.shape[0]
    run = facts.asked(mask) if size >= SHORTEST and mask.aval.shape == (size,) else None
    if run is None:
        return None
    turns = _Turns(s, run, size, facts)
    current = Var(old.hint, old.aval)
    elements = turns.window.stored_into(old, current)
    inside, new = turns.window.of(mask), turns.window.of(value)
    if inside is None or new is None:
        return None
    inside = make.logical_and(turns.inner, turns.counted, inside)
    chosen = make.where(turns.inner, inside, new, elements)
    return turns.finished(current, old, make.put(turns.inner, current, chosen, _RUN, (turns.first,)))


def _added(s: Apply, place: int, facts: _Facts) -> list[Statement] | None:
    """What is 0 outside of a run, added to an array or to some places of it."""
    old, added = s.args[place], s.args[1 - place] if place < 2 else None
    if not isinstance(old, Var) or added is None or added.aval.ndim != 1 or (s.op is ops.PUT_ADD and place):
        return None
    size = added.aval.shape[0]
    run = facts.run(added) if size >= SHORTEST else None
    if run is None or (s.op is ops.ADD and old.aval.shape != (size,)):
        return None
    turns = _Turns(s, run, size, facts)
    current = Var(old.hint, old.aval)
    turns.window.stored_into(old, None)
    part = turns.part(added)
    if part is None:
        return None
    if s.op is ops.ADD:
        return turns.finished(current, old, make.put_add(turns.inner, current, part, _RUN, (turns.first,)))
    places = [turns.window.of(a) for a in s.args[2:] if a.aval.shape == (size,)]
    known = [a for a in places if a is not None]
    if not _gathers_only(s.attrs) or len(known) < len(s.args) - 2:
        return None
    return turns.finished(current, old, remake(turns.inner, s.op, [current, part, *known], s.attrs))


def _sums_of_zeros(s: For, outer: dict[Var, Apply], sums: set[Var]) -> Iterator[Var]:
    """The carried arrays that begin with zeros, or as such a sum around, and to which the loop only adds.

    Adding 0.0 to them changes nothing: no sum that began with 0.0 is -0.0. Of cotangents any: the sign of a zero has no
    meaning there, and a loss that reads an array elsewhere, too, begins its sum with what comes from there.
    """
    for init, param, result in zip(s.inits, s.body.params[1:], s.body.results, strict=True):
        zeros = outer.get(init) if isinstance(init, Var) else None
        begins = (zeros is not None and _is_zeros(zeros)) or init in sums
        if is_adjoint(param) or (begins and _only_added_to(s.body, param, result)):
            yield param


def _is_zeros(s: Apply) -> bool:
    value = s.args[0] if s.op is ops.FULL else None
    return isinstance(value, Const) and is_number(value, 0) and not np.signbit(np.real(value.value))


def _only_added_to(block: Block, param: Var, result: Atom) -> bool:
    for s in reversed(block.statements):
        match s:
            case Apply(op=ops.ADD | ops.PUT_ADD) if result in s.targets:
                chains = s.args[:2] if s.op is ops.ADD else s.args[:1]
                same = [a for a in chains if a.aval == param.aval and not _is_fresh(block, a)]
                result = same[0] if len(same) == 1 else result
            case For() if result in s.targets:
                k = s.targets.index(result)
                if not _only_added_to(s.body, s.body.params[k + 1], s.body.results[k]):
                    return False
                result = s.inits[k]
    return result is param


def _is_fresh(block: Block, a: Atom) -> bool:
    """Whether the block makes the value by anything but a sum."""
    for s in block.statements:
        if isinstance(s, Apply) and a in s.targets:
            return s.op not in (ops.ADD, ops.PUT_ADD)
    return isinstance(a, Const)


def _summed(s: Apply) -> int | None:
    """The length of the vectors that the statement sums over."""
    match s.op, s.attrs:
        case ops.SUM, ReduceAttrs(axes=(0,), keepdims=False) if s.args[0].aval.ndim == 1:
            return s.args[0].aval.shape[0]
        case ops.CONTRACT, ContractAttrs(lhs=lhs, rhs=rhs, out=()) if lhs == rhs and len(lhs) == 1:
            return s.args[0].aval.shape[0]
    return None


class _Window:
    """The values of a block at the places `first : first + WIDTH` of its vectors."""

    def __init__(self, b: Builder, facts: _Facts, size: int, first: Atom) -> None:
        self.b, self.facts, self.size, self.first = b, facts, size, first
        self.positions = make.add(b, make.iota(b, WIDTH), first)
        self.found: dict[Atom, Atom | None] = {}
        self.stored: Atom | None = None

    def stored_into(self, old: Atom, current: Atom | None) -> Atom | None:
        """The loop stores into `old`, which is `current` in its body: other elements of it are not read there."""
        self.stored = old
        self.found[old] = None if current is None else make.index(self.b, current, _RUN, (self.first,))
        return self.found[old]

    def of(self, a: Atom) -> Atom | None:
        """The window of a vector, the number itself; None where it cannot be had without the whole vector."""
        if a.aval.shape == ():
            return a
        if a not in self.found:
            self.found[a] = self._made(a)
        return self.found[a]

    def _made(self, a: Atom) -> Atom | None:
        if a.aval.shape != (self.size,) or isinstance(a, Const):
            return None
        if self.facts.is_iota(a) and a.aval.dtype == np.int64:
            return self.positions
        s = self.facts.made.get(a)
        if s is None:  # made outside of the loop, or carried by it
            return make.index(self.b, a, _RUN, (self.first,))
        if isinstance(s.op, Elementwise | Cast):
            args = [self.of(x) for x in s.args]
        elif s.op is ops.INDEX and _gathers_only(s.attrs) and s.args[0] is not self.stored:
            args = [s.args[0], *(self.of(x) for x in s.args[1:])]
        else:
            return None
        known = [x for x in args if x is not None]
        return remake(self.b, s.op, known, s.attrs) if len(known) == len(args) else None


def _gathers_only(attrs: Attrs) -> bool:
    return isinstance(attrs, IndexAttrs) and all(isinstance(d, Gather | At) for d in attrs.dims)
