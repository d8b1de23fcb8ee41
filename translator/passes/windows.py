"""Sums over a slice of a long array, in a loop, go over windows of it: the cost is the slice's, not the array's.

    for i in range(n):                               for i in range(n):
        inside = (k >= p[i]) & (k < p[i + 1])            s = 0.0
        s = np.sum(np.where(inside, x, 0.0))             for c in range(max(p[i], 0), min(p[i + 1], m), 128):
                                                             first = min(c, m - 128)
                                                             k = np.arange(128) + first
                                                             inside = (k >= p[i]) & (k < p[i + 1]) & (k >= c)
                                                             s += np.sum(np.where(inside, x[first : first + 128], 0.0))

A slice whose length only the run knows is read as its array under a mask. That is right for one slice; the rows of a
sparse matrix would each cost as much as the whole matrix.
"""

from __future__ import annotations

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
    with_blocks,
    with_statements,
)
from ..ops.core import At, Cast, ContractAttrs, Dyn, Elementwise, Gather, IndexAttrs, ReduceAttrs, Run
from ..records import dataclass
from ..remake import remake

WIDTH = 128  # of 512, rows of 16 elements take four times as long, and rows of 3,000 as long
SHORTEST = 4 * WIDTH  # below, the whole array is as fast

Bounds = tuple[Atom, Atom]


def windows(function: Function) -> Function:
    """Apply to every such sum; the same function object where there is none."""
    body = _Walker().block(function.body, inside=False)
    return function if body is function.body else replace(function, body=body)


@dataclass(slots=True)
class _Walker:
    outer: dict[Var, Apply] = field(default_factory=dict)  # what was made in the blocks around the current one

    def block(self, block: Block, inside: bool) -> Block:
        made: dict[Var, Apply] = {}
        statements: list[Statement] = []
        around = self.outer
        for s in block.statements:
            if isinstance(s, Apply):
                windowed = _windowed(s, made, around) if inside else None
                statements += windowed or [s]
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
                new = self.block(body, True)
                return s if new is body else replace(s, body=new)
        return s


def _windowed(s: Apply, made: dict[Var, Apply], outer: dict[Var, Apply]) -> list[Statement] | None:
    """A sum of what is 0 outside of a run, or the product of two such vectors, as a loop over windows."""
    size = _summed(s)
    if size is None or size < SHORTEST:
        return None
    runs = [_run(a, made, outer) for a in s.args]
    run = runs[0]
    if run is None or any(r != run for r in runs):
        return None
    b, inner = Builder(s.span), Builder(s.span)
    low, high = (make.number(b, end, np.int64) for end in run)
    low, high = make.maximum(b, low, 0), make.minimum(b, high, size)
    start, total = Var("c", Aval((), np.dtype(np.int64), weak=True)), Var("s", s.targets[0].aval)
    window = _Window(inner, made, outer, size, make.minimum(inner, start, size - WIDTH))
    counted = make.greater_equal(inner, window.positions, start)
    parts = []
    for a in s.args:
        part = window.of(a)
        if part is None:
            return None
        parts.append(make.where(inner, counted, part, const(np.zeros((), a.aval.dtype)[()])))
    added = make.add(inner, total, remake(inner, s.op, parts, s.attrs))
    if added.aval != total.aval:
        return None
    body = inner.block((start, total), (added,))
    zero = const(np.zeros((), total.aval.dtype)[()])
    b.append(For(s.targets, Range(low, high, const(WIDTH)), (zero,), body, span=s.span))
    return b.statements


def _summed(s: Apply) -> int | None:
    """The length of the vectors that the statement sums over."""
    match s.op, s.attrs:
        case ops.SUM, ReduceAttrs(axes=(0,), keepdims=False) if s.args[0].aval.ndim == 1:
            return s.args[0].aval.shape[0]
        case ops.CONTRACT, ContractAttrs(lhs=lhs, rhs=rhs, out=()) if lhs == rhs and len(lhs) == 1:
            return s.args[0].aval.shape[0]
    return None


def _run(a: Atom, made: dict[Var, Apply], outer: dict[Var, Apply]) -> Bounds | None:
    """(low, high) where `a` is np.where(mask, x, 0) and the mask asks for low <= arange < high."""
    s = made.get(a) if isinstance(a, Var) else None
    if s is None or s.op is not ops.WHERE or not isinstance(s.args[2], Const) or np.any(s.args[2].value):
        return None
    ends: dict[str, Atom] = {}
    pending = [s.args[0]]
    while pending:
        mask = pending.pop()
        test = (made.get(mask) or outer.get(mask)) if isinstance(mask, Var) else None
        if test is None:
            continue
        if test.op is ops.LOGICAL_AND:
            pending += test.args
        elif test.op in (ops.GREATER_EQUAL, ops.LESS) and _is_iota(test.args[0], made, outer):
            end = test.args[1]
            if end.aval.shape == () and end.aval.dtype.kind in "iu":
                ends.setdefault(test.op.name, end)
    if len(ends) < 2:
        return None
    return ends["greater_equal"], ends["less"]


def _is_iota(a: Atom, made: dict[Var, Apply], outer: dict[Var, Apply]) -> bool:
    s = (made.get(a) or outer.get(a)) if isinstance(a, Var) else None
    return s is not None and s.op is ops.IOTA


class _Window:
    """The values of a block at the places `first : first + WIDTH` of its vectors."""

    def __init__(
        self, b: Builder, made: dict[Var, Apply], outer: dict[Var, Apply], size: int, first: Atom
    ) -> None:
        self.b, self.made, self.outer, self.size, self.first = b, made, outer, size, first
        self.positions = make.add(b, make.iota(b, WIDTH), first)
        self.found: dict[Atom, Atom | None] = {}

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
        if _is_iota(a, self.made, self.outer) and a.aval.dtype == np.int64:
            return self.positions
        s = self.made.get(a)
        if s is None:  # made outside of the loop, or carried by it
            return make.index(self.b, a, (Run(Dyn(0), WIDTH),), (self.first,))
        if isinstance(s.op, Elementwise | Cast):
            args = [self.of(x) for x in s.args]
        elif s.op is ops.INDEX and isinstance(s.attrs, IndexAttrs) and _gathers_only(s.attrs):
            args = [s.args[0], *(self.of(x) for x in s.args[1:])]
        else:
            return None
        known = [x for x in args if x is not None]
        return remake(self.b, s.op, known, s.attrs) if len(known) == len(args) else None


def _gathers_only(attrs: IndexAttrs) -> bool:
    return all(isinstance(d, Gather | At) for d in attrs.dims)
