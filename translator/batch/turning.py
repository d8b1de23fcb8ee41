"""Batch axes other than the first: arrays are computed with as they lie.

    before                                          after
    return (np.sin(x.T) * 2).T                      return np.sin(x) * 2
    return np.sum(x.T, axis=1)                      return np.sum(x, axis=0)
    t = np.exp(x.T - np.max(x.T, axis=1, ...))      t = np.exp(x - np.max(x, axis=0, ...))
    return (x.T @ a.T).T                            return a @ x

Batched values have the batch axis in front, so an argument with another one begins as a transpose. Transposes move
through operations towards the results, where one meets what `out_axes` asks for, or becomes part of a product. What
cannot be moved through has its operands as they were, and a program that would not have fewer or smaller transposes
stays. So do arguments of a call that lie in another order than C's, which a program is given transposed (`as_given`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Aval, Block, Function, Statement, Var, free_variables, inputs_of
from ..ops.core import (
    ArgReduce,
    ArgReduceAttrs,
    AxesAttrs,
    Cast,
    Concatenate,
    ConcatenateAttrs,
    Contract,
    ContractAttrs,
    Cumulative,
    CumulativeAttrs,
    Elementwise,
    Index,
    IndexAttrs,
    Put,
    Reduce,
    ReduceAttrs,
    Reshape,
    Run,
    Sort,
    SortAttrs,
)
from ..passes.dead import dead_code
from ..records import dataclass
from ..remake import remake
from ..rewrite import copy_statement
from .rules import renamed

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Turned:
    """A value that is `np.transpose(source, order)`."""

    source: Atom
    order: Order


def as_they_lie(function: Function) -> Function:
    """The function written so, where that has fewer or smaller transposes."""
    made = dead_code(replace(function, body=_Turner(function).body()))
    return made if _turns(made) < _turns(function) else function


@dataclass(frozen=True, slots=True)
class Given:
    """A program for arguments that do not lie in C's order. Parameter k is `np.transpose(x, orders[k])` of what the
    caller has, and his result i is `np.transpose(result, results[i])`. Final values lie as their parameters do.
    """

    function: Function
    orders: Mapping[int, Order]
    results: Mapping[int, Order]


def as_given(function: Function, orders: Mapping[int, Order], ordered: Container[int]) -> Given:
    """The program for these orders. Results may lie as the arguments do, but those that are `ordered` in C's order.

    return x - np.mean(x, axis=0)                   with {0: (1, 0)}, and the result given as {0: (1, 0)}:
    return x - np.expand_dims(np.mean(x, axis=1), 1)
    """
    turner = _Turner(function, turns_products=False)
    params = list(function.body.params)
    for k, order in orders.items():
        p = params[k]
        params[k] = Var(p.hint, Aval(tuple(p.aval.shape[a] for a in order), p.aval.dtype))
        turner.turned[p] = Turned(params[k], _inverse(order))
    turner.statements()
    results: list[Atom] = []
    found: dict[int, Order] = {}
    count = function.out.leaf_count
    for i, r in enumerate(function.body.results):
        t = None if isinstance(r, Var) and r in turner.mapping else turner.turning(r)
        lies = orders.get(function.mutated[i - count]) if i >= count else None
        if i < count and i not in ordered and t is not None:
            found[i] = t.order
            results.append(t.source)
        elif lies is not None and t is not None and t.order == _inverse(lies):
            results.append(t.source)
        else:
            x = turner.plain(r)
            results.append(x if lies is None else make.transpose(turner.b, x, lies))
    return Given(dead_code(replace(function, body=turner.b.block(params, results))), orders, found)


def _inverse(order: Order) -> Order:
    return tuple(order.index(a) for a in range(len(order)))


def _turns(function: Function) -> tuple[int, int]:
    """How many transposes a reader sees, those of the operands of products of matrices among them; of how many
    elements.
    """
    count = size = 0
    for s in function.body.statements:
        if isinstance(s, Apply) and s.op is ops.TRANSPOSE:
            count, size = count + 1, size + s.targets[0].aval.size
        elif isinstance(s, Apply) and isinstance(s.attrs, ContractAttrs):
            count += _turned_operands(s.attrs.lhs, s.attrs.rhs, s.attrs.out)
    return count, size


def _turned_operands(lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int]) -> int:
    """Of a product of two matrices; of others none."""
    if not len(lhs) == len(rhs) == len(out) == 2:
        return 0
    first, second = (lhs, rhs) if out[1] in rhs else (rhs, lhs)
    return (first[1] in out) + (second[0] in out)


class _Turner:
    """Writes the program again. `turns_products`: products of matrices may be given transposed."""

    def __init__(self, function: Function, turns_products: bool = True) -> None:
        self.function = function
        self.turns_products = turns_products
        self.b = Builder(function.span)
        self.mapping: dict[Var, Atom] = {}
        self.turned: dict[Var, Turned] = {}

    def body(self) -> Block:
        self.statements()
        given = self.function.body
        return self.b.block(given.params, [self.plain(r) for r in given.results])

    def statements(self) -> None:
        for s in self.function.body.statements:
            with self.b.at(s.span):
                if not (isinstance(s, Apply) and len(s.targets) == 1 and self.moved(s, s.targets[0])):
                    self.copied(s)

    def copied(self, s: Statement) -> None:
        for a in (*inputs_of(s), *free_variables(Block((), (s,), ()))):
            self.plain(a)
        self.b.append(copy_statement(s, self.mapping))

    def plain(self, a: Atom) -> Atom:
        """The value as the program had it."""
        if isinstance(a, Var) and a in self.turned and a not in self.mapping:
            t = self.turned[a]
            self.mapping[a] = renamed(self.b, make.transpose(self.b, t.source, t.order), a.hint)
        return self.mapping.get(a, a) if isinstance(a, Var) else a

    def turning(self, a: Atom) -> Turned | None:
        return self.turned.get(a) if isinstance(a, Var) else None

    def moved(self, s: Apply, target: Var) -> bool:
        """Whether the statement was written on what its operands are transposes of."""
        if isinstance(s.op, Elementwise | Cast):
            return self.elementwise(s, target)
        if isinstance(s.op, Concatenate):
            return self.joined(s, target)
        if isinstance(s.op, Contract):
            return self.product(s, target)
        first = self.turning(s.args[0]) if s.args else None
        if isinstance(s.op, Reshape) and s.op is ops.TRANSPOSE:
            assert isinstance(s.attrs, AxesAttrs)
            given = first or Turned(self.plain(s.args[0]), tuple(range(target.aval.ndim)))
            return self.define(target, given.source, tuple(given.order[a] for a in s.attrs.axes), made=False)
        return first is not None and self.along_axes(s, target, first)

    def define(self, target: Var, source: Atom, order: Order, made: bool = True) -> bool:
        """`target` is a transpose of `source`, which the last statement has `made`."""
        if made:
            source = renamed(self.b, source, target.hint)
        if order == tuple(range(len(order))):
            self.mapping[target] = source
        else:
            self.turned[target] = Turned(source, order)
        return True

    def elementwise(self, s: Apply, target: Var) -> bool:
        found = [t for a in s.args if (t := self.turning(a)) is not None and len(t.order) == target.aval.ndim]
        if not found:
            return False
        order = found[0].order
        if not all(self.fits(a, order) for a in s.args):
            return False
        made = remake(self.b, s.op, [self.aligned(a, order) for a in s.args], s.attrs)
        return self.define(target, made, order)

    def fits(self, a: Atom, order: Order) -> bool:
        """Whether an operand broadcasts against what is turned without a transpose of its own."""
        t = self.turning(a)
        if t is not None and len(t.order) == len(order):
            return t.order == order
        places = self.axes_of(a, order)[1]
        return places == sorted(places)

    def aligned(self, a: Atom, order: Order) -> Atom:
        """The operand beside the sources: axes of size 1 between its own."""
        t = self.turning(a)
        if t is not None and len(t.order) == len(order):
            return t.source
        x, places = self.axes_of(a, order)
        new = [k for k in range(len(order)) if places and k > places[0] and k not in places]
        return make.expand_dims(self.b, x, [k - places[0] for k in new]) if new else x

    def axes_of(self, a: Atom, order: Order) -> tuple[Atom, list[int]]:
        """The operand without axes that it only has to be broadcast, and the axes of the sources that its own meet."""
        x = self.plain(a)
        own = list(range(len(order) - x.aval.ndim, len(order)))
        made = make.definition(self.b, x, ops.EXPAND_DIMS)
        if made is not None and isinstance(made.attrs, AxesAttrs):
            x, own = made.args[0], [j for k, j in enumerate(own) if k not in made.attrs.axes]
        return x, [order[j] for j in own]

    def along_axes(self, s: Apply, target: Var, t: Turned) -> bool:
        b, order = self.b, t.order
        match s.op, s.attrs:
            case Reduce(), ReduceAttrs(axes=axes, keepdims=keepdims):
                made = make.reduce(b, s.op, t.source, sorted(order[a] for a in axes), keepdims)
                return self.define(target, made, order if keepdims else _without(order, axes))
            case ArgReduce(), ArgReduceAttrs(axis=axis, keepdims=keepdims):
                made = make.emit(b, s.op, t.source, attrs=replace(s.attrs, axis=order[axis]))
                return self.define(target, made, order if keepdims else _without(order, (axis,)))
            case Cumulative() | Sort(), CumulativeAttrs() | SortAttrs():
                made = make.emit(b, s.op, t.source, attrs=replace(s.attrs, axis=order[s.attrs.axis]))
                return self.define(target, made, order)
            case Index(), IndexAttrs(dims=dims, gathers=False):
                args = [t.source, *map(self.plain, s.args[1:])]
                made = make.index(b, t.source, [dims[order.index(k)] for k in range(len(dims))], args)
                gone = [j for j, d in enumerate(dims) if not isinstance(d, Run)]
                return self.define(target, made, _without(order, gone))
            case Put(), IndexAttrs(gathers=False):
                return self.stored(s, target, t, s.attrs)
            case Reshape(name="squeeze"), AxesAttrs(axes=axes):
                made = make.squeeze(b, t.source, [order[a] for a in axes])
                return self.define(target, made, _without(order, axes))
            case Reshape(name="expand_dims"), AxesAttrs(axes=axes):
                places = list(order)
                for a in axes:
                    at = places[a] if a < len(places) else places[-1] + 1
                    places = [p + (p >= at) for p in places]
                    places.insert(a, at)
                made = make.expand_dims(b, t.source, sorted(places[a] for a in axes))
                return self.define(target, made, tuple(places))
        return False

    def stored(self, s: Apply, target: Var, t: Turned, attrs: IndexAttrs) -> bool:
        """A store of a value that lies as the array does, or is broadcast."""
        region = _without(t.order, [j for j, d in enumerate(attrs.dims) if not isinstance(d, Run)])
        if not self.fits(s.args[1], region):
            return False
        dims = tuple(attrs.dims[t.order.index(k)] for k in range(len(t.order)))
        args = [t.source, self.aligned(s.args[1], region), *map(self.plain, s.args[2:])]
        return self.define(target, make.emit(self.b, s.op, *args, attrs=replace(attrs, dims=dims)), t.order)

    def joined(self, s: Apply, target: Var) -> bool:
        assert isinstance(s.attrs, ConcatenateAttrs)
        found = [self.turning(a) for a in s.args]
        first = found[0]
        if first is None or any(t is None or t.order != first.order for t in found):
            return False
        made = make.concatenate(self.b, [t.source for t in found if t is not None], first.order[s.attrs.axis])
        return self.define(target, made, first.order)

    def product(self, s: Apply, target: Var) -> bool:
        assert isinstance(s.attrs, ContractAttrs)
        operands = []
        for a, labels in zip(s.args, (s.attrs.lhs, s.attrs.rhs), strict=True):
            t = self.turning(a)
            operands.append((self.plain(a), labels) if t is None else (t.source, _before(labels, t.order)))
        (x, lhs), (y, rhs) = operands
        out = s.attrs.out
        order = tuple(range(len(out)))
        if self.turns_products and _turned_operands(lhs, rhs, out[::-1]) + 1 < _turned_operands(lhs, rhs, out):
            order = order[::-1]
        return self.define(target, make.contract(self.b, x, y, lhs, rhs, _before(out, order)), order)


def _without(order: Order, gone: Sequence[int]) -> Order:
    """The order of the axes that stay where these axes of the transpose go."""
    kept = [p for j, p in enumerate(order) if j not in gone]
    return tuple(sorted(kept).index(p) for p in kept)


def _before(labels: Sequence[int], order: Order) -> tuple[int, ...]:
    """The labels of the source of a transpose with these labels."""
    return tuple(labels[order.index(k)] for k in range(len(order)))
