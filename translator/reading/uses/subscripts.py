"""x[key] of whatever can be indexed: containers, arrays, and selections of arrays."""

from __future__ import annotations

import ast
import collections
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import make, surface
from ...errors import CutError, DTypeError, OutOfBoundsError
from ...ir import Var
from ...surface.python import as_python
from ..core.context import Context
from ..core.demand import as_key, is_searched, refuse_undefined, static
from ..core.growing import Growing, Pile, grow, item
from ..core.values import (
    FULL,
    Bounds,
    Filling,
    Flat,
    Foreign,
    Masked,
    Places,
    Ref,
    RunRange,
    Undefined,
    UpdatePlace,
    Updater,
    Value,
    describe,
)
from ..facts.keyed import are_choices, element_at, entry_at
from ..facts.maybes import some
from ..facts.runs import axes_of, first, past, width_of
from ..functions.inlining import inline
from ..parts import piled
from ..parts.agreeing import agreed
from ..parts.indexing import copy_of_line, indexed, mask_for
from ..parts.known import run_known
from ..parts.listed import last
from ..parts.ranked import at_numbers, compressed, place_of, places_of
from ..parts.selection import concrete, condition, filled, masks_of, part_of, shadowed
from ..parts.shifting import backwards
from ..text.signature import MOST_NUMBERS


def index_value(ctx: Context, base: Value, key: Value, node: ast.AST) -> Value:
    """`base[key]` for arrays and containers."""
    base, key = some(ctx, base), some(ctx, key)
    if type(base) is Ref:
        return index_array(ctx, base, key, node)
    if type(base) is Flat:
        return index_array(ctx, copy_of_line(ctx, base), key, node)
    if (type(base) is Var and not base.aval.weak and ctx.boxes) or isinstance(base, np.generic):
        return index_array(ctx, ctx.boxed(base), key, node)
    if type(base) is Var:
        if (key == () or key is Ellipsis) and not ctx.boxes:
            return base
        error = DTypeError if base.aval.weak else OutOfBoundsError
        raise ctx.error(error, node, f"{describe(base)} is not subscriptable", instead="index an array")
    source = surface.subscript_source(type(base.value if isinstance(base, Foreign) else base))
    if source is not None:
        return inline(ctx, source, [key], {}, node, fixed=True)
    if isinstance(base, Foreign):
        return _index_foreign(ctx, base, key, node)
    if isinstance(base, Growing):
        return item(ctx, base, key, node)
    if type(base) is Pile:
        return piled.item(ctx, base, key, node)
    if type(base) is Filling:
        return last(ctx, base, node)
    if isinstance(base, Updater):
        return UpdatePlace(base.array, key)
    if isinstance(base, Masked):
        return index_selection(ctx, base, key, node)
    if isinstance(base, RunRange):
        base = static(ctx, base, node, "a range that is indexed")
    if isinstance(base, Undefined):
        refuse_undefined(ctx, base, node, "what is indexed")
    method = ctx.captures.part(type(base), "__getitem__")
    if hasattr(method, "__code__") and not isinstance(base, dict | list | tuple):
        return ctx.call(method, [base, key], {}, node)
    return _element(ctx, base, key, node)


def _element(ctx: Context, base: Value, key: Value, node: ast.AST) -> Value:
    """An element of a list, tuple or dict. Where the run decides the place, one of numbers, or of what is alike."""
    many = number_line(ctx, base)
    if many is not None and len(many) > MANY_NUMBERS and _is_run_time_int(key):
        return number_at(ctx, many, key, node)
    if _is_run_time_int(key) and is_searched(ctx, key) and are_choices(ctx, base):
        return element_at(ctx, list(base), key, node)
    try:
        known = as_key(ctx, key, node, "the index of a container")
    except CutError:
        if not _is_run_time_int(key):
            raise
        if many is not None:
            return number_at(ctx, many, key, node)
        if ctx.transforms and are_choices(ctx, base):
            return element_at(ctx, list(base), key, node)
        if ctx.transforms and type(base) is dict and are_choices(ctx, list(base.values())):
            return entry_at(ctx, base, key, node)
        grow(ctx, (base,))
        raise
    if isinstance(base, collections.defaultdict) and known not in base and base.default_factory is not None:
        ctx.touch(base)
        base[known] = ctx.call(base.default_factory, [], {}, node)
    return run_known(ctx, node, lambda b, k: b[k], base, known)


