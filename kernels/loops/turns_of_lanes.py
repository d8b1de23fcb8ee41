"""Loops whose turns compute each element from itself, as lanes: a thread takes all turns for its own element.

    for i in range(n):                  for lane in range(x.size):
        x = x * 0.5 + c                     x1, c1 = x[lane], c[lane]
                                            for i in range(n):
                                                x1 = x1 * 0.5 + c1
                                            out[lane] = x1

As launches, every turn would read and write all that it carries; here that stays in registers. Numbers that change from
turn to turn are computed by each thread for itself. What turns store, one slice each (`tape[i] = x`), and what they
look up so (`x = tape[i]`), are elements of the lane's, too: both loops of a derivative are lanes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ...translator import make
from ...translator.batch.rules import renamed
from ...translator.builder import Builder
from ...translator.ir import (
    Apply,
    Atom,
    Aval,
    Block,
    Const,
    For,
    Fused,
    If,
    Range,
    Shape,
    Statement,
    Var,
    While,
    const,
    inputs_of,
    may_raise,
)
from ...translator.ops import INDEX, PUT, RESHAPE
from ...translator.ops.core import (
    At,
    Cast,
    CastAttrs,
    Create,
    Dyn,
    Elementwise,
    Index,
    IndexAttrs,
    Put,
    Reshape,
    Run,
    ShapeAttrs,
)
from ...translator.passes.alignment import without_ones
from ...translator.passes.turns import only_stored
from ...translator.rewrite import Substitution
from ..grouping import inline, is_pointwise, users_of
from .lane_nests import Flat


def as_lanes(s: For | While, block: Block) -> Flat | None:
    """The loop, a statement of the block, as one over all elements; None where a turn needs anything but its own.

    Elementwise work that makes what the loop alone reads, or reads what it gives, joins the lanes.
    """
    users = users_of(block)
    tapes = _tapes(s)
    others = [t for k, t in enumerate(s.targets) if k not in tapes]
    shape = next((t.aval.shape for t in others if t.aval.shape), ())
    if 0 in shape or any(t.aval.shape != shape and (t.aval.shape or t in users) for t in others):
        return None  # numbers would have to come out, too
    turns = s.range.static() if isinstance(s, For) else None
    if not shape or users.keys().isdisjoint(s.targets) or (turns is not None and len(turns) < 2):
        return None
    filled = {t: m for m in block.statements if isinstance(m, Apply) and isinstance(m.op, Create) for t in m.targets}
    stored = {s.targets[k] for k in tapes}
    joined = _joined(
        s, block, users, lambda m: stored.isdisjoint(inputs_of(m)) and _Elements(s, shape, filled).fits(m)
    )
    inside = {*map(id, joined)}
    kept = [t for m in joined for t in m.targets if t.aval.shape and users.get(t, inside) - inside]
    try:
        return _Elements(s, shape, filled).lanes(joined, kept)
    except _NeedsOthers:
        return None


def _joined(
    s: Statement, block: Block, users: Mapping[Var, set[int]], fits: Callable[[Statement], bool]
) -> list[Statement]:
    """The loop between the elementwise work that joins it, in order."""
    place = next(k for k, b in enumerate(block.statements) if b is s)
    joined = [s]
    for m in reversed(block.statements[:place]):
        inside = {*map(id, joined)}
        if is_pointwise(m) and fits(m) and all(users.get(t, {0}) <= inside for t in m.targets):
            joined.insert(0, m)
    made = {t for b in joined for t in b.targets}
    late: set[Var] = set()
    for m in block.statements[place + 1 :]:
        if may_raise(m):
            break
        args = {a for a in inputs_of(m) if isinstance(a, Var)}
        if is_pointwise(m) and args & made and not args & late and fits(m):
            joined.append(m)
            made.update(m.targets)
        else:
            late.update(m.targets)
    return joined


def _tapes(s: Statement) -> dict[int, Apply]:
    """The stores into the values of a loop that its turns only store into."""
    return only_stored(s) if isinstance(s, For) else {}


def _slice(attrs: object, shape: Shape) -> tuple[int, int] | None:
    """The axes that one whole slice of an array has: the first, and the one behind the last. None for other indices."""
    if not isinstance(attrs, IndexAttrs):
        return None
    axes = list(zip(attrs.dims, shape, strict=True))
    whole = [isinstance(d, Run) and (d.start, d.step, d.size) == (0, 1, n) for d, n in axes]
    if not any(whole) or all(whole) or not all(w or isinstance(d, At) for d, w in zip(attrs.dims, whole, strict=True)):
        return None
    first, behind = whole.index(True), len(whole) - whole[::-1].index(True)
    return (first, behind) if all(whole[first:behind]) else None


def carried(s: For) -> list[tuple[Atom, Var]]:
    """What a loop carries: each value before it, and its parameter."""
    return list(zip(s.inits, s.body.params[1:], strict=True))


def _var(a: Atom) -> Var:
    assert isinstance(a, Var)
    return a


class _NeedsOthers(Exception):
    """A turn is no work on one element."""


class _Elements:
    """The statements of one lane, in front of which it reads its elements of arrays."""

    def __init__(self, loop: For | While, shape: Shape, filled: Mapping[Var, Apply]) -> None:
        self.loop, self.shape, self.size, self.filled = loop, shape, math.prod(shape), filled
        self.lane = Var("lane", Aval((), const(0).aval.dtype, weak=True))
        self.before, self.reads = Builder(loop.span), Builder(loop.span)
        self.mapping: Substitution = {}
        self.coordinates: dict[int, Atom] = {}
        self.flat: dict[Atom, Var] = {}  # arrays of slices with the lanes along one axis
        self.tapes: dict[Atom, Var] = {}  # those that the loop stores into, as they are in the lanes

    def fits(self, s: Statement) -> bool:
        """Whether elementwise work is on the elements of the lanes."""
        try:
            self.statement(s)
        except _NeedsOthers:
            return False
        return all(t.aval.shape == self.shape for t in s.targets)

    def lanes(self, joined: Sequence[Statement], kept: Sequence[Var]) -> Flat:
        loop = self.loop
        made = [m for s in joined for m in self.statement(s)]
        b = Builder(loop.span)
        b.statements += [*self.reads.statements, *made]
        flats, outs, results, inits = [], [], [], []
        for t in kept:
            aval = self.tapes[t].aval if t in self.tapes else Aval((self.size,), t.aval.dtype)
            flats.append(t if t.aval == aval else Var(t.hint, aval))
            if t in self.tapes:
                begin = loop.inits[loop.targets.index(t)]
                outs.append(self.flat[begin])
                results.append(self.tapes[t])
                inits.append(self.begun(begin, aval))
                continue
            outs.append(Var(t.hint, aval))
            results.append(b.apply(PUT, outs[-1], self.mapping[t], self.lane, attrs=IndexAttrs((At(Dyn(2)),))))
            inits.append(make.empty(self.before, aval.shape, aval.dtype))
        body = b.block((self.lane, *outs), results)
        numbers = Range(const(0), const(self.size), const(1))
        after = tuple(
            Apply((t,), RESHAPE, (flat,), ShapeAttrs(t.aval.shape), loop.span)
            for t, flat in zip(kept, flats, strict=True)
            if t is not flat
        )
        lanes = For(tuple(flats), numbers, tuple(inits), body, parallel=True, span=loop.span)
        return Flat(tuple(self.before.statements), lanes, after)

    # ---- statements of one element -----------------------------------------------------------------

    def statement(self, s: Statement) -> Sequence[Statement]:
        match s:
            case Fused(kind="pointwise"):
                return [made for inner in inline(s) for made in self.statement(inner)]
            case Apply():
                return self.apply(s)
            case If():
                condition = self.element(s.condition)
                branches = self.block(s.then), self.block(s.orelse)
                return [If(self.fresh(s.targets), condition, *branches, s.span)]
            case For(parallel=False):
                start, stop, step = map(self.element, (s.range.start, s.range.stop, s.range.step))
                turns = Range(start, stop, step, s.range.reverse)
                self.begin_tapes(s)
                inits = tuple(self.flat[a] if p in self.tapes else self.element(a) for a, p in carried(s))
                body = self.block(s.body)
                return [For(self.fresh(s.targets), turns, inits, body, span=s.span)]
            case While():
                inits = tuple(map(self.element, s.inits))
                if any(a.aval.shape for t in s.condition.statements for a in t.targets):
                    raise _NeedsOthers
                goes, body = self.block(s.condition), self.block(s.body)
                return [While(self.fresh(s.targets), inits, goes, body, s.span)]
        raise _NeedsOthers

    def block(self, block: Block) -> Block:
        params = self.fresh(block.params)
        statements = [made for s in block.statements for made in self.statement(s)]
        results = tuple(self.tapes[a] if a in self.tapes else self.element(a) for a in block.results)
        return Block(params, tuple(statements), results)

    def apply(self, s: Apply) -> Sequence[Statement]:
        (target,) = s.targets
        match s.op:
            case Elementwise() | Cast():
                args = tuple(map(self.element, s.args))
                return [Apply(self.fresh(s.targets), s.op, args, s.attrs, s.span)]
            case Create(name="full"):
                attrs = CastAttrs(target.aval.dtype)
                return [Apply(self.fresh(s.targets), Cast(), tuple(map(self.element, s.args)), attrs, s.span)]
            case Reshape(name="broadcast_to"):
                self.mapping[target] = self.element(s.args[0])
                return []
            case Index() if not target.aval.shape and isinstance(s.attrs, IndexAttrs):  # one number for all lanes
                x, *rest = s.args
                if x in self.mapping or x in self.tapes or not all(isinstance(d, At) for d in s.attrs.dims):
                    raise _NeedsOthers
                return [Apply(self.fresh(s.targets), s.op, (x, *map(self.element, rest)), s.attrs, s.span)]
            case Index() if target.aval.shape == self.shape:
                x = self.slices(s)
                places, dims = self.places(s, 1)
                return [Apply(self.fresh(s.targets), s.op, (x, *places), dims, s.span)]
            case Put() if target in self.tapes:
                x, value = self.tapes[s.args[0]], self.element(s.args[1])
                places, dims = self.places(s, 2)
                return [Apply((self.tapes[target],), s.op, (x, value, *places), dims, s.span)]
        raise _NeedsOthers

    def fresh(self, variables: Sequence[Var]) -> tuple[Var, ...]:
        """Numbers for what the variables are at one element; tapes for those that are."""
        for v in variables:
            if v not in self.tapes:
                self.mapping[v] = Var(v.hint, self.one(v.aval))
        return tuple(self.tapes.get(v) or self.mapping[v] for v in variables)  # type: ignore[misc]

    # ---- slices of arrays --------------------------------------------------------------------------

    def begin_tapes(self, s: For) -> None:
        """The tapes that the lanes' own loop carries, through it."""
        for k, store in _tapes(s).items():
            param, target, result, init = s.body.params[1 + k], s.targets[k], store.targets[0], s.inits[k]
            if s is not self.loop or not isinstance(init, Var) or init in self.flat:
                raise _NeedsOthers
            aval = Aval(self.flat_shape(store, param.aval.shape), param.aval.dtype)
            self.flat[init] = Var(target.hint, aval)
            self.tapes.update((v, Var(v.hint, aval)) for v in (param, result, target))

    def begun(self, init: Atom, aval: Aval) -> Atom:
        """What a tape is before the loop."""
        if init in self.filled and self.filled[init].op.name == "empty":  # type: ignore[index]
            return make.empty(self.before, aval.shape, aval.dtype)
        return make.reshape(self.before, init, aval.shape)

    def slices(self, s: Apply) -> Var:
        """The array from outside of the loop of which a statement takes a slice."""
        x = s.args[0]
        if not isinstance(x, Var) or x in self.mapping or x in self.tapes:
            raise _NeedsOthers
        if x not in self.flat:
            shape = self.flat_shape(s, x.aval.shape)
            self.flat[x] = x if shape == x.aval.shape else _var(make.reshape(self.before, x, shape))
        if self.flat[x].aval.shape != self.flat_shape(s, x.aval.shape):
            raise _NeedsOthers
        return self.flat[x]

    def flat_shape(self, s: Apply, shape: Shape) -> Shape:
        """An array's shape with one axis for the slices that a statement takes or stores."""
        axes = _slice(s.attrs, shape)
        if axes is None or shape[slice(*axes)] != self.shape:
            raise _NeedsOthers
        return (*shape[: axes[0]], self.size, *shape[axes[1] :])

    def places(self, s: Apply, first: int) -> tuple[list[Atom], IndexAttrs]:
        """The indices of a slice at the lane's element, and where they stand behind the `first` arguments."""
        assert isinstance(s.attrs, IndexAttrs)
        found: list[Atom] = []
        dims: list[At] = []
        for d in s.attrs.dims:
            place: Atom = self.lane
            if isinstance(d, At):
                if isinstance(d.index, int):
                    dims.append(d)
                    continue
                place = self.element(s.args[d.index.arg])
            if place is not self.lane or self.lane not in found:  # the axes of the slice are one
                found.append(place)
                dims.append(At(Dyn(first + len(found) - 1)))
        return found, IndexAttrs(tuple(dims))

    def one(self, aval: Aval) -> Aval:
        """The type of one element of what is stretched over the loop's arrays."""
        n = len(aval.shape)
        if n > len(self.shape) or any(
            a not in (1, b) for a, b in zip(aval.shape, self.shape[len(self.shape) - n :], strict=True)
        ):
            raise _NeedsOthers
        return replace(aval, shape=())

    def element(self, a: Atom) -> Atom:
        if a in self.tapes:
            raise _NeedsOthers
        if a in self.mapping or not a.aval.shape:
            return self.mapping.get(a, a) if isinstance(a, Var) else a
        if isinstance(a, Const):
            raise _NeedsOthers
        self.one(a.aval)
        self.mapping[a] = read = self.read(a)
        return read

    def read(self, a: Var) -> Atom:
        """The element of an array from outside of the loop."""
        shape = a.aval.shape
        if (full := self.filled.get(a)) is not None and full.op.name == "full":
            return make.astype(self.reads, self.element(full.args[0]), a.aval.dtype)
        if shape == self.shape:
            whole = a if len(shape) == 1 else renamed(self.before, make.reshape(self.before, a, (self.size,)), a.hint)
            made = self.reads.apply(INDEX, whole, self.lane, attrs=IndexAttrs((At(Dyn(1)),)))
            return renamed(self.reads, made, a.hint)
        first = len(self.shape) - len(shape)
        places = [self.coordinate(first + k) if n > 1 else None for k, n in enumerate(shape)]
        known = [p for p in places if p is not None]
        dims = tuple(At(0) if p is None else At(Dyn(1 + known.index(p))) for p in places)
        return renamed(self.reads, self.reads.apply(INDEX, a, *known, attrs=IndexAttrs(dims)), a.hint)

    def coordinate(self, axis: int) -> Atom:
        """The lane's place along an axis."""
        if axis not in self.coordinates:
            inner = math.prod(self.shape[axis + 1 :])
            place = self.lane if inner == 1 else make.floor_divide(self.reads, self.lane, inner)
            outermost = not without_ones(self.shape[:axis])
            self.coordinates[axis] = place if outermost else make.remainder(self.reads, place, self.shape[axis])
        return self.coordinates[axis]
