"""Indices out of range under the `mode=` of JAX's x.at[...]: clipped or wrapped, or filled and dropped.

    x.at[i].get(mode="clip")                  x[np.clip(np.where(i < 0, i + n, i), 0, n - 1)]
    x.at[i].get(mode="fill", fill_value=0)    np.append(x, 0)[np.where((i >= -n) & (i < n), i, n)]
    x.at[i].set(v, mode="drop")               stored into an array with one element more, which is cut off

Negative indices count from the end, but with wrap_negative_indices=False, where they are out of range as well.
Where no mode is given an index out of range is an error, as in NumPy.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from ... import make
from ...ir import Var
from ...library import scattering
from ...library.gathering import fill_of
from ...ops.core import Run
from ...records import dataclass
from ..core.context import Context
from ..core.values import Ref, Value
from .inlining import inline

MODES = ("clip", "wrap", "fill", "drop")


@dataclass(slots=True)
class Moded:
    """An array and a key of which no index is out of range. `shape` is that of the array before axes were extended."""

    array: Ref
    key: Value
    shape: tuple[int, ...]

    def restored(self, ctx: Context) -> Ref:
        """The array without what it was extended by."""
        x = make.index(ctx.b, ctx.read(self.array), [Run(0, n) for n in self.shape])
        return Ref(ctx.cell(x))


def moded(ctx: Context, array: Ref, key: Value, mode: str, fill: Value, node: ast.AST) -> Moded:
    """`fill` is what stands behind the end of extended axes; None: NaN, or the extreme of an integer dtype."""
    found = Moded(array, key, array.aval.shape)
    found.key = _each_index(found.shape, key, lambda e, axis: _inside(ctx, found, e, axis, mode, fill, node))
    return found


def not_negative(ctx: Context, array: Ref, key: Value, clip: bool, node: ast.AST) -> Value:
    """The key with the negative indices out of range, or moved to the first place where they are to `clip`."""
    shape = array.aval.shape

    def counted(e: Value, axis: int) -> Value:
        beyond = 0 if clip else shape[axis]
        if isinstance(e, int):
            return beyond if e < 0 else e
        return inline(ctx, scattering.unless_negative, [e, beyond], {}, node, fixed=True)  # type: ignore[arg-type]

    return _each_index(shape, key, counted)


def _each_index(shape: tuple[int, ...], key: Value, change: Callable[[Value, int], Value]) -> Value:
    """The key with `change(index, axis)` for each of its integers and arrays of integers."""
    entries = list(key) if type(key) is tuple else [key]
    taken = sum(_axes(e) for e in entries)
    axis = 0
    for place, e in enumerate(entries):
        if e is Ellipsis:
            axis += len(shape) - taken
        elif _is_index(e) and axis < len(shape):
            entries[place] = change(e, axis)
        axis += _axes(e)
    return tuple(entries)


def _axes(e: Value) -> int:
    """How many axes an entry of an index takes."""
    if e is None or e is Ellipsis:
        return 0
    if type(e) is Ref:
        return e.aval.ndim if e.aval.dtype.kind == "b" else 1
    return e.ndim if isinstance(e, np.ndarray) and e.dtype.kind == "b" else 1


def _is_index(e: Value) -> bool:
    if type(e) is Ref or type(e) is Var:
        return e.aval.dtype.kind in "iu"
    if type(e) is bool or isinstance(e, slice):
        return False
    return isinstance(e, int | list | np.integer) or (isinstance(e, np.ndarray) and e.dtype.kind in "iu")


def _inside(ctx: Context, found: Moded, e: Value, axis: int, mode: str, fill: Value, node: ast.AST) -> Value:
    n = found.shape[axis]
    if isinstance(e, int) and -n <= e < n:
        return e
    if mode in ("fill", "drop"):
        if found.array.aval.shape[axis] == n:
            missing = fill_of(found.array.aval.dtype) if fill is None else fill
            extended = inline(ctx, scattering.extended, [found.array, axis, missing], {}, node, fixed=True)  # type: ignore[arg-type]
            assert type(extended) is Ref
            found.array = extended
        return inline(ctx, scattering.or_behind, [e, n], {}, node, fixed=True)  # type: ignore[arg-type]
    source = scattering.clipped if mode == "clip" else scattering.wrapped
    return inline(ctx, source, [e, n], {}, node, fixed=True)  # type: ignore[arg-type]
