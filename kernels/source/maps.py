"""Index maps: where an element lies in terms of the axes of a kernel's domain, and through views."""

from __future__ import annotations

from typing import Any

from ...translator.errors import Diagnostic, Span, UnsupportedError
from ...translator.ir import Apply, Shape
from ...translator.ops.core import At, AxesAttrs, IndexAttrs, Run
from ...translator.records import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """The index along one axis of a value: `start + step * position` along an axis of the domain (-1: no axis)."""

    axis: int
    start: int = 0
    step: int = 1


FIXED = Term(-1, 0, 0)
Map = tuple[Term, ...]
Bounds = tuple[tuple[int, int, int], ...]
Strides = tuple[int, ...]


def broadcast_map(where: Map, shape: Shape) -> Map:
    """The position in an argument of this shape, broadcast by NumPy's rule to where `where` points."""
    last = where[len(where) - len(shape) :]
    return tuple(FIXED if n == 1 else t for t, n in zip(last, shape, strict=True))


def stored_map(where: Map, shape: Shape) -> Map:
    """The position in what is stored, which may have axes of one element in front."""
    more = max(0, len(shape) - len(where))
    return (FIXED,) * more + broadcast_map(where, shape[more:])


def operand_map(s: Apply, where: Map) -> Map:
    """The position in the operand of a view, from the position in the view."""
    shape = s.args[0].aval.shape
    match s.attrs:
        case IndexAttrs(dims=dims):
            terms = iter(where)
            moved = [indexed(d, terms, s.span) for d in dims]
            return tuple(FIXED if n == 1 else t for t, n in zip(moved, shape, strict=True))
        case AxesAttrs(axes=axes) if s.op.name == "transpose":
            return tuple(where[axes.index(i)] for i in range(len(shape)))
        case AxesAttrs(axes=axes) if s.op.name == "expand_dims":
            return tuple(t for i, t in enumerate(where) if i not in axes)
        case AxesAttrs(axes=axes):
            rest = iter(where)
            return tuple(FIXED if i in axes else next(rest) for i in range(len(shape)))
        case _ if s.op.name == "broadcast_to":
            return broadcast_map(where, shape)
        case _:
            rest = iter([t for t, n in zip(where, s.targets[0].aval.shape, strict=True) if n != 1])
            return tuple(FIXED if n == 1 else next(rest) for n in shape)


def within(s: Apply, where: Map, domain: Shape) -> tuple[Bounds, Map] | None:
    """The bounds within which a position lies in a store's slices, and the position there; None if it never does."""
    assert isinstance(s.attrs, IndexAttrs)
    bounds: list[tuple[int, int, int]] = []
    local: list[Term] = []
    for d, t in zip(s.attrs.dims, where, strict=True):
        match d:
            case At(index=int(start)):
                size = 1
            case Run(start=int(start), step=1):
                size = d.size
                local.append(in_piece(t, start, size))
            case _:
                raise refused("stores into slices that begin at places of the run, or leave elements out", s.span)
        first, behind = piece_bounds(t, start, size, domain)
        if first >= behind:
            return None
        if t.axis >= 0 and (first, behind) != (0, domain[t.axis]):
            bounds.append((t.axis, first, behind))
    return tuple(bounds), tuple(local)


def in_piece(t: Term, start: int, size: int) -> Term:
    """The position in a piece that begins at `start`."""
    return FIXED if size == 1 else Term(t.axis, t.start - start, t.step)


def piece_bounds(t: Term, start: int, size: int, domain: Shape) -> tuple[int, int]:
    """The first index of the domain at which a position is within a piece, and the first one behind it."""
    if t.axis < 0 or not size:
        return 0, int(start <= t.start < start + size)
    low, high = start - t.start, start + size - 1 - t.start
    low, high = (low, high) if t.step > 0 else (high, low)
    return max(-(-low // t.step), 0), min(high // t.step + 1, domain[t.axis])


def indexed(d: Any, terms: Any, span: Span) -> Term:
    match d:
        case At(index=int(i)):
            return Term(-1, i, 0)
        case Run(start=int(start), step=step):
            t = next(terms)
            return Term(t.axis, start + step * t.start, step * t.step)
        case _:
            raise refused("slices that begin at places of the run", span)


def refused(what: str, span: Span) -> UnsupportedError:
    return UnsupportedError(Diagnostic(f"kernels do not support {what}", span))
