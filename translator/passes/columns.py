"""Arrays that a loop goes through column by column, turned: what it reads and stores in a turn lies in one piece.

    before                                   after
    for k in range(1, 60):                   t = y.transpose(2, 0, 1)
        y[:, :, k] -= c * y[:, :, k - 1]     for k in range(1, 60):
                                                 t[k] -= c * t[k - 1]
                                             y = t.transpose(1, 2, 0)

Each element of a column comes from a line of the cache of its own, which is read anew for every column: eight times the
memory, and no vectors. A transpose goes over the array twice. Loops behind each other share one, and arrays that begin
empty need none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import field, replace

from .. import ops
from ..checked import Checked
from ..errors import Span
from ..ir import (
    Apply,
    Atom,
    Block,
    For,
    Function,
    If,
    Raise,
    Statement,
    Var,
    While,
    blocks_of,
    free_variables,
    inputs_of,
    uses_of,
    walk,
    with_blocks,
    with_statements,
)
from ..ops.core import At, AxesAttrs, Create, CreateAttrs, Dyn, Index, IndexAttrs, Put, Run
from ..records import dataclass
from ..rewrite import prune

LEAST = 1 << 18  # bytes of an array: less stays in the second cache
COLUMN = 1 << 8  # elements of a column that are read or stored at once
NARROW = 64  # bytes that lie beside each other in a column: fewer are a part of a line of the cache

WORTH = 1.5  # elements that may be moved for one in a column that is not taken from a line of its own

Order = tuple[int, ...]


def columns(function: Function) -> Function:
    """Apply to the loops of a program; the same function object where there is nothing to turn."""
    loops = [s for s in walk(function.body) if isinstance(s, For)]
    if not any(_is_large(a) for s in loops for a in (*s.inits, *free_variables(s.body))):
        return function
    turner = _Turner(Checked(function), uses_of(function.body))
    body = turner.block(function.body, {})
    return replace(function, body=prune(body)) if turner.turned else function


def _is_large(a: Atom) -> bool:
    return isinstance(a, Var) and a.aval.ndim > 1 and a.aval.nbytes >= LEAST


@dataclass
class _Family:
    """Arrays that are versions of one: what a loop carries, what its body makes of it by stores, what branches join."""

    members: set[Var] = field(default_factory=set)
    fixed: bool = False  # also used as it is
    axes: set[int] | None = None  # along which every use takes one element
    dynamic: bool = False
    touched: int = 0  # elements in all turns


class _Families:
    """The families of a loop's body."""

    def __init__(self, loop: For, checked: Checked) -> None:
        self._of: dict[Var, _Family] = {}
        self._checked = checked
        self._carry(loop.body.params[1:], loop.body.results)
        self._block(loop.body, _turns(loop))
        for s in walk(loop.body):
            if not _keeps_family(s):
                for t in s.targets:
                    self._fix(t)

    def all(self) -> Iterator[_Family]:
        return iter({id(family): family for family in self._of.values()}.values())

    def _family(self, v: Var) -> _Family:
        found = self._of.get(v)
        if found is None:
            found = self._of[v] = _Family({v})
        return found

    def _join(self, *atoms: Atom) -> None:
        known = [a for a in atoms if isinstance(a, Var) and a.aval.ndim > 1]
        if not known:
            return
        one = self._family(known[0])
        one.fixed |= len(known) < len(atoms)
        for v in known[1:]:
            other = self._family(v)
            if other is one:
                continue
            one.members |= other.members
            one.fixed |= other.fixed
            one.dynamic |= other.dynamic
            one.touched += other.touched
            one.axes = other.axes if one.axes is None else one.axes if other.axes is None else one.axes & other.axes
            for m in other.members:
                self._of[m] = one

    def _fix(self, a: Atom) -> None:
        if isinstance(a, Var) and a.aval.ndim > 1:
            self._family(a).fixed = True

    def _carry(self, params: Sequence[Var], results: Sequence[Atom]) -> None:
        for p, r in zip(params, results, strict=True):
            self._join(p, r)

    def _block(self, block: Block, turns: int) -> None:
        for s in block.statements:
            self._statement(s, turns)

    def _statement(self, s: Statement, turns: int) -> None:
        match s:
            case Apply(op=Index() | Put()):
                self._part(s, turns)
            case If():
                for t, a, b in zip(s.targets, s.then.results, s.orelse.results, strict=True):
                    self._join(t, a, b)
            case For() | While():
                params = s.body.params[1:] if isinstance(s, For) else s.body.params
                for t, i, p, r in zip(s.targets, s.inits, params, s.body.results, strict=True):
                    self._join(t, i, p, r)
                if isinstance(s, While):
                    for c, p in zip(s.condition.params, s.body.params, strict=True):
                        self._join(c, p)
            case _:
                shown = s.body.results if isinstance(s, Raise) else ()
                for a in (*inputs_of(s), *shown):
                    self._fix(a)
        for inner in blocks_of(s):
            self._block(inner, turns * (_turns(s) if isinstance(s, For) else 1))

    def _part(self, s: Apply, turns: int) -> None:
        """A part of an array is read or stored."""
        attrs, base = s.attrs, s.args[0]
        assert isinstance(attrs, IndexAttrs)
        for a in s.args[1:]:
            self._fix(a)
        if isinstance(s.op, Put):
            self._join(s.targets[0], base)
        if not isinstance(base, Var) or base.aval.ndim < 2:
            return
        family = self._family(base)
        axes = {k for k, d in enumerate(attrs.dims) if isinstance(d, At)}
        family.fixed |= attrs.gathers or self._checked.apply(s)  # an error names the axis
        family.axes = axes if family.axes is None else family.axes & axes
        family.dynamic |= any(isinstance(d, At) and isinstance(d.index, Dyn) for d in attrs.dims)
        family.touched += turns * math.prod(d.size for d in attrs.dims if isinstance(d, Run))