MANY_NUMBERS = 64
"""Loops over fewer are written out: `for c in coefficients: y = y * x + c` then goes once over its arrays."""
_DTYPES: dict[type, type[np.generic]] = {int: np.int64, float: np.float64}


def number_line(ctx: Context, v: Value) -> np.ndarray[Any, Any] | None:
    """The elements of a container of more than `MOST_NUMBERS` Python ints, or floats, as an array, of which the run may
    choose one; None for any other value, and in the library, whose coefficients are written out.
    """
    if ctx.frame.fixed or type(v) not in (list, tuple, bytes, bytearray) or len(v) <= MOST_NUMBERS:
        return None
    kinds = set(map(type, v))
    dtype = _DTYPES.get(kinds.pop()) if len(kinds) == 1 else None
    if dtype is None or (dtype is np.int64 and not -(2**63) <= min(v) <= max(v) < 2**63):
        return None
    return np.array(list(v), dtype)


def number_at(ctx: Context, numbers: np.ndarray[Any, Any], key: Value, node: ast.AST) -> Value:
    """Python's number at a place that the run decides, of many known ones (a table of remainders, long weights)."""
    return ctx.wrap(as_python(ctx.b, ctx.atom(index_array(ctx, Ref(ctx.cell(make.lift(numbers))), key, node))))


def _is_run_time_int(key: Value) -> bool:
    return type(key) is Var and not key.aval.shape and key.aval.dtype.kind in "iu"


def _index_foreign(ctx: Context, base: Foreign, key: Value, node: ast.AST) -> Value:
    method = ctx.captures.part(type(base.value), "__getitem__")
    if hasattr(method, "__code__"):
        return ctx.call(method, [base, key], {}, node)
    what = f"indexing a {type(base.value).__name__} from outside the function"
    raise ctx.error(CutError, node, what, instead="pass it as an argument")


def index_array(ctx: Context, base: Ref, key: Value, node: ast.AST) -> Value:
    if type(key) is tuple and len(key) == 1:
        (key,) = key
    key = _places_of_masks(ctx, base, mask_for(ctx, key, base.aval.shape))
    if isinstance(key, Masked):
        return gathered(ctx, base, key, node)
    if type(key) is tuple and any(isinstance(e, Masked) for e in key) and all(map(_is_place, key)):
        return gathered_at(ctx, base, key, node)
    turned = backwards(ctx, key, base.aval.shape[0]) if base.aval.shape else None
    if turned is not None:
        return index_value(ctx, index_array(ctx, base, turned, node), slice(None, None, -1), node)
    return indexed(ctx, base, key, node)


def _places_of_masks(ctx: Context, base: Ref, key: Value) -> Value:
    """The key with the places of each mask in it, where there are several: they pair up. A mask that does not have the
    size of its axes is left to be an error.
    """
    if not ctx.transforms or type(key) is not tuple or sum(map(_is_mask, key)) < 2 or any(e is Ellipsis for e in key):
        return key
    axis = 0
    for e in key:
        width = e.aval.ndim if _is_mask(e) else int(e is not None)
        if _is_mask(e) and e.aval.shape != base.aval.shape[axis : axis + width]:
            return key
        axis += width
    return tuple(p for e in key for p in (places_of(ctx, ctx.read(e)) if _is_mask(e) else (e,)))


def _is_mask(e: Value) -> bool:
    return type(e) is Ref and e.aval.dtype.kind == "b" and e.aval.size > 0 < e.aval.ndim


def _is_place(e: Value) -> bool:
    return isinstance(e, Masked | int | np.integer | Var | Ref)


