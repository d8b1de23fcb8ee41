"""Branches and loops of a batch: unchanged where all elements agree, else in lockstep under a mask.

    if x > 0:                 t = np.sin(x)
        y = np.sin(x)         t1 = np.cos(x)
    else:                     y = np.where(x > 0, t, t1)
        y = np.cos(x)

    while y < 9:              active = y < 9
        y = y * 2             while np.any(active):
                                  y = np.where(active, y * 2, y)
                                  active = active & (y < 9)

Both sides of such a branch are computed for every element: a warning of the side that is not taken may appear, its
values never do. An index under a mask is replaced by 0 for the elements that do not run it, so it raises only where
NumPy would.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .. import make, ops
from ..bounds import Status, index_status, interval_of
from ..builder import Builder
from ..ir import Apply, Atom, Aval, Block, Const, For, If, Raise, Range, Var, While, const, may_raise
from ..ops.core import TAPE_AVAL, At, Dim, Dyn, Gather, IndexAttrs, Linalg, Run
from ..rewrite import Substitution, copy_block
from ..thrown import settled
from . import company, stores
from . import lists as batch_lists
from .rules import Value, batched_aval, elementwise, pad, renamed, spread
from .spread import read_in, shares_index

if TYPE_CHECKING:
    from .vmap import Batcher, Mask

BOOL = Aval((), np.dtype(np.bool_))


def branch(batcher: Batcher, s: If) -> None:
    """A branch stays one if its condition is the same for all elements; else both sides run, and `np.where` chooses."""
    condition = batcher.value(s.condition)
    if not condition.batched:
        then, orelse = (batcher.body(block, (), s.targets) for block in (s.then, s.orelse))
        targets = tuple(batcher.fresh(t) for t in s.targets)
        batcher.b.append(If(targets, condition.atom, then, orelse, s.span))
        return
    stored = stores.stored_into(batcher, s)
    before = dict(batcher.mapping)
    results: list[list[Value]] = []
    for block, lanes in ((s.then, condition.atom), (s.orelse, make.logical_not(batcher.b, condition.atom))):
        with batcher.masked(lanes, block) as mask:
            batcher.chosen_later.difference_update(block.results[k] for k in stored)
            if company.is_needed(batcher, block):
                results.append(_if_any(batcher, block, mask.some, stored))
            else:
                batcher.statements(block.statements)
                results.append([batcher.value(r) for r in block.results])
        batcher.mapping.update((old, results[0][k].atom) for k, old in stored.items() if old in batcher.batched)
    batcher.mapping.update((old, before.get(old, old)) for old in stored.values())
    for k, (t, x, y) in enumerate(zip(s.targets, *results, strict=True)):
        if k in stored:
            batcher.mapping[t] = x.atom if s.orelse.results[k] is stored[k] else y.atom
        else:
            batcher.define(t, partial(_choose, batcher, condition.atom, x, y))


def _if_any(batcher: Batcher, block: Block, some: Atom, stored: Mapping[int, Var]) -> list[Value]:
    """The results of a side of a branch, which runs if any element takes it; the others run it in company of that."""
    defined = {t for s in block.statements for t in s.targets}
    made = {k: r for k, r in enumerate(block.results) if r in defined}
    with batcher.block() as b, company.kept(batcher, block, stored.values()):
        batcher.statements(block.statements)
        found = {k: batcher.as_target(r, r) if isinstance(r, Var) else r for k, r in made.items()}
        then = b.block((), list(found.values()))
    with batcher.block() as b:
        absent = [
            batcher.as_target(stored[k], r) if k in stored else nothing(b, found[k].aval) for k, r in made.items()
        ]
        orelse = b.block((), absent)
    targets = {k: Var(made[k].hint, atom.aval) for k, atom in found.items()}
    batcher.b.append(If(tuple(targets.values()), some, then, orelse, batcher.b.span))
    values = [batcher.value(r) for r in block.results]
    return [replace(v, atom=targets[k]) if k in targets else v for k, v in enumerate(values)]


def nothing(b: Builder, aval: Aval) -> Atom:
    """A value of this type that nobody asks for."""
    return const(aval.dtype.type(0).item()) if aval.weak else make.zeros(b, aval.shape, aval.dtype)


def _choose(batcher: Batcher, lanes: Atom, x: Value, y: Value) -> Atom:
    """x where `lanes`, else y; both of one type."""
    if x.atom is y.atom:
        return spread(batcher.b, x, batcher.size)
    return elementwise(batcher.b, ops.WHERE, [Value(lanes, True, BOOL), x, y])


# ---- for -----------------------------------------------------------------------------------------


def for_loop(batcher: Batcher, s: For) -> None:
    """A loop over bounds that all lanes share stays; else it runs in lockstep, as far as the longest of them."""
    bounds = [batcher.value(a) for a in (s.range.start, s.range.stop, s.range.step)]
    inits = tuple(batcher.as_target(a, t) for a, t in zip(s.inits, s.targets, strict=True))
    if not any(v.batched for v in bounds):
        turns = Range(bounds[0].atom, bounds[1].atom, bounds[2].atom, s.range.reverse)
        params = tuple(batcher.fresh(p) for p in s.body.params)
        body = batcher.body(s.body, params, s.targets)
    elif shares_index(s, batcher.batched):
        turns, body = _with_shared_index(batcher, s, bounds)
    else:
        turns, body = _counted(batcher, s, bounds)
    batch_lists.note_lengths(batcher, s)
    parallel = s.parallel and not any(v.batched for v in bounds)
    batcher.b.append(For(tuple(batcher.fresh(t) for t in s.targets), turns, inits, body, parallel, s.span))


def _with_shared_index(batcher: Batcher, s: For, bounds: Sequence[Value]) -> tuple[Range, Block]:
    """`for i in range(start, max(stop), step)`: an element takes part while i < its own stop."""
    start, stop, step = (v.atom for v in bounds)
    assert isinstance(step, Const)
    ends = stop if batcher.mask is None else make.where(batcher.b, batcher.mask.lanes, stop, start)
    forwards = int(step.value) > 0
    batch_lists.note_turns(batcher, s, lambda: _turns(batcher.b, start, ends, step))
    last: Atom | None = start
    if batcher.size and (last := batch_lists.entries(batcher, s.range.stop)) is None:
        last = make.max(batcher.b, ends) if forwards else make.min(batcher.b, ends)
    index, *carried = s.body.params
    params = [batcher.fresh(p) for p in carried]
    with batcher.block() as b:
        active = make.less(b, index, stop) if forwards else make.greater(b, index, stop)
        results = _masked_body(batcher, s, active)
        body = b.block((index, *params), results)
    return Range(start, last or start, step, s.range.reverse), body


def _counted(batcher: Batcher, s: For, bounds: Sequence[Value]) -> tuple[Range, Block]:
    """`for k in range(max(n))`, n the number of turns of each element: it takes part while k < n."""
    start, stop, step = (
        v.atom if v.aval.weak and not v.batched else make.astype(batcher.b, v.atom, np.int64) for v in bounds
    )
    turns = _turns(batcher.b, start, stop, step)
    if batcher.mask is not None:
        turns = make.where(batcher.b, batcher.mask.lanes, turns, 0)
    longest = make.max(batcher.b, turns) if batcher.size else const(0)
    batch_lists.note_turns(batcher, s, lambda: turns)
    index, *carried = s.body.params
    counter = Var("k", index.aval)
    params = [batcher.fresh(p) for p in carried]

    def position() -> Atom:
        done: Atom = counter
        if s.range.reverse:
            done = make.subtract(b, make.subtract(b, turns, 1), counter)
        i = make.add(b, start, make.multiply(b, done, step))
        inside = interval_of(index, batcher.intervals)  # which elements that are done would leave
        if inside.high is not None and inside.high < 2**62:
            i = make.minimum(b, i, inside.high)
        if inside.low is not None and inside.low > -(2**62):
            i = make.maximum(b, i, inside.low)
        return spread(b, Value(i, i.aval.ndim > 0, index.aval), batcher.size)

    with batcher.block() as b:
        active = make.less(b, counter, turns)
        batcher.define(index, position)
        results = _masked_body(batcher, s, active)
        body = b.block((counter, *params), results)
    return Range(const(0), longest, const(1)), body


def _masked_body(batcher: Batcher, s: For, active: Atom) -> list[Atom]:
    stored = stores.kept_by_stores(batcher, s.body, s.body.params[1:]) | batch_lists.carried(s.body.params[1:])
    with batcher.masked(active, s.body, const(True)) as mask:
        _statements(batcher, s.body, [s.body.params[1 + k] for k in stored])
    return kept_where(batcher, mask.lanes, s.body.results, s.body.params[1:], stored)


def _statements(batcher: Batcher, block: Block, stored: Sequence[Var]) -> None:
    """Those of a loop's body under a mask; `stored`: the carried values that they store into."""
    with company.kept(batcher, block, stored) if company.is_needed(batcher, block) else nullcontext():
        batcher.statements(block.statements)


