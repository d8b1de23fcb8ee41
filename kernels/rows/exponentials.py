"""Log-sum-exp in one pass: sums of exponentials against a maximum that the same kernel finds.

    m = np.max(x)                  for each chunk of x: the largest number, and the sum of exponentials against it
    t = np.sum(np.exp(x - m))      t = sum over chunks of total * exp(top - m)

Each thread keeps the largest number so far, and scales its sum where a larger one comes, by Milakov and Gimelshein's
recurrence (arXiv:1805.02867). The last line holds about any other number than the maximum, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...translator import make
from ...translator.builder import Builder
from ...translator.ir import Apply, DType, Var
from ...translator.ops import EXP, MAX, SUM
from ...translator.ops.core import Reshape, ShapeAttrs
from ...translator.records import dataclass
from .spread import depends


@dataclass(frozen=True, slots=True)
class Exponentials:
    """`total` is the sum of exp(x - center)."""

    total: Apply
    x: Var
    center: Var

    folds = 1  # of `gathered`

    @property
    def parts(self) -> tuple[tuple[str, DType], ...]:
        return tuple((name, self.x.aval.dtype) for name in ("top", "total"))

    def gathered(self) -> list[Apply]:
        """A maximum as a placeholder: in its place the first stage gathers the parts."""
        (target,) = self.total.targets
        return [Apply((Var(self.x.hint, target.aval),), MAX, (self.x,), self.total.attrs, self.total.span)]

    def together(self, parts: Sequence[Var]) -> list[Apply]:
        """The total from the parts of all chunks, which lie along their last axis."""
        b = Builder(self.total.span)
        (target,), (top, total) = self.total.targets, parts
        center = make.reshape(b, self.center, (*top.aval.shape[:-1], 1))
        scaled = make.multiply(b, total, make.elementwise(b, EXP, make.subtract(b, top, center)))
        whole = make.sum(b, scaled, (top.aval.ndim - 1,))
        b.append(Apply((target,), Reshape(name="reshape"), (whole,), ShapeAttrs(target.aval.shape), self.total.span))
        return [s for s in b.statements if isinstance(s, Apply)]


def exponentials_of(statements: Sequence[Apply], tops: Sequence[Var]) -> list[Exponentials]:
    """The sums of exp(x - center), in float32 or float64, whose center depends on some of these variables."""
    makers = {s.targets[0]: s for s in statements}
    found = []
    for s in statements:
        if s.op is not SUM or s.targets[0].aval.dtype not in (np.float32, np.float64):
            continue
        difference = _argument(_argument(s, makers, EXP.name), makers, "subtract")
        if difference is None:
            continue
        x, center = difference.args
        dtypes = {a.aval.dtype for a in (x, center, *difference.targets, *s.targets)}
        whole = x.aval.shape == s.args[0].aval.shape and len(dtypes) == 1
        if not (whole and isinstance(x, Var) and isinstance(center, Var)):
            continue
        if depends(center, makers, tops) and not depends(x, makers, tops):
            found.append(Exponentials(s, x, center))
    return found


def _argument(s: Apply | None, makers: Mapping[Var, Apply], name: str) -> Apply | None:
    """The statement that makes the first argument of another one, if it is this operation."""
    a = s.args[0] if s is not None else None
    made = makers.get(a) if isinstance(a, Var) else None
    return made if made is not None and made.op.name == name else None
