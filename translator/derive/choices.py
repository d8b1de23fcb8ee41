"""Cotangents that count on one side of an `np.where`: the choice is applied last, which mutes the other side.

    y = np.where(x > 0, np.log(x), 0.0)          d_x = np.where(x > 0, d_y / x, 0.0)

Made first, `np.where(x > 0, d_y, 0.0) / x` is 0/0 at x = 0. A pending choice goes through elementwise operations with
the value, through casts and through sums of what may be steep; what else uses the value, or adds to it, makes it.
Where what lies behind may be steep, it is then known where the cotangent can count (reach.py), which is a choice again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Aval, Var, same_atom
from ..records import dataclass
from .cotangents import cast_like, strong, unbroadcast
from .partials import elementwise_vjp
from .reach import narrowed


@dataclass(frozen=True, slots=True)
class Choice:
    """Only where `condition` is `side`."""

    condition: Atom
    side: bool

    def same(self, other: Choice | None) -> bool:
        return other is not None and self.side is other.side and same_atom(self.condition, other.condition)

    def opposes(self, other: Choice) -> bool:
        return self.side is not other.side and same_atom(self.condition, other.condition)

    def mask(self, b: Builder) -> Atom:
        """Where the cotangent counts."""
        return self.condition if self.side else make.elementwise(b, ops.LOGICAL_NOT, self.condition)

    def both(self, b: Builder, c: Atom, otherwise: Atom, aval: Aval) -> Atom:
        """`c` where it counts, and what the opposite choice has elsewhere."""
        if c is otherwise and c.aval.shape == aval.shape:
            return cast_like(b, c, strong(aval))
        x, y = (c, otherwise) if self.side else (otherwise, c)
        return cast_like(b, make.where(b, self.condition, x, y), strong(aval))

    def made(self, b: Builder, c: Atom, aval: Aval) -> Atom:
        """`c`, the cotangent of a value of this type, where it counts, and zeros elsewhere."""
        x, y = (c, 0.0) if self.side else (0.0, c)
        return cast_like(b, make.where(b, self.condition, x, y), strong(aval))


class Contribute(Protocol):
    def __call__(self, a: Atom, c: Atom, choice: Choice | None = None, mask: Atom | None = None, /) -> None: ...


def chosen_vjp(
    b: Builder,
    s: Apply,
    ct: Atom,
    choice: Choice | None,
    active: Sequence[int],
    add: Contribute,
    seen: Apply,
    steep: Callable[[Atom], bool],
) -> None:
    """`elementwise_vjp` under a choice, or of one: what it contributes is still to be chosen, where shapes allow.
    `steep`: whether the slope of what made a value may be infinite.
    """
    out = s.targets[0].aval
    whole = [i for i in active if s.args[i].aval.shape == out.shape]
    settled = ct if choice is None or s.op is not ops.WHERE else choice.made(b, ct, out)
    picks = s.op is ops.WHERE and s.args[1] is not s.args[2]
    for x in dict.fromkeys(s.args[i] for i in active if i not in whole):
        places = [i for i in active if s.args[i] is x]
        counts = Choice(s.args[0], places[0] == 1) if picks else choice
        mask = None
        if counts is not None and steep(x):
            mask = narrowed(b, counts.mask(b), out.shape, x.aval.shape)
        chosen = None if choice is None or s.op is ops.WHERE else partial(_made, choice, b, out)
        elementwise_vjp(b, s, settled, places, partial(_masked, add, mask), chosen, seen)
    if picks:
        for i in whole:
            x = s.args[i]
            assert isinstance(x, Var)
            side = Choice(s.args[0], i == 1)
            if choice is not None and steep(x):
                side = Choice(make.elementwise(b, ops.LOGICAL_AND, choice.mask(b), side.mask(b)), True)
            add(x, unbroadcast(b, settled, out.shape, x.aval), side)
    elif whole:
        elementwise_vjp(b, s, ct, whole, lambda x, c: add(x, c, choice), seen=seen)


def _masked(add: Contribute, mask: Atom | None, x: Var, c: Atom) -> None:
    add(x, c, None, mask)


def _made(choice: Choice, b: Builder, out: Aval, c: Atom) -> Atom:
    """Before the axes are summed over along which an operand was broadcast."""
    return choice.made(b, c, out)
