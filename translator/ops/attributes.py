"""Attributes of operations, one class a family, all hashable; and how an index is described, entry by entry."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal, assert_never

from ..ir import Aval, DType, Shape
from ..records import dataclass

SortKind = Literal["quicksort", "heapsort", "stable"]


@dataclass(frozen=True, slots=True)
class NoAttrs:
    pass


NO_ATTRS = NoAttrs()


@dataclass(frozen=True, slots=True)
class CastAttrs:
    """`weak`: casts a scalar to a Python number, as int(x), float(x) and complex(x) do.

    `widens`: not the user's cast, but one that lets a variable hold numbers of several kinds (`passes.kinds`).
    """

    dtype: DType
    weak: bool = False
    widens: bool = False


@dataclass(frozen=True, slots=True)
class ReduceAttrs:
    """`axes` are sorted and non-negative."""

    axes: tuple[int, ...]
    keepdims: bool = False


@dataclass(frozen=True, slots=True)
class ArgReduceAttrs:
    axis: int
    keepdims: bool = False


@dataclass(frozen=True, slots=True)
class CumulativeAttrs:
    axis: int


@dataclass(frozen=True, slots=True)
class SortAttrs:
    """`places`: where the order must hold, as of np.partition; nothing for all of them.

    `kind`: which of the orders of equal elements argsort gives, by the algorithm that NumPy knows under the name. What
    cannot call NumPy gives the stable one.
    """

    axis: int
    places: tuple[int, ...] = ()
    kind: SortKind = "stable"

    @property
    def is_stable(self) -> bool:
        return self.kind == "stable" and not self.places


@dataclass(frozen=True, slots=True)
class FourierAttrs:
    """`axes`: distinct; a real transform takes the last of them. `size`: of the result of irfft along that one."""

    axes: tuple[int, ...]
    size: int = 0


@dataclass(frozen=True, slots=True)
class ContractAttrs:
    """A product of two arrays as in einsum: labels per axis. Labels missing from `out` are summed.

    No label occurs twice in one operand; each label of `out` occurs in an operand; a summed label occurs in both.
    """

    lhs: tuple[int, ...]
    rhs: tuple[int, ...]
    out: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShapeAttrs:
    """The target shape of reshape and broadcast_to."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class AxesAttrs:
    """transpose: the permutation; expand_dims: sorted axes of the result; squeeze: sorted axes of the operand."""

    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConcatenateAttrs:
    axis: int


@dataclass(frozen=True, slots=True)
class CreateAttrs:
    """`follows`: whether the dtype was not asked for, but is what the value's happens to be."""

    shape: Shape
    dtype: DType
    follows: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Dyn:
    """An index known only at run time: the position of an integer scalar among the operation's arguments."""

    arg: int


@dataclass(frozen=True, slots=True)
class At:
    """One element of an axis, which disappears. A static index is not negative; a Dyn one may be, as in NumPy."""

    index: int | Dyn


@dataclass(frozen=True, slots=True)
class Run:
    """`size` elements of an axis from `start` in steps of `step` (not 0, may be negative). All are inside the axis."""

    start: int | Dyn
    size: int
    step: int = 1

    def starts(self, n: int) -> tuple[int, int]:
        """The first and the last place of an axis of `n` elements where it may start; it is not empty."""
        reach = (self.size - 1) * abs(self.step)
        return (0, n - 1 - reach) if self.step > 0 else (reach, n - 1)


@dataclass(frozen=True, slots=True)
class Gather:
    """Elements chosen by an integer array: the position of that array among the operation's arguments."""

    arg: int


Dim = At | Run | Gather


def read_by(d: Dim) -> int | None:
    """The position of the argument that an entry reads."""
    match d:
        case At(index=Dyn(arg=a)) | Run(start=Dyn(arg=a)) | Gather(arg=a):
            return a
        case At() | Run():
            return None
        case _:
            assert_never(d)


def reading(d: Dim, place: int) -> Dim:
    """An entry that reads an argument, from another position."""
    match d:
        case At():
            return At(Dyn(place))
        case Run(size=size, step=step):
            return Run(Dyn(place), size, step)
        case Gather():
            return Gather(place)
        case _:
            assert_never(d)


@dataclass(frozen=True, slots=True)
class IndexAttrs:
    """One entry for each axis of the operand.

    index: args (x, *dynamic). put, put_add: args (x, value, *dynamic). Gathered arrays broadcast together, and their
    axes stand where NumPy puts them: in place when the advanced entries (Gather, and At beside a Gather) are adjacent,
    in front otherwise.
    """

    dims: tuple[Dim, ...]

    @property
    def gathers(self) -> bool:
        """Whether arrays of integers choose what is selected."""
        return any(isinstance(d, Gather) for d in self.dims)


@dataclass(frozen=True, slots=True)
class LinalgAttrs:
    """`full`: square orthogonal factors, as np.linalg.svd gives them, and np.linalg.qr for mode="complete"."""

    full: bool = False


@dataclass(frozen=True, slots=True)
class CollectiveAttrs:
    """The name of the mapped axis that is spoken over, and its size; for ppermute (source, destination) pairs."""

    axis: Any
    size: int
    pairs: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RuledAttrs:
    """How many of the arguments are the values handed on, and where their derivative comes from: a `derive.ruled.Rule`,
    compared by identity. Without one they are what they are, derivative and all. `batch` makes, for what is batched,
    the values of a batch: (builder, the inputs, which of them have a batch axis in front, size) -> values that have it.
    """

    count: int
    rule: Any = None
    batch: Any = None


@dataclass(frozen=True, slots=True)
class ItemAttrs:
    """What the entries of a tape are."""

    aval: Aval


Attrs = (
    NoAttrs
    | ItemAttrs
    | CastAttrs
    | ReduceAttrs
    | ArgReduceAttrs
    | CumulativeAttrs
    | SortAttrs
    | FourierAttrs
    | CollectiveAttrs
    | ContractAttrs
    | ShapeAttrs
    | AxesAttrs
    | ConcatenateAttrs
    | CreateAttrs
    | IndexAttrs
    | LinalgAttrs
    | RuledAttrs
)
