"""Lowered groups: what a kernel computes for an element of its domain, or for a row, as scalar values.

`lower` makes them of a group, `body` writes them in a language.
"""

from __future__ import annotations

from typing import Any

from ...translator.bounds import Status
from ...translator.errors import Span
from ...translator.ir import DType, Shape
from ...translator.ops.core import Cumulative, Elementwise, Reduce
from ...translator.records import dataclass
from .maps import Bounds, Map, Strides, Term
from .names import Names


@dataclass(frozen=True, slots=True)
class Load:
    """An element of the array parameter at this position. The argument, if there is one, says whether it is there."""

    param: int
    map: Map


@dataclass(frozen=True, slots=True)
class Chosen:
    """An axis along which the argument `arg` of a value chooses; `inside`: what is known of its indices.

    `size` is the axis' extent.
    """

    arg: int
    size: int
    inside: Status


@dataclass(frozen=True, slots=True)
class Look:
    """The element of an array parameter at a place that integers choose: `map` is of the other axes."""

    param: int
    map: Map
    chosen: tuple[Chosen | None, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a store: `map` covers the axes that no array indexes, `args` index the others.

    `positions`: the axes of the domain that the arrays of integers have.
    """

    map: Map
    chosen: tuple[Chosen | None, ...]
    args: tuple[Value, ...]
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A parameter passed by value."""

    param: int


@dataclass(frozen=True, slots=True)
class Number:
    value: Any


@dataclass(frozen=True, slots=True)
class Count:
    """A constant that follows from the extents (the n of a mean): passed by value, so that no source depends on it."""

    value: Any


@dataclass(frozen=True, slots=True)
class Position:
    """An index itself (iota)."""

    term: Term


@dataclass(frozen=True, slots=True)
class Inside:
    """Whether a store's slices have the element at these indices of the domain; if there is an argument, it holds too.

    `bounds`: (axis, the first index inside, the first one behind it), of which one is within the axis at least.
    """

    bounds: Bounds


@dataclass(frozen=True, slots=True)
class Call:
    """An elementwise operation on arguments converted to `dtypes`."""

    op: Elementwise
    dtypes: tuple[DType, ...]


@dataclass(frozen=True, slots=True)
class Convert:
    pass


@dataclass(frozen=True, slots=True)
class Fold:
    """The reduction of the argument along the row; `op` is sum, prod, max, min, any or all."""

    op: Reduce


@dataclass(frozen=True, slots=True)
class Scan:
    """The reductions of all that stands before an element in its row, and of it; `op` is cumsum or cumprod."""

    op: Cumulative


Source = Load | Look | Scalar | Number | Count | Position | Inside | Call | Convert | Fold | Scan


@dataclass(slots=True, eq=False)
class Value:
    """`along`: it varies along the row. `stage`: how many reductions, one after another, it needs finished first."""

    name: str
    dtype: DType
    source: Source
    args: tuple[Value, ...]
    along: bool
    stage: int
    span: Span


@dataclass(frozen=True, slots=True)
class Output:
    """A stored value; its position is a map over the result's own axes, which have these strides in elements."""

    value: Value
    aval_shape: Shape
    dtype: DType
    map: Map
    along: bool
    strides: Strides


@dataclass(slots=True)
class Lowered:
    """`values` are in an order in which they can be computed. `axes` are the reduced axes of the domain. `scalars` are
    the parameters that are passed by value."""

    domain: Shape
    axes: tuple[int, ...]
    values: list[Value]
    outputs: list[Output]
    names: Names
    scalars: frozenset[int]
    place: Place | None = None
