"""Whether the slope of what made a value may be infinite: behind a choice a cotangent of zero is then not enough.

    y = np.where(x > 0, np.sqrt(x), 0.0)         steep: at x = 0 the cotangent 0.0 of the root meets the slope inf
    y = np.where(x > 0, np.sin(x) * x, 0.0)      not steep: slopes of what is finite here are finite
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Container, Mapping, Sequence

import numpy as np

from .. import ops
from ..ir import Apply, Atom, Const, Statement, Var, blocks_of
from ..ops.core import Cast, Concatenate, Contract, Elementwise, Index, Linalg, Reshape, is_tame
from .tape import sources_of

Makers = Mapping[Var, Apply]

# Where their values are finite, so is what they are made of, and their slopes.
_FINITE_THROUGHOUT = {ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.NEGATIVE, ops.SQUARE, ops.SUM, ops.SIN, ops.COS, ops.TAN}
_Carrier = Contract | Index | Reshape | Concatenate | Cast


class Origins:
    """What the values of a program come from. `made`: by the operations that make them; `joined`: what leaves a branch
    or a loop, and what a loop carries, by the values that come together there.
    """

    def __init__(self) -> None:
        self.made: dict[Var, Apply] = {}
        self.joined: dict[Var, Sequence[Atom]] = {}
        self.level: dict[bool, set[Atom]] = {False: set(), True: set()}  # values that are known not to be steep
        self.masked: set[Var] = set()  # carried values whose cotangents have masks when a trip begins (masks.py)
        self.unmasked: set[Var] = set()  # and others, of which a trip loses the mask

    def learn(self, statements: Sequence[Statement]) -> None:
        for s in statements:
            if isinstance(s, Apply):
                self.made.update(dict.fromkeys(s.targets, s))
            elif not s.targets or s.targets[0] not in self.joined:
                self.joined.update(sources_of(s))
                for block in blocks_of(s):
                    self.learn(block.statements)

    def may_be_steep(self, a: Atom) -> bool:
        """Whether some slope of what made `a` may be infinite, that of a product with missing data among them."""
        return self._may_be_steep(a, False)

    def is_singular(self, a: Atom) -> bool:
        """Whether some slope of what made `a` may be infinite where all that it is made of is finite."""
        return self._may_be_steep(a, True)

    def _may_be_steep(self, a: Atom, finite: bool) -> bool:
        waiting, seen, level = [a], set[Atom](), self.level[finite]
        while waiting:
            x = waiting.pop()
            if not isinstance(x, Var) or x in seen or x in level or x.aval.dtype.kind not in "fcO":
                continue
            seen.add(x)
            s = self.made.get(x)
            if s is None:
                waiting += self.joined.get(x, ())
            elif isinstance(s.op, Linalg) or (isinstance(s.op, Elementwise) and not self._is_tame(s, finite)):
                return True
            else:
                waiting += s.args
        level |= seen
        return False

    def _is_tame(self, s: Apply, finite: bool) -> bool:
        return (finite and s.op is ops.MULTIPLY) or _is_tame(s, ChainMap(self.made, self.joined))


def _finite(a: Atom, makers: Container[Atom]) -> bool:
    """Whether a slope is finite: not of what comes from outside, where infinities and NaN stand for missing data."""
    return bool(np.all(np.isfinite(a.value))) if isinstance(a, Const) else a in makers or a.aval.dtype.kind in "biu"


def _is_tame(s: Apply, makers: Container[Atom]) -> bool:
    match s.op, s.args:
        case Elementwise(name="divide"), (_, Const() as by):
            return bool(np.all(by.value != 0))
        case Elementwise(name="multiply"), (x, y) if x is not y:
            return all(_finite(factor, makers) for factor, other in ((x, y), (y, x)) if isinstance(other, Var))
        case Elementwise(name="power"), (_, Const() as to):
            return bool(np.all((np.real(to.value) >= 1) & (to.value == np.round(to.value))))  # x**1.5 has none below 0
        case op, _:
            return is_tame(op)


def may_be_steep_at_zero(a: Atom, makers: Makers) -> bool:
    """Whether a slope of what made `a` may be infinite where `a` is 0, which says that factors in it are finite."""
    waiting, seen = [(a, True)], set[tuple[Atom, bool]]()
    while waiting:
        x, finite = waiting.pop()
        made = makers.get(x) if isinstance(x, Var) and (x, finite) not in seen else None
        seen.add((x, finite))
        if made is None or x.aval.dtype.kind not in "fc":
            continue
        if finite and made.op is ops.DIVIDE:
            waiting += [(made.args[0], True), (made.args[1], False)]
        elif finite and (made.op in _FINITE_THROUGHOUT or isinstance(made.op, _Carrier)):
            waiting += [(y, True) for y in made.args]
        elif isinstance(made.op, Linalg) or (isinstance(made.op, Elementwise) and not _is_tame(made, makers)):
            return True
        else:
            waiting += [(y, False) for y in made.args]
    return False
