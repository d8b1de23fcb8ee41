"""Cotangents that count on one side of an `np.where` only: the choice is made last, so that the side not taken is mute.

    y = np.where(x > 0, np.log(x), 0.0)          d_x = np.where(x > 0, d_y / x, 0.0)

Made first, `np.where(x > 0, d_y, 0.0) / x` is 0/0 at x = 0. A pending choice goes through elementwise operations with
the value, through casts and through sums of what may be steep; what else uses the value, or adds to it, makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Aval, Var
from ..ops.core import Cast, Elementwise, Reduce
from ..records import dataclass
from .cotangents import cast_like, same_atom, strong, unbroadcast
from .partials import elementwise_vjp


@dataclass(frozen=True, slots=True)
class Choice:
    """Only where `condition` is `side`."""

    condition: Atom
    side: bool

    def same(self, other: Choice | None) -> bool:
        return other is not None and self.side is other.side and same_atom(self.condition, other.condition)

    def opposes(self, other: Choice) -> bool:
        return self.side is not other.side and same_atom(self.condition, other.condition)

    def both(self, b: Builder, c: Atom, otherwise: Atom, aval: Aval) -> Atom:
        """`c` where it counts, and what the opposite choice has elsewhere."""
        x, y = (c, otherwise) if self.side else (otherwise, c)
        return cast_like(b, make.where(b, self.condition, x, y), strong(aval))

    def made(self, b: Builder, c: Atom, aval: Aval) -> Atom:
        """`c`, the cotangent of a value of this type, where it counts, and zeros elsewhere."""
        x, y = (c, 0.0) if self.side else (0.0, c)
        return cast_like(b, make.where(b, self.condition, x, y), strong(aval))


# What has finite slopes at all finite arguments: behind sums of these alone a choice may be made at once.
_TAME = frozenset({"add", "subtract", "multiply", "negative", "square", "sin", "cos", "tanh", "where"})

Contribute = Callable[[Var, Atom, Choice | None], None]


def chosen_vjp(
    b: Builder, s: Apply, ct: Atom, choice: Choice | None, active: Sequence[int], add: Contribute, seen: Apply
) -> None:
    """`elementwise_vjp` under a choice, or of one: what it contributes is still to be chosen, where shapes allow."""
    out = s.targets[0].aval
    whole = [i for i in active if s.args[i].aval.shape == out.shape]
    rest = [i for i in active if i not in whole]
    settled = ct if choice is None or s.op is not ops.WHERE else choice.made(b, ct, out)
    if rest:
        last = choice if s.op is not ops.WHERE else None
        made = None if last is None else lambda c: last.made(b, c, out)  # before the axes are summed over
        elementwise_vjp(b, s, settled, rest, lambda x, c: add(x, c, None), made, seen)
    if s.op is ops.WHERE and s.args[1] is not s.args[2]:
        for i in whole:
            x = s.args[i]
            assert isinstance(x, Var)
            add(x, unbroadcast(b, settled, out.shape, x.aval), Choice(s.args[0], i == 1))
    elif whole:
        elementwise_vjp(b, s, ct, whole, lambda x, c: add(x, c, choice), seen=seen)


def may_be_steep(a: Atom, makers: Mapping[Var, Apply]) -> bool:
    """Whether some slope of what made `a`, element by element and by sums, may be infinite."""
    waiting, seen = [a], set[Atom]()
    while waiting:
        x = waiting.pop()
        made = makers.get(x) if isinstance(x, Var) and x not in seen else None
        seen.add(x)
        match made:
            case Apply(op=Elementwise(name=name)) if name not in _TAME:
                return True
            case Apply(op=Elementwise() | Cast() | Reduce(name="sum")):
                waiting += made.args
            case _:
                pass
    return False
