"""vmap: the program of one element becomes the program of a batch.

    def predict(w, b, x):                def predict_batched(w, b, x):      # in_axes=(None, None, 0)
        return np.tanh(w @ x + b)            return np.tanh(x @ w.T + b)

What does not depend on the batch is computed once. Where control flow differs between elements there are two forms:
lockstep (`control`) computes both sides of a branch and chooses, runs a loop until the last element is done and keeps
the values of those that are; or a loop over lanes (`lanes`), in which each element goes its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, assert_never

from .. import make, ops
from ..bounds import Interval, analyse
from ..builder import Builder
from ..errors import Diagnostic, ShapeError, UnsupportedError
from ..ir import (
    Apply,
    Atom,
    Aval,
    Block,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Statement,
    Var,
    While,
    blocks_of,
    inputs_of,
    walk,
)
from ..ops.core import Collective, IndexAttrs, RuledAttrs, Tape
from ..passes.dead import dead_code
from ..passes.flags import flags_off
from ..records import dataclass
from ..tree import LEAF, leaf_nodes, leaf_paths, with_leaf_nodes
from . import across as batch_across
from . import company as batch_company
from . import control as batch_control
from . import indexing as batch_index
from . import lanes as batch_lanes
from . import lists as batch_lists
from . import routines as batch_routines
from . import stores as batch_stores
from .rules import Value, apply, batched_aval, renamed, spread
from .spread import apart, batched_variables, read_in, speaks_over
from .turning import as_they_lie

Axis = int | None


def vmap(
    function: Function,
    in_axes: Sequence[Axis],
    out_axes: Sequence[Axis],
    size: int,
    lanes: batch_lanes.Lanes = batch_lanes.LOCKSTEP,
    notes: list[batch_lanes.LoopNote] | None = None,
    axis_name: Any = None,
) -> Function:
    """The function over a batch of `size` elements.

    in_axes    an axis for each of `function.body.params`; None: not batched.
    out_axes   an axis for each leaf of `function.out`; a result that does not depend on the batch is repeated along it.
    lanes      how control flow that differs between elements is run; what was chosen is appended to `notes`.
    axis_name  collectives over it become operations on the batch axis.

    Batched parameters that are written in place stay so. Raises ShapeError where a parameter that is not batched would
    receive batched values, where a batched result has the axis None, and where an axis is out of range.
    """
    if len(in_axes) != len(function.body.params) or len(out_axes) != function.out.leaf_count:
        raise ShapeError(
            f"{function.name} has {len(function.body.params)} parameter leaves and {function.out.leaf_count} result"
            f" leaves, vmap was given {len(in_axes)} in_axes and {len(out_axes)} out_axes"
        )
    function = batch_across.places_first(flags_off(function))
    batcher = Batcher(function, in_axes, size, lanes, axis_name)
    params = batcher.enter(in_axes)
    batcher.statements(function.body.statements)
    results = batcher.leave(function, in_axes, out_axes)
    body = batcher.b.block(params, results)
    if notes is not None:
        notes += batcher.notes
    nodes = zip(leaf_nodes(function.out), results, strict=False)  # an array of a batch has axes, whatever an element is
    out = with_leaf_nodes(function.out, (LEAF if a.aval.shape else node for node, a in nodes))
    made = dead_code(replace(function, name=f"{function.name}_batched", body=body, out=out))
    return as_they_lie(made) if {*in_axes, *out_axes} - {0, None} else made


def normal_axis(axis: int, ndim: int, what: str) -> int:
    """A non-negative axis of an array of rank `ndim`; ShapeError names `what` when there is none such."""
    if not -ndim <= axis < ndim:
        raise ShapeError(f"vmap: {what} has axis {axis}, which an array of dimension {ndim} does not have")
    return axis % ndim


@dataclass(frozen=True, slots=True)
class Mask:
    """Which elements really run the code being written, where lockstep runs it for all. `some`: whether any does.
    `company`: with whose values the others run it, where these matter."""

    lanes: Atom
    some: Atom
    company: batch_company.Company | None = None


class Batcher:
    """Writes the batched program into `b`, statement by statement."""

    def __init__(
        self,
        function: Function,
        in_axes: Sequence[Axis],
        size: int,
        lanes: batch_lanes.Lanes = batch_lanes.LOCKSTEP,
        axis_name: Any = None,
        together: bool = True,
    ) -> None:
        """`together`: elements begin a loop at the same time, so a counter may be the same for all."""
        mapped = [p for p, axis in zip(function.body.params, in_axes, strict=True) if axis is not None]
        self.function, self.size, self.lanes, self.axis_name = function, size, lanes, axis_name
        self.notes: list[batch_lanes.LoopNote] = []
        self.batched = batched_variables(function, mapped, axis_name, together)
        self.b = Builder(function.span)
        self.mapping: dict[Var, Atom] = {}
        self.mask: Mask | None = None
        self.chosen_later: set[Var] = set()  # only one side of an `np.where` that gets the name
        self.masked_stores: set[Var] = set()  # what they make; elements outside the mask keep what was there
        self.lengths: dict[Var, Atom] = {}  # of lists, how many entries each element has, where that differs
        self._intervals: dict[Var, Interval] | None = None

    @cached_property
    def makers(self) -> batch_stores.Makers:
        return batch_stores.makers_of(self.function.body)

    @cached_property
    def read(self) -> set[Var]:
        """All variables that a statement, a block or the caller reads."""
        return read_in(self.function.body)

    @property
    def intervals(self) -> dict[Var, Interval]:
        """Bounds of the integers of the program of one element, whether or not its branches are taken."""
        if self._intervals is None:
            self._intervals = analyse(self.function, refine=False)
        return self._intervals

    # values

    def value(self, a: Atom) -> Value:
        return Value(self.atom(a), isinstance(a, Var) and a in self.batched, a.aval)

    def atom(self, a: Atom) -> Atom:
        return self.mapping.get(a, a) if isinstance(a, Var) else a

    def as_target(self, a: Atom, target: Var) -> Atom:
        """The atom as the target needs it: with a batch axis if the target has one."""
        return spread(self.b, self.value(a), self.size) if target in self.batched else self.atom(a)

    def fresh(self, v: Var) -> Var:
        """The variable of the batched program; itself where it is not batched."""
        if v not in self.batched:
            return v
        new = Var(v.hint, batched_aval(v.aval, self.size))
        self.mapping[v] = new
        return new

    def define(self, target: Var, make_atom: Callable[[], Atom]) -> None:
        """`target` has the value that `make_atom` writes; the last statement written takes over the name."""
        count = len(self.b.statements)
        atom = make_atom()
        if len(self.b.statements) > count and target not in self.chosen_later:
            atom = renamed(self.b, atom, target.hint)
        self.mapping[target] = atom

    @contextmanager
    def block(self) -> Iterator[Builder]:
        """Write into a block of its own, which sees the definitions around it."""
        outer = self.b
        self.b = Builder(outer.span)
        self.b.definitions = outer.definitions
        try:
            yield self.b
        finally:
            self.b = outer

    @contextmanager
    def masked(
        self, lanes: Atom, block: Block, some: Atom | None = None, within: bool = False
    ) -> Iterator[Mask]:
        """What is written here counts only where `lanes` (and the mask around it, if that is not `within` it) is true;
        `some`: whether it is for any element."""
        used = set(atoms_used(block))
        self.chosen_later.update(r for r in block.results if isinstance(r, Var) and r not in used)
        outer = self.mask
        if outer is not None and not within:
            lanes = make.logical_and(self.b, outer.lanes, lanes)
        company = None if outer is None else outer.company
        self.mask = Mask(lanes, make.any(self.b, lanes) if some is None else some, company)
        try:
            yield self.mask
        finally:
            self.mask = outer

    # the program

    def enter(self, in_axes: Sequence[Axis]) -> list[Var]:
        """The parameters, and the batch axis moved to the front."""
        params: list[Var] = []
        for p, axis in zip(self.function.body.params, in_axes, strict=True):
            if axis is None:
                params.append(p)
                continue
            k = normal_axis(axis, p.aval.ndim + 1, "in_axes")
            shape = (*p.aval.shape[:k], self.size, *p.aval.shape[k:])
            param = Var(p.hint, Aval(shape, p.aval.dtype))
            params.append(param)
            self.mapping[p] = move_axis(self.b, param, k, 0)
        return params

    def leave(self, function: Function, in_axes: Sequence[Axis], out_axes: Sequence[Axis]) -> list[Atom]:
        """The results, the batch axis moved to where it is wanted; parameters written in place as they came."""
        axes = [*out_axes, *(in_axes[i] for i in function.mutated)]
        results: list[Atom] = []
        for k, (a, axis) in enumerate(zip(function.body.results, axes, strict=True)):
            v = self.value(a)
            if axis is not None:
                position = normal_axis(axis, v.aval.ndim + 1, "out_axes")
                results.append(move_axis(self.b, spread(self.b, v, self.size), 0, position))
            elif not v.batched:
                results.append(v.atom)
            elif k < len(out_axes):
                raise ShapeError(
                    Diagnostic(
                        f"vmap has mapped output, but its out_axes is None: {leaf_paths(function.out, 'result')[k]} of "
                        f"{function.name} differs between the elements of the mapped axis",
                        function.span,
                        instead="give it an axis in out_axes, or return what is the same for all",
                    )
                )
            else:
                name = function.body.params[function.mutated[k - len(out_axes)]].hint
                raise ShapeError(f"vmap: {name} is not batched, but is written in place with batched values")
        return results

    def statements(self, statements: Sequence[Statement]) -> None:
        for part, is_loop in batch_lanes.runs(self, statements):
            if is_loop:
                with self.b.at(part[0].span):
                    batch_lanes.loop(self, part)
                continue
            for s in part:
                with self.b.at(s.span):
                    self.statement(s)

    def statement(self, s: Statement) -> None:
        match s:
            case Apply():
                self.apply(s)
            case If():
                batch_control.branch(self, s)
            case For():
                batch_control.for_loop(self, s)
            case While():
                batch_control.while_loop(self, s)
            case Raise():
                batch_control.raising(self, s)
            case Invoke():
                batch_routines.invoke(self, s, vmap)
            case Fused():
                raise UnsupportedError("a program is batched before it is fused, not after")
            case _:
                assert_never(s)

    def apply(self, s: Apply) -> None:
        values: Sequence[Value] = [self.value(a) for a in s.args]
        if isinstance(s.op, Collective) and self.mask is not None:
            raise apart(s)
        if speaks_over(s, self.axis_name):
            self.define(s.targets[0], lambda: batch_across.told(self.b, s, values, self.size))
            return
        if isinstance(s.op, Tape) and any(v.batched for v in values):
            self.define(s.targets[0], lambda: batch_company.of_element(self, s, batch_lists.apply(self, s, values)))
            return
        if self.mask is not None:
            values = batch_control.guarded(self, s, batch_company.of_arrays(self, s, values), self.mask)
        if isinstance(s.attrs, RuledAttrs) and any(v.batched for v in values):
            self.ruled(s, values, s.attrs)
            return
        if not any(v.batched for v in values):
            args = tuple(v.atom for v in values)
            self.b.append(s if args == s.args else replace(s, args=args))
            return
        self.define(s.targets[0], lambda: self.result(s, values))

    def ruled(self, s: Apply, values: Sequence[Value], attrs: RuledAttrs) -> None:
        """Values with a rule of their own: the rule becomes that of the batch."""
        n = attrs.count
        lanes = [v.batched for v in values[n:]]
        if attrs.batch is not None and any(lanes):
            made = attrs.batch(self.b, [v.atom for v in values[n:]], lanes, self.size)
            self.mapping.update(zip(s.targets, made, strict=True))
            return
        rule = attrs.rule
        if rule is not None:
            solves, rule = rule.solves, rule.batched(lanes, self.size)
            rule.solves = solves
        atoms = [*(spread(self.b, v, self.size) for v in values[:n]), *(v.atom for v in values[n:])]
        targets = tuple(self.fresh(t) for t in s.targets)
        self.b.append(Apply(targets, s.op, tuple(atoms), RuledAttrs(n, rule), s.span))

    def result(self, s: Apply, values: Sequence[Value]) -> Atom:
        match s.attrs:
            case IndexAttrs() if s.op is ops.INDEX:
                made = batch_index.index(self.b, values, s.attrs, self.size)
                return batch_company.of_element(self, s, made)
            case IndexAttrs():
                lanes = self.mask.lanes if self.mask is not None and s.targets[0] in self.masked_stores else None
                return batch_index.put(self.b, s.op, values, s.attrs, self.size, lanes)
            case _:
                return apply(self.b, s.op, values, s.attrs, self.size)

    def body(self, block: Block, params: Sequence[Var], targets: Sequence[Var]) -> Block:
        """A block over fresh `params`, whose results have the batching of `targets`."""
        with self.block() as b:
            self.statements(block.statements)
            results = [self.as_target(r, t) for r, t in zip(block.results, targets, strict=True)]
            return b.block(params, results)


def atoms_used(block: Block) -> Iterator[Atom]:
    """What the statements of a block, and of the blocks in them, read."""
    for s in walk(block):
        yield from inputs_of(s)
        for inner in blocks_of(s):
            yield from inner.results


def move_axis(b: Builder, atom: Atom, source: int, target: int) -> Atom:
    """np.moveaxis(atom, source, target), by axes counted from the front."""
    if source == target:
        return atom
    order = [a for a in range(atom.aval.ndim) if a != source]
    order.insert(target, source)
    return make.transpose(b, atom, order)
