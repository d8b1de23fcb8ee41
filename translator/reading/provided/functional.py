"""x.at[i].set(v): JAX's updates of an array that leave it as it is and give a new one.

    y = x.at[i].set(v)            y = x.copy()
                                  y[i] = v

Repeated indices accumulate in all but `set`, as in JAX; indices out of range are errors, as in NumPy, unless a mode
says what becomes of them (`moded`).
"""

from __future__ import annotations

import ast

import numpy as np

from ... import make
from ...library.gathering import GatherScatterMode
from ...library.scattering import changed, scattered
from ..core.context import Context
from ..core.values import Ref, Update, UpdatePlace, Value
from ..functions.inlining import inline
from ..functions.moded import MODES, moded, not_negative
from ..parts.array_stores import store_selected
from ..parts.indexing import mask_of, masked, parse_key
from ..uses.attributes import UPDATES
from ..uses.stores import store
from ..uses.subscripts import index_value

_PROMISES = frozenset({"indices_are_sorted", "unique_indices", "mode", "fill_value", "wrap_negative_indices"})


def call_update(ctx: Context, update: Update, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """The new array, or for `get` the elements."""
    array, key, name = update.place.array, update.place.key, update.name
    mode = _mode(ctx, kwargs, node)
    wanted = 0 if name == "get" else 1
    if len(args) != wanted:
        raise TypeError(f"x.at[...].{name} takes {wanted} arguments, got {len(args)}")
    if kwargs.get("wrap_negative_indices") is False:
        key = not_negative(ctx, array, key, mode == "clip", node)
    if mode is None:
        return _updated(ctx, Update(UpdatePlace(array, key), name), args, kwargs.get("unique_indices") is True, node)
    fill = kwargs.get("fill_value") if name == "get" else 0
    inside = moded(ctx, array, key, mode, fill, node)
    place = UpdatePlace(inside.array, inside.key)
    new = _updated(ctx, Update(place, name), args, False, node)
    if name == "get":
        return new
    assert type(new) is Ref
    inside.array = new
    return inside.restored(ctx)


def _updated(ctx: Context, update: Update, args: list[Value], unique: bool, node: ast.AST) -> Value:
    array, key, name = update.place.array, update.place.key, update.name
    if name == "get":
        return index_value(ctx, array, key, node)
    new = Ref(ctx.cell(ctx.read(array)))
    if name == "set":
        store(ctx, new, key, args[0], node)
    elif name == "apply":
        store(ctx, new, key, ctx.call(args[0], [index_value(ctx, new, key, node)], {}, node), node)
    else:
        return _combined(ctx, new, key, UPDATES[name], args[0], unique, node)
    return new


def _mode(ctx: Context, kwargs: dict[str, Value], node: ast.AST) -> str | None:
    """How indices out of range are treated; None where they are errors."""
    for name in kwargs:
        if name not in _PROMISES:
            raise TypeError(f"x.at[...] has no option {name!r}")
    mode = kwargs.get("mode")
    if isinstance(mode, GatherScatterMode):
        mode = {GatherScatterMode.CLIP: "clip", GatherScatterMode.FILL_OR_DROP: "fill"}.get(mode)
    if mode in (None, "promise_in_bounds", "error"):
        return "fill" if kwargs.get("fill_value") is not None else None
    if mode not in MODES:
        raise ValueError(f"x.at[...]: mode must be one of {', '.join(map(repr, MODES))}, not {mode!r}")
    return str(mode)


def _combined(ctx: Context, new: Ref, key: Value, ufunc: np.ufunc, value: Value, unique: bool, node: ast.AST) -> Value:
    mask = mask_of(ctx, new.aval.shape, key, node)
    if mask is not None:
        selected = masked(ctx, new, mask)
        changed = ctx.call(ufunc, [masked(ctx, Ref(ctx.cell(ctx.read(new))), mask), value], {}, node)
        store_selected(ctx, selected, changed, node)
        return new
    if unique or not parse_key(ctx, new.aval.shape, key, node).gathers:
        store(ctx, new, key, ctx.call(ufunc, [index_value(ctx, new, key, node), value], {}, node), node)
        return new
    return scatter_into(ctx, ufunc, new, key, value, node)


def scatter_into(ctx: Context, ufunc: np.ufunc, array: Ref, key: Value, value: Value, node: ast.AST) -> Value:
    """`array` after ufunc.at(array, key, value): every occurrence of an index counts. No value where it takes none."""
    if ufunc in (np.add, np.subtract):
        atom = ctx.atom(value)
        if ufunc is np.subtract:
            atom = make.negative(ctx.b, atom)
        parsed = parse_key(ctx, array.aval.shape, key, node)
        ctx.at(node)
        return ctx.wrap(make.put_add(ctx.b, ctx.read(array), atom, parsed.dims, parsed.atoms))
    numbers = make.lift(np.arange(array.aval.size).reshape(array.aval.shape))
    places = index_value(ctx, ctx.wrap(numbers), key, node)
    given = [ufunc, array, places, value] if ufunc.nin == 2 else [ufunc, array, places]
    return inline(ctx, scattered if ufunc.nin == 2 else changed, given, {}, node, fixed=True)  # type: ignore[arg-type]
