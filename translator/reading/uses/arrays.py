"""np.array, np.asarray and their kin: whether they take over the memory of their argument or copy it.

    y = np.asarray(x)                 y is x's memory
    y = np.array(x)                   a copy
    y = np.ascontiguousarray(x.T)     a copy, since x.T does not lie in C order
"""

from __future__ import annotations

import ast
import math
import string
from collections.abc import Callable

import numpy as np

from ... import surface
from ...errors import UnsupportedError
from ...ir import Var
from ...surface.arguments import static_dtype
from ...surface.tables import SCALAR_TYPES
from ..core.aliases import settle
from ..core.context import Context
from ..core.demand import static
from ..core.layout import model_of, modelled, note_fortran, note_swapped
from ..core.narrowing import check_numbers
from ..core.values import Ref, Value
from ..facts.overlaps import check_overlap, check_parts
from ..facts.views import Lying, strides_of, take_for_granted
from .handlers import call_handler

Implementation = Callable[..., Value]


def _array(
    ctx: Context,
    node: ast.AST,
    object: Value,
    dtype: Value = None,
    *,
    copy: Value = True,
    order: Value = "K",
    subok: Value = False,
    ndmin: Value = 0,
    like: Value = None,
) -> Value:
    copy = _copy_mode(static(ctx, copy, node, "copy"))
    if copy or type(object) is not Ref:
        _check_copy(copy, object, dtype)
        _check_elements(ctx, object, dtype)
        return _ordered(_call(ctx, np.array, [object, dtype], {"ndmin": ndmin}, node), order)
    made = _as_array(ctx, node, object, dtype, order, copy=copy)
    missing = static(ctx, ndmin, node, "ndmin") - len(object.aval.shape)
    return _call(ctx, np.expand_dims, [made, tuple(range(missing))], {}, node) if missing > 0 else made


def _as_array(
    ctx: Context,
    node: ast.AST,
    a: Value,
    dtype: Value = None,
    order: Value = None,
    *,
    device: Value = None,
    copy: Value = None,
    like: Value = None,
) -> Value:
    copy = _copy_mode(static(ctx, copy, node, "copy"))
    _check_copy(copy, a, dtype)
    if copy:
        return _ordered(_call(ctx, np.array, [a, dtype], {}, node), order)
    _check_elements(ctx, a, dtype)
    made = _call(ctx, np.asarray, [a, dtype], {}, node)
    return contiguous(ctx, node, made, order) if order in ("C", "F") and type(a) is Ref else made


def _ordered(made: Value, order: Value) -> Value:
    """A copy that was made in this order."""
    if type(made) is Ref and not made.path and order in ("C", "F"):
        made.cell.origin = None
        if order == "F":
            note_fortran(made)
    return made


def _copy_mode(copy: Value) -> Value:
    """The meaning of `copy=` given as one of NumPy's modes, as SciPy's array_api_compat does."""
    return {"ALWAYS": True, "IF_NEEDED": None, "NEVER": False}[copy.name] if isinstance(copy, np._CopyMode) else copy


def _check_copy(copy: Value, x: Value, dtype: Value) -> None:
    """Raises ValueError, as NumPy does, where copy=False cannot be had."""
    if copy is False and (type(x) is not Ref or (dtype is not None and x.aval.dtype != np.dtype(dtype))):
        raise ValueError("Unable to avoid copy while creating an array as requested.")


def _check_elements(ctx: Context, items: Value, dtype: Value) -> None:
    """Numbers on a list must fit the dtype; a single one is cast."""
    target = static_dtype(dtype) if isinstance(items, list | tuple) else None
    if target is not None and not (ctx.frame.fixed or ctx.is_printed):
        check_numbers(ctx.b, target, items)


