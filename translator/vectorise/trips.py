"""The trips of a loop as a batch: an element at a linear place of an array becomes a slice of it.

for i in range(1, n):          x[1:n] - x[: n - 1]
    ... x[i] - x[i - 1]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import make, ops
from ..batch.company import in_company
from ..batch.lanes import Lanes
from ..batch.vmap import Batcher
from ..bounds import Interval, interval_of
from ..builder import Builder
from ..evaluate import apply_op
from ..ir import Apply, Atom, Block, Const, Function, Param, Var
from ..ops.core import At, Dim, Dyn, Elementwise, Gather, IndexAttrs, Run
from ..tree import tuple_tree
from .affine import Affine, Forms

PIECES = 4  # slices that one read may be composed of
ABSENT = 1024  # trips of which it is asked one by one whether they come to a place out of range
WIDEST = 16  # elements of a window (`x[i : i + 5]`) that is put together of slices; wider ones are gathered


def as_function(params: Sequence[Var], block: Block) -> Function:
    """A block as a function of its parameters, for passes that take functions; it may use what is around it."""
    tree = tuple_tree(len(block.results))
    body = Block(tuple(params), block.statements, block.results)
    return Function("trip", tuple(Param(p.hint) for p in params), body, tree)


class Trips(Batcher):
    """A batch of the trips of a loop, written into `b`. `inputs`: for each parameter of the trip its values in all of
    them. `forms` are the linear forms of integers of the trip."""

    def __init__(
        self,
        trip: Function,
        inputs: Sequence[Atom],
        size: int,
        lanes: Lanes,
        b: Builder,
        forms: Forms,
        known: Callable[[], dict[Var, Interval]],
    ) -> None:
        super().__init__(trip, [0] * len(inputs), size, lanes)
        self.b, self.forms, self.known = b, forms, known
        self.mapping.update(zip(trip.body.params, inputs, strict=True))

    @property
    def intervals(self) -> dict[Var, Interval]:
        return self.known()

    def apply(self, s: Apply) -> None:
        if s.op is ops.INDEX and isinstance(s.attrs, IndexAttrs) and not self.value(s.args[0]).batched:
            sliced = self.sliced(s, s.attrs)
            if sliced is not None:
                self.mapping[s.targets[0]] = in_company(self, sliced)
                return
        super().apply(s)

    def sliced(self, s: Apply, attrs: IndexAttrs) -> Atom | None:
        """An element, a row, ... of each trip as a slice along its axis; None where it is none."""
        moving = [k for k, d in enumerate(attrs.dims) if self.differs(s, d)]
        if len(moving) != 1 or attrs.gathers:
            return None
        axis, d = moving[0], attrs.dims[moving[0]]
        match d:
            case At(index=Dyn(arg=a)):
                return self.along(s, attrs, axis, s.args[a], 0)
            case Run(start=Dyn(arg=a), size=size, step=step) if size <= WIDEST:
                parts = [self.along(s, attrs, axis, s.args[a], k * step) for k in range(size)]
                known = [p for p in parts if p is not None]
                if not known or len(known) < size:
                    return None
                position = 1 + sum(isinstance(e, Run) for e in attrs.dims[:axis])
                columns = [make.expand_dims(self.b, p, position) for p in known]
                return make.concatenate(self.b, columns, position)
        return None

    def along(self, s: Apply, attrs: IndexAttrs, axis: int, index: Atom, shift: int) -> Atom | None:
        """The places `index + shift` of an axis, in all trips; the trips in front."""
        form = self.forms.of(index)
        if form is None or not form.scale:
            return None
        array, dyn = self.atom(s.args[0]), [self.atom(a) for a in s.args[1:]]
        dims = [self.renumbered(e) for e in attrs.dims]
        pieces = self.pieces(form.moved(shift), index, array.aval.shape[axis], shift)
        if pieces is None or len(pieces) > PIECES:
            return None
        made = []
        for start, count, step in pieces:
            if isinstance(start, Affine):
                dyn.append(start.first(self.b))
                run = Run(Dyn(len(dyn) - 1), count, step)
            else:
                run = Run(start, count, step)
            made.append(make.index(self.b, array, [*dims[:axis], run, *dims[axis + 1 :]], dyn))
        position = sum(isinstance(e, Run) for e in dims[:axis])
        whole = made[0] if len(made) == 1 else make.concatenate(self.b, made, position)
        order = [k for k in range(whole.aval.ndim) if k != position]
        return make.transpose(self.b, whole, (position, *order))

    def differs(self, s: Apply, d: Dim) -> bool:
        match d:
            case At(index=Dyn(arg=a)) | Run(start=Dyn(arg=a)) | Gather(arg=a):
                return self.value(s.args[a]).batched
        return False

    def renumbered(self, d: Dim) -> Dim:
        match d:
            case At(index=Dyn(arg=a)):
                return At(Dyn(a - 1))
            case Run(start=Dyn(arg=a), size=size, step=step):
                return Run(Dyn(a - 1), size, step)
        return d

    def pieces(self, form: Affine, index: Atom, n: int, shift: int) -> list[tuple[Any, int, int]] | None:
        """(start, count, step) of the slices that the places of all trips are, in their order."""
        if form.terms:
            reach = interval_of(index, self.known())
            inside = reach.within(-shift, n - 1 - shift)
            return [(form, self.size, form.scale)] if inside else None
        return slices(form, self.size, n, self.is_absent)

    def is_absent(self, trip: int) -> bool:
        """Whether a trip surely does not come to what is being written."""
        if self.mask is None:
            return False
        found = value_in(self.b, self.mask.lanes, trip)
        return found is not None and not found


def value_in(b: Builder, x: Atom, trip: int) -> Any:
    """What a number that differs between trips is in one of them; None where that depends on data."""
    if isinstance(x, Const):
        return x.value[trip] if x.aval.shape else x.value
    made = b.definitions.get(x)
    if made is None:
        return None
    if made.op is ops.IOTA:
        return np.asarray(trip, x.aval.dtype)
    if not isinstance(made.op, Elementwise):
        return None
    values = [value_in(b, a, trip) for a in made.args]
    if made.op is ops.WHERE and values[0] is not None:
        return values[1 if values[0] else 2]
    if made.op.name in _CONNECTIVES and x.aval.dtype.kind == "b":
        deciding = _CONNECTIVES[made.op.name]
        if any(v is not None and bool(v) is deciding for v in values):
            return deciding
    return None if any(v is None for v in values) else apply_op(made.op, values, made.attrs)


_CONNECTIVES = {"logical_and": False, "bitwise_and": False, "logical_or": True, "bitwise_or": True}


def slices(
    form: Affine, trips: int, n: int, is_absent: Callable[[int], bool] = lambda _: False
) -> list[tuple[Any, int, int]] | None:
    """The places as slices of an axis of n elements, negative ones counted from its end. For trips that do not come
    there any element will do. None where a place of another one is out of range: it raises an IndexError.
    """
    found: list[tuple[Any, int, int]] = []
    k = 0
    while k < trips:
        place = form.at(k)
        group = _group(place, n)
        stop = _end_of_group(form, k, trips, n, group)
        if group is None:
            if not n or stop - k > min(n, ABSENT) or not all(map(is_absent, range(k, stop))):
                return None
            found.append((0, stop - k, 1))
        else:
            found.append((place + group, stop - k, form.scale))
        k = stop
        if len(found) > PIECES:
            return None
    return found


def _group(place: int, n: int) -> int | None:
    """What is added to a place to count it from the front; None where it is out of range."""
    return 0 if 0 <= place < n else n if -n <= place < 0 else None


def _end_of_group(form: Affine, k: int, trips: int, n: int, group: int | None) -> int:
    low, high = k, trips  # the places are monotone: the last trip of the group by halving
    while high - low > 1:
        middle = (low + high) // 2
        if _group(form.at(middle), n) == group and (group is not None or (form.at(middle) < 0) == (form.at(k) < 0)):
            low = middle
        else:
            high = middle
    return low + 1
