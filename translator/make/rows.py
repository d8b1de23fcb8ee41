"""Concatenation. Where the operands are pieces of one array beside each other, that array is read once instead:

    np.stack([x[0], x[1], x[2]])                    x[:3]
    np.array([x[i : i + 3] for i in range(n)])      x[np.arange(n)[:, None] + np.arange(3)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from ..builder import Builder
from ..errors import ShapeError
from ..ir import Atom
from ..ops.core import At, ConcatenateAttrs, Gather, IndexAttrs, Run, promote
from ..records import dataclass
from .base import definition, emit, lift, normalize_axis
from .casts import astype
from .creation import iota
from .elementwise import add, multiply
from .indexing import index
from .shapes import expand_dims, transpose

FEW = 16  # slices: so many are read faster each for itself than element by element


def concatenate(b: Builder, xs: Sequence[Any], axis: int = 0) -> Atom:
    """Arrays of one rank joined along an axis, cast to their common dtype."""
    atoms = [lift(x) for x in xs]
    if not atoms:
        raise ShapeError("need at least one array to concatenate")
    if not atoms[0].aval.ndim:
        raise ShapeError("zero-dimensional arrays cannot be concatenated")
    normal = normalize_axis(axis, atoms[0].aval.ndim)
    atoms = _together(b, atoms, normal)
    dtype = promote([a.aval for a in atoms])
    cast = [astype(b, a, dtype) for a in atoms]
    if len(cast) == 1:
        return cast[0]
    return emit(b, ops.CONCATENATE, *cast, attrs=ConcatenateAttrs(normal))


@dataclass(frozen=True, slots=True)
class Piece:
    """What stands first along an axis of `x`: the row at `start`; with a `size`, so many of them."""

    x: Atom
    start: int
    size: int | None


@dataclass(slots=True)
class Pieces:
    """Operands that follow each other in `first.x`, each `step` behind the one before; where that is None, any one."""

    first: Piece | None
    atoms: list[Atom]
    step: int = 1

    def takes(self, piece: Piece | None, a: Atom) -> bool:
        """Whether `a` is the next one; then it is among them."""
        first = self.first
        if first is None or piece is None or piece.x is not first.x or piece.size != first.size:
            return False
        if len(self.atoms) == 1 and piece.size is not None:
            self.step = max(piece.start - first.start, 1)
        if piece.start != first.start + len(self.atoms) * self.step:
            return False
        self.atoms.append(a)
        return True

    def joined(self, b: Builder, axis: int) -> list[Atom]:
        """The operands, or what they are together."""
        first, count = self.first, len(self.atoms)
        if first is None or count < 2 or (first.size is not None and count <= FEW):
            return self.atoms
        others = [Run(0, n) for n in first.x.aval.shape[1:]]
        if first.size is None:
            part = index(b, first.x, [Run(first.start, count), *others])
        else:
            part = index(b, first.x, [Gather(0), *others], [_windows(b, first.start, count, self.step, first.size)])
        n = part.aval.ndim
        return [transpose(b, part, (*range(1, axis + 1), 0, *range(axis + 1, n))) if axis else part]


def _windows(b: Builder, start: int, count: int, step: int, size: int) -> Atom:
    """The places of so many windows, one in a row."""
    starts = iota(b, count)
    starts = multiply(b, starts, step) if step != 1 else starts
    starts = add(b, starts, start) if start else starts
    return add(b, expand_dims(b, starts, 1), iota(b, size))


def _together(b: Builder, atoms: Sequence[Atom], axis: int) -> list[Atom]:
    """The operands of a concatenation, with one in place of those that are pieces of one array beside each other."""
    groups: list[Pieces] = []
    for a in atoms:
        piece = _piece(b, a, axis)
        if not groups or not groups[-1].takes(piece, a):
            groups.append(Pieces(piece, [a]))
    return [x for group in groups for x in group.joined(b, axis)]


def _piece(b: Builder, a: Atom, axis: int) -> Piece | None:
    """Of which array `a` is a piece, with an axis of size 1 for that of the operands."""
    made = definition(b, a, ops.EXPAND_DIMS) or definition(b, a, ops.RESHAPE)
    value = made.args[0] if made is not None else a
    if a.aval.shape != (*value.aval.shape[:axis], 1, *value.aval.shape[axis:]):
        return None
    cast = definition(b, value, ops.ASTYPE)
    if cast is not None and cast.args[0].aval.dtype == value.aval.dtype:
        value = cast.args[0]
    taken = definition(b, value, ops.INDEX)
    if taken is None or not isinstance(taken.attrs, IndexAttrs) or len(taken.args) > 1:
        return None
    x, (first, *others) = taken.args[0], taken.attrs.dims
    if others != [Run(0, n) for n in x.aval.shape[1:]]:
        return None
    match first:
        case At(int(start)):
            return Piece(x, start, None)
        case Run(int(start), size, 1):
            return Piece(x, start, size)
    return None