def _call(ctx: Context, function: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    return call_handler(ctx, surface.handler_for(function), function, args, kwargs, node)


def _copied_to(ctx: Context, node: ast.AST, dst: Value, src: Value, *rest: Value, **options: Value) -> Value:
    check_overlap(ctx, dst, src, node)
    return _call(ctx, np.copyto, [dst, src, *rest], options, node)


def _placed(ctx: Context, node: ast.AST, arr: Value, mask: Value, vals: Value) -> Value:
    check_parts(ctx, arr, vals, node, "np.place")
    return _call(ctx, np.place, [arr, mask, vals], {}, node)


def _as_contiguous(order: str) -> Implementation:
    def implementation(ctx: Context, node: ast.AST, a: Value, dtype: Value = None, *, like: Value = None) -> Value:
        made = _call(ctx, np.ascontiguousarray, [a, dtype], {}, node)
        return contiguous(ctx, node, made, order) if type(a) is Ref else made

    return implementation


def _of_type(scalar_type: type) -> Implementation:
    """np.float64 and its kin: an array that has the dtype is given back, as np.asarray does."""
    dtype = np.dtype(scalar_type)

    def implementation(ctx: Context, node: ast.AST, *args: Value, **kwargs: Value) -> Value:
        match args:
            case [Ref() as x] if x.aval.shape and x.aval.dtype == dtype:
                return x
        return _call(ctx, scalar_type, list(args), kwargs, node)

    return implementation


def _einsum(ctx: Context, node: ast.AST, subscripts: Value, *operands: Value, **options: Value) -> Value:
    """np.einsum; of one operand and without sums it is a view, whatever the dtype asked for."""
    labels, x = _labelled(subscripts, operands)
    if ctx.boxes and isinstance(x, Var | list | tuple | np.generic | int | float | complex):
        x = _call(ctx, np.asarray, [x], {}, node)
    order = None if labels is None or type(x) is not Ref else _view_order(labels, len(x.aval.shape))
    if order is None or options.get("out") is not None:
        return _call(ctx, np.einsum, [subscripts, *operands], options, node)
    letters, wanted = order
    while len(set(letters)) < len(letters):
        twice = next(c for c in letters if letters.count(c) > 1)
        i = letters.index(twice)
        j = letters.index(twice, i + 1)
        x = _call(ctx, np.diagonal, [x, 0, i, j], {}, node)
        letters = "".join(c for k, c in enumerate(letters) if k not in (i, j)) + twice
    return ctx.number(_call(ctx, np.transpose, [x, tuple(letters.index(c) for c in wanted)], {}, node))


def _labelled(subscripts: Value, operands: tuple[Value, ...]) -> tuple[str | None, Value]:
    """The labels of np.einsum and its operand, of which they are written before or behind; no labels of several."""
    if type(subscripts) is str:
        return (subscripts.replace(" ", ""), operands[0]) if len(operands) == 1 else (None, None)
    lines = [line for line in map(_label_line, operands) if line is not None]
    if len(operands) not in (1, 2) or len(lines) < len(operands):
        return None, None
    return "->".join(lines), subscripts


def _label_line(numbers: Value) -> str | None:
    if not isinstance(numbers, list | tuple):
        return None
    if any(k is not Ellipsis and (type(k) is not int or k not in range(len(_LABELS))) for k in numbers):
        return None
    return "".join("..." if k is Ellipsis else _LABELS[k] for k in numbers)


_LABELS = string.ascii_uppercase + string.ascii_lowercase
"""The letters of np.einsum's numbers, in their order."""


def _view_order(labels: str, ndim: int) -> tuple[str, str] | None:
    """A letter for each axis of the operand and of the result where np.einsum gives a view."""
    given, arrow, wanted = labels.partition("->")
    named = given.replace("...", "")
    rest = "".join([c for c in _LABELS if c not in labels][: max(ndim - len(named), 0)])
    letters = given.replace("...", rest)
    if "," in given or len(letters) != ndim:
        return None
    if not arrow:
        wanted = "..." + "".join(sorted(c for c in named if named.count(c) == 1))
    wanted = wanted.replace("...", rest)
    return (letters, wanted) if set(letters) == set(wanted) and len(set(wanted)) == len(wanted) else None


def contiguous(ctx: Context, node: ast.AST, x: Value, order: str) -> Value:
    """The array itself if it lies in this order where arrays lie in C order, else a copy.

    That an argument does lie so is looked at when it matters (`Layout`).
    """
    if type(x) is not Ref:
        return x
    if model_of(x.cell) is None:
        copy = Ref(ctx.cell(ctx.read(x)))
        copy.cell.sources = (x.cell,)
        settle(ctx, [(copy.cell, "t")])
        return copy
    array = modelled(x)
    is_itself = array is not None and (array.flags.c_contiguous if order == "C" else array.flags.f_contiguous)
    result = x if is_itself else Ref(ctx.cell(ctx.read(x)))
    if array is not None and x.aval.shape:
        line = x if order == "C" else _call(ctx, np.transpose, [x], {}, node)
        take_for_granted(ctx, x.cell, Lying(line.path, is_itself, in_line=True))
    if result is x:
        return x
    if array is not None and x.aval.shape:
        number = len(ctx.reshapes.taken) - 1
        ctx.reshapes.unwritten[result.cell] = [number]
        ctx.reshapes.copied[result.cell] = x, number
    if order == "F":
        note_fortran(result)
    note_swapped(result, x)
    return result


def _as_strided(ctx: Context, node: ast.AST, x: Value, *args: Value, **options: Value) -> Value:
    if type(x) is Ref:
        ahead = tuple(x.aval.dtype.itemsize * math.prod(x.aval.shape[i + 1 :]) for i in range(len(x.aval.shape)))
        if strides_of(ctx, x, node) != ahead:
            ctx.cut(
                node,
                "np.as_strided of a view is not in the language",
                why="its elements do not lie one after the other",
                instead="take a .copy() before, or use np.lib.stride_tricks.sliding_window_view",
            )
    try:
        return _call(ctx, np.lib.stride_tricks.as_strided, [x, *args], options, node)
    except UnsupportedError:
        if type(x) is not Ref or not x.path:
            raise
        ctx.cut(
            node,
            "np.as_strided reads elements beside this view",
            why="they are the array's that it is a view of",
            instead="use np.lib.stride_tricks.sliding_window_view, or indices",
        )


def _is_scalar(ctx: Context, node: ast.AST, element: Value) -> Value:
    return False if type(element) is Ref else _call(ctx, np.isscalar, [element], {}, node)


ARRAYS: dict[Value, Implementation] = {
    np.array: _array,
    np.asarray: _as_array,
    np.asanyarray: _as_array,
    np.ascontiguousarray: _as_contiguous("C"),
    np.asfortranarray: _as_contiguous("F"),
    np.copyto: _copied_to,
    np.einsum: _einsum,
    np.isscalar: _is_scalar,
    np.place: _placed,
    np.lib.stride_tricks.as_strided: _as_strided,
    **{scalar_type: _of_type(scalar_type) for scalar_type in SCALAR_TYPES},
}
