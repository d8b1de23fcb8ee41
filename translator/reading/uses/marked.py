"""Masks in what is read to be transformed: np.nonzero and the like as selections, loops over x[mask].

    np.sum(x[np.nonzero(mask)[0]])      the selection arange(n)[mask] as an index
    for v in x[mask]: ...               for k in range(np.sum(mask)): v = x[places[k]]     places = np.argsort(~mask)
    np.unique(x)                        s = np.sort(x); s[first]                           first = s[1:] != s[:-1]
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import make
from ...ir import Atom, Var
from ...ops.core import Gather
from ..core.context import Context
from ..core.demand import affine, trues
from ..core.values import FULL, Bounds, Masked, Places, Ref, Value
from ..facts.runs import count, width_of
from ..parts.ranked import places_of
from .subscripts import index_array

_LISTS = (np.nonzero, np.where, np.flatnonzero, np.argwhere, "nonzero")


def is_list_of_places(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether this is a call, in what is to be transformed, for the places at which one array is not zero."""
    wanted = any(f is g for g in _LISTS[:-1]) or f == "nonzero"
    if not (ctx.transforms and wanted and len(args) == 1 and not kwargs):
        return False
    return type(args[0]) is Ref and args[0].aval.size > 0 < args[0].aval.ndim


def list_of_places(ctx: Context, f: Any, array: Ref) -> Value:
    b, x = ctx.b, ctx.read(array)
    if f is np.flatnonzero:
        x = make.reshape(b, x, (-1,))
    mask = x if x.aval.dtype.kind == "b" else make.not_equal(b, x, 0)
    found = places_of(ctx, mask)
    if f is np.argwhere:
        ndim = mask.aval.ndim
        whole = make.concatenate(b, [make.expand_dims(b, ctx.read(p.whole), ndim) for p in found], ndim)
        return Masked(Ref(ctx.cell(whole)), (Places(mask), FULL))
    return found[0] if f is np.flatnonzero else found


def is_unique(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether this is np.unique, in what is to be transformed, of an array of numbers that the run decides."""
    if f is not np.unique or not ctx.transforms or len(args) != 1 or type(args[0]) is not Ref:
        return False
    if any(k not in _ASKED or type(v) is not bool for k, v in kwargs.items()):
        return False
    aval = args[0].aval
    return aval.size > 0 and aval.dtype.kind in "biuf"


def unique(ctx: Context, array: Ref, asked: dict[str, Value]) -> Value:
    """The first of each value among the sorted elements, as a selection of these; what else is asked for beside it.

    NaN are one value.
    """
    b, shape = ctx.b, array.aval.shape
    flat = make.reshape(b, ctx.read(array), (-1,))
    order = make.argsort(b, flat, 0)
    n = flat.aval.size

    def at(x: Atom, i: Atom) -> Atom:
        return make.index(b, x, _BY_ONE, (i,))

    rising = at(flat, order)
    numbers = make.iota(b, n)
    before = at(rising, make.maximum(b, make.subtract(b, numbers, 1), 0))
    differs = make.not_equal(b, rising, before)
    if flat.aval.dtype.kind == "f":  # of NaN the first alone
        differs = make.logical_and(b, differs, make.equal(b, before, before))
    first = make.logical_or(b, make.equal(b, numbers, 0), differs)
    rank = make.subtract(b, make.cumsum(b, first, 0), 1)

    def selected(x: Atom) -> Masked:
        return Masked(Ref(ctx.cell(x)), (Places(first),))

    found: list[Value] = [selected(rising)]
    if asked.get("return_index"):
        found.append(selected(order))
    if asked.get("return_inverse"):
        inverse = make.put(b, make.zeros(b, (n,), np.int64), rank, _BY_ONE, (order,))
        found.append(Ref(ctx.cell(make.reshape(b, inverse, shape))))
    if asked.get("return_counts"):
        ones = make.ones(b, (n,), np.int64)
        found.append(selected(at(make.put_add(b, make.zeros(b, (n,), np.int64), ones, _BY_ONE, (rank,)), rank)))
    return tuple(found) if len(found) > 1 else found[0]


_BY_ONE = (Gather(0),)
_ASKED = ("return_index", "return_inverse", "return_counts")
_SIZED = (np.zeros, np.ones, np.empty, np.full, np.arange, np.eye, np.identity)


def as_long(
    ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], again: Callable[..., Value]
) -> Value | None:
    """np.zeros(n), np.eye(n), ... in what is to be transformed, for as many as a mask has True: the first of those for
    all its elements. None where n is no such number.
    """
    if not ctx.transforms or not args or not any(f is g for g in _SIZED) or kwargs.keys() - {"dtype", "fill_value"}:
        return None
    if f is np.arange and len(args) == 2:
        return _numbered_from(ctx, args[0], args[1], kwargs, again)
    sizes = list(args[0]) if type(args[0]) is tuple or type(args[0]) is list else [args[0]]
    rooms = [_most(ctx, n) for n in sizes]
    if not any(rooms) or (len(args) > 1 and f is not np.full):
        return None
    for n, room in zip(sizes, rooms, strict=True):
        if room and f is not np.arange:
            below = make.less(ctx.b, ctx.atom(n), 0)
            make.raise_if(ctx.b, below, ValueError, "negative dimensions are not allowed")
    parts = [Bounds(0, n, 1, room) if room else FULL for n, room in zip(sizes, rooms, strict=True)]
    wholes = [room or n for n, room in zip(sizes, rooms, strict=True)]
    if f in (np.eye, np.identity):
        parts *= 2
    whole = again([tuple(wholes) if type(args[0]) is tuple else wholes[0], *args[1:]], kwargs)
    return Masked(whole, tuple(parts)) if type(whole) is Ref else None


def _numbered_from(
    ctx: Context, start: Value, stop: Value, kwargs: dict[str, Value], again: Callable[..., Value]
) -> Value | None:
    """np.arange(start, stop), where the difference is a number of True."""
    if type(start) not in (int, float) or start != int(start) or type(stop) is not Var:
        return None
    if stop.aval.shape or stop.aval.dtype.kind not in "iu":
        return None
    size = ctx.wrap(make.subtract(ctx.b, stop, int(start)))
    room = _most(ctx, size)
    return Masked(again([start, start + room], kwargs), (Bounds(0, size, 1, room),)) if room else None


def _most(ctx: Context, n: Value) -> int:
    """How large `n` may be, where it is the number of True in a mask, give or take a constant; 0 for other numbers."""
    form = affine(ctx, n) if type(n) is Var else None
    if form is None or list(form[0].values()) != [1]:
        return 0
    most = trues(ctx, *form[0])
    return 0 if most is None else max(most + form[1], 0)


def rows_at_true(ctx: Context, s: Masked, node: ast.AST) -> tuple[Value, Callable[[Value], Value]] | None:
    """How many rows a selection x[mask] has, and each by its number; None where it is selected in other axes, too."""
    first = s.parts[0]
    if not isinstance(first, Places) or any(p is not None for p in s.parts[1:]):
        return None
    b, x, width = ctx.b, ctx.read(s.whole), width_of(first)
    line = Ref(ctx.cell(make.reshape(b, x, (math.prod(x.aval.shape[:width]), *x.aval.shape[width:]))))
    mask = make.reshape(b, first.mask, (-1,))
    places = Ref(ctx.cell(make.argsort(b, make.logical_not(b, mask), 0)))
    return count(ctx, s, 0), lambda k: index_array(ctx, line, index_array(ctx, places, k, node), node)
