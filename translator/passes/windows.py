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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from math import prod

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
    Shape,
    Statement,
    Var,
    While,
    const,
    is_number,
    with_blocks,
    with_statements,
)
from ..ops.core import (
    NO_ATTRS,
    ArgReduceAttrs,
    At,
    Attrs,
    AxesAttrs,
    Cast,
    ContractAttrs,
    Dim,
    Dyn,
    Elementwise,
    Gather,
    IndexAttrs,
    ReduceAttrs,
    Run,
    indexed_shape,
)
from ..printing.temporaries import is_adjoint
from ..purpose import purpose
from ..records import dataclass
from ..remake import remake

WIDTH = 128  # of 512, rows of 16 elements take four times as long, and rows of 3,000 as long
BLOCK = 4 * WIDTH  # elements of a window of an array with more axes than one
NARROWEST = 8
LONG_ON_DEVICE = 1 << 22  # elements: a GPU goes through as many while the host reads the two ends of a run
SHORTEST = 4 * WIDTH  # below, the whole array is as fast

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
        if not _pays(s):
            return None
        facts = _Facts(made, self.outer)
        if s.op in (ops.WHERE, ops.ADD, ops.PUT_ADD):
            sums = s.op is not ops.WHERE
            place = next((n for n, a in enumerate(s.args) if a in (self.sums if sums else self.carried)), None)
            new = None if place is None else (_added if sums else _stored)(s, place, facts)
            if new is not None:  # what is stored into next is what this store leaves
                self.carried.add(s.targets[0])
                self.sums |= {s.targets[0]} if sums else set()
            return new
        if s.op is ops.ARGMAX:
            return _first(s, facts)
        return _extreme(s, facts) if s.op in _EXTREMES else _sum(s, facts)


