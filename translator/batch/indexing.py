"""Batched indexing: the batch axis is a full slice, or an `arange` once an index is batched, too.

x[i]                x batched: x[:, i]        i batched: x[i]        both: x[np.arange(n), i]
x[i : i + 3]        i batched: x[i[:, None] + np.arange(3)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from .. import make, ops
from ..builder import Builder
from ..ir import Atom, DType
from ..ops.core import At, Dim, Gather, IndexAttrs, Op, Put, Run, broadcast_shapes, gather_position, promote, read_by
from ..records import dataclass
from .rules import Value, pad, spread

Tag = tuple[str, int]  # an axis of the indexed result: ("lane", 0), ("run", entry) or ("gather", axis)
LANE: Tag = ("lane", 0)


@dataclass(frozen=True, slots=True)
class Place:
    """A batched index. `order[k]` is the axis of NumPy's result that is axis k of the wanted one, lanes first."""

    dims: tuple[Dim, ...]
    dyn: tuple[Atom, ...]
    order: tuple[int, ...]

    @property
    def is_ordered(self) -> bool:
        return self.order == tuple(range(len(self.order)))


def index(b: Builder, values: Sequence[Value], attrs: IndexAttrs, size: int) -> Atom:
    """x[...] where x, an index, or both are batched."""
    x = values[0]
    at = place(b, attrs, values, size, x.batched)
    return make.transpose(b, make.index(b, x.atom, at.dims, at.dyn), at.order)


def put(
    b: Builder, op: Op, values: Sequence[Value], attrs: IndexAttrs, size: int, lanes: Atom | None = None
) -> Atom:
    """A store into a batched array: into a batch of copies where the array was not batched. Elements that are not in
    `lanes` store what they have, or add what changes nothing.
    """
    assert isinstance(op, Put)
    x, value = spread(b, values[0], size), values[1]
    at = place(b, attrs, values, size, True)
    new = aligned(b, value, at)
    if lanes is not None:
        if promote([new.aval, x.aval]) != x.aval.dtype:
            new = make.astype(b, new, x.aval.dtype)
        after = len(at.order) - 1 - at.order[0]
        lanes = make.expand_dims(b, lanes, tuple(range(1, 1 + after)))
        new = make.where(b, lanes, new, make.index(b, x, at.dims, at.dyn) if op is ops.PUT else _nothing(x.aval.dtype))
    store = make.put if op is ops.PUT else make.put_add
    return store(b, x, new, at.dims, at.dyn)


def _nothing(dtype: DType) -> object:
    """What can be added to any number of this dtype, -0.0 too, and leaves it as it is."""
    return {"f": -0.0, "c": complex(-0.0, -0.0)}.get(dtype.kind, 0)


def aligned(b: Builder, v: Value, place: Place) -> Atom:
    """The stored value with its axes where the index has them."""
    ndim = len(place.order) - 1
    excess = max(0, v.aval.ndim - ndim)
    atom = make.squeeze(b, v.atom, tuple(range(v.batched, v.batched + excess)))
    missing = ndim - (v.aval.ndim - excess)
    if v.batched:
        atom = pad(b, atom, missing)
    elif place.is_ordered:
        return atom
    else:
        atom = make.expand_dims(b, atom, tuple(range(missing + 1)))
    return make.transpose(b, atom, [place.order.index(a) for a in range(ndim + 1)])


def place(b: Builder, attrs: IndexAttrs, values: Sequence[Value], size: int, lanes: bool) -> Place:
    """The batched form of an index into an array that has a batch axis if `lanes`."""
    gathered = [values[d.arg].aval.shape for d in attrs.dims if isinstance(d, Gather)]
    rank = len(broadcast_shapes(gathered, "index arrays")) if gathered else 0
    gathers: list[Tag] = [("gather", k) for k in range(rank)]
    runs: list[Tag] = [("run", k) for k, d in enumerate(attrs.dims) if isinstance(d, Run)]
    logical = _inserted(runs, gathers, gather_position(attrs.dims)) if gathered else runs

    arguments = [k for k in map(read_by, attrs.dims) if k is not None]
    if any(values[k].batched for k in arguments):
        return _gathering(b, attrs, values, size, lanes, logical, rank)
    dims = (Run(0, size), *attrs.dims)
    actual = _inserted([LANE, *runs], gathers, gather_position(dims)) if gathered else [LANE, *runs]
    return Place(dims, tuple(v.atom for v in values), _order(actual, logical))


def _gathering(
    b: Builder,
    attrs: IndexAttrs,
    values: Sequence[Value],
    size: int,
    lanes: bool,
    logical: list[Tag],
    rank: int,
) -> Place:
    """A batched index picks lane by lane: batched entries become index arrays of shape (size, runs, gathers)."""
    moved = [k for k, d in enumerate(attrs.dims) if isinstance(d, Run) and _is_batched(d, values)]
    inner = len(moved) + rank
    dims: list[Dim] = []
    dyn = [v.atom for v in values]

    def gather(array: Atom) -> Gather:
        dyn.append(array)
        return Gather(len(dyn) - 1)

    if lanes:
        dims.append(gather(pad(b, make.iota(b, size), inner)))
    for k, d in enumerate(attrs.dims):
        argument = read_by(d)
        if argument is None or not values[argument].batched:
            dims.append(d)
            continue
        v = values[argument]
        match d:
            case At():
                dims.append(gather(pad(b, v.atom, inner)))
            case Gather():
                dims.append(gather(pad(b, v.atom, inner - v.aval.ndim)))
            case Run(size=count, step=step):
                after = inner - 1 - moved.index(k)
                steps = make.multiply(b, make.iota(b, count), step)
                steps = make.expand_dims(b, steps, tuple(range(1, 1 + after)))
                dims.append(gather(make.add(b, pad(b, v.atom, inner), steps)))
            case _:
                assert_never(d)
    staying: list[Tag] = [("run", k) for k, d in enumerate(attrs.dims) if isinstance(d, Run) and k not in moved]
    advanced: list[Tag] = [LANE, *(("run", k) for k in moved), *(("gather", k) for k in range(rank))]
    actual = _inserted(staying, advanced, gather_position(tuple(dims)))
    return Place(tuple(dims), tuple(dyn), _order(actual, logical))


def _is_batched(d: Dim, values: Sequence[Value]) -> bool:
    argument = read_by(d)
    return argument is not None and values[argument].batched


def _inserted(runs: list[Tag], tags: list[Tag], position: int) -> list[Tag]:
    return [*runs[:position], *tags, *runs[position:]]


def _order(actual: list[Tag], logical: list[Tag]) -> tuple[int, ...]:
    return tuple(actual.index(t) for t in (LANE, *logical))