def _keeps_family(s: Statement) -> bool:
    return isinstance(s, If | For | While) or (isinstance(s, Apply) and isinstance(s.op, Put))


def _turns(loop: For) -> int:
    known = loop.range.static()
    return 1 if known is None else len(known)


Known = dict[tuple[Var, Order], Var]
"""What is known to be the transpose of an array."""


class _Turner:
    """Writes blocks again. `turned`: whether anything was."""

    def __init__(self, checked: Checked, uses: Counter[Var]) -> None:
        self._checked, self._uses = checked, uses
        self._created: dict[Var, Apply] = {}
        self.turned = False

    def block(self, block: Block, known: Known) -> Block:
        known = dict(known)
        out: list[Statement] = []
        for s in block.statements:
            if isinstance(s, Apply) and isinstance(s.op, Create):
                self._created[s.targets[0]] = s
            orders = self._orders(s, known) if isinstance(s, For) else {}
            if isinstance(s, For) and orders:
                out += self._loop(s, orders, known)
            else:
                out.append(with_blocks(s, lambda b: self.block(b, known)))
        return with_statements(block, out)

    def _orders(self, loop: For, known: Known) -> dict[Var, Order]:
        """In which order of axes the loop had better have which arrays, under all their names."""
        if not any(map(_is_large, (*loop.inits, *free_variables(loop.body)))):
            return {}
        families = _Families(loop, self._checked)
        found: dict[Var, Order] = {}
        for family in families.all():
            order = _order(family)
            if order is not None and self._transposes(loop, family, order, known) <= WORTH * family.touched:
                found |= dict.fromkeys(family.members, order)
        return found

    def _transposes(self, loop: For, family: _Family, order: Order, known: Known) -> int:
        """How many elements are moved before the loop, and behind it."""
        carried = dict(zip(loop.body.params[1:], zip(loop.inits, loop.targets, strict=True), strict=True))
        outside = [carried[v][0] for v in family.members & carried.keys()]
        outside += family.members & set(free_variables(loop.body))
        moved = sum(1 for a in outside if a not in self._created and (a, order) not in known)
        behind = sum(1 for v in family.members & carried.keys() if self._uses[carried[v][1]])
        return (moved + behind) * next(iter(family.members)).aval.size

    def _loop(self, s: For, orders: Mapping[Var, Order], known: Known) -> Iterator[Statement]:
        self.turned = True
        body = _Body(orders)
        for v in free_variables(s.body):
            if v in orders:
                body.names[v] = yield from self._outside(v, orders[v], known, s.span)
        inits, targets, behind = list(s.inits), list(s.targets), []
        for k, p in enumerate(s.body.params[1:]):
            if p in orders:
                order, init, target = orders[p], inits[k], targets[k]
                assert isinstance(init, Var)
                inits[k] = yield from self._outside(init, order, known, s.span)
                targets[k] = known[target, order] = _var(target, order)
                behind.append(_transpose(targets[k], target, _inverse(order), s.span))
        yield replace(s, targets=tuple(targets), inits=tuple(inits), body=body.block(s.body))
        yield from behind

    def _outside(self, v: Var, order: Order, known: Known, span: Span) -> Generator[Statement, None, Var]:
        """The transpose of an array of outside the loop, and what makes it."""
        found = known.get((v, order))
        if found is None:
            found = known[v, order] = _var(v, order)
            created = self._created.get(v)
            if created is not None and isinstance(created.attrs, CreateAttrs):
                yield replace(created, targets=(found,), attrs=replace(created.attrs, shape=found.aval.shape))
            else:
                yield _transpose(v, found, order, span)
        return found