def index_selection(ctx: Context, s: Masked, key: Value, node: ast.AST) -> Value:
    """s[i], s[:, i], s[::-1], s[:, None], s[s > 0]; others need the array."""
    if key is Ellipsis or key == ():
        return s

    if isinstance(key, Masked):
        part = part_of(ctx, s, key)
        if part is not None:
            return Masked(Ref(ctx.cell(ctx.read(part.whole))), part.parts)
        return _of_elements(ctx, s, key, node)
    entries = list(key) if type(key) is tuple else [key]
    place = place_of(ctx, s, entries[0])
    if place is not None:
        rest = Masked(s.whole, (FULL, *s.parts[1:]))
        view = index_array(ctx, s.whole, (place, *[slice(None)] * (len(s.parts) - 1)), node)
        whole = all(p is None for p in rest.parts)
        if len(entries) == 1 and whole:
            return view
        selected = Masked(view, rest.parts[1:]) if type(view) is Ref and not whole else view
        return index_value(ctx, selected, tuple(entries[1:]) if len(entries) > 1 else Ellipsis, node)
    if len(entries) == 1 and entries[0] == slice(None, None, -1):
        backwards = reversed_(ctx, s, node)
        if backwards is not None:
            return backwards
    shorter = _shortened(ctx, s, entries, node)
    if shorter is not None:
        return index_selection(ctx, shorter, (slice(None), *entries[1:]), node)
    if all(width_of(p) == 1 for p in s.parts) and sum(e is not None for e in entries) <= len(s.parts):
        waiting = iter(s.parts)
        pairs = [(e, FULL if e is None else next(waiting)) for e in entries]
        if all(e is None or e == slice(None) or (part is FULL and _is_basic(e)) for e, part in pairs):
            view = index_array(ctx, s.whole, key, node)
            parts = (*(part for e, part in pairs if e is None or type(e) is slice), *waiting)
            if all(p is FULL for p in parts):
                return view
            moved = any(e is not None and e != slice(None) for e in entries)
            return Masked(view, parts) if moved else Masked(view, parts, axis=s.axis, content=s.content)
    beside = _beside(ctx, s, entries, node)
    return _of_elements(ctx, s, key, node) if beside is None else beside


def _of_elements(ctx: Context, s: Masked, key: Value, node: ast.AST) -> Value:
    """s[key] by the numbers of elements: of a selection by masks those of what stands in front."""
    ctx.at(node)
    if ctx.transforms and not masks_of(ctx, s):
        if (found := at_numbers(ctx, s, key)) is not None:
            return found
        if (front := compressed(ctx, s)) is not s:
            part = index_selection(ctx, front, key, node)
            for copy in (front, part):
                if isinstance(copy, Masked | Ref):
                    shadowed(s, copy.whole if isinstance(copy, Masked) else copy)
            return part
    return index_array(ctx, concrete(ctx, s, node, "indexing x[mask]"), key, node)


def _beside(ctx: Context, s: Masked, entries: list[Value], node: ast.AST) -> Masked | None:
    """s[:, i], s[..., 1:], s[:, [2, 0]], s[:, mask]: an index of axes that the selection has whole; None for others."""
    missing = len(s.parts) - sum(e is not Ellipsis for e in entries)
    if missing < 0 or sum(e is Ellipsis for e in entries) > 1 or any(e is None for e in entries):
        return None
    if not any(e is Ellipsis for e in entries):
        entries = [*entries, Ellipsis]
    key = [e for given in entries for e in ([slice(None)] * missing if given is Ellipsis else [given])]
    pairs = list(zip(s.parts, key, strict=True))
    if all(_is_all(e) or (p is None and _is_mask_of(s, i, e)) for i, (p, e) in enumerate(pairs)):
        parts = (p if type(e) is slice else Places(ctx.atom(e)) for p, e in pairs)
        return Masked(Ref(ctx.cell(ctx.read(s.whole))), tuple(parts))
    if any(p is not None and not _is_all(e) for p, e in pairs) or not all(map(_is_plain, key)):
        return None
    gathers = sum(type(e) is list or type(e) is Ref for e in key)
    drops = [not (type(e) is slice or type(e) is list or type(e) is Ref) for e in key]
    if gathers > 1 or (gathers and any(drops)):
        return None
    spread = tuple(e for p, e in pairs for e in [e] * width_of(p))
    view = index_array(ctx, s.whole, spread, node)
    if type(view) is not Ref:
        return None
    return Masked(view, tuple(p for p, dropped in zip(s.parts, drops, strict=True) if not dropped))


def _is_all(e: Value) -> bool:
    return type(e) is slice and e.start is e.stop is e.step is None


def _is_mask_of(s: Masked, i: int, e: Value) -> bool:
    """Whether an entry of an index is a mask over the axis of part `i`, which is whole."""
    return type(e) is Ref and e.aval.dtype.kind == "b" and e.aval.shape == (s.whole.aval.shape[axes_of(s, [i])[0]],)