def _turns(b: Builder, start: Atom, stop: Atom, step: Atom) -> Atom:
    """len(range(start, stop, step)) of each element."""
    span = make.subtract(b, stop, start)
    if isinstance(step, Const) and step.value == 1:
        count = span
    else:
        count = make.negative(b, make.floor_divide(b, make.negative(b, span), step))
    return make.astype(b, make.maximum(b, count, 0), np.int64)


def kept_where(
    batcher: Batcher,
    active: Atom,
    results: Sequence[Atom],
    carried: Sequence[Var],
    as_they_are: Container[int] = frozenset(),
) -> list[Atom]:
    """The next carried values: new ones for active elements, the old ones for the rest. Results that are `as_they_are`
    need no choice.
    """
    kept: list[Atom] = []
    for k, (r, p) in enumerate(zip(results, carried, strict=True)):
        if k in as_they_are:
            kept.append(batcher.as_target(r, p))
            continue
        count = len(batcher.b.statements)
        atom = _choose(batcher, active, batcher.value(r), batcher.value(p))
        kept.append(renamed(batcher.b, atom, p.hint) if len(batcher.b.statements) > count else atom)
    return kept


# ---- while ---------------------------------------------------------------------------------------


def while_loop(batcher: Batcher, s: While) -> None:
    """A loop whose condition all lanes share stays; else it runs in lockstep, until the last of them is done."""
    if batcher.value(s.condition.results[0]).batched:
        _lockstep_while(batcher, s)
        return
    inits = tuple(batcher.as_target(a, t) for a, t in zip(s.inits, s.targets, strict=True))
    test_params = tuple(batcher.fresh(p) for p in s.condition.params)
    with batcher.block() as b:
        batcher.statements(s.condition.statements)
        stop = batcher.atom(s.condition.results[0])
        if batcher.mask is not None:  # a loop that nobody runs might never end
            stop = make.logical_and(b, batcher.mask.some, stop)
        condition = b.block(test_params, (stop,))
    params = tuple(batcher.fresh(p) for p in s.body.params)
    body = batcher.body(s.body, params, s.targets)
    targets = tuple(batcher.fresh(t) for t in s.targets)
    batcher.b.append(While(targets, inits, condition, body, s.span))


