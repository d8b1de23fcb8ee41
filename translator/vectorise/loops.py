"""Loops whose iterations are independent become whole-array statements: the body of the loop, batched over its trips.

    for i in range(1, n):                               y[1:n] = np.sin(x[1:n]) - x[: n - 1]
        y[i] = np.sin(x[i]) - x[i - 1]                  s += np.sum(x[1:n])
        s += x[i]

Every carried value must be one of
    cells      an array of which each trip reads and writes elements of its own, or reads what no earlier one writes;
    shared     an array that the trips only add to, wherever they like;
    a sum      and product, extreme, and, or: what a trip adds does not depend on it. The order of a sum of floats is
               that of np.sum, so its last bits may differ from the loop's; all else is the same to the bit;
    a choice   (`if x[i] > best: best, where = x[i], i`), or what only the last trip leaves;
    counted    `k += 2`.
Else the loop stays, and its note says which value, and in which line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import assert_never

from .. import make
from ..batch.lanes import LoopNote
from ..bounds import Interval, analyse, interval_of
from ..builder import Builder
from ..ir import (
    Apply,
    Atom,
    Block,
    Const,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Range,
    Statement,
    Var,
    While,
    const,
    with_blocks,
)
from ..passes.dead import dead_code
from ..rewrite import substituted
from .affine import Forms
from .ahead import products_ahead
from .cost import EVERYWHERE, Policy, check_work
from .stores import Dependence
from .trial import Trial

LONGEST = 1 << 13  # trips of an inner loop whose bounds move


def vectorise(function: Function, policy: Policy = EVERYWHERE, notes: list[LoopNote] | None = None) -> Function:
    """Every loop that can be and, as `policy` says, should be; the same function object where there is none. `notes`
    gains what became of every loop."""
    walker = Walker(function, policy)
    body = walker.block(function.body, policy.least)
    if notes is not None:
        notes += walker.notes
    return function if body is function.body else dead_code(replace(function, body=body))


class Walker:
    """Rebuilds a program, its innermost loops first."""

    def __init__(self, function: Function, policy: Policy) -> None:
        self.function, self.policy = function, policy
        self.notes: list[LoopNote] = []
        self.around: list[For] = []

    @cached_property
    def known(self) -> dict[Var, Interval]:
        """Intervals that hold whether or not branches are taken."""
        return analyse(self.function, refine=False)

    def block(self, block: Block, least: int) -> Block:
        """The block with its loops replaced, if they have so much to do."""
        made: list[Statement] = []
        found: dict[Var, Atom] = {}
        for s in block.statements:
            if isinstance(s, For) and not s.parallel:
                statements, results = self.loop(_renewed(s, found), least)
                made += statements
                found.update(results)
            else:
                made.append(self.statement(s, least))
        if not found and all(x is y for x, y in zip(made, block.statements, strict=True)):
            return block
        new = replace(block, statements=tuple(made))
        return substituted(new, found) if found else new

    def loop(self, s: For, least: int) -> tuple[Sequence[Statement], dict[Var, Atom]]:
        """What stands for a loop, and for its targets. Its inner loops are replaced first, whatever they have to do; if
        it stays, those with little to do stay too."""
        count = len(self.notes)
        whole = self.within(s, 0)
        try:
            check_work(self.bounded(s), self.policy, least)
            trial = Trial(self.bounded(replace(s, body=whole)), self.policy, lambda: self.known)
            made = trial.made()
        except Dependence as why:
            del self.notes[count:]
            body = self.within(s, self.policy.inner)
            self.note(s, "in order", why)
            stays = s if body is s.body else replace(s, body=body)
            statements, stays = products_ahead(stays, self.policy, lambda: self.known) or ((), stays)
            return (*statements, stays), {}
        self.notes += trial.notes
        self.note(s, "vectorised", f"its {trial.size} iterations are independent")
        return made

    def within(self, s: For, least: int) -> Block:
        self.around.append(s)
        body = self.block(s.body, least)
        self.around.pop()
        return body

    def note(self, loop: For, form: str, why: Dependence | str) -> None:
        text = why if isinstance(why, str) else why.why
        if isinstance(why, Dependence) and why.span.line and why.span.line != loop.span.line:
            text += f" (line {why.span.line})"
        self.notes.append(LoopNote(loop.span, form, text))

    def statement(self, s: Statement, least: int) -> Statement:
        match s:
            case If():
                return with_blocks(s, lambda block: self.block(block, least))
            case While(body=body):
                new = self.block(body, self.policy.inner)
                return s if new is body else replace(s, body=new)
            case Apply() | For() | Fused() | Raise() | Invoke():
                return s
            case _:
                assert_never(s)

    def bounded(self, s: For) -> For:
        """A loop whose bounds a loop around it moves (`range(i)`) over all that they reach, its body under a test."""
        start, stop, step = s.range.start, s.range.stop, s.range.step
        if s.range.static() is not None or not isinstance(step, Const) or self.moving(s) is None:
            return s
        ends = [interval_of(a, self.known) for a in (start, stop)]
        low, high = (ends[0].low, ends[1].high) if step.value > 0 else (ends[0].high, ends[1].low)
        if low is None or high is None or abs(high - low) > LONGEST:
            return s
        if abs(step.value) != 1 and not isinstance(start, Const):
            return s
        index, *carried = s.body.params
        b = Builder(s.span)
        test = _inside(b, index, start, stop, int(step.value))
        targets = tuple(Var(p.hint, p.aval) for p in carried)
        b.append(If(targets, test, Block((), s.body.statements, s.body.results), Block((), (), tuple(carried)), s.span))
        whole = Range(const(low), const(high), step, s.range.reverse)
        return replace(s, range=whole, body=b.block(s.body.params, targets))

    def moving(self, s: For) -> For | None:
        """The loop around, of a known number of trips, by whose index alone the bounds move."""
        moved = {a for a in (s.range.start, s.range.stop) if not isinstance(a, Const)}
        for outer in reversed(self.around):
            trips = outer.range.static()
            if trips is not None:
                forms = Forms(outer, trips)
                found = [forms.of(a) for a in moved]
                if found and all(f is not None and f.scale and not f.terms for f in found):
                    return outer
        return None


def _renewed(s: For, found: dict[Var, Atom]) -> For:
    """The loop over what stands for the targets of loops before it."""
    if not found:
        return s
    (new,) = substituted(Block((), (s,), ()), found).statements
    assert isinstance(new, For)
    return new


def _inside(b: Builder, index: Atom, start: Atom, stop: Atom, step: int) -> Atom:
    """Whether an index is in range(start, stop, step), as far as the ends go."""
    first = make.greater_equal(b, index, start) if step > 0 else make.less_equal(b, index, start)
    last = make.less(b, index, stop) if step > 0 else make.greater(b, index, stop)
    if isinstance(start, Const):
        return last
    return first if isinstance(stop, Const) else make.logical_and(b, first, last)
