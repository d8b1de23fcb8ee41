"""Groups under construction, and which of them may be merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from ..ir import Apply, Shape, Statement, Var
from ..records import dataclass
from .alignment import Alignment, without_ones

COSTLY = frozenset(
    (
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "arcsin",
        "arccos",
        "arctan",
        "arctan2",
        "sinh",
        "cosh",
        "tanh",
        "arcsinh",
        "arccosh",
        "arctanh",
        "power",
        "cbrt",
        "erf",
        "erfc",
        "lgamma",
        "logaddexp",
        "logaddexp2",
        "hypot",
    )
)
BITS = frozenset(("threefry2x32", "threefry_bits32"))
"""A hundred operations on integers for 32 random bits."""


@dataclass(slots=True, eq=False)
class Unit:
    """A group under construction, or one statement that stands alone (`kind` is empty).

    `pred`: the units that it depends on, transitively; `hard`: those of them whose values it needs in memory. Bit sets.
    `pinned`: where the values that depend on a reduction of the group lie in the domain.
    """

    index: int
    kind: str
    domain: Shape
    axes: tuple[int, ...] = ()
    members: dict[Var, Apply] = field(default_factory=dict)
    statement: Statement | None = None
    pred: int = 0
    hard: int = 0
    pinned: dict[Var, Alignment] = field(default_factory=dict)

    @property
    def bit(self) -> int:
        return 1 << self.index


@dataclass(frozen=True, slots=True)
class Shaped:
    """The merger that some units would become."""

    kind: str
    domain: Shape
    axes: tuple[int, ...]


def storable(v: Var, unit: Unit) -> bool:
    if v.aval.shape == unit.domain or v in unit.pinned:
        return True
    rows = tuple(n for i, n in enumerate(unit.domain) if i not in unit.axes)
    return unit.kind in ("row", "reduce") and without_ones(v.aval.shape) == without_ones(rows)


def merger(units: Sequence[Unit], shape: Shape) -> Shaped | None:
    """The merger of these units with a statement whose result has this shape; None where they cannot be merged."""
    first = units[0]
    merged = Shaped(first.kind, first.domain, first.axes)
    if merged.kind == "pointwise" and first.domain != shape:
        if not may_grow(first, shape):
            return None
        merged = Shaped("pointwise", shape, ())
    elif merged.kind == "contract" and first.domain != shape:
        return None
    for unit in units[1:]:
        if unit.kind == "pointwise":
            if unit.domain != merged.domain and not may_grow(unit, merged.domain) and not per_row(unit, merged):
                return None
        elif (unit.kind, unit.domain, unit.axes) != (
            merged.kind,
            merged.domain,
            merged.axes,
        ) or unit.kind == "contract":
            return None
    return merged


def may_grow(unit: Unit, shape: Shape) -> bool:
    """Whether the group's values may be made again for each element of a larger domain."""
    if len(unit.domain) > len(shape):
        return False
    pairs = zip(unit.domain[::-1], shape[::-1], strict=False)
    if any(m not in (1, n) for m, n in pairs):
        return False
    small = all(n == 1 for n in unit.domain)
    return small or (len(unit.members) <= 8 and not any(s.op.name in COSTLY for s in unit.members.values()))


def per_row(unit: Unit, merged: Shaped) -> bool:
    rows = tuple(n for i, n in enumerate(merged.domain) if i not in merged.axes)
    return merged.kind in ("row", "reduce") and without_ones(unit.domain) == without_ones(rows)
