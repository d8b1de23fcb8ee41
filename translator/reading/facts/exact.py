"""Results with CPython's identity: a returned argument is that very object, and no memory is shared unnoticed.

A region stands for statements of a function that goes on around it, so what it gives back must be no copy of what
NumPy would have shared. `exact` says which results are arguments, and refuses views of arguments, two results that
share memory, selections x[mask], and views that NumPy lets nobody write or that lie in no order (np.broadcast_to,
np.diagonal, as_strided), of local arrays too: what follows may ask. So it may of an array that was made in Fortran's
order on purpose, for a function of LAPACK's: a region makes all in C's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import CutError, Diagnostic
from ...tree import open_node
from ..core.aliases import memory_of
from ..core.context import Context
from ..core.steps import is_read_only
from ..core.values import Cell, Masked, Ref, Value, is_leaf, is_object


class Passed:
    """Stands in a result for the argument of this name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Passed) and other.name == self.name

    def __hash__(self) -> int:
        return hash((Passed, self.name))

    def __repr__(self) -> str:
        return self.name


class EscapeError(CutError):
    """The result at `position` (of a tuple) is a view, shares memory, is not in C order, or has no size yet."""

    def __init__(self, position: int) -> None:
        super().__init__(
            Diagnostic(
                f"result {position} is no array of its own",
                why="it is a view, shares memory, lies in Fortran's order, or has no size that is known before the run",
            )
        )
        self.position = position


def exact(ctx: Context, entered: Mapping[str, Value], value: Value) -> Value:
    """The result with `Passed` for arguments; `entered` are the parameters as the function got them.

    Raises EscapeError.
    """
    outside = [c for _, c in ctx.callers.arrays] + [c for _, _, c in ctx.captures.params if c is not None]
    taken: set[Any] = {m for c in outside for m in memory_of(c)} | set(ctx.callers.containers)
    results = value if type(value) is tuple else (value,)
    found = []
    for position, v in enumerate(results):
        name = next((n for n, p in entered.items() if _same(v, p)), None)
        if name is not None:
            found.append(Passed(name))
            continue
        shared = set(_memory(v, position))
        if not shared.isdisjoint(taken):
            raise EscapeError(position)
        taken |= shared
        found.append(v)
    return tuple(found) if type(value) is tuple else found[0]


def _same(v: Value, parameter: Value) -> bool:
    if type(v) is Ref:
        return type(parameter) is Ref and v.cell is parameter.cell and not v.path and not parameter.path
    return v is parameter and _changeable(v)


def _changeable(v: Value) -> bool:
    return isinstance(v, list | dict | set) or (is_object(v) and not callable(v))


def _in_an_order_of_its_own(cell: Cell) -> bool:
    """Whether `order="F"` was asked for, not taken over from an operand."""
    return cell.origin is not None and not cell.origin.operands and cell.origin.strides is not None


def _memory(v: Value, position: int) -> Iterator[Cell | int]:
    """The cells that a value may be, and the identities of the containers in it."""
    if isinstance(v, Masked):
        raise EscapeError(position)
    if type(v) is Ref:
        if any(map(is_read_only, v.path)) or _in_an_order_of_its_own(v.cell):
            raise EscapeError(position)
        yield from memory_of(v.cell)
        return
    opened = None if is_leaf(v) else open_node(v)
    if opened is not None:
        if _changeable(v):
            yield id(v)
        for child in opened[0]:
            yield from _memory(child, position)