def _is_plain(e: Value) -> bool:
    """A number, a slice between numbers, or positions along one axis."""
    if type(e) is slice:
        return all(p is None or type(p) is int for p in (e.start, e.stop, e.step))
    if type(e) is list:
        return bool(e) and all(type(i) is int for i in e)
    if type(e) is Ref or type(e) is Var:
        return e.aval.dtype.kind in "iu" and e.aval.ndim == (type(e) is Ref)
    return type(e) is int or isinstance(e, np.integer)


def _is_basic(e: Value) -> bool:
    """Whether an entry of an index is a number, which takes its axis away, or a slice."""
    return type(e) is slice or (isinstance(e, int | np.integer) and not isinstance(e, bool))


def _shortened(ctx: Context, s: Masked, entries: Sequence[Value], node: ast.AST) -> Masked | None:
    """s[j:-k, ...] of the first so many elements of an axis, by known j and k, and s[j:k, ...] where CPython can run no
    part; None for others.
    """
    first, part = entries[0], s.parts[0]
    if type(first) is not slice or first == slice(None) or not isinstance(part, Bounds) or first.step not in (None, 1):
        return None
    j, k = first.start or 0, first.stop or 0
    if type(part.start) is not int or (part.start, part.step) != (0, 1) or type(j) is not int or type(k) is not int:
        return None
    if not 0 <= j < part.n or k <= -part.n or first.stop == 0 or (k > 0 and not ctx.transforms):
        return None
    k = min(k, part.n)
    n = part.n - j + k if k <= 0 else k - j
    if n <= 0:
        return None
    b, length = ctx.b, ctx.atom(part.stop)
    left = make.add(b, length, k - j) if k <= 0 else make.subtract(b, make.minimum(b, length, k), j)
    stop = make.maximum(b, left, 0)
    view = index_array(ctx, s.whole, slice(j, j + n), node)
    return Masked(view, (Bounds(0, ctx.wrap(stop), 1, n), *s.parts[1:]))


def reversed_(ctx: Context, s: Masked, node: ast.AST) -> Masked | None:
    """s[::-1] along the first axis, to be read only."""
    p = s.parts[0]
    if not isinstance(p, Bounds) or type(p.step) is not int or p.step != 1 or not p.n:
        return None
    b = ctx.b
    ends = make.subtract(b, make.add(b, ctx.atom(first(ctx, p)), ctx.atom(past(ctx, p))), 1)
    mirrored = make.subtract(b, ends, make.iota(b, p.n))
    inside = make.minimum(b, make.maximum(b, mirrored, 0), p.n - 1)
    whole = index_array(ctx, s.whole, Ref(ctx.cell(inside)), node)
    shadowed(s, whole, "it is a reversed view of a slice whose length is not known before the run")
    return Masked(whole, s.parts)


def gathered(ctx: Context, base: Ref, key: Masked, node: ast.AST) -> Value:
    """base[i[lo:hi]]: the places outside of the selection gather element 0."""
    if not base.aval.shape or not base.aval.shape[0]:
        return index_array(ctx, base, concrete(ctx, key, node, "an index x[mask]"), node)
    numbers = filled(ctx, condition(ctx, key), ctx.read(key.whole), 0)
    whole = index_array(ctx, base, Ref(ctx.cell(numbers)), node)
    return Masked(whole, (*key.parts, *[FULL] * (base.aval.ndim - 1)))


def gathered_at(ctx: Context, base: Ref, keys: Sequence[Value], node: ast.AST) -> Value:
    """base[i[mask], j[mask]]: one index array an axis, some or all of them selections of the same places."""
    aligned = agreed(ctx, keys)
    if aligned is None or len(keys) > base.aval.ndim or 0 in base.aval.shape[: len(keys)]:
        arrays = [concrete(ctx, k, node, "an index x[mask]") if isinstance(k, Masked) else k for k in keys]
        return index_array(ctx, base, tuple(arrays), node)
    wholes, parts = aligned
    inside = condition(ctx, Masked(Ref(ctx.cell(ctx.atom(wholes[0]))), parts))
    filling = [
        Ref(ctx.cell(filled(ctx, inside, ctx.read(w), 0))) if isinstance(k, Masked) and type(w) is Ref else w
        for k, w in zip(keys, wholes, strict=True)
    ]
    whole = index_array(ctx, base, tuple(filling), node)
    return Masked(whole, (*parts, *[FULL] * (base.aval.ndim - len(keys))))