def _lockstep_while(batcher: Batcher, s: While) -> None:
    """Carries `active` beside the values: who has not finished. The condition is evaluated once a turn."""
    b, carried = batcher.b, s.body.params
    inits = tuple(batcher.as_target(a, t) for a, t in zip(s.inits, s.targets, strict=True))
    if batch_lists.carried(carried):
        s = batch_lists.counting(batcher, s)
        carried, inits = s.body.params, (*inits, make.full(b, (batcher.size,), 0, np.int64))
    first = tested(batcher, s, inits)
    if batcher.mask is not None:
        first = make.logical_and(b, batcher.mask.lanes, first)
    kind = batched_aval(BOOL, batcher.size)
    names = [Var(p.hint, batched_aval(p.aval, batcher.size) if p in batcher.batched else p.aval) for p in carried]
    asked, active = Var("active", kind), Var("active", kind)
    with batcher.block() as inner:
        condition = inner.block((asked, *names), (make.any(inner, asked),))
    params = [batcher.fresh(p) for p in carried]
    stored = stores.kept_by_stores(batcher, s.body, carried)
    for_all = {k for k, (p, t) in enumerate(zip(carried, s.targets, strict=True)) if _is_for_all(batcher, p, t)}
    with batcher.block() as inner:
        with batcher.masked(active, s.body, const(True), within=True):
            _statements(batcher, s.body, [carried[k] for k in stored])
        results = kept_where(batcher, active, s.body.results, carried, stored | for_all)
        with batcher.masked(active, s.condition, within=True):
            again = make.logical_and(inner, active, tested(batcher, s, results))
        body = inner.block((active, *params), (again, *results))
    targets = tuple(batcher.fresh(t) for t in s.targets)
    batch_lists.note_lengths(batcher, s)
    batcher.b.append(While((Var("active", kind), *targets), (first, *inits), condition, body, s.span))


def _is_for_all(batcher: Batcher, carried: Var, target: Var) -> bool:
    """What need not be kept for elements that are done: counters that all have in common, lists, and flags, which
    nobody asks for after the loop.
    """
    if carried not in batcher.batched or carried.aval == TAPE_AVAL:
        return True
    return carried.aval.dtype.kind == "b" and target not in batcher.read


def tested(batcher: Batcher, s: While, values: Sequence[Atom]) -> Atom:
    """The condition, written here for these carried values."""
    fresh: Substitution = {}
    condition = copy_block(s.condition, fresh)
    batcher.makers |= stores.makers_of(condition)
    batcher.read |= read_in(condition)
    batcher.batched.update(new for old, new in fresh.items() if old in batcher.batched and isinstance(new, Var))
    batcher.mapping.update(zip(condition.params, values, strict=True))
    batcher.statements(condition.statements)
    return batcher.atom(condition.results[0])


