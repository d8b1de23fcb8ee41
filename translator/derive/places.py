"""Which elements of an array an index touches: whether two indices touch the same ones, or none in common.

    d_x[i] = 0.0                    # a store x[i] = f(x[i]) has been gone through
    d_x[i - 1] += d_t * a           # touches others
    d_x[i] += d_t                   # the same: the three are `d_x[i - 1] += d_t * a` and `d_x[i] = d_t`
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .. import ops
from ..errors import Span
from ..ir import Atom, For, Shape, Var, is_number, same_atom
from ..ops.core import At, Dim, Dyn, Gather, Put, Run, SortAttrs
from ..records import dataclass
from .differences import Makers, bounds_of, contradict, offset_of
from .linear import index_parts


@dataclass(frozen=True, slots=True)
class Place:
    """An index into an array of this shape, as `make.put` takes it."""

    shape: Shape
    dims: tuple[Dim, ...]
    dyn: tuple[Atom, ...]

    def same(self, other: Place, makers: Makers) -> bool:
        """Surely the same elements, in the same order."""
        return all(self._same(p, other, q, makers) for p, q in zip(self.dims, other.dims, strict=True))

    def apart(self, other: Place, makers: Makers, loops: Sequence[For] = ()) -> bool:
        """Surely no element in common in one trip of these loops: along one axis there is none."""
        sides = list(zip(self.dims, other.dims, self.shape, strict=True))
        if any(self._apart(p, other, q, n, makers) for p, q, n in sides):
            return True
        bounds = [b for s in loops for b in bounds_of(s, makers, {})]
        for p, q, _ in sides if bounds else ():
            if isinstance(p, At) and isinstance(q, At):
                (x, c), (y, d) = self._start(p.index, makers), other._start(q.index, makers)
                # Those below zero count from the end.
                if contradict([*bounds, (x, None, -1 - c)]) and contradict([*bounds, (y, None, -1 - d)]):
                    bounds += [(x, y, d - c), (y, x, c - d)]
        return bool(bounds) and contradict(bounds)

    def distinct(self, makers: Makers) -> bool:
        """Surely no element twice: there are no arrays of indices, one of those that go together is np.arange, or they
        are what sorts lines of the array.
        """
        arrays = [self.dyn[d.arg] for d in self.dims if isinstance(d, Gather)]
        if not arrays or any(_sorts(a, arrays, makers) for a in arrays):
            return True
        longest = max(a.aval.size for a in arrays)
        counted = [a for a in arrays if isinstance(a, Var) and a in makers and makers[a].op is ops.IOTA]
        return any(a.aval.ndim == 1 and a.aval.size == longest for a in counted) and all(
            a.aval.ndim <= 1 for a in arrays
        )

    def _same(self, p: Dim, other: Place, q: Dim, makers: Makers) -> bool:
        match p, q:
            case At(index=i), At(index=j):
                return self._start(i, makers) == other._start(j, makers)
            case Run(start=i, size=n, step=s), Run(start=j, size=m, step=t):
                return (n, s) == (m, t) and self._start(i, makers) == other._start(j, makers)
            case Gather(arg=a), Gather(arg=c):
                return same_atom(self.dyn[a], other.dyn[c])
            case _:
                return False

    def _apart(self, p: Dim, other: Place, q: Dim, n: int, makers: Makers) -> bool:
        if isinstance(p, Gather) or isinstance(q, Gather):
            return False
        base, mine = self._span(p, makers)
        theirs_base, theirs = other._span(q, makers)
        if base is not theirs_base:
            return False
        if not mine or not theirs:
            return True
        # Those below zero count from the end: places that differ by less than the length are others either way.
        (first, last), (begin, end) = (sorted((r[0], r[-1])) for r in (mine, theirs))
        low, high = first - end, last - begin
        if low <= -n or high >= n:
            return False
        return low > 0 or high < 0 or (mine[0] - theirs[0]) % math.gcd(mine.step, theirs.step) != 0

    def _span(self, d: At | Run, makers: Makers) -> tuple[Var | None, range]:
        """The places along an axis, counted from a value that only the run knows, or from nothing."""
        base, offset = self._start(d.index if isinstance(d, At) else d.start, makers)
        size, step = (d.size, d.step) if isinstance(d, Run) else (1, 1)
        return base, range(offset, offset + size * step, step)

    def _start(self, i: int | Dyn, makers: Makers) -> tuple[Var | None, int]:
        return offset_of(self.dyn[i.arg], makers) if isinstance(i, Dyn) else (None, i)


def _sorts(order: Atom, arrays: Sequence[Atom], makers: Makers) -> bool:
    """Whether an array of indices is np.argsort along an axis, and the others count the lines."""
    made = makers.get(order) if isinstance(order, Var) else None
    if made is None or not isinstance(made.attrs, SortAttrs) or made.op is not ops.ARGSORT:
        return False
    shape = order.aval.shape
    if np.broadcast_shapes(*(a.aval.shape for a in arrays)) != shape:
        return False  # what sorts stands there several times
    lines = [i for i, n in enumerate(shape) if i != made.attrs.axis and n > 1]
    return all(any(_counts(a, i, shape, makers) for a in arrays) for i in lines)


def _counts(a: Atom, axis: int, shape: Shape, makers: Makers) -> bool:
    """Whether an array is np.arange along this axis of a shape that it broadcasts to."""
    if a.aval.ndim != len(shape) or a.aval.shape[axis] != shape[axis] or a.aval.size != shape[axis]:
        return False
    while isinstance(a, Var) and a in makers and makers[a].op in (ops.EXPAND_DIMS, ops.RESHAPE):
        a = makers[a].args[0]
    return isinstance(a, Var) and a in makers and makers[a].op is ops.IOTA


@dataclass(frozen=True, slots=True)
class Hole:
    """A place where a cotangent still has to be set to zero. `whole` is what it was before anything was added to it."""

    place: Place
    whole: Atom
    span: Span

    def holds(self, c: Atom, makers: Makers) -> bool:
        """Whether `c` is what stood there, so that nothing need be done to have it there."""
        made = makers.get(c) if isinstance(c, Var) else None
        if made is None or made.op is not ops.INDEX or made.args[0] is not self.whole:
            return False
        return Place(self.place.shape, *index_parts(made, 1)).same(self.place, makers)


def untouched(x: Atom, place: Place, makers: Makers, loops: Sequence[For]) -> bool:
    """Whether there are nothing but zeros at the place, in an array made of zeros and stored into elsewhere only."""
    while isinstance(x, Var) and (made := makers.get(x)) is not None:
        if made.op is ops.FULL:
            return is_number(made.args[0], 0)
        if not isinstance(made.op, Put):
            return False
        if not place.apart(Place(place.shape, *index_parts(made, 2)), makers, loops):
            return False
        x = made.args[0]
    return False