def _pays(s: Apply) -> bool:
    """Whether windows are faster than the whole array: on a GPU for sums of vectors, else for long arrays only."""
    if purpose().target not in ("triton", "cuda"):
        return True
    vectors = s.op in (ops.SUM, ops.CONTRACT) and all(a.aval.ndim == 1 for a in s.args)
    return vectors or max((prod(a.aval.shape) for a in s.args), default=0) >= LONG_ON_DEVICE


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
        """(low, high) where `a` is 0 but for low <= first index < high: a mask, np.where(mask, x, 0), or a product."""
        if a.aval.dtype.kind == "b":
            return self.asked(a, a.aval.shape)
        s = self.made.get(a) if isinstance(a, Var) else None
        if s is not None and s.op is ops.MULTIPLY:  # 0 times 0; times anything else it need not be 0
            factors = {self.run(x) if x.aval.shape == a.aval.shape else None for x in s.args}
            return factors.pop() if len(factors) == 1 else None
        if s is None or s.op is not ops.WHERE or not isinstance(s.args[2], Const) or np.any(s.args[2].value):
            return None
        return self.asked(s.args[0], a.aval.shape)

    def asked(self, mask: Atom, shape: Shape) -> Bounds | None:
        """(low, high) where a mask, broadcast to this shape, asks for low <= the first index < high.

        What has fewer axes lies along the last ones, and asks nothing of the first.
        """
        ends: dict[str, Atom] = {}
        pending = [(mask, len(shape))]
        while pending:
            a, ndim = pending.pop()
            test = self.maker(a)
            if test is None or a.aval.ndim != ndim or a.aval.shape[:1] != shape[:1]:
                continue
            if test.op is ops.LOGICAL_AND:
                pending += [(x, ndim) for x in test.args]
            elif _keeps_first_axis(test):
                pending.append((test.args[0], test.args[0].aval.ndim))
            elif test.op in (ops.GREATER_EQUAL, ops.LESS) and ndim == 1 and self.is_iota(test.args[0]):
                end = test.args[1]
                counts = test.args[0].aval.shape == shape[:1]
                if counts and end.aval.shape == () and np.can_cast(end.aval.dtype, np.int64):
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
    """The loop over the windows of a run, while it is being made: of slices along the first axis of `arrays`."""

    def __init__(self, s: Apply, run: Bounds, arrays: Sequence[Atom], facts: _Facts) -> None:
        self.s, self.b, self.inner = s, Builder(s.span), Builder(s.span)
        size = max(a.aval.shape[0] for a in arrays)
        width = min(WIDTH, max(NARROWEST, min(BLOCK // max(prod(a.aval.shape[1:]), 1) for a in arrays)))
        low, high = (make.number(self.b, end, np.int64) for end in run)
        low, high = make.maximum(self.b, low, 0), make.minimum(self.b, high, size)
        self.range = Range(low, high, const(width))
        self.start = Var("c", Aval((), np.dtype(np.int64), weak=True))
        self.window = _Window(self.inner, facts, size, width, make.minimum(self.inner, self.start, size - width))
        self.counted = make.greater_equal(self.inner, self.window.positions, self.start)  # the last window overlaps

    def new(self, ndim: int) -> Atom:
        """Which elements of the window no window before had, for arrays with so many axes."""
        return make.expand_dims(self.inner, self.counted, range(1, ndim)) if ndim > 1 else self.counted

    def part(self, a: Atom) -> Atom | None:
        """The window of `a`, and 0 where a window before had it already."""
        part = self.window.of(a, a.aval.ndim)
        zero = const(np.zeros((), a.aval.dtype)[()])
        return None if part is None else make.where(self.inner, self.new(a.aval.ndim), part, zero)

    def begun(self, aval: Aval, value: Atom) -> Atom:
        return make.full(self.b, aval.shape, value, aval.dtype) if aval.shape else value

    def finished(self, carried: Var, init: Atom, result: Atom, target: Var | None = None) -> list[Statement] | None:
        if result.aval != carried.aval:
            return None
        body = self.inner.block((self.start, carried), (result,))
        self.b.append(For((target or self.s.targets[0],), self.range, (init,), body, span=self.s.span))
        return self.b.statements


def _sum(s: Apply, facts: _Facts) -> list[Statement] | None:
    """A sum along the first axis of what is 0 outside of a run, or the product of two such arrays."""
    if not _sums_first_axis(s) or s.args[0].aval.shape[0] < SHORTEST:
        return None
    runs = [facts.run(a) for a in s.args]
    run = runs[0]
    if run is None or any(r != run for r in runs):
        return None
    turns = _Turns(s, run, s.args, facts)
    total = Var("s", s.targets[0].aval)
    parts = [turns.part(a) for a in s.args]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    added = make.add(turns.inner, total, remake(turns.inner, s.op, known, s.attrs))
    return turns.finished(total, turns.begun(total.aval, const(np.zeros((), total.aval.dtype)[()])), added)


_EXTREMES: dict[object, Elementwise] = {ops.MAX: ops.MAXIMUM, ops.MIN: ops.MINIMUM, ops.ANY: ops.LOGICAL_OR}


def _extreme(s: Apply, facts: _Facts) -> list[Statement] | None:
    """The largest or smallest number of a run, or whether any element of it is True."""
    a = s.args[0]
    if not _reduces_first_axis(s) or a.aval.shape[0] < SHORTEST:
        return None
    neutral: Atom = const(np.bool_(False))
    mask = a
    if s.op is not ops.ANY:
        chosen = facts.made.get(a) if isinstance(a, Var) else None
        if chosen is None or chosen.op is not ops.WHERE or not _is_neutral(chosen.args[2], s):
            return None
        mask, neutral = chosen.args[0], make.astype(Builder(s.span), chosen.args[2], a.aval.dtype)
    run = facts.asked(mask, a.aval.shape) if mask.aval.dtype.kind == "b" else None
    if run is None:
        return None
    turns = _Turns(s, run, [a], facts)
    if s.op is ops.ANY and not s.targets[0].aval.shape and facts.asks_no_more(mask):
        turns.b.append(Apply(s.targets, ops.LESS, (turns.range.start, turns.range.stop), NO_ATTRS, s.span))
        return turns.b.statements
    part = turns.window.of(a, a.aval.ndim)
    if part is None:
        return None
    best = Var("s", s.targets[0].aval)
    found = make.elementwise(turns.inner, _EXTREMES[s.op], best, remake(turns.inner, s.op, [part], s.attrs))
    return turns.finished(best, turns.begun(best.aval, neutral), found)


def _first(s: Apply, facts: _Facts) -> list[Statement] | None:
    """The place of the first True of a mask that asks for a run, 0 where there is none."""
    mask, size = s.args[0], _length(s.args[0])
    run = facts.run(mask) if mask.aval.shape == (size,) and size >= SHORTEST else None
    if run is None or s.attrs != ArgReduceAttrs(0):
        return None
    turns = _Turns(s, run, [mask], facts)
    part = turns.window.of(mask, 1)
    if part is None:
        return None
    inner, place = turns.inner, Var("k", s.targets[0].aval)
    here = make.add(inner, make.argmax(inner, part, 0), turns.window.first)
    nearest = make.minimum(inner, place, make.where(inner, make.any(inner, part), here, size))
    found = Var("k", s.targets[0].aval)
    if turns.finished(place, const(np.int64(size)), make.astype(inner, nearest, np.int64), found) is None:
        return None
    nowhere = make.equal(turns.b, found, size)
    turns.b.append(Apply(s.targets, ops.WHERE, (nowhere, const(np.int64(0)), found), NO_ATTRS, s.span))
    return turns.b.statements


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
    if place != 2 or not isinstance(old, Var) or old.aval != s.targets[0].aval:
        return None
    ndim, size = old.aval.ndim, _length(old)
    run = facts.asked(mask, old.aval.shape) if size >= SHORTEST else None
    if run is None:
        return None
    turns = _Turns(s, run, [old], facts)
    current = Var(old.hint, old.aval)
    elements = turns.window.stored_into(old, current)
    inside, new = turns.window.of(mask, ndim), turns.window.of(value, ndim)
    if inside is None or new is None:
        return None
    inside = make.logical_and(turns.inner, turns.new(ndim), inside)
    chosen = make.where(turns.inner, inside, new, elements)
    return turns.finished(current, old, turns.window.put(make.put, current, chosen))


def _added(s: Apply, place: int, facts: _Facts) -> list[Statement] | None:
    """What is 0 outside of a run, added to an array or to some places of it."""
    old, added = s.args[place], s.args[1 - place] if place < 2 else None
    if not isinstance(old, Var) or added is None or (s.op is ops.PUT_ADD and place):
        return None
    size = _length(added)
    run = facts.run(added) if size >= SHORTEST else None
    there = indexed_shape(s.attrs, [a.aval for a in s.args]) if isinstance(s.attrs, IndexAttrs) else old.aval.shape
    if run is None or there != added.aval.shape:
        return None
    turns = _Turns(s, run, [added], facts)
    current = Var(old.hint, old.aval)
    turns.window.stored_into(old, None)
    part = turns.part(added)
    if part is None:
        return None
    if s.op is ops.ADD:
        return turns.finished(current, old, turns.window.put(make.put_add, current, part))
    places = [turns.window.of(a, 1) for a in s.args[2:] if a.aval.shape == (size,)]
    known = [a for a in places if a is not None]
    if not _begins_with_gather(s.attrs) or len(known) < len(s.args) - 2:
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


def _length(a: Atom) -> int:
    return a.aval.shape[0] if a.aval.shape else 0


def _reduces_first_axis(s: Apply) -> bool:
    return isinstance(s.attrs, ReduceAttrs) and s.attrs.axes == (0,)


def _sums_first_axis(s: Apply) -> bool:
    match s.op, s.attrs:
        case ops.SUM, _:
            return _reduces_first_axis(s)
        case ops.CONTRACT, ContractAttrs(lhs=(label, *_), rhs=(other, *_), out=out):
            return label == other and label not in out
    return False


class _Window:
    """The values of a block at the places `first : first + width` of their first axis."""

    def __init__(self, b: Builder, facts: _Facts, size: int, width: int, first: Atom) -> None:
        self.b, self.facts, self.size, self.width, self.first = b, facts, size, width, first
        self.positions = make.add(b, make.iota(b, width), first)
        self.found: dict[Atom, Atom | None] = {}
        self.stored: Atom | None = None

    def dims(self, a: Atom) -> tuple[Dim, ...]:
        return (Run(Dyn(0), self.width), *(Run(0, n) for n in a.aval.shape[1:]))

    def put(self, store: Callable[..., Atom], array: Atom, value: Atom) -> Atom:
        return store(self.b, array, value, self.dims(array), (self.first,))

    def stored_into(self, old: Atom, current: Atom | None) -> Atom | None:
        """The loop stores into `old`, which is `current` in its body: other elements of it are not read there."""
        self.stored = old
        self.found[old] = None if current is None else make.index(self.b, current, self.dims(old), (self.first,))
        return self.found[old]

    def of(self, a: Atom, ndim: int) -> Atom | None:
        """The window of an array with `ndim` axes, or what is repeated along the first of them as it is.

        None where the window cannot be had without the whole array.
        """
        if a.aval.ndim < ndim or a.aval.shape[0] == 1:
            return a
        if a not in self.found:
            made = self._made(a) if a.aval.shape[0] == self.size and not isinstance(a, Const) else None
            right = made is not None and made.aval.shape == (self.width, *a.aval.shape[1:])
            self.found[a] = made if right else None
        return self.found[a]

    def _made(self, a: Atom) -> Atom | None:
        if self.facts.is_iota(a) and a.aval.dtype == np.int64:
            return self.positions
        s = self.facts.made.get(a) if isinstance(a, Var) else None
        if s is None:  # made outside of the loop, or carried by it
            return make.index(self.b, a, self.dims(a), (self.first,))
        args: list[Atom | None]
        if isinstance(s.op, Elementwise | Cast):
            args = [self.of(x, a.aval.ndim) for x in s.args]
        elif _keeps_first_axis(s):
            args = [self.of(s.args[0], s.args[0].aval.ndim)]
        elif s.op is ops.INDEX and _begins_with_gather(s.attrs) and s.args[0] is not self.stored:
            args = [s.args[0], *(self.of(x, 1) for x in s.args[1:])]
        else:
            return None
        known = [x for x in args if x is not None]
        return remake(self.b, s.op, known, s.attrs) if len(known) == len(args) else None


def _keeps_first_axis(s: Apply) -> bool:
    return s.op is ops.EXPAND_DIMS and isinstance(s.attrs, AxesAttrs) and 0 not in s.attrs.axes


def _begins_with_gather(attrs: Attrs) -> bool:
    dims = attrs.dims if isinstance(attrs, IndexAttrs) else ()
    picks = [d for d in dims if not isinstance(d, At)]
    return bool(picks) and isinstance(picks[0], Gather)
