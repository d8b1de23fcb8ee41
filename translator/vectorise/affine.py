"""Integers of a loop's body as linear forms of the number of the trip, and whether two such places ever meet.

    for i in range(1, n, 2):      # trip k: i = 2 * k + 1
        y[i + 1] = x[i + m]       # places 2 * k + 2 of y and 2 * k + 1 + m of x
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .. import make, ops
from ..bounds import Interval, interval_of
from ..builder import Builder
from ..ir import Apply, Atom, Block, Const, For, Var, free_variables, walk
from ..ops.core import CastAttrs
from ..records import dataclass

MOST_TRIPS = 1 << 16  # trips of loops whose places are compared one by one


@dataclass(frozen=True, slots=True)
class Affine:
    """`scale * k + const`, and of each of `terms` (an integer that all trips share) so many. k counts trips from 0."""

    scale: int
    const: int
    terms: frozenset[tuple[Var, int]] = frozenset()

    def plus(self, other: Affine, times: int = 1) -> Affine:
        counts = Counter(dict(self.terms))
        for v, n in other.terms:
            counts[v] += n * times
        terms = frozenset((v, n) for v, n in counts.items() if n)
        return Affine(self.scale + other.scale * times, self.const + other.const * times, terms)

    def moved(self, by: int) -> Affine:
        return Affine(self.scale, self.const + by, self.terms)

    def at(self, k: int) -> int:
        """The value in trip k; there must be no terms."""
        return self.scale * k + self.const

    def within(self, low: int, high: int, trips: int, known: Callable[[], dict[Var, Interval]], atom: Atom) -> bool:
        """Whether it stays between two places in all trips; `atom` is the integer itself."""
        if self.terms:
            return interval_of(atom, known()).within(low, high)
        return Interval(*sorted((self.at(0), self.at(trips - 1)))).within(low, high)

    def first(self, b: Builder) -> Atom:
        """The value in trip 0, as a Python int of the program."""
        total: Atom = make.lift(self.const)
        for v, n in sorted(self.terms, key=lambda t: t[0].hint):
            part = make.multiply(b, make.number(b, v, np.int64), n)
            total = part if isinstance(total, Const) and not total.value else make.add(b, total, part)
        return total


class Forms:
    """The linear forms of the integers of a loop; `inductions` are carried ones that every trip changes alike."""

    def __init__(self, loop: For, trips: range) -> None:
        self.shared = set(free_variables(Block((), (loop,), ())))
        self.made = {t: s for s in walk(loop.body) if isinstance(s, Apply) for t in s.targets}
        self.found: dict[Var, Affine | None] = {loop.body.params[0]: Affine(trips.step, trips.start)}
        self.inductions: dict[int, Affine] = {}
        for slot, (p, init) in enumerate(zip(loop.body.params[1:], loop.inits, strict=True)):
            form = self._induction(p, init, loop.body.results[slot])
            if form is not None:
                self.inductions[slot] = self.found[p] = form

    def _induction(self, p: Var, init: Atom, result: Atom) -> Affine | None:
        s = self.made.get(result) if isinstance(result, Var) else None
        start = self.of(init)
        if start is None or s is None or s.op not in (ops.ADD, ops.SUBTRACT) or not _counts(p):
            return None
        x, y = s.args
        if x is not p and s.op is ops.ADD:
            x, y = y, x
        if x is not p or not isinstance(y, Const) or y.aval.shape or y.aval.dtype.kind not in "iu":
            return None
        step = int(y.value) if s.op is ops.ADD else -int(y.value)
        return Affine(step, start.const, start.terms)

    def of(self, atom: Atom) -> Affine | None:
        if isinstance(atom, Const):
            whole = not atom.aval.shape and atom.aval.dtype.kind in "iu"
            return Affine(0, int(atom.value)) if whole else None
        if atom not in self.found:
            self.found[atom] = self._made(atom)
        return self.found[atom]

    def _made(self, v: Var) -> Affine | None:
        if v.aval.shape or v.aval.dtype.kind not in "iu":
            return None
        if v in self.shared:
            return Affine(0, 0, frozenset(((v, 1),)))
        s = self.made.get(v)
        if s is None or not _counts(v):
            return None
        if isinstance(s.attrs, CastAttrs):
            return self.of(s.args[0]) if s.args[0].aval.dtype == v.aval.dtype else None
        if s.op not in (ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.NEGATIVE):
            return None
        forms = [self.of(a) for a in s.args]
        known = [f for f in forms if f is not None]
        if len(known) < len(forms):
            return None
        if s.op is ops.NEGATIVE:
            return Affine(0, 0).plus(known[0], -1)
        x, y = known
        if s.op is not ops.MULTIPLY:
            return x.plus(y, 1 if s.op is ops.ADD else -1)
        if x.scale or x.terms:
            x, y = y, x
        return None if x.scale or x.terms else Affine(0, 0).plus(y, x.const)


def _counts(v: Var) -> bool:
    return not v.aval.shape and v.aval.dtype == np.int64


# ---- where places meet ---------------------------------------------------------------------------


def meets_earlier(write: Affine, read: Affine, trips: int) -> bool:
    """Whether a trip may read what it or an earlier one has written; True where that is not known."""
    if write.terms != read.terms:
        return True
    if write.scale == read.scale and write.scale:
        distance, rest = divmod(read.const - write.const, write.scale)
        return not rest and -trips < distance <= 0
    if _ranges_apart(write, read, trips):
        return False
    if trips > MOST_TRIPS or not write.scale:
        return True
    k = np.arange(trips)
    behind, left = np.divmod(read.scale * k + read.const - write.const, write.scale)
    return bool(np.any((left == 0) & (behind >= 0) & (behind <= k)))


def never_meet(x: Affine, y: Affine, trips: int) -> bool:
    """Whether no trip is at a place of x at which any trip is of y."""
    if x.terms != y.terms:
        return False
    if _ranges_apart(x, y, trips) or (x.const - y.const) % np.gcd(x.scale, y.scale):
        return True
    if trips > MOST_TRIPS:
        return False
    k = np.arange(trips)
    return not np.intersect1d(x.scale * k + x.const, y.scale * k + y.const).size


def _ranges_apart(x: Affine, y: Affine, trips: int) -> bool:
    (low, high), (other, last) = (_reach((f.at(0), f.at(trips - 1))) for f in (x, y))
    return high < other or last < low


def _reach(ends: Sequence[int] | Iterable[int]) -> tuple[int, int]:
    first, last = ends
    return min(first, last), max(first, last)
