"""How the reader leaves what it is reading: to start again with more known, or where the code raises."""

from __future__ import annotations

import ast
from typing import Any

from ...errors import Span
from ...ir import Atom
from ...records import dataclass
from ...thrown import Thrown
from .values import Outside


class Detour(Exception):
    """No error: how the reader leaves what it was reading to start elsewhere."""


class Raised(Detour):
    """Raised where the code that is read ends in a `raise`: `error`, of these values."""

    def __init__(self, error: Thrown, values: tuple[Atom, ...], span: Span) -> None:
        super().__init__(error.error.__name__)
        self.error, self.values, self.span = error, values, span


@dataclass(frozen=True, slots=True)
class Entry:
    """That the list made at `site` grows and holds what is of this kind; without it, that elements are taken away."""

    site: ast.AST
    kind: Any


@dataclass(frozen=True, slots=True)
class Lengthened:
    """Slices of the list that grows which is made at `site` have room to grow, too."""

    site: ast.AST


Site = ast.AST | tuple[ast.AST, int | str] | Entry | Lengthened
"""A loop, or of a call of a transformed inner function one leaf, or of a function a name that may have no value."""


class Restart(Detour):
    """Reading must start again: these argument leaves, of the function or of calls of inner ones, are specialised on
    their values, these loops are unrolled.

    Of the numbers outside the function those in `varying` are read at every call, those in `known` are specialised on
    after all. `why` says what needs the values, and where. `afresh`: loops unrolled so far may be kept now.
    """

    def __init__(
        self,
        leaves: frozenset[int] = frozenset(),
        loops: frozenset[Site] = frozenset(),
        why: str = "",
        varying: frozenset[Outside] = frozenset(),
        known: frozenset[Outside] = frozenset(),
        afresh: bool = False,
    ) -> None:
        self.afresh = afresh
        self.leaves = leaves
        self.loops = loops
        self.why = why
        self.varying = varying
        self.known = known
        self.passed: frozenset[Site] = frozenset()  # loops around the place that asks, as far as it has come

    def ends_at(self, loop: ast.AST, unrolled: frozenset[Site]) -> bool:
        """Whether all that it asks for is to unroll `loop`, which it leaves now, and loops inside that or known."""
        self.passed |= {loop}
        others = self.leaves or self.varying or self.known
        return loop in self.loops and not others and self.loops <= self.passed | unrolled
