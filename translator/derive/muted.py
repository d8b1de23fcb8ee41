"""Forward mode behind choices: a tangent that a choice made zero must not meet an infinite slope (0 * inf is NaN).

    y = np.sqrt(np.maximum(x, 0.0))          d_m = np.where(x > 0.0, d_x, ...)
                                             d_y = np.where(x < 0.0, 0.0, d_m * (0.5 / y))

In reverse such a choice comes last by itself. A mute goes through elementwise operations and casts with the value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Const, Var, same_atom
from ..ops.core import Elementwise
from ..records import dataclass
from .corners import at_corner
from .cotangents import cast_like, strong, total
from .linear import index_parts
from .partials import elementwise_jvp

_STEEP = frozenset({ops.SQRT, ops.CBRT, ops.LOG, ops.LOG2, ops.LOG10, ops.LOG1P, ops.POWER})
_STEEP_AT_ONE = frozenset({ops.ARCSIN, ops.ARCCOS, ops.ARCCOSH, ops.ARCTANH, ops.LOG1P})
_LOSES = {ops.MAXIMUM: ops.LESS, ops.FMAX: ops.LESS, ops.MINIMUM: ops.GREATER, ops.FMIN: ops.GREATER}


@dataclass(frozen=True, slots=True)
class Mute:
    """The tangent is zero where `test(*args)` is `side`, and the value there is `value`, where that is known."""

    test: Elementwise
    args: tuple[Atom, ...]
    side: bool
    value: Atom | None

    def silenced(self, b: Builder, t: Atom, out: Atom) -> Atom:
        condition = self.args[0] if self.test is ops.WHERE else make.elementwise(b, self.test, *self.args)
        x, y = (0.0, t) if self.side else (t, 0.0)
        return cast_like(b, make.where(b, condition, x, y), strong(out.aval))

    def same(self, other: Mute) -> bool:
        return (self.test, self.side) == (other.test, other.side) and all(map(_equal, self.args, other.args))

    def behind(self) -> Mute:
        """The same behind an operation, which makes another value of this one."""
        return Mute(self.test, self.args, self.side, None)


Mutes = dict[Var, tuple[Mute, ...]]


def muted_jvp(b: Builder, s: Apply, ts: Sequence[Atom | None], mutes: Mutes) -> Atom | None:
    """`elementwise_jvp`, silent where the tangents of its arguments are; notes in `mutes` where its own is."""
    seen = at_corner(b, s, b.definitions)
    moving = [i for i, t in enumerate(ts) if t is not None]
    known = {i: mutes[a] for i in moving if isinstance(a := s.args[i], Var) and a in mutes}
    own = _own(s, moving)
    both = _common([known.get(i, ()) for i in moving])
    if own is not None or both:
        mutes[s.targets[0]] = (*(() if own is None else (own,)), *both)
    shields = {i: found for i, m in known.items() if (found := [x for x in m if _is_steep(s, i, x)])}
    out = elementwise_jvp(b, s, [None if i in shields else t for i, t in enumerate(ts)], seen)
    for i, shield in shields.items():
        c = elementwise_jvp(b, s, [t if j == i else None for j, t in enumerate(ts)], seen)
        if c is None:
            continue
        for mute in shield:
            c = mute.silenced(b, c, s.targets[0])
        out = c if out is None else total(b, out, c)
    return out


def beside_stored(b: Builder, s: Apply) -> Mute | None:
    """What is stored into zeros moves alone: `np.sqrt(np.diag(x))` has slopes on the diagonal."""
    base = b.definitions.get(s.args[0]) if isinstance(s.args[0], Var) else None
    if base is None or base.op is not ops.FULL or s.op is not ops.PUT:
        return None
    dims, dyn = index_parts(s, 2)
    stored = make.put(b, make.full(b, s.args[0].aval.shape, False), True, dims, dyn)
    return Mute(ops.WHERE, (stored,), False, base.args[0])


def _equal(x: Atom, y: Atom) -> bool:
    return same_atom(x, y) or (isinstance(x, Const) and isinstance(y, Const) and bool(np.all(x.value == y.value)))


def _common(found: Sequence[tuple[Mute, ...]]) -> list[Mute]:
    """Where all of several tangents are silent: so is what an operation makes of them."""
    first, *others = found
    return [m.behind() for m in first if all(any(map(m.same, other)) for other in others)]


def _own(s: Apply, moving: Sequence[int]) -> Mute | None:
    """Of a choice between what moves and what does not."""
    if len(moving) != 1:
        return None
    i = moving[0]
    if s.op is ops.WHERE:
        return Mute(ops.WHERE, (s.args[0],), i == 2, s.args[3 - i])
    if s.op is ops.CLIP:
        return Mute(ops.NOT_EQUAL, (s.targets[0], s.args[0]), True, None) if i == 0 else None
    test = _LOSES.get(s.op) if isinstance(s.op, Elementwise) else None
    return None if test is None else Mute(test, (s.args[i], s.args[1 - i]), True, s.args[1 - i])


def _is_steep(s: Apply, i: int, mute: Mute) -> bool:
    """Whether the slope by argument `i` may be infinite, at a finite value, where its tangent is muted."""
    number = mute.value.value if isinstance(mute.value, Const) else None
    exponent = s.args[1] if s.op is ops.POWER else None
    if i == 1 or (isinstance(exponent, Const) and bool(np.all(np.real(exponent.value) >= 1))):
        return False
    at_zero = s.op in _STEEP and (number is None or not np.all(number != 0))
    return at_zero or (s.op in _STEEP_AT_ONE and (number is None or not np.all(np.absolute(number) != 1)))
