"""Groups that do not need each other, but read the same: as one kernel they read it once (`fuse`).

    before                                  after
    a = pointwise(x[:, 0], x[:, 1])         a, b = pointwise(x[:, 0], x[:, 1])
    b = pointwise_2(x[:, 0], x[:, 1])
    s = reduce(x * y)                       s, t = reduce(x, y)
    t = reduce_2(y)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..ir import Apply, Var
from ..ops.core import At, AxesAttrs, IndexAttrs, Reduce, Run
from .units import Unit

if TYPE_CHECKING:
    from .fuse import Fusion

BESIDE = 64  # elements from one that is taken of a line to the next: those farther apart lie in other sectors
MOST_FOLDS = 32  # reductions of one group that were not written together: each takes registers of its own


def merge_siblings(f: Fusion) -> None:
    """Merge groups over one domain that read the same array, or the same part of one, or parts between each other."""
    readers: dict[Var, list[Unit]] = {}
    for unit in f.units.values():
        if unit.kind in ("pointwise", "row", "reduce"):
            for v in dict.fromkeys(_shared(f, unit)):
                readers.setdefault(v, []).append(unit)
    for home, *others in readers.values():
        for other in others:
            if other.members and home.members and other is not home and _are_siblings(f, home, other):
                f.merge(home, other)


def merge_reductions(f: Fusion) -> None:
    """Merge what is left of groups that reduce along the same axes of one domain: what one of them reads may be what
    the other's values are made of. Rows are held on the chip, so that they have to come from one group.
    """
    homes: dict[tuple[object, ...], list[Unit]] = {}
    for unit in f.units.values():
        if unit.kind not in ("row", "reduce") or not unit.members:
            continue
        made = {f.unit_of[v].index for v in f.reads(unit) if v in f.unit_of and f.unit_of[v].kind}
        if unit.kind == "row" and not made:
            continue
        known = homes.setdefault((unit.domain, unit.axes, *(sorted(made) if unit.kind == "row" else ())), [])
        home = next((h for h in known if _are_siblings(f, h, unit) and _folds(h, unit) <= MOST_FOLDS), None)
        if home is None:
            known.append(unit)
        else:
            f.merge(home, unit)


def _are_siblings(f: Fusion, home: Unit, other: Unit) -> bool:
    """Whether two groups over one domain can be one, and neither needs the other."""
    if (home.kind, home.domain, home.axes) != (other.kind, other.domain, other.axes):
        return False
    if f.too_long([home, other]) or f.path_between(home, other):
        return False
    # Where one reads the other, joining them was tried, and refused, when the reader was placed.
    return f.reads(home).keys().isdisjoint(other.members) and f.reads(other).keys().isdisjoint(home.members)


def _folds(*units: Unit) -> int:
    return sum(isinstance(s.op, Reduce) for u in units for s in u.members.values())


def _shared(f: Fusion, unit: Unit) -> Iterator[Var]:
    """What a group reads for each element of its domain: arrays, parts of arrays, and of those whose parts lie between
    each other the arrays.
    """
    for s in unit.members.values():
        for a in s.args:
            root, chain = f.origin(a)
            if root is None or root in unit.members or root.aval.size <= 1:
                continue
            if root.aval.shape == unit.domain:
                yield root
            elif unit.kind == "pointwise" and isinstance(a, Var) and a.aval.shape == unit.domain:
                yield root if _parts_lines(chain) else a


def _parts_lines(chain: Sequence[Apply]) -> bool:
    """Whether views leave elements out between those that they take, of an array whose last axis lies in one piece."""
    last = chain[0].args[0].aval.ndim - 1 if chain else -1
    for view in chain:
        match view.attrs:
            case IndexAttrs(dims=dims) if last >= 0:
                taken = dims[last]
                gap = abs(taken.step) if isinstance(taken, Run) else view.args[0].aval.shape[last]
                return isinstance(taken, At | Run) and 1 < gap <= BESIDE
            case AxesAttrs(axes=axes) if view.op.name == "transpose":
                last = axes.index(last)
            case _:
                return False
    return False
