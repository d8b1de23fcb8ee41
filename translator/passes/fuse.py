"""Groups statements into kernels: `Fused` statements whose intermediates never reach device memory.

    before                                      after
    m = np.max(x, axis=1, keepdims=True)        def row(x):
    e = np.exp(x - m)                               m = np.max(x, axis=1, keepdims=True)
    s = np.sum(e, axis=1, keepdims=True)            e = np.exp(x - m)
    y = e / s                                       s = np.sum(e, axis=1, keepdims=True)
                                                    return e / s
                                                y = row(x)

The kinds of group:

    pointwise   elementwise work over one domain; broadcasts, static slices and transposes are addressing
    row         reductions over the same trailing axes with elementwise work before, between and after them
    reduce      full reductions and reductions of other axes, with elementwise work before and on the result
    contract    a matrix product and the elementwise work on its result

The cost is bytes moved through device memory. A statement joins the group that makes its argument, so that the argument
need not be stored; groups over one domain that read the same array are merged; a value is made again by its consumer
where reading what it is made of moves less. Host scalars (what Python numbers make) stay outside: they are computed
once, not for each element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace

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
    Shape,
    Statement,
    Var,
    While,
    blocks_of,
    free_variables,
    inputs_of,
    may_raise,
)
from ..ops.core import Cast, Contract, Elementwise, Reduce, ReduceAttrs
from .alignment import (
    Alignment,
    is_free,
    nbytes,
    only_broadcasts,
    reduced_alignment,
    reduction_kind,
    result_alignment,
    through,
)
from .groups import LONGEST, close, report
from .siblings import merge_reductions, merge_siblings
from .units import BITS, COSTLY, Shaped, Unit, merger, storable

__all__ = ["fuse", "report"]

COMPUTE = (Elementwise, Cast, Reduce, Contract)


def fuse(function: Function, alone: Set[Var] = frozenset()) -> Function:
    """The same program with its statements grouped into kernels; every value used outside a group is a target of it.

    Statements that make one of the variables in `alone` join no group.
    """
    host = frozenset(v for v in function.body.params if not v.aval.shape)
    return replace(function, body=_fuse_block(function.body, host, alone))


def _fuse_block(block: Block, host: frozenset[Var], alone: Set[Var]) -> Block:
    return Fusion(block, host, alone).run()


class Fusion:
    """One block: statements are placed into units in program order, units are merged, mended and written out."""

    def __init__(self, block: Block, host: frozenset[Var], alone: Set[Var]) -> None:
        self.block = block
        self.host = set(host)
        self.alone = alone
        self.units: dict[int, Unit] = {}
        self.unit_of: dict[Var, Unit] = {}
        self.free: dict[Var, Apply] = {}
        self.position: dict[Var, int] = {}
        self.raising: Unit | None = None  # the last that may raise

    def run(self) -> Block:
        for i, s in enumerate(_live(self.block)):
            for t in s.targets:
                self.position[t] = i
            self.place(s)
        merge_siblings(self)
        merge_reductions(self)
        uses = self.outside_uses()
        for unit in list(self.units.values()):
            if any(v in uses and not storable(v, unit) for v in unit.members):
                self.evict(unit)
        self.recompute()
        return _Writer(self).run()

    # ---- placing -----------------------------------------------------------------------------------

    def place(self, s: Statement) -> None:
        if not isinstance(s, Apply):
            self.place_alone(s)
        elif is_free(s):
            self.free[s.targets[0]] = s
            if not s.targets[0].aval.shape and s.args and self.is_host(s.args[0]):
                self.host.add(s.targets[0])
        elif isinstance(s.op, Elementwise | Cast):
            if not s.targets[0].aval.shape and all(self.is_host(a) for a in s.args):
                self.host.add(s.targets[0])
                self.place_alone(s)
            elif s.targets[0] in self.alone:
                self.place_alone(s)
            else:
                self.place_elementwise(s)
        elif isinstance(s.op, Reduce):
            self.place_reduce(s)
        elif isinstance(s.op, Contract):
            unit = self.new_unit("contract", s.targets[0].aval.shape)
            self.join(unit, s, {})
        else:
            self.place_alone(s)

    def is_host(self, a: Atom) -> bool:
        return (isinstance(a, Const) and not a.aval.shape) or a in self.host

    def new_unit(self, kind: str, domain: Shape, axes: tuple[int, ...] = ()) -> Unit:
        unit = Unit(len(self.units), kind, domain, axes)
        self.units[unit.index] = unit
        return unit

    def place_alone(self, s: Statement) -> None:
        unit = self.new_unit("", ())
        s = _fuse_inside(s, self.host, self.alone)
        unit.statement = s
        for a in (*inputs_of(s), *(v for b in blocks_of(s) for v in free_variables(b))):
            self.depend(unit, a, hard=True)
        for t in s.targets:
            self.unit_of[t] = unit
        if self.raising is not None:  # with what it refuses, this might fail, or never end
            unit.pred |= self.raising.pred | self.raising.bit
        if may_raise(s):
            self.raising = unit

    def origin(self, a: Atom) -> tuple[Var | None, list[Apply]]:
        """The computed value behind views, and the views from it outwards."""
        chain: list[Apply] = []
        while isinstance(a, Var) and a in self.free:
            view = self.free[a]
            chain.append(view)
            if not view.args:
                return None, chain
            a = view.args[0]
        chain.reverse()
        return (a if isinstance(a, Var) else None), chain

    def depend(self, unit: Unit, a: Atom, hard: bool = False) -> None:
        root, _ = self.origin(a)
        other = self.unit_of.get(root) if root is not None else None
        if other is not None and other is not unit:
            unit.pred |= other.pred | other.bit
            if hard:
                unit.hard |= other.bit

    def sources(self, s: Apply) -> list[Unit]:
        """Groups that make arguments of `s`: those with reductions first, then products, then the latest."""
        found: dict[int, Unit] = {}
        for a in s.args:
            root, _ = self.origin(a)
            unit = self.unit_of.get(root) if root is not None else None
            if unit is not None and unit.kind:
                found[unit.index] = unit
        order = {"row": 0, "reduce": 1, "contract": 2, "pointwise": 3}
        return sorted(found.values(), key=lambda u: (order[u.kind], -u.index))

    def place_elementwise(self, s: Apply) -> None:
        home: Unit | None = None
        shape = s.targets[0].aval.shape
        for unit in self.sources(s):
            joined = [unit] if home is None else [home, unit]
            merged = merger(joined, shape)
            if (
                merged is None
                or self.makes_cycle(s, joined)
                or self.too_long(joined)
                or self.fit(s, merged, joined) is None
            ):
                continue
            if home is None:
                home = unit
            else:
                self.merge(home, unit)
            home.kind, home.domain, home.axes = merged.kind, merged.domain, merged.axes
        if home is None:
            home = self.new_unit("pointwise", shape)
        merged = Shaped(home.kind, home.domain, home.axes)
        self.join(home, s, self.fit(s, merged, [home]) or {})

    def place_reduce(self, s: Apply) -> None:
        assert isinstance(s.attrs, ReduceAttrs)
        (x,) = s.args
        domain, axes = x.aval.shape, s.attrs.axes
        kind = reduction_kind(domain, axes)
        for unit in self.sources(s):
            merged = Shaped(kind, domain, axes)
            fits = unit.domain == domain and (unit.kind == "pointwise" or (unit.kind == kind and unit.axes == axes))
            if not fits or self.makes_cycle(s, [unit]) or self.too_long([unit]):
                continue
            pinned = self.fit(s, merged, [unit])
            if pinned is not None:
                unit.kind, unit.axes = kind, axes
                self.join(unit, s, pinned)
                return
        unit = self.new_unit(kind, domain, axes)
        self.join(unit, s, {s.targets[0]: reduced_alignment(domain, axes, s.attrs.keepdims)})

    def join(self, unit: Unit, s: Apply, pinned: dict[Var, Alignment]) -> None:
        unit.members[s.targets[0]] = s
        unit.pinned.update(pinned)
        self.unit_of[s.targets[0]] = unit
        before = unit.pred
        for a in s.args:
            root, chain = self.origin(a)
            inside = root is not None and self.unit_of.get(root) is unit
            self.depend(unit, a, hard=not inside and (isinstance(s.op, Contract) or not only_broadcasts(chain)))
        if unit.pred != before:
            self.spread(unit)

    def spread(self, unit: Unit) -> None:
        for other in self.units.values():
            if other.pred & unit.bit:
                other.pred |= unit.pred

    def makes_cycle(self, s: Apply, joined: Sequence[Unit]) -> bool:
        bits = sum(u.bit for u in joined)
        for a in s.args:
            root, _ = self.origin(a)
            other = self.unit_of.get(root) if root is not None else None
            if other is not None and not other.bit & bits and other.pred & bits:
                return True
        return len(joined) > 1 and self.path_between(joined[0], joined[1])

    def path_between(self, a: Unit, b: Unit) -> bool:
        """Whether one reaches the other through a third unit, or needs its values in memory.

        A reduction in two stages has its values only when all blocks have, so that another needs them in memory.
        """
        if a.hard & b.bit or b.hard & a.bit:
            return True
        if a.kind == b.kind == "reduce" and (a.pred & b.bit or b.pred & a.bit):
            return True
        for source, sink in ((a, b), (b, a)):
            between = sink.pred & ~source.bit
            while between:
                low = between & -between
                between ^= low
                if self.units[low.bit_length() - 1].pred & source.bit:
                    return True
        return False

    def too_long(self, joined: Iterable[Unit]) -> bool:
        return sum(len(u.members) for u in joined) >= LONGEST

    def merge(self, home: Unit, other: Unit) -> None:
        home.members.update(other.members)
        home.pinned.update(other.pinned)
        for v in other.members:
            self.unit_of[v] = home
        both = home.bit | other.bit
        home.pred = (home.pred | other.pred) & ~both
        home.hard = (home.hard | other.hard) & ~both
        for u in self.units.values():
            if u is not home and u.pred & both:
                u.pred = (u.pred & ~other.bit) | home.bit | home.pred
            if u.hard & other.bit:
                u.hard = (u.hard & ~other.bit) | home.bit
        other.members = {}  # an empty unit stays in its place: units are looked up by index
        other.pred = other.hard = 0

    def fit(self, s: Apply, merged: Shaped, joined: Sequence[Unit]) -> dict[Var, Alignment] | None:
        """Whether `s` can be computed in the merged group: where its result is pinned, None when it cannot."""
        inside = [
            (root, chain)
            for root, chain in map(self.origin, s.args)
            if root is not None and self.unit_of.get(root) in joined
        ]
        constraints: dict[int, int] = {}
        target = s.targets[0]
        ndim = s.args[0].aval.ndim if isinstance(s.op, Reduce) else target.aval.ndim
        is_pinned = False
        for root, chain in inside:
            alignment = next((u.pinned[root] for u in joined if root in u.pinned), None)
            if alignment is None:
                if not only_broadcasts(chain):
                    return None
                continue
            is_pinned = True
            moved = through(alignment, chain)
            if moved is None:
                return None
            for j, axis in enumerate(moved):
                if axis >= 0 and constraints.setdefault(j + ndim - len(moved), axis) != axis:
                    return None
        if isinstance(s.op, Reduce):
            return self.fit_reduce(s, merged, constraints, is_pinned)
        if not is_pinned:
            return {}
        alignment = result_alignment(target.aval.shape, merged.kind, merged.domain, merged.axes, constraints)
        return None if alignment is None else {target: alignment}

    def fit_reduce(
        self, s: Apply, merged: Shaped, constraints: dict[int, int], is_pinned: bool
    ) -> dict[Var, Alignment] | None:
        assert isinstance(s.attrs, ReduceAttrs)
        if (is_pinned and merged.kind == "reduce") or any(p != axis for p, axis in constraints.items()):
            return None
        return {s.targets[0]: reduced_alignment(merged.domain, merged.axes, s.attrs.keepdims)}

    # ---- mending -----------------------------------------------------------------------------------

    def reads(self, unit: Unit) -> dict[Var, None]:
        """Values from outside that the members use, behind views."""
        found: dict[Var, None] = {}
        for s in unit.members.values():
            for a in s.args:
                root, _ = self.origin(a)
                if root is not None and root not in unit.members:
                    found[root] = None
        return found

    def outside_uses(self) -> dict[Var, list[Unit | None]]:
        """The readers of each value outside its own group; None stands for results, views and single statements."""
        uses: dict[Var, list[Unit | None]] = {}
        for unit in self.units.values():
            if unit.members:
                for v in self.reads(unit):
                    uses.setdefault(v, []).append(unit)
            elif unit.statement is not None:
                s = unit.statement
                for a in (*inputs_of(s), *(v for b in blocks_of(s) for v in free_variables(b))):
                    root, _ = self.origin(a)
                    if root is not None:
                        uses.setdefault(root, []).append(None)
        for a in self.block.results:
            root, _ = self.origin(a)
            if root is not None:
                uses.setdefault(root, []).append(None)
        return uses

    def evict(self, unit: Unit) -> None:
        """Values that others need but the group cannot store, for their shape, get a group of their own."""
        while unit.members:
            uses = self.outside_uses()
            odd = [v for v in unit.members if v in uses and not storable(v, unit)]
            if not odd:
                return
            shape = odd[0].aval.shape
            moved: dict[Var, Apply] = {}
            for v in odd:
                if v.aval.shape == shape:
                    self.ancestors(v, unit, moved)
            if len(moved) == len(unit.members):
                unit.domain = shape
                return
            new = self.new_unit("pointwise", shape)
            new.members = {v: s for v, s in unit.members.items() if v in moved}
            new.pred, new.hard = unit.pred, unit.hard
            unit.pred |= new.bit
            for v in moved:
                del unit.members[v]
                unit.pinned.pop(v, None)
                self.unit_of[v] = new
            for other in self.units.values():
                if other.pred & unit.bit:
                    other.pred |= new.bit
            self.evict(new)

    def ancestors(self, v: Var, unit: Unit, found: dict[Var, Apply]) -> None:
        if v in unit.members and v not in found:
            found[v] = unit.members[v]
            for a in found[v].args:
                root, _ = self.origin(a)
                if root is not None:
                    self.ancestors(root, unit, found)

    def recompute(self) -> None:
        """Make a value again in the groups that read it, where that moves fewer bytes than storing it."""
        uses = self.outside_uses()
        candidates = [v for u in self.units.values() for v in u.members if v in uses]
        for v in sorted(candidates, key=lambda v: -self.position[v]):
            home = self.unit_of[v]
            consumers = [u for u in uses[v] if u is not None]
            if len(consumers) != len(uses[v]) or any(self.too_long([u]) for u in consumers):
                continue
            stored = {w for w in home.members if w in uses and w is not v}
            closure: dict[Var, Apply] = {}
            leaves: dict[Var, None] = {}
            if not self.cheap_closure(v, home, stored, closure, leaves):
                continue
            extra = sum(w.aval.nbytes for u in consumers for w in leaves if w not in self.reads(u))
            if extra >= nbytes(v) * (len(consumers) + 1):
                continue
            for unit in consumers:
                unit.members = {**closure, **unit.members}
                for w in leaves:
                    uses.setdefault(w, [])
                    if unit not in uses[w]:
                        uses[w].append(unit)
            del uses[v]

    def cheap_closure(
        self, v: Var, home: Unit, stored: set[Var], closure: dict[Var, Apply], leaves: dict[Var, None]
    ) -> bool:
        if v not in home.members or v in stored:
            leaves[v] = None
            return True
        if v in closure:
            return True
        s = home.members[v]
        if isinstance(s.op, Reduce | Contract) or s.op.name in COSTLY | BITS or len(closure) >= 6:
            return False
        for a in s.args:
            root, _ = self.origin(a)
            if root is not None and not self.cheap_closure(root, home, stored, closure, leaves):
                return False
        closure[v] = s
        return True


def _live(block: Block) -> list[Statement]:
    """Statements whose results are used; all operations are pure."""
    used = {a for a in block.results if isinstance(a, Var)}
    kept: list[Statement] = []
    for s in reversed(block.statements):
        if used.isdisjoint(s.targets) and not may_raise(s):
            continue
        kept.append(s)
        used.update(a for a in inputs_of(s) if isinstance(a, Var))
        for inner in blocks_of(s):
            used.update(free_variables(inner))
    return kept[::-1]


def _fuse_inside(s: Statement, host: Iterable[Var], alone: Set[Var]) -> Statement:
    """Control flow with its blocks fused; a loop index and scalars carried from the host are host scalars."""
    match s:
        case Apply() | Fused() | Raise() | Invoke():
            return s
        case If():
            here = frozenset(host)
            return replace(s, then=_fuse_block(s.then, here, alone), orelse=_fuse_block(s.orelse, here, alone))
        case For():
            here = frozenset((*host, s.body.params[0], *_host_carried(s.body.params[1:], s.inits, host)))
            return replace(s, body=_fuse_block(s.body, here, alone))
        case While():
            tests = frozenset((*host, *_host_carried(s.condition.params, s.inits, host)))
            here = frozenset((*host, *_host_carried(s.body.params, s.inits, host)))
            return replace(s, condition=_fuse_block(s.condition, tests, alone), body=_fuse_block(s.body, here, alone))


def _host_carried(params: Sequence[Var], inits: Sequence[Atom], host: Iterable[Var]) -> Iterator[Var]:
    known = set(host)
    for p, a in zip(params, inits, strict=True):
        if not p.aval.shape and (isinstance(a, Const) or a in known):
            yield p


# ---- writing out ---------------------------------------------------------------------------------


class _Writer:
    """Units in an order that respects their dependences, as statements."""

    def __init__(self, fusion: Fusion) -> None:
        self.fusion = fusion
        self.uses = fusion.outside_uses()
        self.out: list[Statement] = []
        self.done: set[int] = set()
        self.asked = 0  # bits of units that somebody had to come behind: all but the first who ask find them done
        self.made: set[Var] = set()

    def run(self) -> Block:
        f = self.fusion
        for unit in f.units.values():
            self.write(unit)
        for a in f.block.results:
            self.view(a)
        return Block(f.block.params, tuple(self.out), f.block.results)

    def write(self, unit: Unit) -> None:
        if unit.index in self.done:
            return
        self.done.add(unit.index)
        while before := unit.pred & ~self.asked:
            low = before & -before
            self.asked |= low
            self.write(self.fusion.units[low.bit_length() - 1])
        if unit.statement is not None:
            s = unit.statement
            for a in (*inputs_of(s), *(v for b in blocks_of(s) for v in free_variables(b))):
                self.view(a)
            self.out.append(s)
        elif unit.members:
            self.write_group(unit)

    def view(self, a: Atom) -> None:
        """Append the views that `a` is made by, once."""
        if isinstance(a, Var) and a in self.fusion.free and a not in self.made:
            s = self.fusion.free[a]
            for operand in s.args:
                self.view(operand)
            self.made.add(a)
            self.out.append(s)

    def write_group(self, unit: Unit) -> None:
        targets = [v for v in unit.members if v in self.uses and self.fusion.unit_of[v] is unit]
        targets.sort(key=self.fusion.position.__getitem__)
        if not targets:
            return
        needed: dict[Var, Apply] = {}
        for t in targets:
            self.need(t, unit, needed)
        statements = sorted(needed.values(), key=lambda s: self.fusion.position[s.targets[0]])
        if sum(isinstance(s.op, COMPUTE) for s in statements) < 2:
            for s in statements:
                if isinstance(s.op, COMPUTE):
                    for a in s.args:
                        self.view(a)
                    self.out.append(s)
            return
        kind = unit.kind
        if kind != "pointwise" and not any(isinstance(s.op, Reduce | Contract) for s in statements):
            kind = "pointwise"  # what the reduction was for is made elsewhere
        for shape in dict.fromkeys(t.aval.shape if kind == "pointwise" else () for t in targets):
            own = [t for t in targets if kind != "pointwise" or t.aval.shape == shape]
            self.out.append(close([needed[v] for v in self.order(own, needed)], own, kind))

    def order(self, targets: Sequence[Var], needed: dict[Var, Apply]) -> list[Var]:
        """The statements that the targets are made of, among `needed`, in program order."""
        found: set[Var] = set()
        todo = list(targets)
        while todo:
            v = todo.pop()
            if v in needed and v not in found:
                found.add(v)
                todo += [a for a in needed[v].args if isinstance(a, Var)]
        return sorted(found, key=self.fusion.position.__getitem__)

    def need(self, v: Var, unit: Unit, needed: dict[Var, Apply]) -> None:
        s = unit.members.get(v) or self.fusion.free.get(v)
        if s is None or v in needed:
            return
        needed[v] = s
        for a in s.args:
            if isinstance(a, Var):
                self.need(a, unit, needed)
