"""argmax and argmin in one pass: places of extremes that the same kernel finds.

    m = np.max(x)                                     for each chunk of x: the largest number, and where it first stands
    y = np.min(np.where(x == m, k, nowhere))          y = min over chunks of the places whose number is m

k counts along the rows. A NaN is extreme, the first one before all others, as `passes.extremes` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...translator import make, ops
from ...translator.builder import Builder
from ...translator.ir import Apply, Atom, Aval, Const, DType, Var
from ...translator.ops.core import ReduceAttrs, Reshape, ShapeAttrs
from ...translator.passes.extremes import NOWHERE
from ...translator.records import dataclass
from ..source.dialects import accumulator


@dataclass(frozen=True, slots=True)
class First:
    """`total` is the least of the places `k` at which `x` is `top`, the largest or the least of its row.

    `extreme` makes that one, where the group does: the parts have it, too.
    """

    total: Apply
    x: Var
    top: Var
    k: Var
    largest: bool
    extreme: Apply | None

    folds = 2  # of `gathered`

    @property
    def parts(self) -> tuple[tuple[str, DType], ...]:
        return ("best", accumulator(self.x.aval.dtype)), ("place", np.dtype(np.int64))

    def gathered(self) -> list[Apply]:
        """Reductions in whose place the first stage gathers the parts: their operands are the number and its place."""
        b = Builder(self.total.span)
        place = make.broadcast_to(b, self.k, self.x.aval.shape)
        made = [s for s in b.statements if isinstance(s, Apply)]
        for hint, operand in ((self.x.hint, self.x), ("place", place)):
            target = Var(hint, Aval(self.total.targets[0].aval.shape, operand.aval.dtype))
            made.append(Apply((target,), ops.MAX, (operand,), self.total.attrs, self.total.span))
        return made

    def together(self, parts: Sequence[Var]) -> list[Apply]:
        """The total from the parts of all chunks, which lie along their last axis."""
        b = Builder(self.total.span)
        (target,), (best, place) = self.total.targets, parts
        top = make.astype(b, make.reshape(b, self.top, (*best.aval.shape[:-1], 1)), best.aval.dtype)
        here = make.elementwise(b, ops.EQUAL, best, top)
        if best.aval.dtype.kind == "f":
            here = make.elementwise(b, ops.LOGICAL_OR, here, make.elementwise(b, ops.NOT_EQUAL, best, best))
        least = make.min(b, make.elementwise(b, ops.WHERE, here, place, NOWHERE), (best.aval.ndim - 1,))
        b.append(Apply((target,), Reshape(name="reshape"), (least,), ShapeAttrs(target.aval.shape), self.total.span))
        return [s for s in b.statements if isinstance(s, Apply)]


def firsts_of(statements: Sequence[Apply], tops: Sequence[Var]) -> list[First]:
    """The places of extremes among these statements, where the extremes are some of these variables."""
    makers = {s.targets[0]: s for s in statements}
    found = []
    for s in statements:
        chosen = makers.get(s.args[0]) if s.op is ops.MIN and isinstance(s.args[0], Var) else None
        if chosen is None or chosen.op is not ops.WHERE or chosen.targets[0].aval.dtype != np.int64:
            continue
        here, k, nowhere = chosen.args
        equal = _comparison(here, makers)
        counts = _made(k, makers)
        whole = isinstance(nowhere, Const) and nowhere.value == NOWHERE and isinstance(k, Var)
        if equal is None or not whole or not isinstance(k, Var) or counts is None or counts.op.name != "iota":
            continue
        x, top = equal.args
        if isinstance(x, Var) and isinstance(top, Var) and x.aval.shape == s.args[0].aval.shape:
            extreme = _made(top, makers)
            known = extreme is not None and extreme.targets[0] in tops and _same_rows(extreme, s, x, makers)
            if known or (extreme is None and top in tops):
                found.append(First(s, x, top, k, extreme is None or extreme.op is ops.MAX, extreme if known else None))
    return found


def _comparison(here: Atom, makers: Mapping[Var, Apply]) -> Apply | None:
    """x == top of it, or of it or x != x, which numbers that may be NaN must have."""
    made = makers.get(here) if isinstance(here, Var) else None
    if made is not None and made.op is ops.LOGICAL_OR:
        equal, unequal = (makers.get(a) if isinstance(a, Var) else None for a in made.args)
        if equal is None or unequal is None or equal.op is not ops.EQUAL or unequal.op is not ops.NOT_EQUAL:
            return None
        return equal if {*unequal.args} == {equal.args[0]} else None
    return made if made is not None and made.op is ops.EQUAL and made.args[0].aval.dtype.kind in "iub" else None


def _made(a: Atom, makers: Mapping[Var, Apply]) -> Apply | None:
    """The statement that makes a value, reshapes skipped."""
    maker = makers.get(a) if isinstance(a, Var) else None
    while maker is not None and isinstance(maker.op, Reshape) and isinstance(maker.args[0], Var):
        a = maker.args[0]
        maker = makers.get(a)
    return maker


def _same_rows(extreme: Apply, s: Apply, x: Var, makers: Mapping[Var, Apply]) -> bool:
    """Whether one is the extreme of the other's numbers along the one axis that both reduce."""
    axes = extreme.attrs.axes if isinstance(extreme.attrs, ReduceAttrs) else ()
    same = isinstance(s.attrs, ReduceAttrs) and s.attrs.axes == axes and len(axes) == 1
    return same and extreme.op in (ops.MAX, ops.MIN) and _equal(extreme.args[0], x, makers)


def _equal(a: Atom, b: Atom, makers: Mapping[Var, Apply]) -> bool:
    """Whether two values are the same: a group may compute one twice."""
    if a is b or not (isinstance(a, Var) and isinstance(b, Var)):
        return a == b
    one, two = makers.get(a), makers.get(b)
    if one is None or two is None or one.op is not two.op or one.attrs != two.attrs:
        return False
    return all(_equal(*pair, makers) for pair in zip(one.args, two.args, strict=True))
