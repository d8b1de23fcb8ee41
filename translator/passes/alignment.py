"""Where values lie in the domain of a kernel: what fusion must know to put a statement into a group."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Apply, Atom, Shape
from ..ops.core import At, AxesAttrs, Create, Dyn, Index, IndexAttrs, Reshape, Run, ShapeAttrs

LONGEST_LONE_ROW = 1 << 14  # a longer row needs more than one block of threads, unless there are many rows
MANY_ROWS = 64

Alignment = tuple[int, ...]
"""For each axis of a value the axis of the domain along which it lies; -1 where it has one element."""


def is_free(s: Apply) -> bool:
    """Views and constants: a kernel that reads them needs no array, only another address or a value."""
    match s.op:
        case Reshape(name="reshape"):
            return without_ones(s.args[0].aval.shape) == without_ones(s.targets[0].aval.shape)
        case Reshape():
            return True
        case Create(name=name):
            return name in ("full", "iota")
        case Index():
            assert isinstance(s.attrs, IndexAttrs)
            return all(
                (isinstance(d, At) and not isinstance(d.index, Dyn))
                or (isinstance(d, Run) and not isinstance(d.start, Dyn))
                for d in s.attrs.dims
            )
        case _:
            return False


def without_ones(shape: Shape) -> Shape:
    return tuple(n for n in shape if n != 1)


def only_broadcasts(chain: Sequence[Apply]) -> bool:
    return all(isinstance(v.op, Create) or (isinstance(v.op, Reshape) and v.op.name != "transpose") for v in chain)


def through(alignment: Alignment, chain: Sequence[Apply]) -> Alignment | None:
    """The alignment of a view of a pinned value; None for a slice."""
    for view in chain:
        shape = view.targets[0].aval.shape
        match view.attrs:
            case _ if isinstance(view.op, Index | Create):
                return None
            case AxesAttrs(axes=axes) if view.op.name == "transpose":
                alignment = tuple(alignment[a] for a in axes)
            case AxesAttrs(axes=axes) if view.op.name == "expand_dims":
                rest = iter(alignment)
                alignment = tuple(-1 if i in axes else next(rest) for i in range(len(shape)))
            case AxesAttrs(axes=axes):
                alignment = tuple(a for i, a in enumerate(alignment) if i not in axes)
            case ShapeAttrs() if view.op.name == "broadcast_to":
                alignment = (-1,) * (len(shape) - len(alignment)) + alignment
            case _:
                rest = iter([a for a, n in zip(alignment, view.args[0].aval.shape, strict=True) if n != 1])
                alignment = tuple(-1 if n == 1 else next(rest) for n in shape)
    return alignment


def reduced_alignment(domain: Shape, axes: tuple[int, ...], keepdims: bool) -> Alignment:
    if keepdims:
        return tuple(-1 if i in axes or n == 1 else i for i, n in enumerate(domain))
    return tuple(-1 if n == 1 else i for i, n in enumerate(domain) if i not in axes)


def result_alignment(
    shape: Shape, kind: str, domain: Shape, axes: tuple[int, ...], constraints: dict[int, int]
) -> Alignment | None:
    """The place of an elementwise result that depends on reductions: along the whole domain, or one value a row."""
    if shape == domain and kind == "row" and all(p == axis for p, axis in constraints.items()):
        return tuple(-1 if n == 1 else i for i, n in enumerate(shape))
    alignment = tuple(constraints.get(p, -1) for p in range(len(shape)))
    lengths = [domain[a] if a >= 0 else 1 for a in alignment]
    rows = [n for i, n in enumerate(domain) if i not in axes and n != 1]
    in_order = [a for a in alignment if a >= 0]
    if any(a in axes for a in in_order) or in_order != sorted(in_order) or len(in_order) != len(rows):
        return None
    return alignment if tuple(lengths) == shape else None


def reduction_kind(domain: Shape, axes: tuple[int, ...]) -> str:
    """row where the reduced axes are the last ones and one block of threads can take a row; reduce otherwise."""
    if axes != tuple(range(len(domain) - len(axes), len(domain))):
        return "reduce"
    length = rows = 1
    for i, n in enumerate(domain):
        if i in axes:
            length *= n
        else:
            rows *= n
    return "row" if rows >= MANY_ROWS or length <= LONGEST_LONE_ROW else "reduce"


def nbytes(a: Atom) -> int:
    return a.aval.nbytes
