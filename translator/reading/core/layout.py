"""The memory layout of arrays that the function makes, which decides whether a reshape is a view or a copy.

    y = x.T * 2               in Fortran order, as x.T lies: what ufuncs make follows their operands
    y.reshape(-1)[2] = 7      so the reshape is a copy, and y stays as it is
    z = x.T.copy()            in C order

Arrays lie in C order unless their `Cell.origin` says otherwise; that an argument does is looked at when it matters.

    x.copy()                  has the order of bytes of x, an argument that came from a file, and so has zeros_like(x)
    x + x.copy()              has the processor's

Programs know numbers, not their bytes: what would show the other order (`Cell.swapped`) is left to CPython.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...errors import Diagnostic, UnsupportedError
from ...ops import bits
from ...ops.core import At, Dim, Gather, Run, gather_position
from ...ops.shapes import c_strides
from .steps import is_read_only
from .values import Cell, OpStep, Origin, Ref, Step, Strides, Value, leaves_in


def note_kind(value: Value, *operands: Value) -> None:
    """`value` was computed from these: an Array where one of them is an Array."""
    given = {v.cell for o in operands for v in _arrays(o)}
    if any(cell.immutable for cell in given):
        for v in _arrays(value):
            if not v.path and v.cell not in given:
                v.cell.immutable = True


def note_elementwise(value: Value, *operands: Value) -> None:
    """`value` was made element by element, or is a copy: NumPy's order K."""
    note_kind(value, *operands)
    for made, given in _followed(value, operands):
        made.origin = Origin(_cells(given), _followed_strides(made.atom.aval.shape, given))


