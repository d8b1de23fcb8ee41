"""The body of a loop as a function of one trip: its cells of arrays, and what it adds to shared values.

    for i in range(n):                      def trip(i, cell):             # cell: y[i]
        y[i] = y[i] * x[i]                      cell = cell * x[i]
        h[idx[i]] += y[i]                       return cell, idx[i], cell
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import field, replace
from typing import assert_never

from .. import make, ops
from ..bounds import Interval
from ..builder import Builder
from ..ir import Apply, Atom, Aval, Block, Const, For, Fused, If, Invoke, Raise, Statement, Var, While
from ..ops.core import At, Dim, Dyn, Gather, IndexAttrs, Run, gather_position
from ..records import dataclass
from .affine import Affine, Forms
from .stores import Cells, Dependence, Scatter, name_of
from .sums import Sum, neutral

Both = Callable[[str, Atom, Atom], Atom]  # (name, value if taken, value if not) -> what a branch gives


@dataclass(frozen=True, slots=True)
class Effect:
    """An addition to an array that trips share: the array's slot, where, what, and the run-time indices; `forms` are
    those of indices that are linear, and in range in all trips whether they come there or not."""

    slot: int
    attrs: IndexAttrs
    value: Atom
    dyn: tuple[Atom, ...]
    store: Apply
    forms: tuple[Affine | None, ...]


def cell_aval(cells: Cells, k: int) -> Aval:
    """The type of cell `k`: the array without the axis of the trips and those at which it has one place."""
    shape, fixed = cells.chain.param.aval.shape, cells.cells[k].fixed
    sizes = []
    for axis, n in enumerate(shape):
        e = fixed[axis]
        if axis != cells.axis and not (e is not None and not e.is_run):
            sizes.append(n if e is None else e.size)
    return Aval(tuple(sizes), cells.chain.param.aval.dtype)


@dataclass(slots=True)
class Trip:
    """Writes the body of one trip into `b`."""

    loop: For
    cells: list[Cells]
    scatters: list[Scatter]
    sums: list[Sum]
    forms: Forms
    size: int
    known: Callable[[], dict[Var, Interval]]
    b: Builder = field(default_factory=Builder)
    atoms: dict[Var, Atom] = field(default_factory=dict)  # what stands for a variable of the body
    parts: dict[Var, tuple[Atom, ...]] = field(default_factory=dict)  # the cells of a version of an array
    added: dict[Var, Atom | None] = field(default_factory=dict)  # of a version of a sum, what this trip has added to it
    effects: list[Effect] = field(default_factory=list)
    params: list[Var] = field(default_factory=list)  # one for each cell of each of `cells`
    homes: dict[Var, Cells] = field(default_factory=dict)
    totals: dict[Var, Sum] = field(default_factory=dict)
    shared: dict[Var, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for c in self.cells:
            params = tuple(Var(c.chain.param.hint, cell_aval(c, k)) for k in range(len(c.cells)))
            self.params += params
            self.parts[c.chain.param] = params
            self.homes.update(dict.fromkeys(c.chain.versions, c))
        for t in self.sums:
            self.totals.update(dict.fromkeys(t.versions, t))
            self.added[t.param] = None
        for x in self.scatters:
            self.shared.update(dict.fromkeys(x.chain.versions, x.chain.slot))

    def continued(self, b: Builder) -> Trip:
        """The same trip, what follows written into another builder."""
        other = copy(self)
        other.b, other.effects = b, []
        return other

    # values

    def atom(self, a: Atom) -> Atom:
        return self.atoms.get(a, a) if isinstance(a, Var) else a

    def args(self, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(map(self.atom, atoms))

    def contribution(self, v: Atom, total: Sum) -> Atom:
        """What has been added to a version of a sum, of the type of the sum itself."""
        assert isinstance(v, Var) and total.reduction is not None
        given, aval = self.added[v], total.param.aval
        if given is None:
            given = neutral(total.reduction, aval)
        return make.broadcast_to(self.b, given, aval.shape) if given.aval.shape != aval.shape else given

    # statements

    def statements(self, statements: Sequence[Statement]) -> None:
        for s in statements:
            with self.b.at(s.span):
                self.statement(s)

    def statement(self, s: Statement) -> None:
        match s:
            case Apply():
                self.apply(s)
            case If():
                self.branch(s)
            case For():
                self.for_loop(s)
            case While():
                self.while_loop(s)
            case Raise():
                b = self.inner(s.body)
                body = Block((), tuple(b.statements), self.args(s.body.results))
                self.b.append(replace(s, condition=self.atom(s.condition), body=body))
            case Fused() | Invoke():
                why = "has been fused" if isinstance(s, Fused) else "calls what calls itself"
                raise Dependence(f"it {why}", s.span)
            case _:
                assert_never(s)

    def inner(self, block: Block) -> Builder:
        """The statements of a block, in a builder of their own."""
        outer = self.b
        self.b = Builder(outer.span)
        self.b.definitions = dict(outer.definitions)
        self.statements(block.statements)
        made, self.b = self.b, outer
        return made

    def apply(self, s: Apply) -> None:
        for a in s.args:
            if a in self.homes:
                assert isinstance(a, Var)
                self.access(s, a, self.homes[a])
                return
            if a in self.totals:
                assert isinstance(a, Var)
                self.add(s, a, self.totals[a])
                return
            if a in self.shared:
                assert isinstance(a, Var) and isinstance(s.attrs, IndexAttrs)
                _, value, *dyn = self.args(s.args)
                forms = tuple(self.place_of(s, s.attrs, k) for k in range(2, len(s.args)))
                self.effects.append(Effect(self.shared[a], s.attrs, value, tuple(dyn), s, forms))
                return
        args = self.args(s.args)
        self.b.append(s if args == s.args else replace(s, args=args))

    def place_of(self, s: Apply, attrs: IndexAttrs, arg: int) -> Affine | None:
        """The linear form of a run-time index, counted from the front, if it is one and never out of range."""
        form = self.forms.of(s.args[arg])
        for d, n in zip(attrs.dims, s.args[0].aval.shape, strict=True):
            match d:
                case At(index=Dyn(arg=a)) if a == arg:
                    after = 0
                case Run(start=Dyn(arg=a), size=size, step=step) if a == arg and step > 0:
                    after = (size - 1) * step
                case Run(start=Dyn(arg=a)) | Gather(arg=a) if a == arg:
                    return None
                case _:
                    continue
            if form is None or not form.within(0, n - 1 - after, self.size, self.known, s.args[arg]):
                return None
        return form

    def add(self, s: Apply, version: Var, total: Sum) -> None:
        before, aval = self.added[version], s.targets[0].aval
        (other,) = (self.atom(a) for a in s.args if a is not version)
        if before is not None:
            x, y = (before, other) if s.args[0] is version else (other, before)
            made = make.elementwise(self.b, s.op, x, y)  # type: ignore[arg-type]
        else:
            made = make.negative(self.b, other) if s.op is ops.SUBTRACT else other
        if made.aval.dtype != aval.dtype or made.aval.weak != aval.weak:
            made = make.number(self.b, made, aval.dtype) if aval.weak else make.astype(self.b, made, aval.dtype)
        self.added[s.targets[0]] = made

    # cells

    def access(self, s: Apply, version: Var, home: Cells) -> None:
        assert isinstance(s.attrs, IndexAttrs)
        k = home.of.get(id(s))
        if k is None:  # nobody has written there by now
            init = self.loop.inits[home.chain.slot]
            self.b.append(replace(s, args=(init, *self.args(s.args[1:]))))
            return
        offset = 1 if s.op is ops.INDEX else 2
        dims, dyn = _narrowed(s, s.attrs, home, k, offset), self.args(s.args[offset:])
        cell = self.parts[version][k]
        if s.op is ops.INDEX:
            self.atoms[s.targets[0]] = make.index(self.b, cell, dims, dyn)
            return
        value = self.atom(s.args[1])
        if not dims and value.aval.shape:
            value = make.reshape(self.b, value, ())
        store = make.put if s.op is ops.PUT else make.put_add
        made = store(self.b, cell, value, dims, dyn)
        self.parts[s.targets[0]] = tuple(made if n == k else part for n, part in enumerate(self.parts[version]))

    # control flow

    def branch(self, s: If) -> None:
        outer, self.effects = self.effects, []
        then = self.inner(s.then)
        on_true, self.effects = self.effects, []
        orelse = self.inner(s.orelse)
        on_false, self.effects = self.effects, outer
        targets: list[Var] = []
        sides: list[tuple[Atom, Atom]] = []

        def both(hint: str, x: Atom, y: Atom) -> Atom:
            if x is y:
                return x
            target = Var(hint, x.aval)
            targets.append(target)
            sides.append((x, y))
            return target

        for t, x, y in zip(s.targets, s.then.results, s.orelse.results, strict=True):
            if t in self.homes:
                pairs = zip(self.parts[x], self.parts[y], strict=True)  # type: ignore[index]
                self.parts[t] = tuple(both(t.hint, p, q) for p, q in pairs)
            elif t in self.totals:
                self.added[t] = self.joined(t, x, y, then, orelse, both)
            elif t not in self.shared:
                targets.append(t)
                sides.append((self.atom(x), self.atom(y)))
        for effects, taken in ((on_true, True), (on_false, False)):
            here, there = (then, orelse) if taken else (orelse, then)
            inside = {t for made in here.statements for t in made.targets}
            for e in effects:
                self.effects.append(self.chosen(e, inside, there, taken, both))
        on, off = (Block((), tuple(b.statements), tuple(p[n] for p in sides)) for n, b in enumerate((then, orelse)))
        self.b.append(If(tuple(targets), self.atom(s.condition), on, off, s.span))

    def chosen(self, e: Effect, inside: set[Var], other: Builder, taken: bool, both: Both) -> Effect:
        """An addition under a branch: on the other side of it 0 is added; at place 0 if the place is known in the
        branch only, or may be none."""

        def of(a: Atom) -> Atom:
            none = _zero(other, a.aval)
            return both(a.hint if isinstance(a, Var) else "t", *((a, none) if taken else (none, a)))

        dyn = [
            a if isinstance(a, Const) or (form is not None and (form.scale or a not in inside)) else of(a)
            for a, form in zip(e.dyn, e.forms, strict=True)
        ]
        return replace(e, value=of(e.value), dyn=tuple(dyn))

    def joined(self, t: Var, x: Atom, y: Atom, then: Builder, orelse: Builder, both: Both) -> Atom | None:
        assert isinstance(x, Var) and isinstance(y, Var)
        if self.added[x] is None and self.added[y] is None:
            return None
        sides = []
        for v, b in ((x, then), (y, orelse)):
            outer, self.b = self.b, b
            sides.append(self.contribution(v, self.totals[t]))
            self.b = outer
        return both(t.hint, *sides)

    def for_loop(self, s: For) -> None:
        index, *carried = s.body.params
        params, inits = self.entered(carried, s.inits)
        b = self.closed(s.body)
        results, targets = self.left(b, carried, s.body.results, s.targets)
        turns = replace(
            s.range, start=self.atom(s.range.start), stop=self.atom(s.range.stop), step=self.atom(s.range.step)
        )
        body = Block((index, *params), tuple(b.statements), tuple(results))
        self.b.append(replace(s, targets=tuple(targets), range=turns, inits=tuple(inits), body=body))

    def while_loop(self, s: While) -> None:
        tests, inits = self.entered(s.condition.params, s.inits)
        test = self.closed(s.condition)
        condition = Block(tuple(tests), tuple(test.statements), self.args(s.condition.results))
        params, _ = self.entered(s.body.params, s.inits)
        b = self.closed(s.body)
        results, targets = self.left(b, s.body.params, s.body.results, s.targets)
        body = Block(tuple(params), tuple(b.statements), tuple(results))
        self.b.append(replace(s, targets=tuple(targets), inits=tuple(inits), condition=condition, body=body))

    def closed(self, block: Block) -> Builder:
        """A block that runs any number of times: what it adds to shared arrays cannot be told to the outside."""
        count = len(self.effects)
        b = self.inner(block)
        if len(self.effects) > count:
            e = self.effects[count]
            array = name_of(e.store.targets[0])
            raise Dependence(f"an inner loop adds to elements of {array} that iterations share", e.store.span)
        return b

    def entered(self, carried: Sequence[Var], inits: Sequence[Atom]) -> tuple[list[Var], list[Atom]]:
        params: list[Var] = []
        starts: list[Atom] = []
        for p, init in zip(carried, inits, strict=True):
            if p in self.homes:
                fresh = tuple(Var(p.hint, a.aval) for a in self.parts[init])  # type: ignore[index]
                params += fresh
                starts += self.parts[init]  # type: ignore[index]
                self.parts[p] = fresh
            elif p in self.totals:
                start = self.contribution(init, self.totals[p])
                params.append(Var(p.hint, start.aval))
                starts.append(start)
                self.added[p] = params[-1]
            elif p not in self.shared:
                params.append(p)
                starts.append(self.atom(init))
        return params, starts

    def left(
        self, b: Builder, carried: Sequence[Var], results: Sequence[Atom], targets: Sequence[Var]
    ) -> tuple[list[Atom], list[Var]]:
        ends: list[Atom] = []
        outs: list[Var] = []
        for p, r, t in zip(carried, results, targets, strict=True):
            if p in self.homes:
                ends += self.parts[r]  # type: ignore[index]
                fresh = tuple(Var(t.hint, a.aval) for a in self.parts[r])  # type: ignore[index]
                outs += fresh
                self.parts[t] = fresh
            elif p in self.totals:
                outer, self.b = self.b, b
                ends.append(self.contribution(r, self.totals[p]))
                self.b = outer
                outs.append(Var(t.hint, ends[-1].aval))
                self.added[t] = outs[-1]
            elif p not in self.shared:
                ends.append(self.atom(r))
                outs.append(t)
        return ends, outs


def _zero(b: Builder, aval: Aval) -> Atom:
    if aval.weak:
        return make.lift({"i": int, "f": float, "c": complex}[aval.dtype.kind](0))
    if not aval.shape:
        return make.lift(aval.dtype.type(0))
    return make.full(b, aval.shape, aval.dtype.type(0), aval.dtype)


def _narrowed(s: Apply, attrs: IndexAttrs, home: Cells, k: int, offset: int) -> list[Dim]:
    """The entries of an access that are left within a cell; their arguments count from the first run-time index."""
    dims: list[Dim] = []
    for axis, d in enumerate(attrs.dims):
        e = home.cells[k].fixed[axis]
        if axis == home.axis or (e is not None and not e.is_run):
            continue
        if e is not None:
            dims.append(Run(0, e.size))
            continue
        match d:
            case At(index=Dyn(arg=a)):
                dims.append(At(Dyn(a - offset)))
            case Run(start=Dyn(arg=a), size=size, step=step):
                dims.append(Run(Dyn(a - offset), size, step))
            case Gather(arg=a):
                dims.append(Gather(a - offset))
            case _:
                dims.append(d)
    if any(isinstance(d, Gather) for d in dims) and gather_position(tuple(dims)) != gather_position(attrs.dims):
        raise Dependence("index arrays beside the index of the iteration change the order of axes", s.span)
    return dims