# ---- raise ---------------------------------------------------------------------------------------


def raising(batcher: Batcher, s: Raise) -> None:
    """Raised where any element that runs it would; the message is that of the first such element."""
    if not batcher.size:
        return
    condition = batcher.value(s.condition)
    lanes: Atom | None = condition.atom if condition.batched else None
    if batcher.mask is not None:
        lanes = make.logical_and(batcher.b, batcher.mask.lanes, condition.atom)
    bad = condition.atom if lanes is None else _some(batcher.b, lanes)
    with batcher.block() as b:
        first = const(0) if lanes is None else make.argmax(b, lanes, 0)
        only = lanes
        if any(map(may_raise, s.body.statements)):  # what the first element raises, not what others would
            only = make.equal(b, make.iota(b, batcher.size), first)
        with nullcontext() if only is None else batcher.masked(only, s.body):
            batcher.statements(s.body.statements)
        error, results = settled(s.error, [_element(b, batcher.value(r), first) for r in s.body.results])
        body = b.block((), results)
    batcher.b.append(Raise(bad, body, error, s.span))


def _some(b: Builder, lanes: Atom) -> Atom:
    """np.any(lanes), of `np.logical_not(x)` as `np.logical_not(np.all(x))`."""
    made = make.definition(b, lanes, ops.LOGICAL_NOT)
    if made is not None:
        return make.logical_not(b, make.all_(b, made.args[0]))
    return make.any(b, lanes)


def _element(b: Builder, v: Value, lane: Atom) -> Atom:
    if not v.batched:
        return v.atom
    x, used = v.atom, [lane]
    dims: tuple[Dim, ...] = (At(Dyn(0)), *(Run(0, n) for n in v.aval.shape))
    part = make.definition(b, v.atom, ops.INDEX)
    if part is not None and isinstance(part.attrs, IndexAttrs) and part.attrs.dims[0] == Run(0, v.atom.aval.shape[0]):
        dims = (At(Dyn(len(part.args))), *part.attrs.dims[1:])  # x[:, i][lane] is x[lane, i]
        x, used = part.args[0], [*part.args, lane]
    element = make.index(b, x, dims, used)
    return make.number(b, element, v.aval.dtype) if v.aval.weak else element


# ---- indices under a mask ------------------------------------------------------------------------


def guarded(batcher: Batcher, s: Apply, values: Sequence[Value], mask: Mask) -> Sequence[Value]:
    """The arguments of an operation, with which it raises only where an element that runs it does."""
    if mask.company is not None and mask.company.lanes is mask.lanes:
        return values
    if isinstance(s.attrs, IndexAttrs):
        return guarded_index(batcher, s, values, s.attrs, mask)
    return guarded_matrix(batcher, s, values, mask) if isinstance(s.op, Linalg) and s.op.error else values


def guarded_index(batcher: Batcher, s: Apply, values: Sequence[Value], attrs: IndexAttrs, mask: Mask) -> list[Value]:
    """The arguments of an index or a store, indices that may be out of range set to 0 where the mask is off."""
    guarded = list(values)
    for d, n in zip(attrs.dims, s.args[0].aval.shape, strict=True):
        position = _unsafe_argument(batcher, s, d, n)
        if position is None:
            continue
        v = values[position]
        lanes = pad(batcher.b, mask.lanes, v.aval.ndim) if v.batched else mask.some
        if isinstance(lanes, Const) and np.all(lanes.value):
            continue
        guarded[position] = Value(make.where(batcher.b, lanes, v.atom, 0), v.batched, v.aval)
    return guarded


def guarded_matrix(batcher: Batcher, s: Apply, values: Sequence[Value], mask: Mask) -> list[Value]:
    """The arguments of an operation that fails for some matrices, which becomes the identity where the mask is off."""
    v = values[0]
    identity = make.lift(np.eye(*v.aval.shape[-2:], dtype=v.aval.dtype))
    lanes = pad(batcher.b, mask.lanes, v.aval.ndim) if v.batched else mask.some
    return [Value(make.where(batcher.b, lanes, v.atom, identity), v.batched, v.aval), *values[1:]]


def _unsafe_argument(batcher: Batcher, s: Apply, d: Dim, n: int) -> int | None:
    """The argument by which an entry may fall out of an axis of size n."""
    match d:
        case At(index=Dyn(arg=a)) | Gather(arg=a):
            status = index_status(interval_of(s.args[a], batcher.intervals), n)
            return a if status is Status.UNKNOWN else None
        case Run(start=Dyn(arg=a), size=size) if size:
            return None if interval_of(s.args[a], batcher.intervals).within(*d.starts(n)) else a
    return None