def note_result(f: Any, value: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> None:
    """`value` is what the function or method `f` of NumPy made of its arguments."""
    note_kind(value, *args, *kwargs.values())
    if not isinstance(f, np.ufunc) and f not in _NATIVE:
        note_swapped(value, *args, *kwargs.values())
    order = kwargs.get("order", "C" if f in _COPIES else "K")
    if f in _TURNING or str(getattr(f, "__module__", None)).startswith("scipy.linalg"):
        _note_unknown(value)
    elif order == "F":
        note_fortran(value)
    elif kwargs.get("order") == "C":
        return
    elif isinstance(f, np.ufunc):
        if f.signature is None:
            note_elementwise(value, *args)
    elif f in _LIKE or (order == "K" and f in _ELEMENTWISE):
        note_elementwise(value, *(args[:1] if f in _LIKE else args))
    elif f not in _IN_C_ORDER and (order != "C" or f not in _COPIES):
        note_dependent(value, *args, *kwargs.values())


def note_swapped(value: Value, *operands: Value) -> None:
    """`value` was copied from these: it may have their order of bytes."""
    if any(type(v) is Ref and v.cell.swapped for o in operands for v in leaves_in(o)):
        for v in leaves_in(value):
            if type(v) is Ref:
                v.cell.swapped = True


def note_dependent(value: Value, *operands: Value) -> None:
    """`value` lies in C order if the operands lie so; nobody has said how it lies otherwise."""
    for made, given in _followed(value, operands):
        ordered = all(_is_ordered(g) for g in given)
        made.origin = Origin(_cells(given), c_strides(made.atom.aval.shape) if ordered else None)


def note_gathered(value: Value, base: Ref, dims: Sequence[Dim]) -> None:
    """`value` is base[places]; NumPy lays the axes of the places before the others."""
    note_kind(value, base)
    note_swapped(value, base)
    for made, _ in _followed(value, [base]):
        shape = made.atom.aval.shape
        kinds = "".join("p" if isinstance(d, Gather) else "s" for d in dims if type(d) is not At)
        at, axes = kinds.index("p"), len(shape) - kinds.count("s")  # of the places, in the result
        adjacent = kinds.count("p") == len(kinds.strip("s"))
        strides = c_strides((*shape[at : at + axes], *shape[:at], *shape[at + axes :]))
        moved = (*strides[axes:][:at], *strides[:axes], *strides[axes + at :])
        made.origin = Origin((base.cell,), moved if adjacent and _is_ordered(base) else None)


def _note_unknown(value: Value) -> None:
    for v in _arrays(value):
        if not v.path and v.cell.origin is None and len(v.aval.shape) > 1:
            v.cell.origin = Origin((), None)


def note_fortran(value: Value) -> None:
    if type(value) is Ref and not value.path and len(value.aval.shape) > 1:
        value.cell.origin = Origin((), c_strides(value.aval.shape[::-1])[::-1])


def note_either(cell: Cell, x: Value, y: Value) -> None:
    """Note that `cell` holds one of two arrays of the same type."""
    given = [v for v in (x, y) if type(v) is Ref]
    cell.swapped = any(v.cell.swapped for v in given)
    cell.immutable = bool(given) and all(v.cell.immutable for v in given)
    if len(cell.atom.aval.shape) > 1 and any(v.path or v.cell.origin is not None for v in given):
        found = {None if m is None else m.strides for m in map(modelled, given)}
        strides = found.pop() if len(found) == 1 and len(given) == 2 else None
        cell.origin = Origin(_cells(given), strides)


def same_layout(cell: Cell, y: Ref) -> bool:
    """Whether both lie in the same way, as far as is known."""
    if len(y.aval.shape) < 2 or (cell.origin is None and y.cell.origin is None and not y.path):
        return True
    one, other = model_of(cell), modelled(y)
    return one is not None and other is not None and one.strides == other.strides


def check_reshapes(cell: Cell, values: Iterable[Any]) -> None:
    """Before an array is written of which nobody knows how it lies: refused if one of `values` is a reshape of it."""
    group = cell.group
    for v in values:
        if type(v) is Ref and v.cell in group and any(type(s) is OpStep and s.op.name == "reshape" for s in v.path):
            raise unknown_layout()


def unknown_layout() -> UnsupportedError:
    """No cut helps: what a region gives CPython lies in C order."""
    return UnsupportedError(
        Diagnostic(
            "this array may share memory with a reshape of it, or not",
            why="NumPy may have made it with its axes in another order in memory, and copies then",
            instead="take a .copy() of it before, which lies in C order",
        )
    )


def modelled(ref: Ref) -> np.ndarray[Any, Any] | None:
    """An array of bytes that lies as this one does; None where that is not known."""
    base = model_of(ref.cell)
    return base if base is None or not ref.path else laid_out(ref.path, base)


def model_of(cell: Cell) -> np.ndarray[Any, Any] | None:
    """An array of bytes that lies as that of the cell does, where arguments lie in C order; None if nobody knows."""
    shape = cell.atom.aval.shape
    strides = c_strides(shape) if cell.origin is None else cell.origin.strides
    return None if strides is None else np.lib.stride_tricks.as_strided(_BYTE, shape, strides)


def is_ordered(array: np.ndarray[Any, Any]) -> bool:
    """Whether its first axis has the longest stride, and so on."""
    strides = [abs(s) for n, s in zip(array.shape, array.strides, strict=True) if n > 1 and s]
    return strides == sorted(strides, reverse=True)


def laid_out(path: Sequence[Step], array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """An array that lies as the view of one of this layout would; None where NumPy copies."""
    array = np.lib.stride_tricks.as_strided(_BYTE, array.shape, array.strides)
    for step in path:
        if isinstance(step, OpStep) and step.op.name == "broadcast_to":
            array = np.broadcast_to(array, step.aval.shape)
            continue
        if is_read_only(step):
            diagonal = _strided_diagonal(array, step)
            if diagonal is None:
                return None
            array = diagonal
        elif not isinstance(step, OpStep):
            array = _strided_index(array, step)
        elif step.op.name == "reshape":
            try:
                array = np.reshape(array, step.aval.shape, copy=False)
            except ValueError:
                return None
        elif step.op.name in ("transpose", "expand_dims", "squeeze"):
            array = getattr(np, step.op.name)(array, step.attrs.axes)  # type: ignore[union-attr]
        elif step.op.name in ("real", "imag"):
            array = np.lib.stride_tricks.as_strided(_BYTE, array.shape, [2 * s for s in array.strides])
        elif step.op.name not in bits.NAMES:
            return None
    return array


def _strided_index(array: Any, step: Any) -> Any:
    """The same view at any start: only sizes and steps matter for the layout."""
    shape, strides = [], []
    for d, stride in zip(step.dims, array.strides, strict=True):
        if not isinstance(d, At):
            shape.append(d.size)
            strides.append(stride * d.step)
    return np.lib.stride_tricks.as_strided(array, shape, strides)


def _strided_diagonal(array: Any, step: Any) -> Any:
    """The same of a diagonal, whose places go up by one along each of its axes; None of windows."""
    dims = list(zip(step.dims, array.strides, strict=True))
    kept = [(d.size, n * d.step) for d, n in dims if isinstance(d, Run)]
    at = gather_position(step.dims)
    kept.insert(at, (step.aval.shape[at], sum(n for d, n in dims if isinstance(d, Gather))))
    if tuple(n for n, _ in kept) != step.aval.shape:
        return None
    return np.lib.stride_tricks.as_strided(array, [n for n, _ in kept], [n for _, n in kept])


_BYTE = np.empty(1, np.int8)
_NATIVE = frozenset(  # functions and methods that make arrays as arithmetic does
    {np.sum, np.prod, np.mean, np.std, np.var, np.max, np.min, np.amax, np.amin, np.any, np.all, np.argmax, np.argmin}
    | {np.dot, np.inner, np.outer, np.vdot, np.einsum, np.tensordot, np.trace, np.clip, np.cumsum, np.cumprod}
    | {np.where, np.concatenate, np.stack, np.vstack, np.hstack, np.linalg.norm, np.linalg.solve, np.linalg.inv}
    | {np.argsort, np.searchsorted, np.count_nonzero, np.nonzero, np.isclose, np.diff}
    | {"sum", "prod", "mean", "std", "var", "max", "min", "any", "all", "argmax", "argmin", "dot", "trace"}
    | {"clip", "cumsum", "cumprod", "argsort", "nonzero", "searchsorted", "astype", "tolist", "item"}
)
_COPIES = frozenset({"copy", "flatten"})  # methods that have C for the order where nobody says one
_IN_C_ORDER = frozenset({np.matmul, np.dot, np.inner, np.outer, np.ascontiguousarray, "dot"}) | _COPIES
_TURNING = frozenset(  # functions whose results may have their axes in another order than C order, whatever comes in
    {np.apply_along_axis, np.cross, np.linalg.cross, np.delete, np.histogram2d, np.histogramdd, np.nanpercentile}
    | {np.nanquantile, np.linspace, np.logspace, np.geomspace, np.linalg.eig, np.linalg.eigvals}
)
_LIKE = frozenset({np.zeros_like, np.ones_like, np.empty_like, np.full_like})
_ELEMENTWISE = frozenset(
    {np.copy, np.array, np.asarray, np.asanyarray, np.where, np.clip, np.sort, np.cumsum, np.cumprod, "astype", "clip"}
    | {"conj", "conjugate", "cumsum", "cumprod"}
    | _COPIES
)


def _followed(value: Value, operands: Sequence[Value]) -> Iterable[tuple[Cell, list[Ref]]]:
    """Arrays of `value` that are new and of two axes or more, with such arrays among the operands, if there are any."""
    if type(value) is tuple or type(value) is list:
        for v in value:
            yield from _followed(v, operands)
    elif type(value) is Ref and not value.path and value.cell.origin is None and len(value.aval.shape) > 1:
        given = [v for o in operands for v in _arrays(o) if len(v.aval.shape) > 1]
        if given and all(g.cell is not value.cell for g in given):
            yield value.cell, given


def _arrays(v: Value) -> Iterable[Ref]:
    return (v,) if type(v) is Ref else (x for x in leaves_in(v) if type(x) is Ref) if type(v) in (list, tuple) else ()


def _cells(given: Sequence[Ref]) -> tuple[Cell, ...]:
    return tuple(dict.fromkeys(g.cell for g in given))


def _followed_strides(shape: Strides, given: Sequence[Ref]) -> Strides | None:
    """The strides, in elements, of what NumPy's iterator makes of these operands."""
    if all(_is_ordered(g) for g in given):
        return c_strides(shape)
    models: list[Any] = [m for m in map(modelled, given) if m is not None]
    if len(models) < len(given):
        return None
    flags: Any = [*([["readonly"]] * len(given)), ["writeonly", "allocate"]]
    try:
        made = np.nditer([*models, None], ["zerosize_ok"], flags, order="K").operands[-1]
    except ValueError:
        return None  # they are not broadcast against each other
    return made.strides if made.shape == shape else None


def _is_ordered(ref: Ref) -> bool:
    if ref.cell.origin is None and all(type(s) is not OpStep or s.op.name in _KEEPING for s in ref.path):
        return True
    array = modelled(ref)
    return array is not None and is_ordered(array)


_KEEPING = frozenset({"expand_dims", "squeeze", "real", "imag"}) | bits.NAMES