def _order(family: _Family) -> Order | None:
    """The axes along which columns are taken in front; None where the loop may have the array as it is."""
    aval = next(iter(family.members)).aval
    axes = sorted(family.axes or ())
    rest = [k for k in range(aval.ndim) if k not in axes]
    if family.fixed or not family.dynamic or aval.nbytes < LEAST or axes == list(range(len(axes))):
        return None
    beside = math.prod(aval.shape[axes[-1] + 1 :]) * aval.dtype.itemsize
    column = math.prod(aval.shape[k] for k in rest)
    return (*axes, *rest) if beside < NARROW and column >= COLUMN else None


def _var(v: Var, order: Order) -> Var:
    return Var(v.hint, replace(v.aval, shape=tuple(v.aval.shape[k] for k in order)))


def _inverse(order: Order) -> Order:
    return tuple(order.index(k) for k in range(len(order)))


def _transpose(x: Var, target: Var, order: Order, span: Span) -> Apply:
    return Apply((target,), ops.TRANSPOSE, (x,), AxesAttrs(order), span)


class _Body:
    """Writes the body of a loop again, with arrays in other orders of their axes; `names` are those they have there."""

    def __init__(self, orders: Mapping[Var, Order]) -> None:
        self._orders = orders
        self.names: dict[Var, Var] = {}

    def block(self, block: Block) -> Block:
        statements = tuple(map(self._statement, block.statements))
        return Block(self._all(block.params), statements, tuple(map(self._atom, block.results)))

    def _atom(self, a: Atom) -> Atom:
        return self._name(a) if isinstance(a, Var) else a

    def _name(self, v: Var) -> Var:
        if v not in self._orders:
            return v
        if v not in self.names:
            self.names[v] = _var(v, self._orders[v])
        return self.names[v]

    def _all(self, variables: Sequence[Var]) -> tuple[Var, ...]:
        return tuple(map(self._name, variables))

    def _statement(self, s: Statement) -> Statement:
        match s:
            case Apply(op=Index() | Put(), args=(Var() as base, *others), attrs=IndexAttrs(dims=dims)):
                if base not in self._orders:
                    return s
                turned = IndexAttrs(tuple(dims[k] for k in self._orders[base]))
                return replace(s, targets=self._all(s.targets), args=(self._name(base), *others), attrs=turned)
            case If():
                return replace(
                    s, targets=self._all(s.targets), then=self.block(s.then), orelse=self.block(s.orelse)
                )
            case For():
                inits = tuple(map(self._atom, s.inits))
                return replace(s, targets=self._all(s.targets), inits=inits, body=self.block(s.body))
            case While():
                inits = tuple(map(self._atom, s.inits))
                condition, body = self.block(s.condition), self.block(s.body)
                return replace(s, targets=self._all(s.targets), inits=inits, condition=condition, body=body)
        return with_blocks(s, self.block)
