"""Adding one value to several pieces of an array as one sum over windows of that value, padded.

    d[1:-1] -= 2 * t                      p = np.zeros(len(t) + 4)
    d[:-2] += t                           p[2:-2] = t
    d[2:] += t                            d = d - 2 * p[1:-1] + p[2:] + p[:-2]

This is what the derivative of a stencil does. XLA pads each value to the array's shape inside one loop over it, with a
branch for each pad and element, and no vector instructions; windows need none (1.6 times less time for five points of
128 x 128, as much for 1000 x 1000). Where pieces are added and others taken off, -0.0 that none reaches is 0.0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...translator import make, ops
from ...translator.builder import Builder
from ...translator.ir import Apply, Atom, Block, Const, Function, Fused, Statement, Var, blocks_of, inputs_of, walk
from ...translator.ops.core import Attrs, IndexAttrs, Op, Run
from ...translator.passes.dead import dead_code
from ...translator.records import dataclass
from ...translator.rewrite import spelled_out, substitute

FEWEST = 3  # terms, and twice as many as there are values: a value with one place is padded as it is
SMALLEST = 1 << 14  # elements: below, and along one axis, one fusion with branches takes no longer than two without


def with_shared_pads(function: Function) -> Function:
    """Apply to every block; the same function object where there is nothing to share."""
    finder = _Finder(_uses(function.body))
    chains = [c for block in _blocks(function.body) for c in finder.chains(block)]
    if not chains:
        return function
    last = {c.terms[-1].store.targets[0]: c for c in chains}
    gone = {t.store.targets[0] for c in chains for t in c.terms}

    def each(s: Apply) -> Sequence[Statement]:
        chain = last.get(s.targets[0])
        return chain.written() if chain is not None else () if s.targets[0] in gone else (s,)

    return dead_code(replace(function, body=spelled_out(function.body, each)))


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for s in walk(block):
        yield from blocks_of(s)


def _uses(body: Block) -> Counter[Var]:
    results = (a for block in _blocks(body) for a in block.results)
    inputs = (a for s in walk(body) for a in inputs_of(s))
    return Counter(a for atoms in (results, inputs) for a in atoms if isinstance(a, Var))


# ---- what grows ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Term:
    """A store that adds to a region of an array, or subtracts from it, `steps(value)`: negations, and products and
    quotients with finite numbers, innermost first, which make nothing of the zeros around the value. `made` made that.
    """

    store: Apply
    op: Op
    value: Var
    made: Apply | None
    steps: tuple[Apply, ...]

    @property
    def starts(self) -> tuple[int, ...]:
        assert isinstance(self.store.attrs, IndexAttrs)
        return tuple(d.start for d in self.store.attrs.dims if isinstance(d, Run) and isinstance(d.start, int))

    @property
    def nothing(self) -> float:
        """The zero around the value that changes no element: x + -0.0 and x - 0.0 are x, where -0.0 + 0.0 is 0.0."""
        factors = [a.value for s in self.steps for a in s.args if isinstance(a, Const)]
        turns = sum(s.op is ops.NEGATIVE for s in self.steps) + sum(map(bool, np.signbit(factors)))
        return -0.0 if (self.op is ops.ADD) == (turns % 2 == 0) else 0.0


@dataclass(frozen=True, slots=True)
class _Chain:
    """Stores one after the other, each into what the one before has left, which nobody else reads."""

    terms: tuple[_Term, ...]

    def written(self) -> Sequence[Statement]:
        """The statements for them all; the last one has the target of the last store."""
        first, last = self.terms[0].store, self.terms[-1].store
        b = Builder(last.span)
        shape = last.targets[0].aval.shape
        borders = {t.value: self._border(t.value, shape) for t in self.terms}
        ones = {t.value: t for t in self.terms}.values()
        padded = {t.value: _padded(b, t, self._around(t.value), *borders[t.value]) for t in ones}
        total: Atom = first.args[0]
        for t in self.terms:
            low, _ = borders[t.value]
            window = [Run(n - k, size) for n, k, size in zip(low, t.starts, shape, strict=True)]
            part = make.index(b, padded[t.value], window)
            for s in t.steps:
                part = make.emit(b, s.op, *(a if isinstance(a, Const) else part for a in s.args))
            total = make.emit(b, t.op, total, part)
        *before, sum_ = b.statements
        assert isinstance(sum_, Apply)
        return (*before, replace(sum_, targets=last.targets))

    def _around(self, value: Var) -> float:
        """The zero around the value: one that serves all its places, if there is one."""
        return max((t.nothing for t in self.terms if t.value is value), key=lambda zero: math.copysign(1.0, zero))

    def _border(self, value: Var, shape: Sequence[int]) -> tuple[list[int], list[int]]:
        """How far the places of the value are from the two ends of each axis, at most."""
        starts = list(zip(*(t.starts for t in self.terms if t.value is value), strict=True))
        sizes = zip(starts, shape, value.aval.shape, strict=True)
        return [max(k) for k in starts], [n - min(k) - size for k, n, size in sizes]


def _padded(b: Builder, t: _Term, zero: float, low: Sequence[int], high: Sequence[int]) -> Atom:
    sizes, value = t.value.aval.shape, t.value
    if t.made is not None and t.made.op is ops.INDEX:  # perhaps within a group
        value = b.apply(ops.INDEX, *t.made.args, attrs=t.made.attrs)
    around = make.full(b, [n + x + y for n, x, y in zip(sizes, low, high, strict=True)], zero, t.value.aval.dtype)
    return make.put(b, around, value, [Run(x, n) for n, x in zip(sizes, low, strict=True)])


def _var(a: Atom) -> Var:
    assert isinstance(a, Var)
    return a


def _opened(statements: Sequence[Statement]) -> Iterator[Apply]:
    """The operations of the block and of its groups, in terms of what goes into groups and comes out."""
    for s in statements:
        if isinstance(s, Apply):
            yield s
        elif isinstance(s, Fused):
            names: dict[Var, Atom] = dict(zip(s.body.params, s.args, strict=True))
            names.update((r, t) for r, t in zip(s.body.results, s.targets, strict=True) if isinstance(r, Var))
            for inner in s.body.statements:
                if isinstance(inner, Apply):
                    targets = tuple(_var(substitute(t, names)) for t in inner.targets)
                    yield replace(inner, targets=targets, args=tuple(substitute(a, names) for a in inner.args))


class _Finder:
    def __init__(self, uses: Counter[Var]) -> None:
        self.uses = uses
        self.made: dict[Var, Apply] = {}  # of the block, groups opened
        self.seen: set[Var] = set()  # what is made in it, but within groups
        self.slices: dict[tuple[tuple[Atom, ...], Attrs], Apply] = {}  # of the block

    def chains(self, block: Block) -> Iterator[_Chain]:
        self.made = {s.targets[0]: s for s in _opened(block.statements) if len(s.targets) == 1}
        self.seen = {t for s in block.statements for t in s.targets}
        self.slices = {}
        found: list[_Term] = []
        for s in block.statements:
            term = self.term(s) if isinstance(s, Apply) else None
            if term is None:
                continue
            if found and not self.follows(term, found[-1]):
                yield from _worth(found)
                found = []
            found.append(term)
        yield from _worth(found)

    def follows(self, term: _Term, before: _Term) -> bool:
        """Whether it stores into what `before` has left, and nothing else reads that."""
        left = before.store.targets[0]
        if term.store.args[0] is not left:
            return False
        if term.store.op is ops.PUT_ADD:
            return self.uses[left] == 1
        return self.uses[left] == 2 and self.uses[_var(self.made[_var(term.store.args[1])].args[0])] == 1

    def term(self, s: Apply) -> _Term | None:
        x = s.args[0] if s.args else None
        if s.op not in (ops.PUT, ops.PUT_ADD) or len(s.args) != 2 or not isinstance(x, Var):
            return None
        if x.aval.dtype.kind != "f" or x.aval.ndim < 2 or x.aval.size < SMALLEST:
            return None
        assert isinstance(s.attrs, IndexAttrs)
        if not all(isinstance(d, Run) and isinstance(d.start, int) and d.step == 1 for d in s.attrs.dims):
            return None
        sizes = tuple(d.size for d in s.attrs.dims if isinstance(d, Run))
        op, value = (ops.ADD, s.args[1]) if s.op is ops.PUT_ADD else self.grown(s)
        if not isinstance(value, Var) or 2 * int(np.prod(sizes)) < x.aval.size:
            return None
        base, steps = self.base(value)
        fits = base.aval.shape == sizes and base.aval.dtype == x.aval.dtype and self.is_there(base)
        return _Term(s, op, base, self.made.get(base), steps) if fits else None

    def grown(self, s: Apply) -> tuple[Op, Atom | None]:
        """`x[region] = x[region] - v`, and with `+`: the operation and v."""
        made = self.made.get(s.args[1]) if isinstance(s.args[1], Var) else None
        if made is None or made.op not in (ops.ADD, ops.SUBTRACT) or self.uses[made.targets[0]] != 1:
            return ops.ADD, None
        old = self.made.get(made.args[0]) if isinstance(made.args[0], Var) else None
        reads = old is not None and old.op is ops.INDEX and old.args == s.args[:1] and old.attrs == s.attrs
        return made.op, made.args[1] if reads else None

    def base(self, value: Var) -> tuple[Var, tuple[Apply, ...]]:
        """The value another is made of by steps that keep zeros, and these steps; equal slices count once."""
        steps: list[Apply] = []
        while (s := self.made.get(value)) is not None:
            inner = next((a for a in s.args if isinstance(a, Var)), None)
            if inner is None or inner.aval != value.aval or not _keeps_zeros(s) or not self.is_there(inner):
                break
            steps.append(s)
            value = inner
        if s is not None and self.is_slice(s):
            value = self.slices.setdefault((s.args, s.attrs), s).targets[0]
        return value, tuple(reversed(steps))

    def is_there(self, v: Var) -> bool:
        """Whether it can be read outside groups, or be read again from what can."""
        made = self.made.get(v)
        return v in self.seen or made is None or self.is_slice(made)

    def is_slice(self, s: Apply) -> bool:
        x = s.args[0] if s.op is ops.INDEX and len(s.args) == 1 else None
        return isinstance(x, Var) and (x in self.seen or x not in self.made)


def _keeps_zeros(s: Apply) -> bool:
    if s.op is ops.NEGATIVE:
        return True
    if s.op not in (ops.MULTIPLY, ops.DIVIDE):
        return False
    numbers = [a for a in s.args if isinstance(a, Const) and a.aval.shape == () and np.isfinite(a.value)]
    return len(numbers) == 1 and (s.op is ops.MULTIPLY or (numbers[0] is s.args[1] and numbers[0].value != 0))


def _worth(terms: Sequence[_Term]) -> Iterator[_Chain]:
    if len(terms) >= max(FEWEST, 2 * len({t.value for t in terms})):
        yield _Chain(tuple(terms))
