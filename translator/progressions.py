"""Positions that are progressions, or sums of two: where sliding windows lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import ops
from .ir import Apply, Atom, Const, Var
from .ops.attributes import AxesAttrs, Dim, Gather, IndexAttrs, Run
from .records import dataclass

Made = Callable[[Var], Apply | None]
"""What made a variable, where that is known."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows along an axis: at which places, and what of each follows there. They are two axes in its place."""

    axis: int
    starts: range
    within: range


def windows_of(made: Made, shape: Sequence[int], dims: Sequence[Dim], dynamic: Sequence[Atom]) -> Windows | None:
    """The windows that an index takes of an array of this shape; None where it is another index."""
    axes = [i for i, d in enumerate(dims) if isinstance(d, Gather)]
    whole = all(isinstance(d, Gather) or d == Run(0, n) for d, n in zip(dims, shape, strict=True))
    if not whole or len(axes) != 1 or dynamic[0].aval.ndim != 2:
        return None
    total = _maker(made, dynamic[0])
    column = _maker(made, total.args[0]) if total is not None and total.op is ops.ADD else None
    if total is None or column is None or column.op is not ops.EXPAND_DIMS or column.attrs != AxesAttrs((1,)):
        return None
    starts, within = progression(made, column.args[0]), progression(made, total.args[1])
    return None if starts is None or within is None else Windows(axes[0], starts, within)


def windows_read_by(made: Made, s: Apply) -> Windows | None:
    """The windows that a statement takes, or adds to, of its first argument."""
    first = 1 if s.op is ops.INDEX else 2 if s.op is ops.PUT_ADD else None
    if first is None:
        return None
    assert isinstance(s.attrs, IndexAttrs)
    return windows_of(made, s.args[0].aval.shape, s.attrs.dims, s.args[first:])


def progression(made: Made, a: Atom) -> range | None:
    """The numbers where they are a progression: iota * step + start."""
    s = _maker(made, a)
    if s is None or a.aval.ndim != 1:
        return None
    if s.op is ops.IOTA:
        return range(a.aval.size)
    if s.op not in (ops.ADD, ops.SUBTRACT, ops.MULTIPLY):
        return None
    lines = [progression(made, x) for x in s.args]
    numbers = [int(x.value) if isinstance(x, Const) and not x.aval.shape else None for x in s.args]
    match s.op, *lines, *numbers:
        case (ops.ADD, range() as line, None, None, int(n)) | (ops.ADD, None, range() as line, int(n), None):
            return _line(line.start + n, line.step, len(line))
        case (ops.MULTIPLY, range() as line, None, None, int(n)) | (ops.MULTIPLY, None, range() as line, int(n), None):
            return _line(line.start * n, line.step * n, len(line)) if n else None
        case ops.SUBTRACT, range() as line, None, None, int(n):
            return _line(line.start - n, line.step, len(line))
        case ops.SUBTRACT, None, range() as line, int(n), None:
            return _line(n - line.start, -line.step, len(line))
    return None


def _line(start: int, step: int, count: int) -> range:
    return range(start, start + count * step, step)


def _maker(made: Made, a: Atom) -> Apply | None:
    return made(a) if isinstance(a, Var) else None
