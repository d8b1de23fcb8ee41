"""NumPy functions that return views: the steps from the array to the view, and where NumPy copies instead."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...builder import Builder
from ...errors import CutError, Diagnostic
from ...ir import Atom, Var
from ...ops import bits
from ...ops.core import Gather, IndexAttrs
from ...records import dataclass
from ...surface import create, elementwise, shape
from ..core.context import Context
from ..core.layout import is_ordered, laid_out, model_of, modelled
from ..core.steps import read_only, replayed
from ..core.values import (
    Cell,
    IndexStep,
    OpStep,
    Ref,
    Step,
    Value,
)


def view_of(
    ctx: Context, function: Callable[..., Any], base: Ref, rest: list[Any], keywords: dict[str, Any]
) -> Value | None:
    """The view of `base` that a handler makes; None where it makes a copy, in NumPy too.

    The handler runs on a stand-in, so that what is known of the array's present content hides no step.
    """
    if function is elementwise.imag and base.aval.dtype.kind != "c" and (base.aval.shape or ctx.boxes):
        zeros = Ref(ctx.cell(function(ctx.b, ctx.read(base), *rest, **keywords)))
        zeros.cell.swapped = base.cell.swapped
        return read_only(zeros)
    copy = keywords.get("copy") if function in (shape.reshape, shape.reshape_method) else None
    if copy is True:
        return None
    scratch, stand_in = Builder(), Var("t", base.aval)
    atom = function(scratch, stand_in, *rest, **keywords)
    steps: list[Step] = []
    while atom is not stand_in:
        made = scratch.definitions.get(atom) if type(atom) is Var else None
        if made is not None and isinstance(made.attrs, IndexAttrs):
            for positions in made.args[1:]:  # along a diagonal
                _take_over(ctx, scratch, positions)
            dims = tuple(Gather(d.arg - 1) if isinstance(d, Gather) else d for d in made.attrs.dims)
            steps.append(IndexStep(dims, made.args[1:], atom.aval))
        elif made is None or made.op.name not in _VIEWS:
            return None
        else:
            if base.cell.swapped and made.op.name in bits.NAMES:
                raise CutError(Diagnostic("the bits of an array that has its bytes in the other order"))
            steps.append(OpStep(made.op, made.attrs, made.args[1:], atom.aval))
        atom = made.args[0]
    in_line = function is shape.ravel and not ctx.frame.fixed
    if not steps and not in_line:  # the library's NumPy source asks for a shape, not for protection
        if function in _ITSELF:
            return base
        protected = function is shape.broadcast_to and not ctx.frame.fixed
        return read_only(base) if protected else Ref(base.cell, base.path)  # another object than `base`
    view = Ref(base.cell, (*base.path, *reversed(steps)))
    lying = lies(view, in_line)
    if in_line or any(isinstance(s, OpStep) and s.op.name == "reshape" for s in view.path):
        if copy is False:
            ctx.reshapes.relied_on.add(len(ctx.reshapes.taken))
        take_for_granted(ctx, view.cell, lying)
    if not lying.is_view:
        if copy is False:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        copied, number = Ref(ctx.cell(atom_of_copy(ctx, base, steps))), len(ctx.reshapes.taken) - 1
        copied.cell.swapped = view.cell.swapped
        ctx.reshapes.unwritten[copied.cell] = [number]
        ctx.reshapes.copied[copied.cell] = view, number
        return copied
    return view if view.aval.shape or ctx.boxes else ctx.number(view)


def _take_over(ctx: Context, scratch: Builder, atom: Atom) -> None:
    """Append what a stand-in's builder made of nothing."""
    made = scratch.definitions.get(atom) if type(atom) is Var else None
    if made is not None and ctx.definition(made.targets[0]) is None:
        for a in made.args:
            _take_over(ctx, scratch, a)
        ctx.b.append(made)


def atom_of_copy(ctx: Context, base: Ref, steps: list[Step]) -> Atom:
    atom = ctx.read(base)
    for step in reversed(steps):
        atom = replayed(ctx.b, atom, step)
    return atom


_VIEWS = frozenset({"reshape", "transpose", "broadcast_to", "expand_dims", "squeeze", "real", "imag"}) | bits.NAMES


_ITSELF: frozenset[Callable[..., Any]] = frozenset(
    {create.as_array, create.as_contiguous, shape.squeeze, elementwise.real}
)
"""Functions that give the very array where nothing is to be done."""


@dataclass(frozen=True, slots=True)
class Lying:
    """An assumption about the memory of an array: whether every reshape on the path from it is a view.

    With `in_line` the last array must also have its elements one after the other: np.ravel copies others. With
    `in_order` it is that the first axis has the longest stride, and so on.
    """

    path: tuple[Step, ...]
    is_view: bool = True
    in_line: bool = False
    in_order: bool = False

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Whether it is so for an array of this layout."""
        if self.in_order:
            return is_ordered(array)
        return _takes_views(self.path, array, self.in_line) is self.is_view


def lies(view: Ref, in_line: bool = False) -> Lying:
    """The assumption about a view, where arguments lie in C order. Where nobody knows, it is read as a view."""
    array = model_of(view.cell)
    return Lying(view.path, array is None or _takes_views(view.path, array, in_line), in_line)


def take_for_granted(ctx: Context, cell: Cell, lying: Lying) -> None:
    """It matters only if the cell, or what was copied of it, is written later."""
    ctx.reshapes.unwritten.setdefault(cell, []).append(len(ctx.reshapes.taken))
    ctx.reshapes.taken.append((cell, lying))


def _takes_views(path: Sequence[Step], array: np.ndarray[Any, Any], in_line: bool) -> bool:
    if not in_line:
        reshapes = [i for i, s in enumerate(path) if isinstance(s, OpStep) and s.op.name == "reshape"]
        return not reshapes or laid_out(path[: reshapes[-1] + 1], array) is not None
    found = laid_out(path, array)
    if found is None:
        return False
    ahead = array.itemsize
    for n, stride in zip(reversed(found.shape), reversed(found.strides), strict=True):
        if n > 1 and stride != ahead:
            return False
        ahead *= n
    return True


def strides_of(ctx: Context, x: Value, node: ast.AST) -> tuple[int, ...]:
    """`x.strides`, for arguments that lie in C order; others are refused when they come."""
    if type(x) is not Ref:
        return ()
    array = modelled(x)
    if array is None:
        ctx.cut(node, "the strides of this array are not known here", instead="take a .copy() before")
    if x.cell.atom.aval.shape:
        ctx.reshapes.relied_on.add(len(ctx.reshapes.taken))
        ctx.reshapes.taken.append((x.cell, Lying((), in_line=True)))
    return tuple(s * x.aval.dtype.itemsize for s in array.strides)
