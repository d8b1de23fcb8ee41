"""Variances in one pass: sums of squared distances from a value that the same kernel finds.

    t = np.sum(x)                  for each chunk of x: the sum, the count, the mean and the squares around that mean
    d = x - t / n
    v = np.sum(d * d)              v = sum over chunks of squares + count * (mean - t / n) ** 2

Each thread keeps mean and squares by Welford's recurrence (Technometrics 4, 1962), threads and chunks are put together
by Chan, Golub and LeVeque's formula (The American Statistician 37, 1983). The error is of the order of the rounding of
the numbers themselves, eps * mean / deviation, not of its square, as that of the sums of x and x * x would be. The last
line holds about any other center than the mean, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...translator import make
from ...translator.builder import Builder
from ...translator.ir import Apply, Atom, DType, Var
from ...translator.ops import SUM
from ...translator.ops.core import Reshape, ShapeAttrs
from ...translator.records import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """`total` is the sum of (x - center) ** 2."""

    total: Apply
    x: Var
    center: Var

    folds = 1  # of `gathered`

    @property
    def parts(self) -> tuple[tuple[str, DType], ...]:
        return tuple((name, self.x.aval.dtype) for name in ("count", "mean", "squares"))

    def gathered(self) -> list[Apply]:
        """A sum as a placeholder: in its place the first stage gathers the parts."""
        (target,) = self.total.targets
        return [Apply((Var(self.x.hint, target.aval),), SUM, (self.x,), self.total.attrs, self.total.span)]

    def together(self, parts: Sequence[Var]) -> list[Apply]:
        """The total from the parts of all chunks, which lie along their last axis."""
        b = Builder(self.total.span)
        (target,), (count, mean, squares) = self.total.targets, parts
        center = make.reshape(b, self.center, (*mean.aval.shape[:-1], 1))
        off = make.subtract(b, mean, center)
        around = make.add(b, squares, make.multiply(b, count, make.multiply(b, off, off)))
        total = make.sum(b, around, (mean.aval.ndim - 1,))
        b.append(Apply((target,), Reshape(name="reshape"), (total,), ShapeAttrs(target.aval.shape), self.total.span))
        return [s for s in b.statements if isinstance(s, Apply)]


def spreads_of(statements: Sequence[Apply], center_of: Sequence[Var]) -> list[Spread]:
    """The sums of squared distances, in float32 or float64, from what depends on some of these variables."""
    makers = {s.targets[0]: s for s in statements}
    found = []
    for s in statements:
        if s.op is not SUM or s.targets[0].aval.dtype not in (np.float32, np.float64):
            continue
        square = makers.get(s.args[0]) if isinstance(s.args[0], Var) else None
        if square is None or square.op.name not in ("multiply", "square") or len({*square.args}) != 1:
            continue
        distance = makers.get(square.args[0]) if isinstance(square.args[0], Var) else None
        if distance is None or distance.op.name != "subtract":
            continue
        x, center = distance.args
        whole = isinstance(x, Var) and x.aval.shape == distance.targets[0].aval.shape == s.args[0].aval.shape
        dtypes = {a.aval.dtype for a in (x, center, *distance.targets, *s.targets)}
        if not (whole and isinstance(x, Var) and isinstance(center, Var) and len(dtypes) == 1):
            continue
        if depends(center, makers, center_of) and not depends(x, makers, center_of):
            found.append(Spread(s, x, center))
    return found


def depends(a: Atom, makers: Mapping[Var, Apply], known: Sequence[Var]) -> bool:
    """Whether a value is computed from some of these variables."""
    todo, seen = [a], set[Atom]()
    while todo:
        v = todo.pop()
        if isinstance(v, Var) and v in known:
            return True
        if isinstance(v, Var) and v in makers and v not in seen:
            seen.add(v)
            todo += makers[v].args
    return False
