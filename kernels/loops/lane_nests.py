"""Nested lanes as one loop over all of them: a thread per inner lane.

    for lane in range(500):                     for lane in range(500 * 700):
        y1 = y[lane]                                outer, inner = lane // 700, lane % 700
        for lane1 in range(700):                    y1 = y[outer]
            n1[lane1] = f(x[lane1], y1)             n[lane] = f(x[inner], y1)
        n[lane] = n1                            n = n.reshape(500, 700)

What the outer lanes compute for their inner ones is computed again for each of them: numbers, and views of arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...translator import make
from ...translator.batch.rules import renamed
from ...translator.builder import Builder
from ...translator.ir import Apply, Atom, Aval, Block, For, Range, Statement, Var, const, inputs_of, walk
from ...translator.ops import EMPTY, PUT, RESHAPE
from ...translator.ops.core import At, Cast, Dim, Dyn, Elementwise, Index, IndexAttrs, Run, ShapeAttrs
from ...translator.records import dataclass
from ...translator.rewrite import Substitution, copy_statement, prune, rebuilt, substitute


@dataclass(frozen=True, slots=True)
class Flat:
    """The statements before the one loop, the loop, and those that give its results their axes again."""

    before: tuple[Statement, ...]
    loop: For
    after: tuple[Statement, ...]


def flattened(s: For, block: Block) -> Flat | None:
    """The loop over all lanes; None where the lanes of `s`, a statement of the block, have none inside them."""
    loop = s
    while (nest := _nest(loop)) is not None:
        loop = nest.joined()
    if loop is s:
        return None
    b = Builder(s.span)
    made = {t for e in block.statements if isinstance(e, Apply) and e.op is EMPTY for t in e.targets}
    inits: list[Atom] = []
    for init, t in zip(s.inits, loop.targets, strict=True):
        shape, dtype = t.aval.shape, t.aval.dtype
        inits.append(make.empty(b, shape, dtype) if init in made else make.reshape(b, init, shape))
    after = tuple(
        Apply((t,), RESHAPE, (flat,), ShapeAttrs(t.aval.shape), s.span)
        for t, flat in zip(s.targets, loop.targets, strict=True)
    )
    return Flat(tuple(b.statements), replace(loop, inits=tuple(inits)), after)


@dataclass(frozen=True, slots=True)
class _Nest:
    """Lanes with lanes inside. For each array that the outer ones fill, `filled` has the array that the inner ones
    fill, and what they fill it with."""

    outer: For
    inner: For
    filled: tuple[tuple[Var, Atom], ...]

    def joined(self) -> For:
        index, *carried = self.outer.body.params
        broad = _count(self.inner)
        count = _count(self.outer) * broad
        b, lane = Builder(self.outer.span), Var(index.hint, index.aval)
        mapping: Substitution = {
            index: renamed(b, make.floor_divide(b, lane, broad), "outer"),
            self.inner.body.params[0]: renamed(b, make.remainder(b, lane, broad), "inner"),
        }
        passed = {*self.outer.body.results, *self.inner.body.results}
        for s in (*self.outer.body.statements, *self.inner.body.statements):
            if s is not self.inner and passed.isdisjoint(s.targets):
                b.append(copy_statement(s, mapping))
        flats = [Var(p.hint, Aval((count, *p.aval.shape[2:]), p.aval.dtype)) for p in carried]
        results = []
        for flat, (_, value) in zip(flats, self.filled, strict=True):
            dims = IndexAttrs((At(Dyn(2)), *map(_whole, flat.aval.shape[1:])))
            results.append(b.apply(PUT, flat, substitute(value, mapping), lane, attrs=dims))
        rows = {t: s for s in b.statements if isinstance(s, Apply) and isinstance(s.op, Index) for t in s.targets}
        body = prune(rebuilt(b.block((lane, *flats), results), lambda s: _of_whole(s, rows)))
        targets = tuple(Var(t.hint, f.aval) for t, f in zip(self.outer.targets, flats, strict=True))
        return replace(self.outer, targets=targets, range=Range(const(0), const(count), const(1)), body=body)


def _nest(outer: For) -> _Nest | None:
    statements = outer.body.statements
    loops = [s for s in statements if not isinstance(s, Apply)]
    if len(loops) != 1 or not isinstance(inner := loops[0], For) or not (_count(outer) and _count(inner)):
        return None
    rows, values = _filled(outer), _filled(inner)
    if rows is None or values is None:
        return None
    by_target = dict(zip(inner.targets, values, strict=True))
    made = {t: s for s in statements if isinstance(s, Apply) for t in s.targets}
    memory = [made[a] for a in inner.inits if isinstance(a, Var) and a in made and made[a].op is EMPTY]
    used = [a for s in walk(outer.body) for a in inputs_of(s)]
    own = [*(t for s in memory for t in s.targets), *inner.targets]
    passed = {*outer.body.results}
    light = all(s in memory or s is inner or not passed.isdisjoint(s.targets) or _is_light(s) for s in statements)
    if len(memory) != len(inner.inits) or not light or any(used.count(a) != 1 for a in own):
        return None
    if any(r not in by_target for r in rows):
        return None
    return _Nest(outer, inner, tuple((r, by_target[r]) for r in rows if isinstance(r, Var)))


def _count(s: For) -> int:
    """How many lanes there are; 0 where the turns are no lanes."""
    turns = s.range.static()
    counts = s.parallel and turns is not None and turns.start == 0 and turns.step == 1 and not s.range.reverse
    return len(turns) if counts and turns is not None else 0


def _filled(s: For) -> list[Atom] | None:
    """The value that each lane fills its row of each array with; None where lanes do anything else to them."""
    index, *carried = s.body.params
    puts = {t: p for p in s.body.statements if isinstance(p, Apply) and p.op is PUT for t in p.targets}
    used = [a for t in walk(s.body) for a in inputs_of(t)]
    found = []
    for p, r in zip(carried, s.body.results, strict=True):
        put = puts.get(r) if isinstance(r, Var) else None
        if put is None or put.args[0] is not p or used.count(p) != 1 or r in used:
            return None
        assert isinstance(put.attrs, IndexAttrs)
        first, *others = put.attrs.dims
        own = isinstance(first, At) and isinstance(first.index, Dyn) and put.args[first.index.arg] is index
        if not own or others != [_whole(n) for n in p.aval.shape[1:]]:
            return None
        found.append(put.args[1])
    return found


def _is_light(s: Statement) -> bool:
    """Whether it makes a number, or a view."""
    return isinstance(s, Apply) and (
        isinstance(s.op, Index) or (isinstance(s.op, Elementwise | Cast) and not s.targets[0].aval.shape)
    )


def _whole(n: int) -> Dim:
    return Run(0, n)


def _of_whole(s: Apply, rows: Mapping[Var, Apply]) -> Apply:
    """An element of a row of an array as one of the array itself."""
    x = s.args[0] if s.args else None
    row = rows.get(x) if isinstance(x, Var) and isinstance(s.op, Index) else None
    if row is None or not isinstance(s.attrs, IndexAttrs) or not isinstance(row.attrs, IndexAttrs):
        return s
    dims, shape = row.attrs.dims, row.args[0].aval.shape
    runs = [d == _whole(n) for d, n in zip(dims, shape, strict=True) if not isinstance(d, At)]
    if not all(runs) or s.attrs.gathers:
        return s
    own = iter([_moved(d, len(row.args) - 1) for d in s.attrs.dims])
    joined = tuple(d if isinstance(d, At) else next(own) for d in dims)
    return replace(s, args=(*row.args, *s.args[1:]), attrs=IndexAttrs(joined))


def _moved(d: Dim, by: int) -> Dim:
    """An entry whose number stands so many arguments later."""
    match d:
        case At(index=Dyn(arg=a)):
            return At(Dyn(a + by))
        case Run(start=Dyn(arg=a)):
            return replace(d, start=Dyn(a + by))
    return d
